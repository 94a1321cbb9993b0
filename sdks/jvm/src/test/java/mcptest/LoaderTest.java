package mcptest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectUniqueId;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestIdentifier;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/** Suites in JUnit. The classes inside are run by JUnit inside of these tests. */
class LoaderTest {
    private static final String SUITE = String.join("\n",
            "name: shelves",
            "servers:",
            "  left: {command: [python3, %1$s, %2$s/left]}",
            "  right: {command: [python3, %1$s, %2$s/right]}",
            "tools:",
            "  - {name: adds, server: left, tool: add_book, args: {title: Emma}, tags: [quick],",
            "     expect: [{target: result.structuredContent.id, matcher: {exact: 1}}]}",
            "  - {name: breaks, server: left, tool: crash, args: {},",
            "     expect: [{target: result.isError, matcher: {exact: false}}]}",
            "  - {name: misses, server: right, tool: find_book, args: {id: 7},",
            "     expect: [{target: result.isError, matcher: {exact: false}}]}",
            "  - {name: waits, server: right, tool: add_book, args: {title: Emma}, skip: not before June,",
            "     expect: [{target: result.isError, matcher: {exact: false}}]}",
            "agents:",
            "  - {name: recommends, server: left, prompt: Recommend a book.}",
            "");

    private static Path folder;
    private static Path file;

    @BeforeEach
    void write(@TempDir Path temporary) throws IOException {
        folder = temporary;
        file = Files.writeString(temporary.resolve("mcptest.yaml"), String.format(SUITE, Fixtures.SERVER, temporary));
    }

    @AfterEach
    void clear() {
        System.clearProperty(Loader.ONLY);
    }

    static class Suite {
        @TestFactory
        Stream<DynamicNode> suite() {
            return Loader.suite(file);
        }
    }

    static class Quick {
        @TestFactory
        Stream<DynamicNode> suite() {
            return Loader.suite(file, test -> test.tags().contains("quick"));
        }
    }

    /** The servers that were started: how often the left one, and the right one. */
    private static List<Integer> starts() throws IOException {
        List<Long> left = Fixtures.started(folder.resolve("left"));
        List<Long> right = Fixtures.started(folder.resolve("right"));
        assertTrue(Fixtures.areGone(left) && Fixtures.areGone(right));
        return List.of(left.size(), right.size());
    }

    private static Fixtures.Results run(DiscoverySelector selected) {
        return Fixtures.run(List.of(selected));
    }

    @Test
    void everyTestOfTheFileIsATest() throws IOException {
        Fixtures.Results results = run(selectClass(Suite.class));
        assertEquals(
                Map.of("left::adds", "SUCCESSFUL", "right::misses", "FAILED", "left::breaks", "FAILED",
                        "right::waits", "ABORTED", "lanes::agents", "ABORTED"),
                results.statuses);
        assertEquals(List.of("left::adds", "left::breaks", "right::misses", "right::waits", "lanes::agents"),
                List.copyOf(results.statuses.keySet()));
        starts();
    }

    @Test
    void aFailureHasTheNameAndTheTextOfTheBinary() {
        Fixtures.Results results = run(selectClass(Suite.class));
        assertInstanceOf(AssertionFailedError.class, results.errors.get("right::misses"));
        Loader loader = new Loader(file);
        try {
            Loader.Outcome outcome = loader.run("right::misses");
            assertEquals("failed", outcome.status());
            assertTrue(outcome.text().contains("result.isError: differs") && outcome.text().endsWith("mcptest.yaml:10"));
            assertEquals("right::misses\n" + outcome.text(), results.message("right::misses"));
        } finally {
            loader.close();
        }
        StackTraceElement[] stack = results.errors.get("right::misses").getStackTrace();
        assertEquals("mcptest.yaml:10", Path.of(stack[0].getFileName()).getFileName() + ":" + stack[0].getLineNumber());
    }

    @Test
    void reportsHaveTheClassOfATestAndItsName() {
        for (TestIdentifier test : run(selectClass(Suite.class)).tests) {
            // What surefire takes them from.
            MethodSource source = (MethodSource) test.getSource().orElseThrow();
            assertEquals(Suite.class.getName() + "#suite", source.getClassName() + "#" + source.getMethodName());
        }
    }

    @Test
    void theConsoleHasReasonsOfLanesAndGatesAndNoNoteTwice() throws IOException {
        Files.writeString(file, Files.readString(file) + "coverage: {tools: 80}\n");
        PrintStream console = System.err;
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
        Fixtures.Results results;
        try {
            results = run(selectClass(Suite.class));
        } finally {
            System.setErr(console);
        }
        assertTrue(results.message("right::misses").contains("note: the tool reported an error"));
        assertEquals(
                List.of("mcptest: lanes::agents: skipped: " + results.message("lanes::agents"),
                        "mcptest: coverage gate: skipped: " + results.message("coverage gate")),
                written.toString(StandardCharsets.UTF_8).lines().filter(line -> !line.startsWith("mcptest: warning")).toList());
        assertTrue(results.message("coverage gate").contains("; run: mcptest run "), results.message("coverage gate"));
    }

    @Test
    void aTestThatCannotBeCompletedIsAnError() {
        Throwable error = run(selectClass(Suite.class)).errors.get("left::breaks");
        assertInstanceOf(McptestException.Incomplete.class, error);
        assertTrue(error.getMessage().startsWith("left::breaks\n") && error.getMessage().contains("exit status 3"));
    }

    @Test
    void aSkippedTestAndALaneHaveTheirReasons() {
        Fixtures.Results results = run(selectClass(Suite.class));
        assertInstanceOf(TestAbortedException.class, results.errors.get("right::waits"));
        assertTrue(results.message("right::waits").contains("not before June"), results.message("right::waits"));
        assertTrue(results.message("lanes::agents").startsWith(
                "lane \"agents\" is not drivable over the SDK channel; run: mcptest run "));
    }

    @Test
    void oneTestChosenByItsNameStartsOnlyItsServer() throws IOException {
        System.setProperty(Loader.ONLY, "left::adds");
        assertEquals(Map.of("left::adds", "SUCCESSFUL"), run(selectClass(Suite.class)).statuses);
        assertEquals(List.of(1, 0), starts());
    }

    @Test
    void oneTestChosenInAnEditorStartsOnlyItsServer() throws IOException {
        String factory = "[engine:junit-jupiter]/[class:mcptest.LoaderTest$Suite]/[test-factory:suite()]";
        assertEquals(Map.of("right::misses", "FAILED"), run(selectUniqueId(factory + "/[dynamic-test:#3]")).statuses);
        assertEquals(List.of(0, 1), starts());
    }

    @Test
    void testsAreChosenByTheirTagsAndLanesStay() {
        assertEquals(Map.of("left::adds", "SUCCESSFUL", "lanes::agents", "ABORTED"), run(selectClass(Quick.class)).statuses);
    }

    @Test
    void aNameThatNoTestHasIsAFailure() throws IOException {
        System.setProperty(Loader.ONLY, "ads");
        Fixtures.Results results = run(selectClass(Suite.class));
        assertTrue(results.message("suite()").contains("mcptest.only=ads is in the name of no test"));
        assertEquals(List.of(0, 0), starts());
    }

    @Test
    void aNameThatOnlyALaneHasIsAFailure() {
        System.setProperty(Loader.ONLY, "agents");
        String message = run(selectClass(Suite.class)).message("suite()");
        assertTrue(message.contains("mcptest.only=agents is in the name of no test"), message);
    }

    static class None {
        @TestFactory
        Stream<DynamicNode> suite() {
            return Loader.suite(file, test -> test.tags().contains("quikc"));
        }
    }

    @Test
    void aChoiceOfNoTestIsAFailureInSpiteOfLanesAndGates() throws IOException {
        Files.writeString(file, Files.readString(file) + "coverage: {tools: 80}\n");
        Fixtures.Results results = run(selectClass(None.class));
        assertEquals(Map.of("suite()", "FAILED"), results.statuses);
        assertTrue(results.message("suite()").endsWith("mcptest.yaml was chosen"), results.message("suite()"));
        assertEquals(List.of(0, 0), starts());
    }

    static class Unbroken {
        @TestFactory
        Stream<DynamicNode> suite() {
            // After the server has crashed, the outcome of the others depends on their order.
            return Loader.suite(file, test -> !test.name().equals("breaks"));
        }
    }

    @Test
    void testsMayRunInParallel() throws IOException {
        Fixtures.Results results = Fixtures.run(List.of(selectClass(Unbroken.class)),
                "junit.jupiter.execution.parallel.enabled", "true",
                "junit.jupiter.execution.parallel.mode.default", "concurrent");
        assertEquals(
                Map.of("left::adds", "SUCCESSFUL", "right::misses", "FAILED", "right::waits", "ABORTED", "lanes::agents", "ABORTED"),
                results.statuses);
        assertEquals(List.of(1, 1), starts());
    }

    @Test
    void allMistakesInTheFileAreReported() throws IOException {
        Files.writeString(file, "name: a\nserver: {command: [b]}\ntools:\n  - {nam: a}\n  - {nam: b}\n");
        String message = run(selectClass(Suite.class)).message("suite()");
        assertTrue(message.contains("mcptest.yaml:4") && message.contains("mcptest.yaml:5"), message);
    }

    @Test
    void aFileThatIsNotThereIsReported() {
        file = folder.resolve("missing.yaml");
        String message = run(selectClass(Suite.class)).message("suite()");
        assertTrue(message.contains("missing.yaml"), message);
    }

    @Test
    void aStreamThatIsClosedEarlyStopsTheServersAndALateTestStartsThemAgain() throws Throwable {
        List<DynamicNode> nodes = new ArrayList<>();
        try (Stream<DynamicNode> suite = Loader.suite(file)) {
            suite.forEach(nodes::add);
            ((DynamicTest) nodes.get(0)).getExecutable().execute();
        }
        assertEquals(5, nodes.size());
        assertEquals(List.of(1, 0), starts());
        ((DynamicTest) nodes.get(0)).getExecutable().execute();
        assertEquals(List.of(2, 0), starts());
    }
}
