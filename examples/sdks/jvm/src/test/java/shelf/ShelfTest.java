package shelf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Map;
import mcptest.McpServer;
import mcptest.Verdict;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class ShelfTest {
    @RegisterExtension
    static final McpServer server = McpServer.command("java", "-cp", "target/classes", "shelf.ShelfServer");

    @Test
    void aBookIsFoundAgain() {
        Verdict added = server.callTool("add_book", Map.of("title", "Dubliners"));
        Verdict found = server.callTool("find_book", Map.of("id", added.data("id")));
        assertEquals("Dubliners", found.text());
    }

    @Test
    void aBookThatIsNotThereIsNotFound() {
        Verdict missing = server.callTool("find_book", Map.of("id", 1000));
        assertFalse(missing.success());
        assertEquals("there is no book 1000", missing.error());
    }
}
