import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const FIXTURES = fileURLToPath(new URL("fixtures", import.meta.url));
const BINARY = new URL("../../../protocol/coprocess/fake_binary.py", import.meta.url);
/** A value of MCPTEST_BIN. */
export const FAKE = `python3 '${fileURLToPath(BINARY)}'`;
export const SHELF = ["node", join(FIXTURES, "shelf-server.mjs")];

/** A folder that exists while a test runs. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sdk-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Started {
  readonly name: string;
  readonly pid: number;
  readonly cwd: string;
}

/** The servers that were started with this file as STARTED. */
export function readStarted(file: string): Started[] {
  let text = "";
  try {
    text = readFileSync(file, "utf-8");
  } catch {
    // None has been started.
  }
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [name = "", pid = "", ...cwd] = line.split(" ");
      return { name, pid: Number(pid), cwd: cwd.join(" ") };
    });
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export async function waitUntil(isTrue: () => boolean, limitMs = 20_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${isTrue}`);
    await sleep(20);
  }
}

export interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

export interface Running {
  readonly pid: number;
  readonly ended: Promise<Ended>;
}

/** Start a program in the folder of the fixtures; it is killed when the test ends. */
export function start(words: readonly string[], env: Record<string, string> = {}): Running {
  const [program = "", ...args] = words;
  const child = spawn(program, args, {
    cwd: FIXTURES,
    // Without what vitest and the runner of Node tell their own children.
    env: { ...cleanEnvironment(), NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.setEncoding("utf-8").on("data", (text: string) => (output += text));
  }
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status, signal) => resolve({ status, signal, output }));
  });
  return { pid: child.pid ?? 0, ended };
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter(
    (name) => !/^(VITEST|NODE_|TEST$|DEV$|PROD$|MODE$|CI$)/.test(name),
  );
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}
