/** The tests of a file as tests of vitest. */

import { afterAll, describe, test } from "vitest";
import { listEntries, openSuite } from "./suite.js";

// Longer than closing can take; the limit of the config may be shorter.
const CLOSING_MS = 20_000;

/**
 * Add every test of a file that `mcptest run` accepts, one vitest test each. A path is relative to
 * the current folder. Lanes that mcptest cannot run from here are skipped tests.
 */
export async function suite(file: string | URL): Promise<void> {
  const opened = await openSuite(file);
  const [name, entries] = await listEntries(opened);
  // One at a time, so that no test uses up the time of another.
  describe.sequential(name, () => {
    afterAll(() => opened.close(), CLOSING_MS);
    for (const entry of entries) {
      test(entry.name, { timeout: entry.limitMs }, (context) =>
        entry.run({
          skip: (reason) => context.skip(reason),
          note: (text) => void context.annotate(text),
          signal: context.signal,
        }),
      );
    }
  });
}
