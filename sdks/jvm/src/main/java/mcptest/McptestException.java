package mcptest;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A call failed in mcptest or behind it. The nested classes say where. */
public abstract class McptestException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    static final String MAY_HAVE_RUN = "it may have taken effect anyway";

    McptestException(String message) {
        super(message);
    }

    /** The same error for another call: an exception that is thrown twice would show the stack of the first time. */
    abstract McptestException again();

    /** The mcptest binary could not be started, or has ended. */
    public static final class Binary extends McptestException {
        private static final long serialVersionUID = 1L;

        Binary(String message) {
            super(message);
        }

        @Override
        McptestException again() {
            return new Binary(getMessage());
        }
    }

    /** The mcptest binary did not answer in time; it was killed together with the server. */
    public static final class Timeout extends McptestException {
        private static final long serialVersionUID = 1L;

        Timeout(String message) {
            super(message);
        }

        @Override
        McptestException again() {
            return new Timeout(getMessage());
        }
    }

    /** The mcptest binary has another version; the message says which side to upgrade. */
    public static final class Version extends McptestException {
        private static final long serialVersionUID = 1L;

        Version(String message) {
            super(message);
        }

        @Override
        McptestException again() {
            return new Version(getMessage());
        }
    }

    /** The mcptest binary sent something that is not in this version of the contract, or does not fit into the memory. */
    public static final class Contract extends McptestException {
        private static final long serialVersionUID = 1L;

        Contract(String message) {
            super(message);
        }

        static Contract drift(String message) {
            return new Contract("contract drift: " + message + "; the binary and this SDK are of different releases");
        }

        @Override
        McptestException again() {
            return new Contract(getMessage());
        }
    }

    /** The connection was closed, before the call or while it waited. */
    public static final class Closed extends McptestException {
        private static final long serialVersionUID = 1L;

        Closed(String message) {
            super(message);
        }

        @Override
        McptestException again() {
            return new Closed(getMessage());
        }
    }

    /** A test of a suite could not be completed: its server could not be started or has exited, for example. */
    public static final class Incomplete extends McptestException {
        private static final long serialVersionUID = 1L;

        Incomplete(String message) {
            super(message);
        }

        Incomplete(String message, McptestException cause) {
            super(message);
            initCause(cause);
        }

        @Override
        McptestException again() {
            return new Incomplete(getMessage());
        }
    }

    /** mcptest refused the call. */
    public static class Refused extends McptestException {
        private static final long serialVersionUID = 1L;

        private final long code;
        private final String said;
        private final transient Object data;

        Refused(long code, String said, Object data) {
            super(describe(code, said, data));
            this.code = code;
            this.said = said;
            this.data = data;
        }

        /** The error for a code of the contract. */
        static Refused of(long code, String said, Object data) {
            if (code == -32000) {
                return new Upstream(code, said, data);
            }
            return code == -32001 ? new UpstreamGone(code, said, data) : new Refused(code, said, data);
        }

        @Override
        McptestException again() {
            return of(code, said, data);
        }

        /** The code of the error. */
        public long code() {
            return code;
        }

        /** The message of mcptest, unchanged. {@link #getMessage} also has the hint and what the server wrote to stderr. */
        public String said() {
            return said;
        }

        /** More about the error, as JSON; null if there is nothing. */
        public Object data() {
            return data;
        }

        /**
         * What went wrong, such as {@code timeout} or {@code spawn_failed}; docs/faults.md has them all. An empty text if
         * the server answered with an error of its own, which is {@link #serverCode}, and for what mcptest refused.
         */
        public String kind() {
            return string(data, "kind");
        }

        /** The code of the error that the server answered with, such as -32602; null if it answered with none. */
        public Long serverCode() {
            boolean isTheirs = code == -32000 && !isOurs(code, data) && data instanceof Map<?, ?>;
            Object found = isTheirs ? ((Map<?, ?>) data).get("code") : null;
            return found instanceof Integer || found instanceof Long ? ((Number) found).longValue() : null;
        }

        /** The end of what the server wrote to stderr; an empty text if it is not known. */
        public String stderr() {
            return isOurs(code, data) ? string(data, "stderr") : "";
        }

        static String string(Object data, String name) {
            return data instanceof Map<?, ?> map && map.get(name) instanceof String text ? text : "";
        }

        /** Other data is the server's own. */
        private static boolean isOurs(long code, Object data) {
            return !string(data, "kind").isEmpty() || code == -32001;
        }

        private static String describe(long code, String said, Object data) {
            StringBuilder message = new StringBuilder(said);
            if (isOurs(code, data)) {
                addLine(message, "\nhint: ", Words.inJava(string(data, "hint")));
                addLine(message, "\n", string(data, "effect").equals("indefinite") ? MAY_HAVE_RUN : "");
                addLine(message, "\n  url      ", string(data, "url"));
                if (data instanceof Map<?, ?> map && map.get("command") instanceof List<?> words) {
                    String command = words.stream().map(String::valueOf).collect(Collectors.joining(" "));
                    // With the class path of a server in Java it would be longer than all the rest.
                    addLine(message, "\n  command  ", Words.quoteLine(command));
                }
                addLine(message, "\n  ended    ", string(data, "exit_status"));
                addLine(message, "\n  stderr   ", string(data, "stderr").strip().replace("\n", "\n           "));
            }
            return Words.visible(message.toString(), true);
        }

        private static void addLine(StringBuilder message, String label, String text) {
            message.append(text.isEmpty() ? "" : label + text);
        }
    }

    /** The server refused the call, did not answer in time, or its answer cannot be used. */
    public static final class Upstream extends Refused {
        private static final long serialVersionUID = 1L;

        Upstream(long code, String said, Object data) {
            super(code, said, data);
        }
    }

    /** The server could not be started or reached, or has exited. */
    public static final class UpstreamGone extends Refused {
        private static final long serialVersionUID = 1L;

        UpstreamGone(long code, String said, Object data) {
            super(code, said, data);
        }

        /** How the process ended, in words; an empty text if that is not known. */
        public String exitStatus() {
            return string(data(), "exit_status");
        }

        /** The exit code of the process; null if it has none. */
        public Integer exitCode() {
            return data() instanceof Map<?, ?> map && map.get("exit_code") instanceof Integer code ? code : null;
        }

        /** The name of the signal that killed the process, such as {@code SIGKILL}; null if none did. */
        public String signal() {
            String name = string(data(), "signal");
            return name.isEmpty() ? null : name;
        }
    }
}
