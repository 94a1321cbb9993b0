// The same package under Node's own test runner, from plain JavaScript.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect, UpstreamError } from "@mcptest/sdk";
import { suite } from "@mcptest/sdk/node-test";

const path = fileURLToPath(new URL("../fixtures/shelf-server.mjs", import.meta.url));

describe("by hand", async () => {
  const server = await connect({ command: ["node", path] });
  after(() => server.close());

  test("a book is found again", async () => {
    const added = await server.callTool("add_book", { title: "Dubliners" });
    const found = await server.callTool("find_book", { id: added.data.id });
    assert.equal(found.text, "Dubliners");
  });

  test("what the server refuses is an error", async () => {
    await assert.rejects(server.callTool("borrow"), UpstreamError);
  });
});

await suite(new URL("../fixtures/green.yaml", import.meta.url));
