package mcptest;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CancellationException;

/** The adapter for protocol/coprocess/kit: plays scenarios, one per line of standard input. It judges nothing. */
final class Conformance implements AutoCloseable {
    /** Connections that a scenario has neither closed nor let go. */
    private static final List<Conformance> FORGOTTEN = new ArrayList<>();

    private final Map<String, Object> given;
    private McpServer server;
    private Coprocess coprocess;
    private Loader suite;
    private boolean isForgotten;

    private Conformance(Map<String, Object> given) {
        this.given = given;
    }

    public static void main(String[] words) throws IOException, Json.SyntaxException {
        OutputStream out = new BufferedOutputStream(System.out);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> given = map(Json.parse(line.getBytes(StandardCharsets.US_ASCII)));
            List<Object> did;
            try (Conformance scenario = new Conformance(given)) {
                did = scenario.play();
            }
            out.write((Json.write(entry("name", given.get("name"), "did", did)) + "\n").getBytes(StandardCharsets.US_ASCII));
            out.flush();
        }
    }

    private List<Object> play() {
        List<Object> did = new ArrayList<>();
        if (!given.get("open").equals("none")) {
            did.add(attempt(this::open));
        }
        if (did.isEmpty() || map(did.get(0)).containsKey("opened")) {
            list(given.get("do")).forEach(step -> did.add(perform(map(step))));
        }
        return did;
    }

    @Override
    public void close() {
        if (isForgotten) {
            return;
        }
        for (AutoCloseable each : Arrays.<AutoCloseable>asList(server, coprocess, suite == null ? null : suite::close)) {
            try {
                if (each != null) {
                    each.close();
                }
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }
    }

    // Opening

    private Map<String, Object> open() {
        List<String> command = strings(given.get("command"));
        if (given.get("open").equals("suite")) {
            suite = new Loader(Path.of((String) given.get("file")));
            return entry("opened", suite.binaryVersion());
        }
        if (given.get("open").equals("connect")) {
            Map<String, Object> options = map(given.getOrDefault("options", Map.of()));
            server = command.isEmpty() ? McpServer.at((String) options.get("url")) : McpServer.command(command);
            options.forEach(this::setOption);
            server.start();
            return entry("opened", server.binaryVersion());
        }
        Duration limit = given.containsKey("timeout_ms") ? millis(given.get("timeout_ms")) : Duration.ofSeconds(60);
        coprocess = new Coprocess(
                List.of("--connection-server", "--server-command", Words.join(command)), Map.of(), limit).shakeHands();
        // The calls of a server over a connection that is not initialized.
        server = McpServer.over(coprocess);
        return entry("opened", coprocess.binaryVersion());
    }

    private void setOption(String name, Object value) {
        switch (name) {
            case "timeout_ms" -> server.timeout(millis(value));
            case "start_timeout_ms" -> server.startTimeout(millis(value));
            case "revision" -> server.revision((String) value);
            case "cache" -> server.cache(cacheMode(value));
            case "record" -> server.record(Path.of((String) value));
            case "replay" -> server.replay(Path.of((String) value));
            case "cwd" -> server.cwd(Path.of((String) value));
            case "env" -> map(value).forEach((key, text) -> {
                if (strings(map(given.get("options")).get("secrets")).contains(key)) {
                    server.secret(key, (String) text);
                } else {
                    server.env(key, (String) text);
                }
            });
            case "secrets" -> { }
            case "url" -> server.url((String) value);
            case "bearer_env" -> server.bearerEnv((String) value);
            case "header_env" -> map(value).forEach((key, text) -> server.headerEnv(key, (String) text));
            case "ca_file" -> server.caFile(Path.of((String) value));
            default -> throw new IllegalStateException("there is no option " + name);
        }
    }

    // Steps

    private interface Work {
        Map<String, Object> run() throws InterruptedException;
    }

    private Map<String, Object> perform(Map<String, Object> step) {
        sleep(step.getOrDefault("after_ms", 0));
        if (step.containsKey("parallel")) {
            return entry("parallel", performAll(list(step.get("parallel"))));
        }
        if (!step.containsKey("cancel_ms")) {
            return attempt(() -> ask(step));
        }
        Thread caller = Thread.currentThread();
        Thread canceller = new Thread(() -> {
            try {
                Thread.sleep(millis(step.get("cancel_ms")).toMillis());
                caller.interrupt();
            } catch (InterruptedException error) {
                // The call was over before.
            }
        });
        canceller.setDaemon(true);
        canceller.start();
        Map<String, Object> did = attempt(() -> ask(step));
        canceller.interrupt();
        Thread.interrupted();
        return did;
    }

    private List<Object> performAll(List<?> steps) {
        Object[] did = new Object[steps.size()];
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < did.length; number++) {
            int at = number;
            threads.add(new Thread(() -> did[at] = perform(map(steps.get(at)))));
            threads.get(at).setDaemon(true);
            threads.get(at).start();
        }
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
        return Arrays.asList(did);
    }

    private static Map<String, Object> attempt(Work work) {
        try {
            return work.run();
        } catch (McptestException | IllegalArgumentException | CancellationException | InterruptedException error) {
            Map<String, Object> found = entry("kind", kind(error), "message", error.getMessage());
            if (error instanceof McptestException.Refused refused) {
                found.putAll(entry("code", refused.code(), "said", refused.said()));
                found.put("data", refused.data());
            }
            return entry("error", found);
        }
    }

    private static String kind(Exception error) {
        Map<Class<?>, String> kinds = new HashMap<>();
        kinds.put(McptestException.Binary.class, "binary");
        kinds.put(McptestException.Timeout.class, "timeout");
        kinds.put(McptestException.Contract.class, "contract");
        kinds.put(McptestException.Version.class, "version");
        kinds.put(McptestException.Closed.class, "closed");
        kinds.put(McptestException.Upstream.class, "upstream");
        kinds.put(McptestException.UpstreamGone.class, "upstream_gone");
        kinds.put(McptestException.Refused.class, "refused");
        kinds.put(CancellationException.class, "cancelled");
        kinds.put(IllegalArgumentException.class, "arguments");
        return kinds.getOrDefault(error.getClass(), error.getClass().getName());
    }

    private Map<String, Object> ask(Map<String, Object> step) throws InterruptedException {
        String verb = step.keySet().stream().filter(key -> !key.endsWith("_ms")).findFirst().orElseThrow();
        Object asked = step.get(verb);
        Map<String, Object> with = asked instanceof Map<?, ?> ? map(asked) : Map.of();
        switch (verb) {
            case "request":
                return entry("result", coprocess.request((String) with.get("method"), nullable(with.get("params"))));
            case "call":
                return verdict(with.containsKey("arguments")
                        ? server.callTool((String) with.get("tool"), map(with.get("arguments")))
                        : server.callTool((String) with.get("tool")));
            case "bad_call":
                return verdict(server.callTool((String) with.get("tool"), Map.of("degrees", List.of(1, Double.NaN))));
            case "list_tools":
                return entry("result", server.listTools());
            case "list_resources":
                return entry("result", server.listResources());
            case "read_resource":
                return entry("result", server.readResource((String) with.get("uri")));
            case "get_prompt":
                return entry("result", with.containsKey("arguments")
                        ? server.getPrompt((String) with.get("name"), map(with.get("arguments")))
                        : server.getPrompt((String) with.get("name")));
            case "initialize":
                return entry("result", server.initialize());
            case "set_cache":
                server.setCache(cacheMode(with.get("mode")));
                return entry("result", null);
            case "set_cassette":
                String mode = ((String) with.get("mode")).toUpperCase(Locale.ROOT);
                Path path = with.containsKey("path") ? Path.of((String) with.get("path")) : null;
                server.setCassette(McpServer.CassetteMode.valueOf(mode), path);
                return entry("result", null);
            case "upload_to":
                server.uploadTo((String) with.get("target"));
                return entry("result", null);
            case "flush":
                return entry("result", server.flush());
            case "stop_uploads":
                server.stopUploads();
                return entry("result", null);
            case "list":
                return entry("result", describe(suite.list()));
            case "run":
                return entry("result", describe(suite.run((String) with.get("id"))));
            case "close":
                close();
                return entry("closed", true);
            case "forget":
                isForgotten = true;
                FORGOTTEN.add(this);
                return entry("forgotten", true);
            case "lanes":
                return entry("result", CollectedTest.UNSUPPORTED_LANES);
            case "lane":
                String lane = (String) with.get("lane");
                return entry("result", with.containsKey("suite")
                        ? Loader.laneCliHint(lane, (String) with.get("suite"))
                        : Loader.laneCliHint(lane));
            case "quote":
                return entry("result", Words.join(strings(asked)));
            case "split":
                return entry("result", Coprocess.splitBinary((String) asked));
            default:
                return entry("error", entry("kind", "unsupported", "message", "there is no " + verb));
        }
    }

    // Values

    private static Map<String, Object> verdict(Verdict verdict) {
        Map<String, Object> found = entry("success", verdict.success(), "text", verdict.text(), "data", verdict.data());
        found.putAll(entry("error", verdict.error(), "duration_ms", verdict.durationMs(), "raw", verdict.raw()));
        return entry("verdict", found);
    }

    private static Map<String, Object> describe(Loader.Listing listing) {
        List<Object> tests = new ArrayList<>();
        for (CollectedTest test : listing.tests()) {
            Map<String, Object> found = entry("id", test.id(), "server", test.server(), "name", test.name());
            found.putAll(entry("file", test.file(), "line", test.line(), "tags", test.tags()));
            found.putAll(entry("skip", test.skip(), "limit_ms", test.limitMs()));
            tests.add(found);
        }
        List<Object> lanes = new ArrayList<>();
        listing.lanes().forEach(lane -> lanes.add(entry("lane", lane.lane(), "line", lane.line())));
        List<Object> left = new ArrayList<>();
        listing.left().forEach(each -> left.add(entry("name", each.name(), "reason", each.reason())));
        Map<String, Object> found = entry("file", listing.file(), "tests", tests, "lanes", lanes);
        found.putAll(entry("left", left, "warnings", listing.warnings()));
        return found;
    }

    private static Map<String, Object> describe(Loader.Outcome outcome) {
        Map<String, Object> found = entry("status", outcome.status(), "text", outcome.text(), "file", outcome.file());
        found.putAll(entry("line", outcome.line(), "duration_ms", outcome.durationMs(), "notes", outcome.notes()));
        return found;
    }

    private static Map<String, Object> entry(Object... namesAndValues) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (int at = 0; at < namesAndValues.length; at += 2) {
            found.put((String) namesAndValues[at], namesAndValues[at + 1]);
        }
        return found;
    }

    private static Map<String, Object> map(Object value) {
        return Coprocess.object(value, "the kit");
    }

    private static Map<String, Object> nullable(Object value) {
        return value == null ? null : map(value);
    }

    private static List<?> list(Object value) {
        return (List<?>) value;
    }

    private static List<String> strings(Object value) {
        List<String> found = new ArrayList<>();
        if (value != null) {
            list(value).forEach(each -> found.add((String) each));
        }
        return found;
    }

    private static McpServer.CacheMode cacheMode(Object name) {
        return McpServer.CacheMode.valueOf(((String) name).toUpperCase(Locale.ROOT));
    }

    private static Duration millis(Object value) {
        return Duration.ofMillis(((Number) value).longValue());
    }

    private static void sleep(Object ms) {
        try {
            Thread.sleep(millis(ms).toMillis());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
