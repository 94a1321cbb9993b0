package shelf;

import java.nio.file.Path;
import java.util.stream.Stream;
import mcptest.Loader;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;

/** Every test of mcptest.yaml as a JUnit test. */
class SuiteTest {
    @TestFactory
    Stream<DynamicNode> suite() {
        return Loader.suite(Path.of("mcptest.yaml"));
    }
}
