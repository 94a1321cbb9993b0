package mcptest;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * An MCP server under test. As a JUnit extension it is started before the tests and stopped after them: once for all
 * tests of a class if the field is static, else for each test.
 *
 * <pre>{@code
 * @RegisterExtension
 * static final McpServer server = McpServer.command("python3", "shelf_server.py");
 *
 * @Test
 * void found() {
 *     assertEquals("Dubliners", server.callTool("find_book", Map.of("id", 1)).text());
 * }
 * }</pre>
 *
 * <p>Without JUnit it is started with {@link #start} and belongs in a try-with-resources statement. Threads may share a
 * server: their calls are sent one after the other. Calls fail with a {@link McptestException}. A thread that is
 * interrupted during a call gets a {@link java.util.concurrent.CancellationException}, and the server is stopped.
 */
public final class McpServer
        implements AutoCloseable, BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {
    /** How results of tools are cached for later runs. */
    public enum CacheMode {
        /** Every call goes to the server. */
        OFF,
        /** Cached results are used, new ones are cached. */
        READ_WRITE,
        /** Cached results are used, new ones are not cached. */
        READ_ONLY,
        /** Every call goes to the server, and its result is cached. */
        REFRESH
    }

    /** What is done with a cassette. */
    public enum CassetteMode {
        /** Nothing. */
        OFF,
        /** Requests and answers are written to it. */
        RECORD,
        /** Requests are answered from it, without the server. */
        REPLAY
    }

    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);
    private static final Duration DEFAULT_START_TIMEOUT = Duration.ofSeconds(20);
    /** The binary's limits end first, so that it can report what it saw. */
    private static final Duration SLACK = Duration.ofSeconds(15);

    /** What users call the methods of the channel. */
    private static final Map<String, String> CALLS = Map.ofEntries(
            Map.entry("mcp.call", "callTool"), Map.entry("mcp.listTools", "listTools"),
            Map.entry("mcp.listResources", "listResources"), Map.entry("mcp.readResource", "readResource"),
            Map.entry("mcp.callPrompt", "getPrompt"), Map.entry("mcp.initialize", "initialize"),
            Map.entry("mcp.cache.set_mode", "setCache"), Map.entry("mcp.cassette.set_mode", "setCassette"),
            Map.entry("mcp.reporter.setUpload", "uploadTo or stopUploads"), Map.entry("mcp.reporter.flush", "flush"));

    private final List<String> command;
    private String url = "";
    private String bearerEnv = "";
    private final Map<String, String> headerEnv = new LinkedHashMap<>();
    private Path caFile;
    private Path cwd;
    private final Map<String, String> env = new LinkedHashMap<>();
    private final Set<String> secrets = new LinkedHashSet<>();
    private String revision = "";
    private Duration timeout;
    private Duration startTimeout;
    private CacheMode cache;
    private CassetteMode cassetteMode;
    private Path cassette;

    private volatile Coprocess coprocess;
    private boolean isStarted;
    /** The classes and tests that it runs for, if JUnit started it. */
    private final Set<String> users = new HashSet<>();

    private McpServer(List<String> command, String url) {
        this.command = List.copyOf(command);
        this.url = url;
    }

    /** A server that this command starts; it is run without a shell. */
    public static McpServer command(String... words) {
        return command(List.of(words));
    }

    /** A server that this command starts; it is run without a shell. */
    public static McpServer command(List<String> words) {
        if (words.isEmpty() || words.get(0).isEmpty()) {
            throw new IllegalArgumentException("the command of the server is empty");
        }
        words.forEach(Words::checkArgument);
        return new McpServer(words, "");
    }

    /** A server on HTTP that runs already, at a URL such as {@code http://127.0.0.1:3001/mcp}. */
    public static McpServer at(String url) {
        return new McpServer(List.of(), checkText("url", url));
    }

    /** The calls of a server that is not initialized yet, over a connection that somebody else has opened. */
    static McpServer over(Coprocess coprocess) {
        McpServer server = new McpServer(List.of(), "");
        server.coprocess = coprocess;
        server.isStarted = true;
        return server;
    }

    // Options

    /** The URL of the server that the command starts on HTTP; <code>{port}</code> in both is a free port. */
    public McpServer url(String url) {
        checkStopped();
        this.url = checkText("url", url);
        return this;
    }

    /** The environment variable with the token for the URL. */
    public McpServer bearerEnv(String variable) {
        checkStopped();
        bearerEnv = checkText("the name of a variable", variable);
        return this;
    }

    /** A header for the URL, and the environment variable with its value. */
    public McpServer headerEnv(String header, String variable) {
        checkStopped();
        headerEnv.put(checkText("the name of a header", header), checkText("the name of a variable", variable));
        return this;
    }

    /** Additional CA certificates to trust (PEM). */
    public McpServer caFile(Path file) {
        checkStopped();
        caFile = Objects.requireNonNull(file, "the file with certificates is null");
        return this;
    }

    /** The working folder of the server (default: the current folder). */
    public McpServer cwd(Path folder) {
        checkStopped();
        cwd = Objects.requireNonNull(folder, "the working folder is null");
        return this;
    }

    /** An additional environment variable of the server. */
    public McpServer env(String name, String value) {
        checkStopped();
        checkText("the name of a variable", name);
        if (name.indexOf('=') >= 0) {
            throw new IllegalArgumentException("a name of a variable has no \"=\": " + Words.quoteLine(name));
        }
        env.put(name, Objects.requireNonNull(value, "the value of the variable " + name + " is null"));
        return this;
    }

    /** An additional environment variable of the server whose value is hidden in all messages. */
    public McpServer secret(String name, String value) {
        env(name, value);
        secrets.add(name);
        return this;
    }

    /** The protocol revision to use, such as {@code 2025-06-18} (default: auto-negotiate). */
    public McpServer revision(String revision) {
        checkStopped();
        this.revision = checkText("a revision", revision);
        return this;
    }

    /** The limit for each answer of the server (default: 30 seconds). */
    public McpServer timeout(Duration limit) {
        checkStopped();
        timeout = checkLimit(limit);
        return this;
    }

    /** The limit for the server to be ready (default: 5 seconds, 20 for package runners). */
    public McpServer startTimeout(Duration limit) {
        checkStopped();
        startTimeout = checkLimit(limit);
        return this;
    }

    /** Caches results of tools from the start. */
    public McpServer cache(CacheMode mode) {
        checkStopped();
        cache = Objects.requireNonNull(mode, "the mode of the cache is null");
        return this;
    }

    /** Records every request and answer to this cassette. */
    public McpServer record(Path cassette) {
        return useCassette(CassetteMode.RECORD, cassette);
    }

    /** Answers from this cassette, without the server. */
    public McpServer replay(Path cassette) {
        return useCassette(CassetteMode.REPLAY, cassette);
    }

    private McpServer useCassette(CassetteMode mode, Path file) {
        checkStopped();
        if (cassetteMode != null && cassetteMode != mode) {
            throw new IllegalArgumentException("a cassette is recorded or replayed, not both at once");
        }
        cassetteMode = mode;
        cassette = Objects.requireNonNull(file, "the file of the cassette is null");
        return this;
    }

    private synchronized void checkStopped() {
        if (isStarted) {
            throw new IllegalStateException("the server has been started; set its options before");
        }
    }

    private static String checkText(String what, String text) {
        if (Objects.requireNonNull(text, what + " is null").isEmpty()) {
            throw new IllegalArgumentException(what + " is empty");
        }
        return Words.checkArgument(text);
    }

    private static Duration checkLimit(Duration limit) {
        if (limit.compareTo(Duration.ofMillis(1)) < 0 || limit.compareTo(Coprocess.MAX_LIMIT) > 0) {
            throw new IllegalArgumentException("a limit is at least 1 ms and at most 24 hours, not " + limit);
        }
        return limit;
    }

    // Starting and stopping

    /** Starts the server and initializes it. */
    public synchronized McpServer start() {
        if (isStarted) {
            throw new IllegalStateException("the server has been started already");
        }
        // From here on another thread can close it.
        coprocess = new Coprocess(options(), variables(), answerLimit());
        isStarted = true;
        try {
            coprocess.shakeHands();
            if (cache != null) {
                setCache(cache);
            }
            if (cassetteMode != null) {
                setCassette(cassetteMode, cassette);
            }
            initialize();
        } catch (RuntimeException | Error error) {
            close();
            throw error;
        }
        return this;
    }

    private List<String> options() {
        List<String> options = new ArrayList<>(List.of("--connection-server"));
        add(options, "--server-command", Words.join(command));
        add(options, "--url", url);
        add(options, "--bearer-env", bearerEnv);
        headerEnv.forEach((header, variable) -> add(options, "--header-env", header + "=" + variable));
        add(options, "--ca-file", caFile == null ? "" : caFile.toString());
        add(options, "--cwd", cwd == null ? "" : cwd.toString());
        add(options, "--spec-version", revision);
        add(options, "--timeout", timeout == null ? "" : timeout.toMillis() + "ms");
        add(options, "--start-timeout", startTimeout == null ? "" : startTimeout.toMillis() + "ms");
        return options;
    }

    private static void add(List<String> options, String name, String value) {
        if (!value.isEmpty()) {
            options.add(name);
            options.add(value);
        }
    }

    private Map<String, String> variables() {
        return env.isEmpty() ? Map.of() : Map.of("MCPTEST_SERVER_ENV", Json.write(Map.of("set", env, "secrets", secrets)));
    }

    private Duration answerLimit() {
        return SLACK.plus(timeout == null ? DEFAULT_TIMEOUT : timeout)
                .plus(startTimeout == null ? DEFAULT_START_TIMEOUT : startTimeout);
    }

    /** Stops the server. A call that waits fails with {@link McptestException.Closed}. May be called again. */
    @Override
    public void close() {
        // Not synchronized: a server that is being started by another thread can be closed.
        Coprocess current = coprocess;
        if (current != null) {
            current.close();
            synchronized (this) {
                isStarted = isStarted && coprocess != current;
            }
        }
    }

    /** Called by JUnit. */
    @Override
    public void beforeAll(ExtensionContext context) {
        startFor(context);
    }

    /** Called by JUnit. */
    @Override
    public void beforeEach(ExtensionContext context) {
        startFor(context);
    }

    /** Called by JUnit. */
    @Override
    public void afterEach(ExtensionContext context) {
        stopFor(context);
    }

    /** Called by JUnit. */
    @Override
    public void afterAll(ExtensionContext context) {
        stopFor(context);
    }

    private synchronized void startFor(ExtensionContext context) {
        // JUnit asks for a class, then for each nested class and each test in it; classes may share a server.
        boolean isOurs = !isStarted || !users.isEmpty();
        if (!isStarted) {
            start();
        }
        if (isOurs) {
            users.add(context.getUniqueId());
        }
    }

    private synchronized void stopFor(ExtensionContext context) {
        if (users.remove(context.getUniqueId()) && users.isEmpty()) {
            close();
        }
    }

    // Calls

    /** Calls a tool without arguments. */
    public Verdict callTool(String name) {
        return callTool(name, Map.of());
    }

    /**
     * Calls a tool. An error that the tool reports is a verdict without success.
     *
     * @param arguments maps, lists, arrays, strings, numbers, booleans and null
     * @throws IllegalArgumentException if JSON cannot express the arguments; nothing is sent then
     */
    public Verdict callTool(String name, Map<String, ?> arguments) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("tool", Objects.requireNonNull(name, "the name of the tool is null"));
        params.put("arguments", arguments == null ? Map.of() : arguments);
        long began = System.nanoTime();
        Object result = request("mcp.call", params);
        return Verdict.read(result, (System.nanoTime() - began) / 1000 / 1e3);
    }

    /** The tools of the server, all pages of them. */
    public List<Map<String, Object>> listTools() {
        return requestList("mcp.listTools", "tools");
    }

    /** The resources of the server, all pages of them. */
    public List<Map<String, Object>> listResources() {
        return requestList("mcp.listResources", "resources");
    }

    /** Reads a resource; the server's result. */
    public Map<String, Object> readResource(String uri) {
        return requestObject("mcp.readResource", Map.of("uri", uri));
    }

    /** Gets a prompt without arguments; the server's result. */
    public Map<String, Object> getPrompt(String name) {
        return requestObject("mcp.callPrompt", Map.of("name", name));
    }

    /** Gets a prompt; the server's result. */
    public Map<String, Object> getPrompt(String name, Map<String, ?> arguments) {
        return requestObject("mcp.callPrompt", Map.of("name", name, "arguments", arguments));
    }

    /** What the server answered when it was initialized; that is not repeated. */
    public Map<String, Object> initialize() {
        return requestObject("mcp.initialize", null);
    }

    /** Changes how results of tools are cached. */
    public void setCache(CacheMode mode) {
        requestObject("mcp.cache.set_mode", Map.of("mode", mode.name().toLowerCase(Locale.ROOT)));
    }

    /** Records to a cassette from now on, or replays it; the file is not used with {@code OFF}, and may be null. */
    public void setCassette(CassetteMode mode, Path file) {
        String name = mode.name().toLowerCase(Locale.ROOT);
        if (mode == CassetteMode.OFF) {
            requestObject("mcp.cassette.set_mode", Map.of("mode", name));
        } else {
            Objects.requireNonNull(file, "to " + name + " takes the file of a cassette");
            requestObject("mcp.cassette.set_mode", Map.of("mode", name, "path", file.toString()));
        }
    }

    /** Has calls delivered to a {@code file:}, {@code https:} or local {@code http:} target by {@link #flush} and at the end. */
    public void uploadTo(String target) {
        requestObject("mcp.reporter.setUpload", Map.of("enabled", true, "target", target));
    }

    /** Delivers the calls since the last time; how many there were. */
    public int flush() {
        Map<String, Object> result = requestObject("mcp.reporter.flush", null);
        if (!(result.get("flushed") instanceof Integer count)) {
            throw Coprocess.unexpected("mcp.reporter.flush", result);
        }
        return count;
    }

    /** Queues no further calls; those that are queued are still delivered. */
    public void stopUploads() {
        requestObject("mcp.reporter.setUpload", Map.of("enabled", false));
    }

    /** The version of the mcptest binary. */
    public String binaryVersion() {
        return running("binaryVersion").binaryVersion();
    }

    /** The command or the URL of the server, without secrets. */
    @Override
    public String toString() {
        String shown = command.isEmpty() ? url.replaceAll("//[^/@]*@", "//").replaceAll("[?#].*", "") : String.join(" ", command);
        for (String secret : secrets) {
            shown = env.get(secret).isEmpty() ? shown : shown.replace(env.get(secret), "[secret]");
        }
        return "McpServer(" + Words.quoteLine(shown) + ")";
    }

    private Object request(String method, Map<String, ?> params) {
        return running(nameOf(method)).request(method, params);
    }

    static String nameOf(String method) {
        return CALLS.getOrDefault(method, method);
    }

    private Coprocess running(String what) {
        Coprocess current = coprocess;
        if (current == null) {
            throw new IllegalStateException("the server has not been started, so " + what + " cannot be used: annotate the "
                    + "field with @RegisterExtension, or call start()");
        }
        return current;
    }

    private Map<String, Object> requestObject(String method, Map<String, ?> params) {
        return Coprocess.object(request(method, params), method);
    }

    private List<Map<String, Object>> requestList(String method, String member) {
        Map<String, Object> result = requestObject(method, null);
        if (!(result.get(member) instanceof List<?> entries)) {
            throw Coprocess.unexpected(method, result);
        }
        List<Map<String, Object>> objects = new ArrayList<>();
        entries.forEach(entry -> objects.add(Coprocess.object(entry, method)));
        return objects;
    }
}
