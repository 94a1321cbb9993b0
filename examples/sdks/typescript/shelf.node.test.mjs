// The same with Node's own test runner, in JavaScript.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect } from "@mcptest/sdk";
import { suite } from "@mcptest/sdk/node-test";

describe("by hand", () => {
  let server;
  before(async () => {
    server = await connect({ command: ["node", "shelf-server.mjs"], timeoutMs: 4000 });
  });
  after(() => server.close());

  test("a book is found again", async () => {
    const added = await server.callTool("add_book", { title: "Dubliners" });
    const found = await server.callTool("find_book", { id: added.data.id });
    assert.equal(found.text, "Dubliners");
  });
});

await suite(new URL("./mcptest.yaml", import.meta.url));
