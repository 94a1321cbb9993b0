package mcptest;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;

/** Runs the tests of a file with JUnit, and writes a line of JSON for each: its name, its status and its text. */
final class SuiteProgram {
    private static final Map<String, String> STATUSES = Map.of("SUCCESSFUL", "passed", "FAILED", "failed", "ABORTED", "skipped");

    private static Path file;

    private SuiteProgram() {}

    static class Tests {
        @TestFactory
        Stream<DynamicNode> suite() {
            return Loader.suite(file);
        }
    }

    public static void main(String[] args) {
        file = Path.of(args[0]);
        Fixtures.Results results = Fixtures.run(List.of(selectClass(Tests.class)));
        results.statuses.forEach((name, status) -> {
            Throwable error = results.errors.get(name);
            String text = error == null ? "" : String.valueOf(error.getMessage());
            System.out.println(Json.write(Map.of("name", name, "status", STATUSES.get(status), "text", text)));
        });
        System.exit(results.statuses.containsValue("FAILED") ? 1 : 0);
    }
}
