// A small MCP server over stdio that keeps books on a shelf. It needs nothing but Node.

import { createInterface } from "node:readline";

const books = [];
const book = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] };
const title = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };

const tools = [
  {
    name: "add_book",
    description: "Puts a book on the shelf.",
    inputSchema: title,
    outputSchema: book,
  },
  { name: "find_book", description: "Finds a book by its id.", inputSchema: book },
];

function text(words, more = {}) {
  return { content: [{ type: "text", text: words }], isError: false, ...more };
}

function callTool({ name, arguments: args }) {
  if (name === "add_book") {
    const added = { id: books.push(args.title) };
    return text(JSON.stringify(added), { structuredContent: added });
  }
  const found = books[args.id - 1];
  return found ? text(found) : text(`there is no book ${args.id}`, { isError: true });
}

function answer(method, params) {
  if (method === "initialize") {
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "shelf", version: "1.0.0" },
    };
  }
  if (method === "tools/list") return { tools };
  return method === "tools/call" ? callTool(params) : {};
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) {
    process.stdout.write(
      `${JSON.stringify({ jsonrpc: "2.0", id, result: answer(method, params) })}\n`,
    );
  }
}
