package mcptest;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import mcptest.McptestException.Contract;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.DynamicTest;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * Runs a suite, or anything else that {@code mcptest run} accepts, in JUnit. mcptest reads the file, starts its servers
 * and judges the answers.
 *
 * <pre>{@code
 * @TestFactory
 * Stream<DynamicNode> suite() {
 *     return Loader.suite(Path.of("mcptest.yaml"));
 * }
 * }</pre>
 */
public final class Loader {
    /** The system property that chooses tests by a part of their names. */
    static final String ONLY = "mcptest.only";

    private static final int LIST_VERSION = 1;
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration SLACK = Duration.ofSeconds(15);
    /** With its retries, a test may take longer than a day; no more can be said of a larger limit than that it is one. */
    private static final Duration MAX_LIMIT = Duration.ofDays(365);
    private static final Duration IDLE = Duration.ofSeconds(2);
    private static final Map<String, String> COMMANDS = Map.of(
            "compliance", "mcptest compliance run --from-suite %s", "evals", "mcptest eval %s");
    private static final Predicate<CollectedTest> EVERY = test -> true;
    private static final Set<String> STATUSES = Set.of("passed", "failed", "error", "skipped");

    /** What is in a file: {@code lanes} has the names, {@code left} what is judged for a whole run, with the reason. */
    record Listing(String file, List<CollectedTest> tests, List<Lane> lanes, List<Left> left, List<String> warnings) {}

    record Lane(String lane, int line) {}

    record Left(String name, String reason) {}

    /** What came of a test. */
    record Outcome(String status, String text, String file, int line, double durationMs, List<String> notes) {}

    private final Path file;
    private final Map<String, Duration> limits = new HashMap<>();
    private volatile Coprocess coprocess;

    // How far JUnit is.
    private int handedOut;
    private int running;
    private int finished;
    private boolean isOver;
    private Thread idle;
    private boolean isIdle;

    Loader(Path file) {
        this.file = file;
        open();
    }

    private void open() {
        coprocess = new Coprocess(List.of("--suite-server", file.toString()), Map.of(), LIMIT).shakeHands();
    }

    // JUnit

    /**
     * The tests of a file as dynamic tests, named by their ids. Lanes that an SDK cannot drive are skipped tests. JUnit
     * closes the stream after the last test, which stops the servers.
     *
     * <p>The system property {@code mcptest.only} chooses the tests whose names contain it: {@code mvn test
     * -Dmcptest.only=adds}. Only the servers of the tests that are run are started.
     */
    public static Stream<DynamicNode> suite(Path file) {
        return suite(file, EVERY);
    }

    /** The same with only those tests of the file that are chosen, by their tags for example. */
    public static Stream<DynamicNode> suite(Path file, Predicate<CollectedTest> choice) {
        Loader loader = new Loader(file);
        try {
            Listing listing = loader.list();
            listing.warnings().forEach(warning -> Coprocess.warn("warning: " + warning));
            List<DynamicNode> nodes = new ArrayList<>();
            Set<DynamicNode> tests = new HashSet<>();
            listing.tests().stream().filter(choice).forEach(test -> {
                // Without a URI for its place in the file: with one, reports of surefire do not have the class.
                nodes.add(DynamicTest.dynamicTest(displayName(test.id()), () -> loader.perform(test)));
                tests.add(nodes.get(nodes.size() - 1));
            });
            // Lanes and gates are skipped: without any test they would look like a success.
            if (nodes.isEmpty() && choice != EVERY) {
                throw new IllegalArgumentException("no test of " + listing.file() + " was chosen");
            }
            for (Lane lane : listing.lanes()) {
                nodes.add(skipped("lanes::" + lane.lane(), laneCliHint(lane.lane(), listing.file())));
            }
            listing.left().forEach(left -> nodes.add(skipped(left.name(), left.reason())));
            String only = System.getProperty(ONLY, "");
            nodes.removeIf(node -> !node.getDisplayName().contains(only));
            if (!only.isEmpty() && nodes.stream().noneMatch(tests::contains)) {
                throw new IllegalArgumentException(ONLY + "=" + only + " is in the name of no test of " + listing.file()
                        + "; to leave out this suite, choose another test class");
            }
            if (nodes.isEmpty()) {
                throw new IllegalArgumentException(listing.file() + " has no tests");
            }
            return nodes.stream().peek(node -> loader.handOut(tests.contains(node))).onClose(loader::finish);
        } catch (RuntimeException | Error error) {
            loader.close();
            throw error;
        }
    }

    private static String displayName(String name) {
        String shown = Words.visible(name, false);
        // JUnit refuses it.
        return shown.isBlank() ? "(blank)" : shown;
    }

    private static DynamicTest skipped(String name, String reason) {
        return DynamicTest.dynamicTest(displayName(name), () -> {
            // Maven shows only how many tests were skipped.
            Coprocess.warn(name + ": skipped: " + reason);
            throw new TestAbortedException(Words.visible(reason, true));
        });
    }

    // JUnit closes the stream after the last test; but if tests run in parallel, after the last one was handed out. Some
    // that were handed out are never run, because an editor has chosen others. So the servers are stopped when all tests
    // were run, or none for a while after the stream was closed. Should one come later still, the binary is started again.

    private synchronized void handOut(boolean isTest) {
        handedOut += isTest ? 1 : 0;
    }

    private void perform(CollectedTest test) {
        synchronized (this) {
            running++;
        }
        try {
            runTest(test);
        } finally {
            synchronized (this) {
                running--;
                finished++;
                closeIfIdle();
            }
        }
    }

    private synchronized void openAgain() {
        if (isIdle) {
            open();
            isIdle = false;
        }
    }

    private synchronized void finish() {
        isOver = true;
        closeIfIdle();
    }

    private void closeIfIdle() {
        if (!isOver || running > 0) {
            return;
        }
        if (finished >= handedOut) {
            closeIdle();
            return;
        }
        if (idle != null) {
            idle.interrupt();
        }
        int before = finished;
        idle = Coprocess.startThread("mcptest-idle", () -> {
            Thread.sleep(IDLE.toMillis());
            synchronized (this) {
                if (running == 0 && finished == before) {
                    closeIdle();
                }
            }
        });
    }

    private void closeIdle() {
        isIdle = true;
        close();
    }

    private void runTest(CollectedTest test) {
        // Surefire shows dynamic tests by number, so the message has the name.
        String name = displayName(test.id());
        Outcome outcome;
        try {
            openAgain();
            outcome = run(test.id());
        } catch (McptestException error) {
            throw new McptestException.Incomplete(name + "\n" + error.getMessage(), error);
        }
        String text = Words.visible(outcome.text(), true);
        if (outcome.status().equals("passed")) {
            // The text of a failure has them.
            outcome.notes().forEach(note -> Coprocess.warn(test.id() + ": " + note));
        }
        String message = name + "\n" + text;
        Throwable error;
        switch (outcome.status()) {
            case "passed":
                return;
            case "skipped":
                throw new TestAbortedException(text);
            case "failed":
                error = new AssertionFailedError(message);
                break;
            default:
                error = new McptestException.Incomplete(message);
        }
        // The place in the file; our own frames help nobody.
        error.setStackTrace(new StackTraceElement[] {
            new StackTraceElement(Words.visible(test.server(), false), Words.visible(test.name(), false),
                    Words.visible(outcome.file(), false), outcome.line())
        });
        throw Loader.<RuntimeException>unchecked(error);
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T unchecked(Throwable error) throws T {
        throw (T) error;
    }

    // Lanes

    /** Why a lane is skipped, with the command that runs it. */
    public static String laneCliHint(String lane) {
        return describeLane(lane, "<suite>");
    }

    /** Why a lane is skipped, with the command that runs it for the suite at this path. */
    public static String laneCliHint(String lane, String suite) {
        return describeLane(lane, Words.quote(suite));
    }

    private static String describeLane(String lane, String suite) {
        String command = String.format(COMMANDS.getOrDefault(lane, "mcptest run %s"), suite);
        return "lane \"" + lane + "\" is not drivable over the SDK channel; run: " + command;
    }

    // The suite channel

    String binaryVersion() {
        return coprocess.binaryVersion();
    }

    Listing list() {
        Object result = coprocess.request("suite.list", null);
        try {
            Listing listing = readListing(result);
            listing.tests().forEach(test -> limits.put(test.id(), limit(test)));
            return listing;
        } catch (McptestException error) {
            throw coprocess.fail(error);
        }
    }

    private static Duration limit(CollectedTest test) {
        double limitMs = Math.max(0, Math.min(test.limitMs(), MAX_LIMIT.toMillis()));
        return Duration.ofMillis((long) limitMs).plus(SLACK);
    }

    private static Listing readListing(Object result) {
        Object version = Coprocess.object(result, "suite.list").get("version");
        if (version instanceof Integer theirs && theirs != LIST_VERSION) {
            String advice = theirs < LIST_VERSION
                    ? "Upgrade the mcptest binary (or pin the SDK to the matching release)."
                    : "Upgrade the " + Coprocess.SDK + " SDK (or pin the mcptest binary to the matching release).";
            throw new McptestException.Version("mcptest binary speaks suite channel v" + theirs + "; this SDK needs v"
                    + LIST_VERSION + ". " + advice);
        }
        Members list = new Members(result, "suite.list", "version", "file", "tests", "lanes", "left", "warnings");
        list.integer("version");
        List<CollectedTest> tests = new ArrayList<>();
        Set<String> ids = new HashSet<>();
        for (Object entry : list.list("tests")) {
            Members test = new Members(
                    entry, "suite.list", "id", "server", "name", "file", "line", "tags", "skip", "limit_ms");
            tests.add(new CollectedTest(test.string("id"), test.string("server"), test.string("name"), test.string("file"),
                    test.integer("line"), test.strings("tags"), test.string("skip"), test.number("limit_ms")));
            if (!ids.add(test.string("id"))) {
                throw Contract.drift("suite.list has two tests with the id " + Words.quoteLine(test.string("id")));
            }
        }
        List<Lane> lanes = new ArrayList<>();
        for (Object entry : list.list("lanes")) {
            Members lane = new Members(entry, "suite.list", "lane", "line");
            lanes.add(new Lane(lane.string("lane"), lane.integer("line")));
        }
        List<Left> left = new ArrayList<>();
        for (Object entry : list.list("left")) {
            Members each = new Members(entry, "suite.list", "name", "reason");
            left.add(new Left(each.string("name"), each.string("reason")));
        }
        return new Listing(list.string("file"), tests, lanes, left, list.strings("warnings"));
    }

    /** Runs one test; waits for the time that the list says, and a little more. */
    Outcome run(String id) {
        Object result = coprocess.request("suite.run", Map.of("id", id), limits.getOrDefault(id, LIMIT));
        Members outcome = new Members(result, "suite.run", "status", "text", "file", "line", "duration_ms", "notes");
        if (!STATUSES.contains(outcome.string("status"))) {
            throw Contract.drift("the result of suite.run has no status " + Words.quoteLine(outcome.string("status")));
        }
        return new Outcome(outcome.string("status"), outcome.string("text"), outcome.string("file"),
                outcome.integer("line"), outcome.number("duration_ms"), outcome.strings("notes"));
    }

    /** Stops the servers. */
    void close() {
        coprocess.close();
    }

    /** An object with these members and no others, read with the types that they must have. */
    private static final class Members {
        private final Map<String, Object> members;
        private final String method;

        Members(Object value, String method, String... names) {
            members = Coprocess.object(value, method);
            this.method = method;
            for (String name : members.keySet()) {
                if (!List.of(names).contains(name)) {
                    throw Contract.drift("the result of " + method + " has a member that is not declared, "
                            + Words.quoteLine(Json.write(name)));
                }
            }
            for (String name : names) {
                if (!members.containsKey(name)) {
                    throw Contract.drift("the result of " + method + " has no \"" + name + "\": " + quote(members));
                }
            }
        }

        String string(String name) {
            return read(name, String.class);
        }

        int integer(String name) {
            return read(name, Integer.class);
        }

        double number(String name) {
            return read(name, Number.class).doubleValue();
        }

        List<?> list(String name) {
            return read(name, List.class);
        }

        List<String> strings(String name) {
            List<String> found = new ArrayList<>();
            for (Object each : list(name)) {
                if (!(each instanceof String text)) {
                    throw wrong(name);
                }
                found.add(text);
            }
            return found;
        }

        private <T> T read(String name, Class<T> type) {
            if (!type.isInstance(members.get(name))) {
                throw wrong(name);
            }
            return type.cast(members.get(name));
        }

        private Contract wrong(String name) {
            return Contract.drift("in the result of " + method + ", \"" + name + "\" cannot be " + quote(members.get(name)));
        }

        private static String quote(Object value) {
            return Words.quoteLine(Json.write(value));
        }
    }
}
