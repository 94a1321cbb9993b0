package mcptest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Programs with scripts in the place of the binary that do what it never should. */
class BadBinaryTest {
    private static final String HANDSHAKE =
            "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol_version\":2,\"binary_version\":\"0\"}}'";

    static class Suite {
        @TestFactory
        Stream<DynamicNode> suite() {
            return Loader.suite(Path.of("mcptest.yaml"));
        }
    }

    /** Starts a server, and closes it meanwhile, or runs a suite; and prints what went wrong. */
    static final class Program {
        private Program() {}

        public static void main(String[] words) {
            if (words[0].equals("suite")) {
                Fixtures.run(List.of(selectClass(Suite.class))).errors.forEach((name, error) ->
                        System.out.println(name + " has " + error.getClass().getSimpleName() + ": " + error.getMessage()));
                return;
            }
            McpServer server = McpServer.command("any");
            if (words[0].equals("close")) {
                Coprocess.startThread("closer", () -> {
                    Thread.sleep(1000);
                    server.close();
                });
            }
            try {
                server.start();
            } catch (McptestException error) {
                System.out.println(error.getClass().getSimpleName() + ": " + error.getMessage());
            }
        }
    }

    @TempDir
    Path folder;

    /** What the program prints, with this script as the binary; it ends long before the limit of an answer. */
    private String run(String what, String... lines) throws Exception {
        Path script = Files.write(folder.resolve("script"), List.of(lines));
        Path printed = folder.resolve("printed");
        ProcessBuilder builder = new ProcessBuilder(
                ProcessHandle.current().info().command().orElse("java"), "-Xmx48m", "-XX:+UseSerialGC",
                "-Dfile.encoding=UTF-8", "-cp", System.getProperty("java.class.path"), Program.class.getName(), what);
        builder.environment().put("MCPTEST_BIN", "sh " + script);
        // Not a pipe: what the script leaves behind could hold it open.
        Process program = builder.redirectErrorStream(true).redirectOutput(printed.toFile()).start();
        boolean hasEnded = program.waitFor(20, TimeUnit.SECONDS);
        program.destroyForcibly();
        String text = Files.readString(printed, StandardCharsets.UTF_8);
        assertTrue(hasEnded, text);
        return text;
    }

    @Test
    void theEndIsNoticedThoughSomethingHoldsThePipes() throws Exception {
        String printed = run("server", HANDSHAKE, "read line; sleep 25 & exit 3");
        assertTrue(printed.startsWith("Binary: "), printed);
        assertTrue(printed.contains("exit status 3"), printed);
    }

    @Test
    void aServerCanBeClosedDuringTheHandshake() throws Exception {
        String printed = run("close", "read line; sleep 25");
        assertTrue(printed.startsWith("Closed: ") && printed.contains("before coprocess/handshake was answered"), printed);
    }

    @Test
    void whatIgnoresSignalsIsKilledBeforeTheProgramEnds() throws Exception {
        Path pid = folder.resolve("pid");
        Path inner = Files.write(folder.resolve("inner"), List.of(
                "trap '' TERM INT HUP; echo $$ > " + pid, "echo nonsense; for each in 1 2 3 4 5 6 7 8 9; do sleep 3; done"));
        String printed = run("server", "sh " + inner, "exit 0");
        assertTrue(printed.startsWith("Contract: "), printed);
        assertTrue(Fixtures.areGone(List.of(Long.valueOf(Files.readString(pid).strip()))));
    }

    @Test
    void anAnswerThatDoesNotFitIntoTheMemoryIsAnErrorOfItsCall() throws Exception {
        String printed = run("server", HANDSHAKE, "read line; head -c 40000000 /dev/zero | tr '\\0' x; echo");
        assertTrue(printed.startsWith("Contract: ") && printed.contains("-Xmx"), printed);
    }

    @Test
    void strangeNamesAndLimitsOfTestsAreTestsLikeOthers() throws Exception {
        List<String> tests = new ArrayList<>();
        for (String id : List.of("", "a::\\u001b[31mred", "a::\\ud83d\\udc69\\u200d\\ud83d\\ude80")) {
            tests.add("{\"id\":\"" + id + "\",\"server\":\"\",\"name\":\"\\n\",\"file\":\"\\u0000\",\"line\":-1,\"tags\":[],"
                    + "\"skip\":\"\",\"limit_ms\":1e300}");
        }
        Path list = Files.writeString(folder.resolve("list"), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"version\":1,"
                + "\"file\":\"mcptest.yaml\",\"tests\":[" + String.join(",", tests)
                + "],\"lanes\":[],\"left\":[],\"warnings\":[]}}\n");
        Path verdict = Files.writeString(folder.resolve("verdict"), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{"
                + "\"status\":\"failed\",\"text\":\"\\u001b[0m\",\"file\":\"\",\"line\":0,\"duration_ms\":1e300,\"notes\":[]}}\n");
        String printed = run("suite", HANDSHAKE, "read line; cat " + list, "read line; cat " + verdict, "read line; exit 4");
        String ended = "the mcptest binary ended before it answered suite.run: exit status 4\n";
        assertEquals("(blank) has AssertionFailedError: (blank)\n\\x1b[0m\n"
                + "a::\\x1b[31mred has Incomplete: a::\\x1b[31mred\n" + ended
                + "a::👩\u200d🚀 has Incomplete: a::👩\u200d🚀\n" + ended, printed);
    }
}
