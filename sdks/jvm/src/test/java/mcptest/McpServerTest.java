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
        assertEquals(-32602, ((Map<?, ?>) error.data()).get("code"));
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
    }

    @Test
    void aBadCommandLineIsShown() {
        McpServer shelf = other().bearerEnv("HOME");
        var error = assertThrows(McptestException.Binary.class, shelf::start);
        assertTrue(error.getMessage().contains("exit status 2") && error.getMessage().contains("--url"), error.getMessage());
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
