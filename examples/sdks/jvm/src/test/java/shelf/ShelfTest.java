package shelf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import mcptest.McpServer;
import mcptest.McptestException;
import mcptest.Verdict;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class ShelfTest {
    @RegisterExtension
    static final McpServer server = McpServer.command("java", "-cp", "target/classes", "shelf.ShelfServer");

    @Test
    void aBookIsFoundAgain() {
        Verdict added = server.callTool("add_book", Map.of("title", "Dubliners"));
        assertTrue(added.success(), added::error);
        Verdict found = server.callTool("find_book", Map.of("id", added.data("id")));
        assertEquals("Dubliners", found.text());
    }

    @Test
    void aBookThatIsNotThereIsNotFound() {
        Verdict missing = server.callTool("find_book", Map.of("id", 1000));
        assertFalse(missing.success());
        assertEquals("there is no book 1000", missing.error());
    }

    @Test
    void aToolThatIsNotThereIsRefused() {
        var error = assertThrows(McptestException.Upstream.class, () -> server.callTool("lend_book"));
        assertEquals(-32602, error.serverCode());
    }
}
