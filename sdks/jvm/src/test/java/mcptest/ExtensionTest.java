package mcptest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.platform.engine.DiscoverySelector;

/** When JUnit starts and stops a server. The classes inside are run by JUnit inside of these tests. */
class ExtensionTest {
    private static final Path LOG = Path.of("target", "extension.log").toAbsolutePath();

    @BeforeEach
    @AfterEach
    void removeLog() throws IOException {
        Files.deleteIfExists(LOG);
    }

    private static McpServer shelf() {
        return McpServer.command("python3", Fixtures.SERVER, LOG.toString());
    }

    private static Fixtures.Results run(int starts, DiscoverySelector... selected) throws IOException {
        Fixtures.Results results = Fixtures.run(List.of(selected));
        assertEquals(starts, Fixtures.started(LOG).size(), results.errors.toString());
        assertTrue(Fixtures.areGone(Fixtures.started(LOG)));
        return results;
    }

    static class Static {
        @RegisterExtension
        static final McpServer server = shelf();

        @Test
        void first() {
            server.callTool("add_book", Map.of("title", "Emma"));
        }

        @Test
        void second() {
            server.callTool("add_book", Map.of("title", "Emma"));
        }

        @Nested
        class Inner {
            @Test
            void third() {
                server.callTool("add_book", Map.of("title", "Emma"));
            }
        }
    }

    @Test
    void aStaticServerIsStartedOnceForAClassAndThoseInIt() throws IOException {
        assertEquals(List.of("SUCCESSFUL", "SUCCESSFUL", "SUCCESSFUL"),
                List.copyOf(run(1, selectClass(Static.class)).statuses.values()));
    }

    static class First extends Static {}

    static class Second extends Static {}

    @Test
    void aServerOfABaseClassIsStartedForEachClass() throws IOException {
        var results = run(2, selectMethod(First.class, "first"), selectMethod(Second.class, "second"));
        assertEquals(Map.of("first()", "SUCCESSFUL", "second()", "SUCCESSFUL"), results.statuses);
    }

    @Test
    void classesThatRunAtTheSameTimeShareTheServerOfTheirBaseClass() throws IOException {
        Fixtures.Results results = Fixtures.run(List.of(selectClass(First.class), selectClass(Second.class)),
                "junit.jupiter.execution.parallel.enabled", "true",
                "junit.jupiter.execution.parallel.mode.default", "concurrent");
        assertEquals(Map.of(), results.errors);
        assertTrue(Fixtures.areGone(Fixtures.started(LOG)));
    }

    static class PerTest {
        @RegisterExtension
        final McpServer server = shelf();

        @Test
        void first() {
            assertEquals(1, server.callTool("add_book", Map.of("title", "Emma")).data("id"));
        }

        @Test
        void second() {
            assertEquals(1, server.callTool("add_book", Map.of("title", "Emma")).data("id"));
        }
    }

    @Test
    void aServerOfAnInstanceIsStartedForEachTest() throws IOException {
        var results = run(2, selectClass(PerTest.class));
        assertEquals(Map.of("first()", "SUCCESSFUL", "second()", "SUCCESSFUL"), results.statuses);
    }

    @Test
    void oneTestChosenByItsNameStartsOneServer() throws IOException {
        assertEquals(Map.of("second()", "SUCCESSFUL"), run(1, selectMethod(PerTest.class, "second")).statuses);
    }

    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    static class OneInstance extends PerTest {
        @Override
        @Test
        void second() {
            assertTrue(server.callTool("describe").success());
        }

        @Override
        @Test
        void first() {
            assertTrue(server.callTool("describe").success());
        }
    }

    @Test
    void aServerOfTheOneInstanceOfAClassIsStartedOnce() throws IOException {
        var results = run(1, selectClass(OneInstance.class));
        assertEquals(Map.of("first()", "SUCCESSFUL", "second()", "SUCCESSFUL"), results.statuses);
    }

    static class Missing {
        @RegisterExtension
        static final McpServer server = McpServer.command("no-such-server-anywhere");

        @Test
        void never() {}
    }

    @Test
    void aServerThatCannotStartFailsItsClass() throws IOException {
        var results = run(0, selectClass(Missing.class));
        String name = results.errors.keySet().iterator().next();
        assertEquals(1, results.errors.size());
        assertTrue(results.message(name).contains("no-such-server-anywhere"), results.message(name));
    }

    static class Impatient {
        @RegisterExtension
        static final McpServer server = shelf();

        @Test
        @Timeout(1)
        void hangs() {
            server.callTool("hang");
        }
    }

    @Test
    void theTimeoutOfATestStopsTheServer() throws IOException {
        var results = run(1, selectClass(Impatient.class));
        assertTrue(results.message("hangs()").contains("timed out after 1 second"), results.message("hangs()"));
    }
}
