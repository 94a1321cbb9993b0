package mcptest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs that forget to close, or are ended from outside. */
class ProgramTest {
    /** Starts a server and never stops it. With {@code hang}, a call is under way until the end. */
    static final class Program {
        private Program() {}

        public static void main(String[] words) {
            McpServer server = McpServer.command("python3", Fixtures.SERVER, words[0]).start();
            System.out.println("started");
            if (words.length > 1) {
                server.callTool("hang");
            }
        }
    }

    @TempDir
    Path folder;

    private Process start(String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElse("java"), "-cp", System.getProperty("java.class.path"),
                Program.class.getName(), folder.resolve("log").toString()));
        command.addAll(List.of(words));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    private void checkNothingIsLeft() throws IOException {
        List<Long> pids = Fixtures.started(folder.resolve("log"));
        assertEquals(1, pids.size());
        assertTrue(Fixtures.areGone(pids));
    }

    @Test
    void aProgramThatForgetsToCloseEndsAndLeavesNothing() throws Exception {
        Process program = start();
        assertTrue(program.waitFor(20, TimeUnit.SECONDS));
        assertEquals(0, program.exitValue());
        checkNothingIsLeft();
    }

    @Test
    void ctrlCDuringACallLeavesNothing() throws Exception {
        endDuringACall("INT", 130);
    }

    @Test
    void aSignalDuringACallLeavesNothing() throws Exception {
        endDuringACall("TERM", 143);
    }

    @Test
    void kill9DuringACallLeavesNothing() throws Exception {
        endDuringACall("KILL", 137);
    }

    private void endDuringACall(String signal, int status) throws Exception {
        Process program = start("hang");
        assertEquals('s', program.getInputStream().read());
        Thread.sleep(300);
        new ProcessBuilder("kill", "-" + signal, String.valueOf(program.pid())).start().waitFor();
        assertTrue(program.waitFor(10, TimeUnit.SECONDS));
        assertEquals(status, program.exitValue());
        checkNothingIsLeft();
    }
}
