import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BinaryError, connect, ContractError, type McptestError, RefusedError } from "@mcptest/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { Coprocess } from "../dist/coprocess.js";
import { FAKE, isRunning, makeFolder, readStarted, start, waitUntil } from "./helpers.js";

/** Start the fake binary with these answers. */
async function startFake(answers: object, timeoutMs = 10_000): Promise<Coprocess> {
  process.env["MCPTEST_BIN"] = FAKE;
  const folder = makeFolder();
  const script = join(folder, "script.json");
  writeFileSync(script, JSON.stringify({ answers }));
  const command = `fake ${script} ${join(folder, "heard")}`;
  const args = ["--connection-server", "--server-command", command];
  const coprocess = await Coprocess.start(args, { timeoutMs });
  onTestFinished(() => coprocess.close());
  return coprocess;
}

/** Try to connect to a binary that is this script. */
async function tryScript(text: string): Promise<unknown> {
  const script = join(makeFolder(), "mcptest");
  writeFileSync(script, text);
  chmodSync(script, 0o755);
  process.env["MCPTEST_BIN"] = script;
  return connect({ command: "server" }).catch((error: unknown) => error);
}

describe("20,000 calls that wait", () => {
  const count = async (calls: Promise<unknown>[]) => {
    const kinds = await Promise.all(calls.map((call) => call.catch((e: McptestError) => e.kind)));
    return [...new Set(kinds)];
  };
  const make = (coprocess: Coprocess) =>
    Array.from({ length: 20_000 }, () => coprocess.request("mcp.call"));

  test("fail when the binary dies", async () => {
    const coprocess = await startFake({ "mcp.call": { exit: 3 } });
    expect(await count(make(coprocess))).toEqual(["binary"]);
  });

  test("fail when the connection is closed", async () => {
    const coprocess = await startFake({ "mcp.call": { silence: true } });
    const calls = count(make(coprocess));
    await coprocess.close();
    expect(await calls).toEqual(["closed"]);
  });
});

test.for([
  [199, true],
  [200, false],
] as const)("a result of %d levels", async ([levels, isRead]) => {
  const result = "[".repeat(levels) + "]".repeat(levels);
  const frame = `{"jsonrpc":"2.0","id":2,"result":${result}}`;
  const coprocess = await startFake({ "mcp.call": { frame } });
  const call = coprocess.request("mcp.call");
  if (isRead) expect(JSON.stringify(await call)).toBe(result);
  else await expect(call).rejects.toThrow(ContractError);
});

test("brackets and colons in strings are text", async () => {
  const result = { 'a":[': ["[".repeat(300), ':{"', "\\", '\\"', "\\\\"] };
  const coprocess = await startFake({ "mcp.call": { result } });
  expect(await coprocess.request("mcp.call")).toEqual(result);
});

test("an answer that came while the program was busy is not late", async () => {
  const coprocess = await startFake({}, 500);
  const call = coprocess.request("mcp.call", { tool: "a" });
  await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  expect(await call).toMatchObject({ structuredContent: { tool: "a" } });
});

test("of a very long message only the beginning is shown", async () => {
  const message = "\u007f".repeat(1_000_000);
  const coprocess = await startFake({ "mcp.call": { error: { code: -32000, message } } });
  const error = await coprocess.request("mcp.call").catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RefusedError);
  expect((error as RefusedError).message.length).toBeLessThan(1_000_000);
  expect((error as RefusedError).rawMessage).toBe(message);
});

test("a script whose interpreter is missing", async () => {
  const error = await tryScript("#!/nowhere/python\n");
  expect(error).toBeInstanceOf(BinaryError);
  expect(String(error)).toContain("it is there, but the interpreter that its first line names");
});

test("a process that the binary leaves behind is killed", async () => {
  const file = join(makeFolder(), "left");
  const error = await tryScript(`#!/bin/sh\nsleep 60 &\necho sleep $! >> '${file}'\nexit 3\n`);
  expect(String(error)).toContain("exit status 3");
  const [left] = readStarted(file);
  expect(left).toBeDefined();
  await waitUntil(() => !isRunning(left?.pid ?? 0), 5000);
});

test("without free descriptors it cannot be started, and the program goes on", async () => {
  const program = join(makeFolder(), "program.mjs");
  const sdk = fileURLToPath(new URL("../dist/index.js", import.meta.url));
  writeFileSync(
    program,
    `import { closeSync, openSync } from "node:fs";
    import { connect } from ${JSON.stringify(sdk)};
    const opened = [];
    try { for (;;) opened.push(openSync("/dev/null")); } catch {}
    const error = await connect({ command: "server" }).catch((reason) => reason);
    await new Promise((resolve) => setTimeout(resolve, 50));
    opened.forEach((each) => closeSync(each));
    console.log(error.kind, error.message);`,
  );
  const words = ["sh", "-c", 'ulimit -n 64; exec node "$0"', program];
  const { status, output } = await start(words, { MCPTEST_BIN: FAKE }).ended;
  expect(output).toMatch(/^binary .* cannot be started: .* too many open files/);
  expect(status).toBe(0);
});
