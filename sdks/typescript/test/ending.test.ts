import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FIXTURES, isRunning, makeFolder, readStarted, start, waitUntil } from "./helpers.js";

const SDK = new URL("../dist/index.js", import.meta.url).href;
const SERVER = JSON.stringify(["node", join(FIXTURES, "shelf-server.mjs")]);

/** Start a program that has connected to a server, and wait until that runs. */
async function startProgram(rest: string) {
  const folder = makeFolder();
  const program = join(folder, "program.mjs");
  const STARTED = join(folder, "started");
  const connect = `const server = await connect({ command: ${SERVER} });`;
  writeFileSync(program, `import { connect } from "${SDK}";\n${connect}\n${rest}\n`);
  const running = start(["node", program], { STARTED });
  await waitUntil(() => readStarted(STARTED).length === 1);
  const pid = readStarted(STARTED)[0]?.pid ?? 0;
  return { ...running, isServerRunning: () => isRunning(pid) };
}

test("a program that forgets to close ends by itself, and the server with it", async () => {
  const { ended, isServerRunning } = await startProgram(
    `console.log((await server.callTool("add_book", { title: "Emma" })).data.id);`,
  );
  expect(await ended).toEqual({ status: 0, signal: null, output: "1\n" });
  await waitUntil(() => !isServerRunning(), 5000);
});

test("a program that exits during a call leaves no server", async () => {
  const { ended, isServerRunning } = await startProgram(
    `setTimeout(() => process.exit(7), 300); await server.callTool("wait");`,
  );
  expect((await ended).status).toBe(7);
  await waitUntil(() => !isServerRunning(), 5000);
});

test("an error that nobody catches shows the line of the call", async () => {
  const { ended } = await startProgram(`await server.callTool("crash");`);
  const { status, output } = await ended;
  expect(status).toBe(1);
  expect(output).toContain("UpstreamGoneError: ");
  expect(output).toContain("the shelf fell down");
  expect(output).toMatch(/program\.mjs:3:\d+/);
});

describe.for(["SIGINT", "SIGTERM", "SIGKILL"] as const)("%s", (signal) => {
  test.for(["the process", "its group"])("to %s leaves no server", async (target) => {
    const { pid, ended, isServerRunning } = await startProgram(`await server.callTool("wait");`);
    process.kill(target === "the process" ? pid : -pid, signal);
    expect((await ended).signal).toBe(signal);
    await waitUntil(() => !isServerRunning(), 5000);
  });
});
