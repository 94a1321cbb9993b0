package mcptest;

import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Words of command lines, and text of others as messages show it. */
final class Words {
    private static final String PLAIN = "@%+=:,./-_";
    private static final int MAX_QUOTED = 200;
    private static final int ZERO_WIDTH_JOINER = 0x200d;

    private Words() {}

    /** The words as one text that a shell would split into them again. */
    static String join(List<String> words) {
        return words.stream().map(Words::quote).collect(Collectors.joining(" "));
    }

    static String quote(String word) {
        boolean isPlain = !word.isEmpty() && word.chars().allMatch(
                c -> c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || PLAIN.indexOf(c) >= 0);
        return isPlain ? word : "'" + word.replace("'", "'\"'\"'") + "'";
    }

    /** What texts of the binary name, and what that is here. */
    private static final List<List<String>> NAMES = List.of(
            List.of("--start-timeout, or \"startupTimeout\" in the config", "startTimeout(…)"),
            List.of("--start-timeout", "startTimeout(…)"),
            List.of("--timeout", "timeout(…)"),
            List.of("--server-command", "command(…)"),
            List.of("--url", "url(…)"),
            List.of("--bearer-env", "bearerEnv(…)"),
            List.of("--header-env", "headerEnv(…)"),
            List.of("--ca-file", "caFile(…)"),
            List.of("--cwd", "cwd(…)"),
            List.of("--spec-version", "revision(…)"),
            List.of("MCPTEST_SERVER_ENV", "env(…)"));

    /** A text of the binary about options, with their names in Java. */
    static String inJava(String text) {
        String found = text.replaceAll("--spec-version (\\d{4}-\\d\\d-\\d\\d)", "revision(\"$1\")");
        for (List<String> name : NAMES) {
            found = found.replace(name.get(0), name.get(1));
        }
        return found;
    }

    /** The words of a text, as a shell would split it; without comments, variables and patterns. */
    static List<String> split(String text) {
        List<String> words = new ArrayList<>();
        StringBuilder word = null;
        char quote = 0;
        for (int at = 0; at < text.length(); at++) {
            char c = text.charAt(at);
            if (quote == 0 && " \t\r\n".indexOf(c) >= 0) {
                if (word != null) {
                    words.add(word.toString());
                }
                word = null;
                continue;
            }
            word = word == null ? new StringBuilder() : word;
            if (c == '\\' && quote != '\'') {
                if (at + 1 == text.length()) {
                    throw new IllegalArgumentException("a backslash at the end");
                }
                char next = text.charAt(++at);
                word.append(quote == 0 || next == '"' || next == '\\' ? "" : "\\").append(next);
            } else if (quote == 0 && (c == '"' || c == '\'')) {
                quote = c;
            } else if (c == quote) {
                quote = 0;
            } else {
                word.append(c);
            }
        }
        if (quote != 0) {
            throw new IllegalArgumentException("a quote that does not end");
        }
        if (word != null) {
            words.add(word.toString());
        }
        return words;
    }

    /**
     * Refuses a word that cannot be passed to a process: Java would replace its characters by question marks where the
     * locale is not UTF-8.
     */
    static String checkArgument(String word) {
        if (word.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("a word of a command line cannot have a null character: " + quoteLine(word));
        }
        String encoding = System.getProperty("sun.jnu.encoding", "UTF-8");
        if (!Charset.forName(encoding).newEncoder().canEncode(word)) {
            throw new IllegalArgumentException(quoteLine(word) + " cannot be passed to a process in the encoding "
                    + encoding + "; start Java with the variable LC_ALL=C.UTF-8");
        }
        return word;
    }

    /** The beginning of a line as a message can show it. */
    static String quoteLine(String line) {
        int end = Math.min(line.length(), MAX_QUOTED);
        return visible(line.substring(0, end), false) + (end < line.length() ? "…" : "");
    }

    /** The text with control characters and the like escaped, so that it cannot change a terminal. */
    static String visible(String text, boolean keepsNewlines) {
        StringBuilder shown = new StringBuilder();
        text.codePoints().forEach(c -> {
            int type = Character.getType(c);
            boolean isSafe = type != Character.CONTROL && type != Character.FORMAT && type != Character.SURROGATE
                    && type != Character.LINE_SEPARATOR && type != Character.PARAGRAPH_SEPARATOR;
            // Emoji are joined by it.
            isSafe = isSafe || c == ZERO_WIDTH_JOINER;
            if (isSafe || keepsNewlines && (c == '\n' || c == '\t')) {
                shown.appendCodePoint(c);
            } else {
                shown.append(c < 0x100 ? String.format("\\x%02x", c) : String.format("\\u%04x", c));
            }
        });
        return shown.toString();
    }
}
