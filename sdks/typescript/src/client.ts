/** `connect`: one server under test, and the calls it can be asked for. */

import { statSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type CallOptions, Coprocess } from "./coprocess.js";
import { buildDrift, pointAtCaller, quoteJson } from "./errors.js";
import { describeType, isObject, readVerdict, type Verdict } from "./verdict.js";
import { quoteWords } from "./words.js";

// The binary's limits end first, so that it can report what it saw.
const SLACK_MS = 15_000;
const TIMEOUT_MS = 30_000;

export type CacheMode = "off" | "read_write" | "read_only" | "refresh";
export type CassetteMode = "off" | "record" | "replay";

export interface ServerOptions extends CallOptions {
  /** Starts the server, without a shell. A string is split into words as a shell would. */
  readonly command?: string | readonly string[];
  /** A server on HTTP. With a command, that starts it, and `{port}` in both is a free port. */
  readonly url?: string | URL;
  /** The environment variable with the token for `url`. */
  readonly bearerEnv?: string;
  /** Headers for `url`: each with the environment variable that has its value. */
  readonly headerEnv?: Readonly<Record<string, string>>;
  /** Additional CA certificates to trust (PEM). */
  readonly caFile?: string | URL;
  /** The working folder of the server (default: the current folder). */
  readonly cwd?: string | URL;
  /** Additional environment variables of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Variables whose values are hidden in messages, besides those in `env` such as SHOP_TOKEN. */
  readonly secrets?: readonly string[];
  /** Protocol revision to use, such as "2025-06-18" (default: auto-negotiate). */
  readonly revision?: string;
  /** Time limit for each answer of the server (default: 30 seconds). */
  readonly timeoutMs?: number;
  /** Time limit for the server to be ready (default: 5 seconds, 20 for package runners). */
  readonly startTimeoutMs?: number;
  /** Use results of tools of earlier connections. */
  readonly cache?: CacheMode;
  /** Record all requests and answers to this file, a cassette. */
  readonly record?: string | URL;
  /** Answer from this cassette, without starting the server. */
  readonly replay?: string | URL;
}

// The compiler refuses this object if an option is missing.
const OPTIONS: Record<keyof ServerOptions, true> = {
  command: true,
  url: true,
  bearerEnv: true,
  headerEnv: true,
  caFile: true,
  cwd: true,
  env: true,
  secrets: true,
  revision: true,
  timeoutMs: true,
  startTimeoutMs: true,
  cache: true,
  record: true,
  replay: true,
  signal: true,
};

/** Start mcptest and the server, and initialize the server. */
export async function connect(options: ServerOptions): Promise<McpServer> {
  try {
    return await open(options);
  } catch (error) {
    throw pointAtCaller(error);
  }
}

async function open(options: ServerOptions): Promise<McpServer> {
  const { args, env } = describeServer(options);
  const { cache, record, replay, signal } = options;
  const limit = options.timeoutMs ?? TIMEOUT_MS;
  const timeoutMs = limit + (options.startTimeoutMs ?? 0) + SLACK_MS;
  const coprocess = await Coprocess.start(args, { env, timeoutMs, signal });
  const server = new McpServer(coprocess);
  try {
    if (cache !== undefined) await server.setCache(cache, { signal });
    if (record !== undefined) await server.setCassette("record", record, { signal });
    if (replay !== undefined) await server.setCassette("replay", replay, { signal });
    await server.initialize({ signal });
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

/** A server under test. Calls are sent one after the other, in order. */
export class McpServer implements AsyncDisposable {
  readonly #coprocess: Coprocess;

  /** For tests of this package: use `connect`. */
  constructor(coprocess: Coprocess) {
    this.#coprocess = coprocess;
  }

  /** The version of the mcptest binary. */
  get binaryVersion(): string {
    return this.#coprocess.binaryVersion;
  }

  /** Call a tool. An error that the tool reports is a verdict without success. */
  async callTool<Data = any>(
    name: string,
    args: object = {},
    options?: CallOptions,
  ): Promise<Verdict<Data>> {
    checkArguments(args);
    const params = { tool: name, arguments: args };
    const began = performance.now();
    const result = await this.#coprocess.request("mcp.call", params, options);
    return readVerdict(result, performance.now() - began);
  }

  /** All tools of the server, from all pages. */
  listTools(options?: CallOptions): Promise<Record<string, any>[]> {
    return this.#requestList("mcp.listTools", "tools", options);
  }

  /** All resources of the server, from all pages. */
  listResources(options?: CallOptions): Promise<Record<string, any>[]> {
    return this.#requestList("mcp.listResources", "resources", options);
  }

  /** The server's answer to `resources/read`. */
  readResource(uri: string | URL, options?: CallOptions): Promise<Record<string, any>> {
    return this.#requestObject("mcp.readResource", { uri: String(uri) }, options);
  }

  /** The server's answer to `prompts/get`. */
  async getPrompt(
    name: string,
    args?: object,
    options?: CallOptions,
  ): Promise<Record<string, any>> {
    if (args !== undefined) checkArguments(args);
    return this.#requestObject("mcp.callPrompt", { name, arguments: args }, options);
  }

  /** The server's answer to `initialize`, which is not sent again. */
  initialize(options?: CallOptions): Promise<Record<string, any>> {
    return this.#requestObject("mcp.initialize", undefined, options);
  }

  /** Use results of tools of earlier connections, or stop using them. */
  async setCache(mode: CacheMode, options?: CallOptions): Promise<void> {
    await this.#requestObject("mcp.cache.set_mode", { mode }, options);
  }

  /** Record to a cassette, or replay one without the server. */
  async setCassette(mode: CassetteMode, path?: string | URL, options?: CallOptions): Promise<void> {
    const where = path === undefined ? undefined : readPath(path);
    await this.#requestObject("mcp.cassette.set_mode", { mode, path: where }, options);
  }

  /** Have calls delivered to a `file:` or HTTP target by `flush`, and at the end. */
  async uploadTo(target: string, options?: CallOptions): Promise<void> {
    await this.#requestObject("mcp.reporter.setUpload", { enabled: true, target }, options);
  }

  /** Queue no further calls; those that are queued are still delivered. */
  async stopUploads(options?: CallOptions): Promise<void> {
    await this.#requestObject("mcp.reporter.setUpload", { enabled: false }, options);
  }

  /** Deliver the calls since the last time; returns how many there were. */
  async flush(options?: CallOptions): Promise<number> {
    const method = "mcp.reporter.flush";
    const { flushed } = await this.#requestObject(method, undefined, options);
    if (!Number.isInteger(flushed)) throw describeResult(method, flushed);
    return flushed;
  }

  /** Stop the server. Calls that wait for their answer fail with a `ClosedError`. */
  close(): Promise<void> {
    return this.#coprocess.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #requestObject(
    method: string,
    params: object | undefined,
    options: CallOptions | undefined,
  ): Promise<Record<string, any>> {
    const result = await this.#coprocess.request(method, params, options);
    if (!isObject(result)) throw describeResult(method, result);
    return result;
  }

  async #requestList(
    method: string,
    key: string,
    options: CallOptions | undefined,
  ): Promise<Record<string, any>[]> {
    const { [key]: entries } = await this.#requestObject(method, undefined, options);
    if (!Array.isArray(entries)) throw describeResult(method, entries);
    return entries;
  }
}

function describeResult(method: string, result: unknown) {
  return buildDrift(`the result of ${method} cannot be ${quoteJson(result)}`);
}

/** A server as arguments and environment of the binary. */
function describeServer(options: ServerOptions): { args: string[]; env: Record<string, string> } {
  checkOptions(options);
  const { command, url, secrets = [] } = options;
  const args = ["--connection-server"];
  const add = (option: string, value: string | undefined) => {
    if (value !== undefined) args.push(option, value);
  };
  if (command?.length) {
    add("--server-command", typeof command === "string" ? command : quoteWords(command));
  }
  add("--url", url === undefined ? undefined : String(url));
  add("--bearer-env", options.bearerEnv);
  for (const [header, name] of Object.entries(options.headerEnv ?? {})) {
    add("--header-env", `${header}=${name}`);
  }
  add("--ca-file", options.caFile === undefined ? undefined : readPath(options.caFile));
  add("--cwd", options.cwd === undefined ? undefined : readPath(options.cwd));
  add("--timeout", options.timeoutMs === undefined ? undefined : `${options.timeoutMs}ms`);
  const startMs = options.startTimeoutMs;
  add("--start-timeout", startMs === undefined ? undefined : `${startMs}ms`);
  add("--spec-version", options.revision);
  // Only values that are set for the server can be hidden: set those again that it inherits.
  const inherited = secrets.map((name) => [name, process.env[name]]);
  const set = { ...Object.fromEntries(inherited), ...options.env };
  if (!Object.keys(set).length) return { args, env: {} };
  return { args, env: { MCPTEST_SERVER_ENV: JSON.stringify({ set, secrets }) } };
}

/** Refuse what the binary would not get, or would get as something else. */
function checkOptions(options: ServerOptions): void {
  const given: unknown = options;
  if (!isObject(given)) {
    throw new TypeError(`connect takes an object with options, such as { command: ["./server"] }`);
  }
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) {
    const known = Object.keys(OPTIONS).join(", ");
    throw new TypeError(`there is no option ${quoteJson(unknown)}; the options are ${known}`);
  }
  const { command, url, record, replay, cwd, revision, bearerEnv, headerEnv = {} } = options;
  if (!command?.length && url === undefined) {
    throw new TypeError("there is no server: give its command, or url");
  }
  if (record !== undefined && replay !== undefined) {
    throw new TypeError("a cassette is recorded or replayed, not both at once");
  }
  if (cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new TypeError(`cwd: there is no folder ${quoteJson(readPath(cwd))}`);
  }
  if (revision !== undefined && !/^(auto|\d{4}-\d{2}-\d{2})$/.test(revision)) {
    throw new TypeError(`revision is a date such as "2025-06-18", not ${quoteJson(revision)}`);
  }
  if (bearerEnv !== undefined) checkVariable("bearerEnv", bearerEnv);
  for (const [header, name] of Object.entries(headerEnv)) {
    checkVariable(`headerEnv[${quoteJson(header)}]`, name);
  }
  for (const name of ["timeoutMs", "startTimeoutMs"] as const) {
    const value = options[name];
    if (value !== undefined && !(Number.isFinite(value) && value > 0)) {
      throw new TypeError(`${name} is a number of milliseconds above 0, not ${value}`);
    }
  }
  for (const [name, value] of Object.entries(options.env ?? {})) {
    if (!/^[^=\0]+$/.test(name))
      throw new TypeError(`env has ${quoteJson(name)}, which is not a name`);
    if (typeof value !== "string") {
      // Without the value, which may be a secret.
      throw new TypeError(`env.${name} is a string, not ${describeType(value)}`);
    }
    if (value.includes("\0")) throw new TypeError(`env.${name} has a NUL character`);
  }
  for (const name of options.secrets ?? []) {
    if (!Object.hasOwn(options.env ?? {}, name) && process.env[name] === undefined) {
      const shown = quoteJson(name);
      throw new TypeError(`secrets has ${shown}, which is not in env, nor in the environment`);
    }
  }
}

/** Refuse the name of an environment variable that has no value. */
function checkVariable(option: string, name: string): void {
  if (process.env[name]) return;
  const state = process.env[name] === undefined ? "is not set" : "is empty";
  throw new TypeError(
    `${option} names the environment variable ${quoteJson(name)}, which ${state}`,
  );
}

/** Refuse arguments that have no names. */
function checkArguments(args: unknown): void {
  if (isObject(args)) return;
  const given = Array.isArray(args) ? "an array" : quoteJson(args);
  throw pointAtCaller(new TypeError(`arguments are an object, such as { id: 1 }, not ${given}`));
}

/** A path that is given as such, or as a `file:` URL. */
export function readPath(path: string | URL): string {
  if (typeof path === "string") return path;
  return relative("", fileURLToPath(path)) || ".";
}
