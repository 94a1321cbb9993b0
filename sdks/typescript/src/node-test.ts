/** The tests of a file as tests of Node's own test runner. */

import { after, describe, test } from "node:test";
import { listEntries, openSuite } from "./suite.js";

/**
 * Add every test of a file that `mcptest run` accepts, one test each. A path is relative to the
 * current folder. Lanes that mcptest cannot run from here are skipped tests.
 */
export async function suite(file: string | URL): Promise<void> {
  const opened = await openSuite(file);
  const [name, entries] = await listEntries(opened);
  describe(name, () => {
    after(() => opened.close());
    for (const entry of entries) {
      test(entry.name, (context) =>
        entry.run({
          skip: (reason) => context.skip(reason),
          note: (text) => context.diagnostic(text),
          signal: context.signal,
        }),
      );
    }
  });
}
