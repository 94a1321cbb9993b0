package mcptest;

import java.util.List;

/**
 * A test of a suite.
 *
 * @param id {@code server::name}; no two tests of a suite have the same
 * @param server the name of its server
 * @param name the name of the test
 * @param file the file that has the test
 * @param line where it is in the file
 * @param tags its tags
 * @param skip the reason for skipping it; empty if it is run
 * @param limitMs longer than it can take, in milliseconds
 */
public record CollectedTest(
        String id, String server, String name, String file, int line, List<String> tags, String skip, double limitMs) {
    /** The lanes of suites that an SDK cannot drive. {@link Loader#laneCliHint} says what runs them. */
    public static final List<String> UNSUPPORTED_LANES = List.of("agents", "compliance", "security", "evals");
}
