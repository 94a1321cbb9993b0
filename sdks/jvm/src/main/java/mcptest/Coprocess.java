package mcptest;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import mcptest.McptestException.Binary;
import mcptest.McptestException.Closed;
import mcptest.McptestException.Contract;
import mcptest.McptestException.Refused;
import mcptest.McptestException.Timeout;
import mcptest.McptestException.Version;

/**
 * One mcptest binary: starts it, performs the handshake, then one request at a time. docs/coprocess.md is the contract.
 *
 * <p>Three threads serve the pipes of the binary, so that no thread that waits for an answer can be blocked by a pipe:
 * one writes requests, one reads answers, one drains stderr.
 */
final class Coprocess implements AutoCloseable {
    /** The version of the contract; a test compares those of all SDKs. */
    static final int COPROCESS_PROTOCOL_VERSION = 2;

    static final String SDK = "jvm";
    static final String SDK_VERSION = "0.1.0";

    /** An answer of the server has up to 64 MiB, and the frame a little more. */
    static final int MAX_LINE_BYTES = 64 * 1024 * 1024 + 64 * 1024;

    /** The longest that the binary lets a limit be. */
    static final Duration MAX_LIMIT = Duration.ofHours(24);

    private static final int MAX_REQUEST_BYTES = 64 * 1024 * 1024;
    private static final int KEPT_STDERR_BYTES = 4096;
    private static final int MAX_WARNINGS = 100;
    private static final Duration HANDSHAKE_LIMIT = Duration.ofSeconds(10);
    private static final Duration SHUTDOWN_LIMIT = Duration.ofSeconds(10);
    /** Shorter: the program is about to end. */
    private static final Duration EXIT_LIMIT = Duration.ofSeconds(3);
    /** How long a binary that has closed its stdout has to end, and what it wrote to arrive after its end. */
    private static final Duration END_LIMIT = Duration.ofMillis(700);
    /** How long what the binary has started has to end after it was killed, before that is killed as well. */
    private static final Duration LEFT_LIMIT = Duration.ofSeconds(6);

    /** How the binary ends if its options are wrong, and how it says so. */
    private static final int BAD_OPTION = 2;
    private static final String ERROR_LABEL = "error: ";

    private static final byte[] END_OF_INPUT = new byte[0];
    private static final Set<String> ENVELOPE = Set.of("jsonrpc", "id", "result", "error");
    private static final Set<String> ERROR = Set.of("code", "message", "data");
    private static final String HANDSHAKE_METHOD = "coprocess/handshake";
    private static final Set<String> HANDSHAKE = Set.of("protocol_version", "binary_version");
    private static final Set<Coprocess> OPEN = ConcurrentHashMap.newKeySet();
    /** What killed binaries have started, while it is given time to end. */
    private static final Set<ProcessHandle> LEFT = ConcurrentHashMap.newKeySet();

    static {
        // For connections that nobody closed, Ctrl-C and SIGTERM. After kill -9 the binary notices the end of its input.
        Runtime.getRuntime().addShutdownHook(new Thread(Coprocess::closeAll, "mcptest-exit"));
    }

    /** A line of the binary (without its newline), or the reason why there are no more. */
    private record Item(Kind kind, byte[] line) {
        enum Kind { LINE, OVERLONG, NO_MEMORY, END }
    }

    private final Duration timeout;
    private final Process process;
    private final Thread drain;
    private final LinkedBlockingQueue<byte[]> requests = new LinkedBlockingQueue<>();
    private final Stderr stderr = new Stderr();

    /** Held by the request that is under way. Fair: requests are sent in the order in which they were made. */
    private final ReentrantLock turn = new ReentrantLock(true);
    private int lastId;
    private McptestException failure;
    private String binaryVersion = "";

    /** Guards the next two, and is notified of every change. */
    private final Object mailbox = new Object();
    private final Deque<Item> items = new ArrayDeque<>();
    private boolean isDraining;
    private volatile boolean isClosed;

    /**
     * Starts the binary. {@link #shakeHands} comes next.
     *
     * @param options follow {@code mcptest exec}
     * @param variables are added to its environment
     * @param timeout limit for each answer, unless a request has its own
     */
    Coprocess(List<String> options, Map<String, String> variables, Duration timeout) {
        this.timeout = timeout;
        List<String> command = new ArrayList<>(binaryCommand());
        command.add("exec");
        options.forEach(option -> command.add(Words.checkArgument(option)));
        ProcessBuilder builder = new ProcessBuilder(command);
        // Only ours: that of another process could describe another server.
        builder.environment().remove("MCPTEST_SERVER_ENV");
        builder.environment().putAll(variables);
        try {
            process = builder.start();
        } catch (IOException error) {
            String why = String.valueOf(error.getMessage()).replaceFirst("(?s)^.*error=\\d+, ", "");
            throw new Binary("the mcptest binary cannot be started: " + Words.quoteLine(command.get(0)) + ": "
                    + Words.quoteLine(why) + ". Install mcptest, or set MCPTEST_BIN to it.");
        }
        OPEN.add(this);
        startThread("mcptest-stdout", () -> readLines(process.getInputStream()));
        drain = startThread("mcptest-stderr", () -> stderr.drain(process.getErrorStream()));
        startThread("mcptest-stdin", () -> writeRequests(process.getOutputStream()));
        // Something that it has started may hold its stdout open; then there is no end to read.
        process.onExit().thenRunAsync(
                () -> post(new Item(Item.Kind.END, new byte[0])),
                CompletableFuture.delayedExecutor(END_LIMIT.toMillis(), TimeUnit.MILLISECONDS));
    }

    /** The binary that MCPTEST_BIN names, else mcptest on the path. */
    private static List<String> binaryCommand() {
        String named = System.getenv().getOrDefault("MCPTEST_BIN", "").strip();
        if (named.isEmpty()) {
            return List.of("mcptest");
        }
        try {
            // A path may contain spaces; anything else is split like a command.
            if (Files.exists(Path.of(named))) {
                return List.of(named);
            }
        } catch (InvalidPathException error) {
            // Not a path.
        }
        return splitBinary(named);
    }

    static List<String> splitBinary(String text) {
        try {
            return Words.split(text);
        } catch (IllegalArgumentException error) {
            throw new Binary("MCPTEST_BIN cannot be split into words: " + error.getMessage() + ": " + Words.quoteLine(text));
        }
    }

    String binaryVersion() {
        return binaryVersion;
    }

    Object request(String method, Map<String, ?> params) {
        return request(method, params, timeout);
    }

    /** The result of a request. Waits for its turn, then at most {@code limit} for the answer. */
    Object request(String method, Map<String, ?> params, Duration limit) {
        // The params are at the second level of the frame.
        String written = params == null ? null : Json.write(params, "", 1);
        if (written != null && written.length() > MAX_REQUEST_BYTES - 1000) {
            throw new IllegalArgumentException("the params of " + McpServer.nameOf(method) + " have " + written.length()
                    + " bytes as JSON, and a request has up to " + MAX_REQUEST_BYTES);
        }
        try {
            turn.lockInterruptibly();
        } catch (InterruptedException error) {
            throw cancelled(McpServer.nameOf(method) + " was interrupted before it was sent", error);
        }
        try {
            checkUsable(method);
            return exchange(method, written, limit);
        } finally {
            turn.unlock();
        }
    }

    private void checkUsable(String method) {
        if (isClosed) {
            throw new Closed("this connection is closed and its server is gone, so " + method + " was not sent");
        }
        if (failure != null) {
            throw failure.again();
        }
    }

    /** The result as an object. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object result, String method) {
        if (result instanceof Map<?, ?>) {
            return (Map<String, Object>) result;
        }
        throw unexpected(method, result);
    }

    static Contract unexpected(String method, Object result) {
        return Contract.drift("the result of " + method + " cannot be " + Words.quoteLine(Json.write(result)));
    }

    // The handshake

    /** Performs the handshake; before that there are no requests. */
    Coprocess shakeHands() {
        turn.lock();
        try {
            checkUsable("coprocess/handshake");
            readHandshake();
            return this;
        } finally {
            turn.unlock();
        }
    }

    private void readHandshake() {
        String params = Json.write(
                Map.of("protocol_version", COPROCESS_PROTOCOL_VERSION, "sdk", SDK, "sdk_version", SDK_VERSION));
        Object result;
        try {
            result = exchange(HANDSHAKE_METHOD, params, HANDSHAKE_LIMIT);
        } catch (Refused error) {
            if (error.code() == -32601) {
                throw fail(new Version(describeUpgrade("1", true)));
            }
            if (error.code() == -32602) {
                throw fail(new Version(error.getMessage()));
            }
            throw fail(new Contract("the mcptest binary refused the handshake: " + error.getMessage() + " (code "
                    + error.code() + ")"));
        }
        if (!(result instanceof Map<?, ?> answer)
                || !(answer.get("protocol_version") instanceof Number theirs) || theirs instanceof Double) {
            throw fail(Contract.drift("the handshake was answered with " + Words.quoteLine(Json.write(result))));
        }
        if (theirs.longValue() != COPROCESS_PROTOCOL_VERSION || !(theirs instanceof Integer)) {
            throw fail(new Version(describeUpgrade(theirs.toString(), theirs.doubleValue() < COPROCESS_PROTOCOL_VERSION)));
        }
        for (Object name : answer.keySet()) {
            if (!HANDSHAKE.contains(name)) {
                throw fail(Contract.drift(
                        "the answer to the handshake has no member " + Words.quoteLine(Json.write(name))));
            }
        }
        if (!(answer.get("binary_version") instanceof String version)) {
            throw fail(Contract.drift("the handshake was answered with " + Words.quoteLine(Json.write(result))));
        }
        binaryVersion = version;
    }

    private static String describeUpgrade(String theirs, boolean isOlder) {
        String advice = isOlder
                ? "Upgrade the mcptest binary (or pin the SDK to the matching release)."
                : "Upgrade the " + SDK + " SDK (or pin the mcptest binary to the matching release).";
        return "mcptest binary speaks coprocess v" + theirs + "; this SDK needs v" + COPROCESS_PROTOCOL_VERSION + ". "
                + advice;
    }

    // One request

    private Object exchange(String method, String params, Duration limit) {
        checkNothingCame(method);
        lastId++;
        String request = "{\"jsonrpc\":\"2.0\",\"id\":" + lastId + ",\"method\":" + Json.write(method)
                + (params == null ? "" : ",\"params\":" + params) + "}\n";
        requests.add(request.getBytes(StandardCharsets.US_ASCII));
        Item item;
        try {
            item = await(method, limit);
        } catch (InterruptedException error) {
            // The answer may still come, and must not be taken for that of another request.
            fail(new Closed("this connection was closed when " + method + " was interrupted"));
            throw cancelled(McpServer.nameOf(method) + " was interrupted; " + McptestException.MAY_HAVE_RUN, error);
        }
        if (item.kind == Item.Kind.END) {
            throw fail(describeEnd(method, item.line));
        }
        String shown = quoteBytes(item.line);
        if (item.kind == Item.Kind.OVERLONG) {
            throw fail(new Contract("the mcptest binary answered " + method + " with a line of more than "
                    + MAX_LINE_BYTES + " bytes; it begins with: " + shown));
        }
        if (item.kind == Item.Kind.NO_MEMORY) {
            throw fail(describeLackOfMemory(method));
        }
        Object answer;
        try {
            answer = Json.parse(item.line);
        } catch (Json.SyntaxException error) {
            throw fail(new Contract("the mcptest binary answered " + method + " with a line that is not a response ("
                    + error.getMessage() + "): " + shown
                    + "; is MCPTEST_BIN the mcptest binary, and does nothing else write to its stdout?"));
        } catch (OutOfMemoryError error) {
            throw fail(describeLackOfMemory(method));
        }
        return readResponse(answer, method, shown);
    }

    /** JUnit stops the whole run for an OutOfMemoryError; here only one answer is too large, and has been let go. */
    private static Contract describeLackOfMemory(String method) {
        return new Contract("the mcptest binary answered " + method + " with more than fits into the memory of Java, which has "
                + Runtime.getRuntime().maxMemory() / (1024 * 1024) + " MiB; start it with a larger -Xmx");
    }

    /** What is here before the request was sent is not its answer. Before the handshake, it is the banner of another program. */
    private void checkNothingCame(String method) {
        Item early;
        synchronized (mailbox) {
            early = lastId == 0 ? null : items.peek();
        }
        if (early == null) {
            return;
        }
        if (early.kind == Item.Kind.END) {
            throw fail(describeEnd(method, early.line));
        }
        throw fail(Contract.drift("before " + method + " was sent, there came: " + quoteBytes(early.line)));
    }

    private Item await(String method, Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        synchronized (mailbox) {
            while (true) {
                Item item = items.poll();
                if (item != null) {
                    mailbox.notifyAll();
                    return item;
                }
                if (isClosed) {
                    throw fail(new Closed("the connection was closed before " + method + " was answered"));
                }
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    String message = "the mcptest binary did not answer " + method + " within " + describe(limit);
                    boolean mayHaveRun = method.startsWith("mcp.") || method.equals("suite.run");
                    throw fail(new Timeout(mayHaveRun ? message + "; " + McptestException.MAY_HAVE_RUN : message));
                }
                TimeUnit.NANOSECONDS.timedWait(mailbox, left);
            }
        }
    }

    private Object readResponse(Object answer, String method, String shown) {
        if (!(answer instanceof Map<?, ?> response)) {
            throw fail(Contract.drift("the answer to " + method + " is not a response: " + shown));
        }
        for (Object name : response.keySet()) {
            if (!ENVELOPE.contains(name)) {
                throw fail(Contract.drift("the answer to " + method + " has a member that a response does not have, "
                        + Words.quoteLine(Json.write(name)) + ": " + shown));
            }
        }
        boolean isError = response.containsKey("error");
        if (!"2.0".equals(response.get("jsonrpc")) || isError == response.containsKey("result")) {
            throw fail(Contract.drift("the answer to " + method + " is not a response: " + shown));
        }
        Object id = response.get("id");
        if (!isError) {
            checkId(id, method, shown);
            return response.get("result");
        }
        if (!(response.get("error") instanceof Map<?, ?> error) || !ERROR.containsAll(error.keySet())
                || !(error.get("message") instanceof String said)
                || !(error.get("code") instanceof Integer || error.get("code") instanceof Long)) {
            throw fail(Contract.drift("the answer to " + method + " has an invalid error: " + shown));
        }
        if (id == null && response.containsKey("id")) {
            throw fail(new Contract("the mcptest binary could not read " + method + ": " + Words.visible(said, true)));
        }
        checkId(id, method, shown);
        throw Refused.of(((Number) error.get("code")).longValue(), said, error.get("data"));
    }

    private void checkId(Object id, String method, String shown) {
        if (!Integer.valueOf(lastId).equals(id)) {
            throw fail(Contract.drift("the answer to " + method + " has another id than " + lastId + ": " + shown));
        }
    }

    private Binary describeEnd(String method, byte[] half) {
        StringBuilder message = new StringBuilder("the mcptest binary ended before it answered " + method);
        boolean isBadOption = false;
        try {
            boolean hasEnded = process.waitFor(END_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
            drain.join(END_LIMIT.toMillis());
            message.append(hasEnded ? ": " + describeStatus(process.exitValue()) : ": it closed its stdout");
            isBadOption = method.equals(HANDSHAKE_METHOD) && hasEnded && process.exitValue() == BAD_OPTION;
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        if (half.length > 0) {
            message.append("; after half a line: ").append(quoteBytes(half));
        }
        String words = stderr.tail().strip();
        // Warnings may come before it.
        int mistakeAt = ("\n" + words).indexOf("\n" + ERROR_LABEL);
        if (isBadOption && mistakeAt >= 0) {
            // What it says is all that matters.
            String mistake = Words.inJava(words.substring(mistakeAt + ERROR_LABEL.length()));
            return new Binary(Words.visible(mistake, true) + "\n(" + message + ")");
        }
        return new Binary(message + (words.isEmpty() ? "" : "; its last words: " + Words.visible(words, true)));
    }

    private static String describeStatus(int status) {
        Map<Integer, String> signals = Map.of(
                129, "SIGHUP", 130, "SIGINT", 131, "SIGQUIT", 134, "SIGABRT", 137, "SIGKILL", 139, "SIGSEGV", 143, "SIGTERM");
        String signal = signals.get(status);
        return "exit status " + status + (signal == null ? "" : " (" + signal + ")");
    }

    private static String quoteBytes(byte[] line) {
        // A character has up to four bytes.
        return Words.quoteLine(new String(line, 0, Math.min(line.length, 1000), StandardCharsets.UTF_8));
    }

    static String describe(Duration limit) {
        return BigDecimal.valueOf(limit.toMillis(), 3).stripTrailingZeros().toPlainString() + " s";
    }

    private static CancellationException cancelled(String message, InterruptedException cause) {
        Thread.currentThread().interrupt();
        CancellationException error = new CancellationException(message);
        error.initCause(cause);
        return error;
    }

    // The end

    /** Shuts the binary down, which stops the server. A request that waits fails. */
    @Override
    public void close() {
        close(SHUTDOWN_LIMIT);
    }

    private void close(Duration limit) {
        synchronized (mailbox) {
            isClosed = true;
            mailbox.notifyAll();
        }
        turn.lock();
        try {
            if (!OPEN.contains(this)) {
                return;
            }
            if (process.isAlive()) {
                lastId++;
                requests.add(("{\"jsonrpc\":\"2.0\",\"id\":" + lastId + ",\"method\":\"mcp.shutdown\"}\n")
                        .getBytes(StandardCharsets.US_ASCII));
            }
            requests.add(END_OF_INPUT);
            stopReading();
            boolean hasEnded = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
            if (!hasEnded) {
                kill();
            }
            drain.join(END_LIMIT.toMillis());
        } catch (InterruptedException error) {
            kill();
            Thread.currentThread().interrupt();
        } finally {
            if (OPEN.remove(this)) {
                stderr.warnings().forEach(Coprocess::warn);
            }
            turn.unlock();
        }
    }

    /** Tells the user what fails no call. */
    static void warn(String warning) {
        System.err.println("mcptest: " + Words.visible(warning, false));
    }

    /** Kills the binary; every later request fails in the same way. */
    McptestException fail(McptestException why) {
        failure = why;
        kill();
        OPEN.remove(this);
        return why;
    }

    /**
     * Kills the binary, which has a guardian of its own that stops the server then. MCPTEST_BIN may be a script that has
     * started the binary: that is told to end, as by Ctrl-C, and killed if it does not.
     */
    private void kill() {
        // Not Process.destroyForcibly: that waits for the thread that writes.
        List<ProcessHandle> others = process.descendants().toList();
        process.toHandle().destroyForcibly();
        requests.add(END_OF_INPUT);
        stopReading();
        if (!others.isEmpty()) {
            LEFT.addAll(others);
            others.forEach(ProcessHandle::destroy);
            startThread("mcptest-kill", () -> awaitOrKill(others, LEFT_LIMIT));
        }
    }

    private static void awaitOrKill(Collection<ProcessHandle> left, Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (System.nanoTime() < deadline && left.stream().anyMatch(ProcessHandle::isAlive)) {
            Thread.sleep(50);
        }
        left.forEach(ProcessHandle::destroyForcibly);
        LEFT.removeAll(left);
    }

    private void stopReading() {
        synchronized (mailbox) {
            isDraining = true;
            items.clear();
            mailbox.notifyAll();
        }
    }

    private static void closeAll() {
        List<Thread> closing = new ArrayList<>();
        for (Coprocess each : OPEN) {
            closing.add(startThread("mcptest-close", () -> {
                if (each.turn.tryLock()) {
                    try {
                        each.close(EXIT_LIMIT);
                    } finally {
                        each.turn.unlock();
                    }
                } else {
                    // A request is under way, or a shutdown: they may take longer than there is time.
                    each.kill();
                }
            }));
        }
        try {
            for (Thread thread : closing) {
                thread.join(EXIT_LIMIT.toMillis() + 1000);
            }
            // The threads that wait for it do not outlive the program.
            awaitOrKill(List.copyOf(LEFT), EXIT_LIMIT);
        } catch (InterruptedException error) {
            // Nobody interrupts this thread.
        }
    }

    // Threads

    interface Work {
        void run() throws IOException, InterruptedException;
    }

    static Thread startThread(String name, Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException | InterruptedException error) {
                // A pipe of a binary that has ended; the reader reports the end.
            }
        }, name);
        // A program that forgot to close must be able to end.
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void writeRequests(OutputStream pipe) throws IOException, InterruptedException {
        try (pipe) {
            for (byte[] line = requests.take(); line != END_OF_INPUT; line = requests.take()) {
                pipe.write(line);
                pipe.flush();
            }
        }
    }

    private void readLines(InputStream pipe) throws InterruptedException {
        // Parts instead of one array that grows: a line can be large, and is held once.
        List<byte[]> parts = new ArrayList<>();
        int length = 0;
        byte[] buffer = new byte[64 * 1024];
        try {
            for (int count = pipe.read(buffer); count >= 0; count = pipe.read(buffer)) {
                int began = 0;
                for (int at = 0; at <= count; at++) {
                    boolean isEnd = at == count;
                    if (!isEnd && buffer[at] != '\n') {
                        continue;
                    }
                    if (at > began) {
                        parts.add(Arrays.copyOfRange(buffer, began, at));
                        length += at - began;
                    }
                    if (length > MAX_LINE_BYTES) {
                        deliver(new Item(Item.Kind.OVERLONG, parts.get(0)));
                        parts.clear();
                        pipe.transferTo(OutputStream.nullOutputStream());
                        return;
                    }
                    if (!isEnd) {
                        byte[] line = join(parts, length);
                        length = 0;
                        began = at + 1;
                        if (!isBlank(line)) {
                            deliver(new Item(Item.Kind.LINE, line));
                        }
                    }
                }
            }
        } catch (IOException error) {
            // As good as its end.
        } catch (OutOfMemoryError error) {
            parts.clear();
            length = 0;
            deliver(new Item(Item.Kind.NO_MEMORY, new byte[0]));
        }
        deliver(new Item(Item.Kind.END, join(parts, length)));
    }

    /** The parts in one; they are let go one by one. */
    private static byte[] join(List<byte[]> parts, int length) {
        byte[] line = new byte[length];
        int at = 0;
        for (int each = 0; each < parts.size(); each++) {
            byte[] part = parts.set(each, null);
            System.arraycopy(part, 0, line, at, part.length);
            at += part.length;
        }
        parts.clear();
        return line;
    }

    private static boolean isBlank(byte[] line) {
        for (byte c : line) {
            if (!Json.isSpace(c)) {
                return false;
            }
        }
        return true;
    }

    /** Waits while there are lines that nobody has asked for; they would fill the memory. */
    private void deliver(Item item) throws InterruptedException {
        synchronized (mailbox) {
            while (items.size() >= 2 && !isDraining) {
                mailbox.wait();
            }
            post(item);
        }
    }

    private void post(Item item) {
        synchronized (mailbox) {
            if (!isDraining) {
                items.add(item);
                mailbox.notifyAll();
            }
        }
    }

    /** What the binary writes to stderr: the end of it, and its warnings. */
    private static final class Stderr {
        private static final String WARNING = "warning: ";

        private byte[] tail = new byte[0];
        private final ByteArrayOutputStream line = new ByteArrayOutputStream();
        private final List<String> warnings = new ArrayList<>();

        void drain(InputStream pipe) throws IOException {
            byte[] buffer = new byte[16 * 1024];
            for (int count = pipe.read(buffer); count >= 0; count = pipe.read(buffer)) {
                add(buffer, count);
            }
        }

        private synchronized void add(byte[] buffer, int count) {
            byte[] both = Arrays.copyOf(tail, tail.length + count);
            System.arraycopy(buffer, 0, both, tail.length, count);
            tail = Arrays.copyOfRange(both, Math.max(0, both.length - KEPT_STDERR_BYTES), both.length);
            for (int at = 0; at < count; at++) {
                if (buffer[at] == '\n') {
                    endLine();
                } else if (line.size() < KEPT_STDERR_BYTES) {
                    line.write(buffer[at]);
                }
            }
        }

        private void endLine() {
            String text = line.toString(StandardCharsets.UTF_8);
            line.reset();
            if (text.startsWith(WARNING) && warnings.size() < MAX_WARNINGS) {
                warnings.add(text.strip());
            }
        }

        synchronized String tail() {
            return new String(tail, StandardCharsets.UTF_8);
        }

        /** The warnings so far; each is returned once. */
        synchronized List<String> warnings() {
            endLine();
            List<String> found = List.copyOf(warnings);
            warnings.clear();
            return found;
        }
    }
}
