package mcptest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import mcptest.McpServer.CacheMode;
import mcptest.McpServer.CassetteMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Calls of a real server through the real binary. */
class McpServerTest {
    @RegisterExtension
    static final McpServer server = McpServer.command("python3", Fixtures.SERVER);

    @TempDir
    Path folder;

    private McpServer other() {
        return McpServer.command("python3", Fixtures.SERVER, folder.resolve("log").toString());
    }

    @Test
    void aVerdictHasTheAnswer() {
        Verdict added = server.callTool("add_book", Map.of("title", "Dubliners"));
        assertTrue(added.success());
        assertEquals("Dubliners", added.text());
        assertNull(added.error());
        int id = (int) added.data("id");
        assertEquals("Dubliners", added.data("shelf", id - 1, "title"));
        assertEquals(added.data(), added.raw().get("structuredContent"));
        assertTrue(added.durationMs() > 0 && added.duration().compareTo(Duration.ofSeconds(30)) < 0);
        assertEquals("Dubliners", server.callTool("find_book", Map.of("id", id)).text());
    }

    @Test
    void aPathIntoDataThatIsNotThereSaysWhatIs() {
        Verdict added = server.callTool("add_book", Map.of("title", "Emma"));
        String message = assertThrows(NoSuchElementException.class, () -> added.data("shelf", 99)).getMessage();
        assertTrue(message.startsWith("data.shelf has no 99: it is [{"), message);
    }

    @Test
    void anErrorOfAToolIsAVerdict() {
        Verdict missing = server.callTool("find_book", Map.of("id", 1000));
        assertFalse(missing.success());
        assertEquals("there is no book 1000", missing.error());
    }

    @Test
    void aRequestThatTheServerRefusesIsUpstream() {
        var error = assertThrows(McptestException.Upstream.class, () -> server.callTool("no_such_tool"));
        assertEquals(-32000, error.code());
        assertEquals(-32602, error.serverCode());
        assertEquals("", error.kind());
        assertTrue(error.getMessage().contains("no such tool"), error.getMessage());
    }

    @Test
    void listsResourcesAndPrompts() {
        assertTrue(server.listTools().stream().anyMatch(tool -> tool.get("name").equals("add_book")));
        assertEquals("shelf://all", server.listResources().get(0).get("uri"));
        assertTrue(server.readResource("shelf://all").containsKey("contents"));
        assertTrue(server.getPrompt("recommend", Map.of("who", "Ada")).toString().contains("a book to Ada."));
        assertTrue(server.getPrompt("recommend").toString().contains("a book to me."));
        assertEquals("shelf", ((Map<?, ?>) server.initialize().get("serverInfo")).get("name"));
        assertFalse(server.binaryVersion().isEmpty());
    }

    @Test
    void argumentsThatJsonCannotExpressAreRefusedWithTheirPlace() {
        Map<String, Object> self = new HashMap<>();
        self.put("self", self);
        checkRefused(List.of(1, Double.NaN), "arguments.a[1] is NaN");
        checkRefused(new float[] {Float.POSITIVE_INFINITY}, "arguments.a[0] is Infinity");
        checkRefused(Map.of(1, 2), "arguments.a has a key that is not a string: 1");
        checkRefused(Duration.ZERO, "arguments.a is a java.time.Duration");
        // A path is made of paths.
        checkRefused(Path.of("a"), "which JSON cannot express");
        checkRefused(self, "contain itself?");
        assertTrue(server.callTool("describe").success());
    }

    private static void checkRefused(Object value, String reason) {
        var error = assertThrows(IllegalArgumentException.class, () -> server.callTool("add_book", Map.of("a", value)));
        assertTrue(error.getMessage().contains(reason), error.getMessage());
    }

    @Test
    void aServerThatExitsIsGone() {
        try (McpServer shelf = other().start()) {
            var gone = assertThrows(McptestException.UpstreamGone.class, () -> shelf.callTool("crash"));
            assertEquals(3, gone.exitCode());
            assertEquals("exited_during_call", gone.kind());
            assertNull(gone.serverCode());
            assertNull(gone.signal());
            assertEquals("exit status 3", gone.exitStatus());
            assertEquals("out of paper", gone.stderr().strip());
            assertTrue(gone.getMessage().contains("out of paper"), gone.getMessage());
            assertThrows(McptestException.UpstreamGone.class, () -> shelf.callTool("describe"));
        }
    }

    @Test
    void aServerThatCannotStartIsReportedByStart() {
        McpServer missing = McpServer.command("no-such-server-anywhere");
        var error = assertThrows(McptestException.UpstreamGone.class, missing::start);
        assertTrue(error.getMessage().contains("no-such-server-anywhere"), error.getMessage());
        assertThrows(McptestException.Closed.class, missing::listTools);
    }

    @Test
    void optionsReachTheServer() throws Exception {
        Path shop = Files.createDirectory(folder.resolve("shop"));
        McpServer shelf = other().cwd(shop).env("CITY", "Ærø").secret("SHOP_TOKEN", "hunter2-hunter2")
                .timeout(Duration.ofSeconds(5)).startTimeout(Duration.ofSeconds(30)).revision("2025-06-18");
        try (shelf) {
            shelf.start();
            assertEquals("Ærø hunter2-hunter2 shop", shelf.callTool("describe").text());
            assertEquals("2025-06-18", shelf.initialize().get("protocolVersion"));
        }
    }

    @Test
    void theLimitOfAnAnswerIsThatOfTheBinary() {
        try (McpServer shelf = other().timeout(Duration.ofMillis(300)).start()) {
            var error = assertThrows(McptestException.Upstream.class, () -> shelf.callTool("hang"));
            assertTrue(error.getMessage().contains("may have taken effect"), error.getMessage());
            assertEquals("timeout", error.kind());
            assertNull(error.serverCode());
        }
    }

    @Test
    void optionsThatMakeNoSenseAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> McpServer.command());
        assertThrows(IllegalArgumentException.class, () -> McpServer.command("a\0b"));
        assertThrows(IllegalArgumentException.class, () -> McpServer.at(""));
        assertThrows(IllegalArgumentException.class, () -> other().timeout(Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> other().timeout(ChronoUnit.FOREVER.getDuration()));
        assertThrows(IllegalArgumentException.class, () -> other().record(folder).replay(folder));
        assertThrows(IllegalStateException.class, () -> server.timeout(Duration.ofSeconds(1)));
        assertThrows(IllegalStateException.class, () -> server.start());
        var error = assertThrows(IllegalStateException.class, () -> other().callTool("describe"));
        assertTrue(error.getMessage().contains("@RegisterExtension"), error.getMessage());
        assertTrue(error.getMessage().contains("so callTool cannot be used"), error.getMessage());
        assertThrows(IllegalArgumentException.class, () -> other().env("A=B", "c"));
        checkNull("the value of the variable CITY is null", () -> other().env("CITY", null));
        checkNull("the value of the variable TOKEN is null", () -> other().secret("TOKEN", null));
        checkNull("the name of a variable is null", () -> other().env(null, "Paris"));
        checkNull("the working folder is null", () -> other().cwd(null));
        checkNull("a revision is null", () -> other().revision(null));
    }

    private static void checkNull(String message, Executable option) {
        assertEquals(message, assertThrows(NullPointerException.class, option).getMessage());
    }

    @Test
    void aMistakeInAnOptionIsSaidFirstAndByItsNameInJava() {
        checkMistake("cwd(…): there is no folder '/no/where'\n", other().cwd(Path.of("/no/where")));
        checkMistake("revision(…) takes auto or one of ", other().revision("2020"));
        checkMistake("bearerEnv(…) is for servers on HTTP; give url(…) as well\n", other().bearerEnv("HOME"));
        checkMistake("bearerEnv(…) names the environment variable 'NOT_SET', which is not set\n",
                McpServer.at("http://127.0.0.1:1/mcp").bearerEnv("NOT_SET"));
        checkMistake("caFile(…): there is no file '/no/where'\n",
                McpServer.at("http://127.0.0.1:1/mcp").caFile(Path.of("/no/where")));
        checkMistake("env(…) is for a server that is started", McpServer.at("http://127.0.0.1:1/mcp").env("CITY", "Paris"));
    }

    private static void checkMistake(String begin, McpServer mistaken) {
        String message = assertThrows(McptestException.Binary.class, mistaken::start).getMessage();
        assertTrue(message.startsWith(begin), message);
        assertTrue(message.endsWith("\n(the mcptest binary ended before it answered coprocess/handshake: exit status 2)"), message);
    }

    @Test
    void hintsNameOptionsInJava() {
        McpServer slow = McpServer.command("sleep", "60").startTimeout(Duration.ofMillis(300));
        var error = assertThrows(McptestException.UpstreamGone.class, slow::start);
        assertEquals("handshake_timeout", error.kind());
        assertTrue(error.getMessage().contains("the limit is startTimeout(…)"), error.getMessage());
        assertFalse(error.getMessage().contains("--start-timeout"), error.getMessage());
        assertEquals("leave out revision(…), or give revision(\"2026-07-28\")",
                Words.inJava("leave out --spec-version, or give --spec-version 2026-07-28"));
    }

    @Test
    void aLongCommandIsShortenedInMessages() {
        String classPath = "lib/a-long-name.jar:".repeat(500);
        try (McpServer shelf = McpServer.command("python3", Fixtures.SERVER, folder.resolve("log").toString(), classPath).start()) {
            for (int each = 0; each < 3; each++) {
                var error = assertThrows(McptestException.UpstreamGone.class, () -> shelf.callTool("crash"));
                String shown = error.getMessage().lines().filter(line -> line.startsWith("  command  ")).findFirst().orElseThrow();
                assertTrue(shown.startsWith("  command  python3 ") && shown.length() < 300, shown);
            }
        }
    }

    @Test
    void aServerIsShownWithoutItsSecrets() {
        assertEquals("McpServer(python3 shelf_server.py)", McpServer.command("python3", "shelf_server.py").toString());
        assertEquals("McpServer(shelf --key=[secret])",
                McpServer.command("shelf", "--key=hunter2's").secret("KEY", "hunter2's").secret("NONE", "").toString());
        assertEquals("McpServer(https://host:1/mcp)", McpServer.at("https://me:hunter2@host:1/mcp?key=hunter2").toString());
    }

    @Test
    void aCassetteIsReplayedWithoutTheServer() throws Exception {
        Path cassette = folder.resolve("calls.ndjson");
        try (McpServer shelf = other().record(cassette).start()) {
            shelf.callTool("add_book", Map.of("title", "Emma"));
        }
        assertEquals(1, Fixtures.started(folder.resolve("log")).size());
        try (McpServer shelf = other().replay(cassette).start()) {
            assertEquals(1, shelf.callTool("add_book", Map.of("title", "Emma")).data("id"));
            assertThrows(McptestException.Upstream.class, () -> shelf.callTool("add_book", Map.of("title", "Ulysses")));
            shelf.setCassette(CassetteMode.OFF, null);
        }
        assertEquals(1, Fixtures.started(folder.resolve("log")).size());
    }

    @Test
    void callsAreUploadedAndCached() throws Exception {
        Path calls = folder.resolve("calls.ndjson");
        try (McpServer shelf = other().start()) {
            shelf.setCache(CacheMode.OFF);
            shelf.uploadTo("file:" + calls);
            shelf.callTool("add_book", Map.of("title", "Emma"));
            assertEquals(1, shelf.flush());
            shelf.stopUploads();
            shelf.callTool("add_book", Map.of("title", "Ulysses"));
            assertEquals(0, shelf.flush());
        }
        assertEquals(1, Files.readAllLines(calls).size());
        var error = assertThrows(McptestException.Refused.class, () -> server.uploadTo("nowhere"));
        assertEquals(-32602, error.code());
    }

    @Test
    void threadsShareAServer() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try (McpServer shelf = other().start()) {
            List<Future<Object>> ids = new ArrayList<>();
            for (int each = 0; each < 40; each++) {
                String title = "book " + each;
                ids.add(threads.submit(() -> {
                    Verdict added = shelf.callTool("add_book", Map.of("title", title));
                    assertEquals(title, added.text());
                    return added.data("id");
                }));
            }
            List<Integer> found = new ArrayList<>();
            for (Future<Object> id : ids) {
                found.add((Integer) id.get());
            }
            Collections.sort(found);
            assertEquals(40, found.get(39));
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void anInterruptedCallStopsTheServer() throws Exception {
        McpServer shelf = other().start();
        Thread caller = Thread.currentThread();
        Thread interrupter = new Thread(() -> {
            Fixtures.waitUntil(() -> false, 300);
            caller.interrupt();
        });
        interrupter.start();
        assertThrows(CancellationException.class, () -> shelf.callTool("hang"));
        assertTrue(Thread.interrupted(), "the thread is still interrupted");
        assertTrue(Fixtures.areGone(Fixtures.started(folder.resolve("log"))));
        var error = assertThrows(McptestException.Closed.class, () -> shelf.callTool("describe"));
        assertTrue(error.getMessage().contains("mcp.call was interrupted"), error.getMessage());
        shelf.close();
    }

    @Test
    void aCallThatIsInterruptedBeforeItsTurnLeavesTheServerAlone() throws Exception {
        try (McpServer shelf = other().start()) {
            Thread.currentThread().interrupt();
            assertThrows(CancellationException.class, () -> shelf.callTool("describe"));
            assertTrue(Thread.interrupted());
            assertTrue(shelf.callTool("describe").success());
        }
    }

    @Test
    void closingStopsTheServerAndItCanBeStartedAgain() throws Exception {
        McpServer shelf = other().start();
        shelf.close();
        shelf.close();
        assertTrue(Fixtures.areGone(Fixtures.started(folder.resolve("log"))));
        var error = assertThrows(McptestException.Closed.class, () -> shelf.callTool("describe"));
        assertTrue(error.getMessage().contains("mcp.call was not sent"), error.getMessage());
        try (shelf) {
            shelf.start();
            assertTrue(shelf.callTool("describe").success());
        }
        assertEquals(2, Fixtures.started(folder.resolve("log")).size());
    }

    @Test
    void closingWithTheThreadInterruptedKillsAndReturns() throws Exception {
        McpServer shelf = other().start();
        Thread.currentThread().interrupt();
        shelf.close();
        assertTrue(Thread.interrupted());
        assertTrue(Fixtures.areGone(Fixtures.started(folder.resolve("log"))));
    }

    @Test
    void theVersionIsThatOfThePackage() {
        assertEquals(System.getProperty("mcptest.version"), Coprocess.SDK_VERSION);
    }
}
