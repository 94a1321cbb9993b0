/** Plays the scenarios of protocol/coprocess/kit; its README describes what comes in and goes out. */

import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import {
  connect,
  laneCliHint,
  McpServer,
  McptestError,
  openSuite,
  RefusedError,
  type ServerOptions,
  type Suite,
  UNSUPPORTED_SDK_LANES,
} from "@mcptest/sdk";
import { Coprocess } from "../dist/coprocess.js";
import { quoteWords, splitBinary } from "../dist/words.js";

type Json = Record<string, any>;

/** What a scenario has opened. */
interface Opened {
  coprocess?: Coprocess;
  server?: McpServer;
  suite?: Suite;
  isForgotten?: boolean;
}

// Connections that a scenario did not close; they must not be collected as garbage.
const forgotten: Opened[] = [];

async function open(given: Json, opened: Opened): Promise<string> {
  if (given["open"] === "suite") {
    opened.suite = await openSuite(given["file"]);
    return opened.suite.binaryVersion;
  }
  if (given["open"] === "connect") {
    opened.server = await connect(readOptions(given));
    return opened.server.binaryVersion;
  }
  const limit = "timeout_ms" in given ? { timeoutMs: given["timeout_ms"] } : {};
  const args = ["--connection-server", "--server-command", quoteWords(given["command"])];
  opened.coprocess = await Coprocess.start(args, limit);
  opened.server = new McpServer(opened.coprocess);
  return opened.coprocess.binaryVersion;
}

function readOptions(given: Json): ServerOptions {
  const names: Record<string, string> = {
    timeout_ms: "timeoutMs",
    start_timeout_ms: "startTimeoutMs",
    bearer_env: "bearerEnv",
    header_env: "headerEnv",
    ca_file: "caFile",
  };
  const options = Object.entries<unknown>(given["options"] ?? {});
  return {
    command: given["command"],
    ...Object.fromEntries(options.map(([name, value]) => [names[name] ?? name, value])),
  };
}

async function attempt(work: () => Promise<Json>, signal?: AbortSignal): Promise<Json> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RefusedError) {
      const { kind, message, code, data = null, rawMessage: said } = error;
      return { error: { kind, message, code, data, said } };
    }
    if (error instanceof McptestError)
      return { error: { kind: error.kind, message: error.message } };
    if (signal?.aborted && error === signal.reason) {
      return { error: { kind: "cancelled", message: String(error) } };
    }
    if (error instanceof TypeError) return { error: { kind: "arguments", message: error.message } };
    throw error;
  }
}

async function perform(step: Json, opened: Opened): Promise<Json> {
  if ("after_ms" in step) await sleep(step["after_ms"]);
  const verb = Object.keys(step).find((key) => key !== "after_ms" && key !== "cancel_ms") ?? "";
  const given = step[verb];
  if (verb === "parallel") {
    return { parallel: await Promise.all(given.map((each: Json) => perform(each, opened))) };
  }
  const control = new AbortController();
  const timer =
    "cancel_ms" in step ? setTimeout(() => control.abort(), step["cancel_ms"]) : undefined;
  const options = timer ? { signal: control.signal } : {};
  try {
    return await attempt(() => act(verb, given, opened, options), control.signal);
  } finally {
    clearTimeout(timer);
  }
}

async function act(verb: string, given: any, opened: Opened, options: object): Promise<Json> {
  const server = opened.server as McpServer;
  const suite = opened.suite as Suite;
  switch (verb) {
    case "request": {
      const { method, params } = given;
      return { result: await opened.coprocess?.request(method, params, options) };
    }
    case "call":
    case "bad_call": {
      const args = verb === "call" ? given.arguments : { degrees: [1, NaN] };
      const verdict = await server.callTool(given.tool, args, options);
      const { success, text, data, error, durationMs, raw } = verdict;
      return { verdict: { success, text, data, error, duration_ms: durationMs, raw } };
    }
    case "list_tools":
      return { result: await server.listTools(options) };
    case "list_resources":
      return { result: await server.listResources(options) };
    case "read_resource":
      return { result: await server.readResource(given.uri, options) };
    case "get_prompt":
      return { result: await server.getPrompt(given.name, given.arguments, options) };
    case "initialize":
      return { result: await server.initialize(options) };
    case "set_cache":
      return { result: (await server.setCache(given.mode, options)) ?? null };
    case "set_cassette":
      return { result: (await server.setCassette(given.mode, given.path, options)) ?? null };
    case "upload_to":
      return { result: (await server.uploadTo(given.target, options)) ?? null };
    case "stop_uploads":
      return { result: (await server.stopUploads(options)) ?? null };
    case "flush":
      return { result: await server.flush(options) };
    case "list": {
      const { file, tests, lanes, left, warnings } = await suite.list();
      const named = tests.map(({ limitMs, ...test }) => ({ ...test, limit_ms: limitMs }));
      return { result: { file, tests: named, lanes, left, warnings } };
    }
    case "run": {
      const { status, text, file, line, durationMs, notes } = await suite.run(given.id, options);
      return { result: { status, text, file, line, duration_ms: durationMs, notes } };
    }
    case "close":
      await (suite ?? server).close();
      return { closed: true };
    case "forget":
      opened.isForgotten = true;
      forgotten.push(opened);
      return { forgotten: true };
    case "lanes":
      return { result: UNSUPPORTED_SDK_LANES };
    case "lane":
      return { result: laneCliHint(given.lane, given.suite) };
    case "quote":
      return { result: quoteWords(given) };
    case "split":
      return { result: splitBinary(given.trim()) };
    default:
      return { error: { kind: "unsupported", message: `there is no ${verb}` } };
  }
}

async function play(given: Json): Promise<Json[]> {
  const opened: Opened = {};
  const did: Json[] = [];
  try {
    if (given["open"] !== "none") {
      did.push(await attempt(async () => ({ opened: await open(given, opened) })));
      if (!("opened" in (did[0] ?? {}))) return did;
    }
    for (const step of given["do"]) did.push(await perform(step, opened));
    return did;
  } finally {
    if (!opened.isForgotten) await (opened.suite ?? opened.server)?.close();
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ name: given.name, did: await play(given) })}\n`);
}
