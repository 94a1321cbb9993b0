import { connect, type McpServer } from "@mcptest/sdk";
import { suite } from "@mcptest/sdk/vitest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

describe("by hand", () => {
  let server: McpServer;
  beforeAll(async () => {
    server = await connect({ command: ["node", "shelf-server.mjs"], timeoutMs: 4000 });
  });
  afterAll(() => server.close());

  test("a book is found again", async () => {
    const added = await server.callTool("add_book", { title: "Dubliners" });
    const found = await server.callTool("find_book", { id: added.data.id });
    expect(found).toMatchObject({ success: true, text: "Dubliners" });
  });

  test("a book that is not there", async () => {
    const found = await server.callTool("find_book", { id: 99 });
    expect(found).toMatchObject({ success: false, error: "there is no book 99" });
  });
});

await suite(new URL("./mcptest.yaml", import.meta.url));
