package mcptest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** A real server, who runs it, and JUnit inside of JUnit. */
final class Fixtures {
    static final String SERVER = Path.of("src/test/resources/test_server.py").toAbsolutePath().toString();

    private Fixtures() {}

    /** The process ids of the servers that were started with this log, in order. */
    static List<Long> started(Path log) throws IOException {
        return Files.exists(log) ? Files.readAllLines(log).stream().map(Long::valueOf).collect(Collectors.toList()) : List.of();
    }

    static boolean isRunning(long pid) {
        return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
    }

    /** Whether none of them runs any more, at the latest in five seconds. */
    static boolean areGone(List<Long> pids) {
        return waitUntil(() -> pids.stream().noneMatch(Fixtures::isRunning), 5000);
    }

    static boolean waitUntil(BooleanSupplier isTrue, long limitMs) {
        long deadline = System.nanoTime() + limitMs * 1_000_000;
        while (!isTrue.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
        return true;
    }

    /** What JUnit reported of the tests, by their display names; {@code failed} also has classes and factories. */
    static final class Results implements TestExecutionListener {
        final Map<String, String> statuses = new LinkedHashMap<>();
        final Map<String, Throwable> errors = new LinkedHashMap<>();
        final List<TestIdentifier> tests = new ArrayList<>();

        @Override
        public synchronized void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (test.isTest() || result.getThrowable().isPresent()) {
                tests.add(test);
                statuses.put(test.getDisplayName(), result.getStatus().toString());
                result.getThrowable().ifPresent(error -> errors.put(test.getDisplayName(), error));
            }
        }

        String message(String name) {
            return errors.get(name).getMessage();
        }
    }

    /** Runs what is selected; settings are name, value, name, value. */
    static Results run(List<DiscoverySelector> selected, String... settings) {
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request().selectors(selected);
        for (int at = 0; at < settings.length; at += 2) {
            request.configurationParameter(settings[at], settings[at + 1]);
        }
        LauncherDiscoveryRequest built = request.build();
        Results results = new Results();
        LauncherFactory.create().execute(built, results);
        return results;
    }
}
