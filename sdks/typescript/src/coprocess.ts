/**
 * The channel to mcptest: starts the binary, then sends one line and reads one line at a time.
 *
 * docs/coprocess.md of the mcptest repository is the contract. Every wait has a timer, and only
 * timers keep the program alive: a program that forgets to close a connection still ends, and the
 * binary ends with it, because its input does.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { TextDecoder } from "node:util";
import {
  BinaryError,
  buildDrift,
  buildRefusal,
  buildTimeout,
  ClosedError,
  ContractError,
  describeUpgrade,
  excerpt,
  type McptestError,
  pointAtCaller,
  quoteJson,
  RefusedError,
  VersionError,
  visible,
} from "./errors.js";
import { checkJson, isObject } from "./verdict.js";
import { findBinary } from "./words.js";

export const COPROCESS_PROTOCOL_VERSION = 2;
const SDK_VERSION = "0.1.0";

const HANDSHAKE_MS = 10_000;
const REQUEST_MS = 60_000;
const SHUTDOWN_MS = 10_000;
// How long the pipes of a binary that has ended, or the process behind closed pipes, may stay.
const ENDING_MS = 500;
// An answer of the server, and a little around it.
const MAX_LINE_BYTES = 64 * 1024 * 1024 + 64 * 1024;
const MAX_STDERR_BYTES = 4096;
const MAX_WARNINGS = 100;
// How long a request may be. What is not its params is shorter than 1024 bytes.
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;
// How deep an answer may be nested, the frame included.
const MAX_DEPTH = 200;
// The longest delay of setTimeout.
export const MAX_TIMER_MS = 2 ** 31 - 1;

// How the binary names options of `connect`.
const OPTIONS: Record<string, string> = {
  "--server-command": "command",
  "--url": "url",
  "--bearer-env": "bearerEnv",
  "--header-env": "headerEnv",
  "--ca-file": "caFile",
  "--cwd": "cwd",
  "--spec-version": "revision",
  "--timeout": "timeoutMs",
  "--start-timeout": "startTimeoutMs",
};

export interface CallOptions {
  /** Cancels the call. If it was already sent, the binary and the server are stopped. */
  readonly signal?: AbortSignal | undefined;
}

export interface RequestOptions extends CallOptions {
  /** How long to wait for the answer, once the request is sent. */
  readonly timeoutMs?: number;
}

export interface CoprocessOptions extends RequestOptions {
  /** Variables that are added to the environment of the binary. */
  readonly env?: Record<string, string>;
}

type Outcome = { readonly result: unknown } | { readonly failure: () => unknown };

interface Request {
  readonly method: string;
  readonly params: string;
  readonly timeoutMs: number;
  readonly settle: (outcome: Outcome) => void;
  timer?: NodeJS.Timeout;
}

/** One mcptest binary, started and past its handshake. */
export class Coprocess implements AsyncDisposable {
  /** Start `mcptest exec` with these arguments, and perform the handshake. */
  static async start(args: readonly string[], options: CoprocessOptions = {}): Promise<Coprocess> {
    options.signal?.throwIfAborted();
    const coprocess = new Coprocess(args, options);
    try {
      await coprocess.#performHandshake(options.signal);
    } catch (error) {
      await coprocess.close();
      throw error;
    }
    return coprocess;
  }

  /** The version of the binary. */
  binaryVersion = "";

  readonly #child: ChildProcessWithoutNullStreams;
  readonly #timeoutMs: number;
  readonly #waiting: Request[] = [];
  #current: Request | undefined;
  #lastId = 0;
  // Why the binary cannot be used any more; every later request fails with it.
  #broken: ((method: string) => McptestError) | undefined;
  #closing: Promise<void> | undefined;

  // A line that has not ended yet.
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  readonly #stderr = new StderrTail();

  #isOver = false;
  readonly #over: Promise<void>;
  #markOver: () => void = () => undefined;

  private constructor(args: readonly string[], options: CoprocessOptions) {
    this.#timeoutMs = options.timeoutMs ?? REQUEST_MS;
    this.#over = new Promise((resolve) => (this.#markOver = resolve));
    const [program = "", ...words] = findBinary();
    const child = startBinary(program, [...words, "exec", ...args], options.env);
    this.#child = child;

    child.on("error", (error) => {
      if (child.pid !== undefined) return;
      const message = describeStart(program, error);
      this.#stop(() => new BinaryError(message));
      this.#finish();
    });
    child.on("exit", () => startTimer(ENDING_MS, () => this.#finish()).unref());
    child.on("close", () => this.#finish());
    // How the binary ended is reported when it has; a write that failed says less.
    child.stdin.on("error", () => undefined);
    child.stdout.on("error", () => undefined);
    child.stderr.on("error", () => undefined);
    child.stdout.on("data", (chunk: Buffer) => this.#readChunk(chunk));
    child.stdout.on("end", () => startTimer(ENDING_MS, () => this.#finish()).unref());
    child.stderr.on("data", (chunk: Buffer) => this.#stderr.add(chunk));
    for (const handle of [child, child.stdin, child.stdout, child.stderr]) {
      (handle as { unref?: () => void }).unref?.();
    }
  }

  /**
   * The result of a request; a `McptestError` if there is none. Requests are sent one at a time,
   * in the order in which they were made.
   */
  async request(method: string, params?: object, options: RequestOptions = {}): Promise<unknown> {
    try {
      return await this.#request(method, params, options);
    } catch (error) {
      throw pointAtCaller(error);
    }
  }

  async #request(
    method: string,
    params: object | undefined,
    options: RequestOptions,
  ): Promise<unknown> {
    const { signal, timeoutMs = this.#timeoutMs } = options;
    signal?.throwIfAborted();
    for (const [name, value] of Object.entries(params ?? {})) {
      if (value !== undefined) checkJson(value, name);
    }
    // Now, because the caller may change the arguments while the request waits for its turn.
    const text = params === undefined ? "" : `,"params":${JSON.stringify(params)}`;
    const size = Buffer.byteLength(text);
    if (size > MAX_REQUEST_BYTES - 1024) {
      const limit = `a request has up to ${MAX_REQUEST_BYTES}`;
      throw new TypeError(`${method} was not sent: its params have ${size} bytes, and ${limit}`);
    }
    let cancel = () => undefined as void;
    const outcome = await new Promise<Outcome>((settle) => {
      const request: Request = { method, params: text, timeoutMs, settle };
      cancel = () => this.#cancel(request, signal);
      signal?.addEventListener("abort", cancel, { once: true });
      this.#waiting.push(request);
      this.#sendNext();
    });
    signal?.removeEventListener("abort", cancel);
    // Thrown here and not where the failure was noticed, so that the stack has the caller.
    if ("failure" in outcome) throw outcome.failure();
    return outcome.result;
  }

  /** Shut the binary and its server down. Calls that wait for their answer fail. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Stop a binary whose answer shows that it is of another release. */
  fail(error: McptestError): McptestError {
    this.#stop(() => error);
    return error;
  }

  async #performHandshake(signal: AbortSignal | undefined): Promise<void> {
    const ours = COPROCESS_PROTOCOL_VERSION;
    const params = { protocol_version: ours, sdk: "typescript", sdk_version: SDK_VERSION };
    let result: unknown;
    try {
      result = await this.request("coprocess/handshake", params, {
        signal,
        timeoutMs: HANDSHAKE_MS,
      });
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      if (error.code === -32601) {
        throw this.fail(new VersionError(describeUpgrade("coprocess", 1, ours)));
      }
      if (error.code === -32602) throw this.fail(new VersionError(visible(error.rawMessage)));
      const message = `the mcptest binary refused the handshake: ${error.message}`;
      throw this.fail(new ContractError(`${message} (code ${error.code})`));
    }
    const theirs = isObject(result) ? result["protocol_version"] : undefined;
    if (!isObject(result) || typeof theirs !== "number" || !Number.isInteger(theirs)) {
      throw this.fail(buildDrift(`the handshake was answered with ${quoteJson(result)}`));
    }
    if (theirs !== ours) {
      throw this.fail(new VersionError(describeUpgrade("coprocess", theirs, ours)));
    }
    const { protocol_version: _, binary_version: version, ...surplus } = result;
    if (typeof version !== "string" || Object.keys(surplus).length) {
      throw this.fail(buildDrift(`the handshake was answered with ${quoteJson(result)}`));
    }
    this.binaryVersion = version;
  }

  // Sending

  #sendNext(): void {
    while (!this.#current) {
      const request = this.#waiting.shift();
      if (!request) return;
      const { method } = request;
      const broken = this.#broken;
      if (this.#closing) {
        const message = `the connection is closed, so ${method} was not sent`;
        request.settle({ failure: () => new ClosedError(message) });
      } else if (broken) {
        request.settle({ failure: () => broken(method) });
      } else {
        this.#send(request);
      }
    }
  }

  #send(request: Request): void {
    const { method, timeoutMs } = request;
    this.#current = request;
    request.timer = startTimer(timeoutMs, () => {
      if (this.#current === request) this.#stop(() => buildTimeout(method, timeoutMs));
    });
    const name = JSON.stringify(method);
    this.#child.stdin.write(
      `{"jsonrpc":"2.0","id":${++this.#lastId},"method":${name}${request.params}}\n`,
    );
  }

  #settle(outcome: Outcome): void {
    const request = this.#current;
    this.#current = undefined;
    clearTimeout(request?.timer);
    request?.settle(outcome);
    // Later, because a second answer may follow in the same chunk, which belongs to no request.
    queueMicrotask(() => this.#sendNext());
  }

  #cancel(request: Request, signal: AbortSignal | undefined): void {
    const outcome = { failure: () => signal?.reason };
    if (this.#current === request) {
      this.#settle(outcome);
      const { method } = request;
      this.#stop(
        (next) =>
          new ClosedError(`${next} was not sent: cancelling ${method} has closed the connection`),
      );
    } else if (this.#waiting.includes(request)) {
      this.#waiting.splice(this.#waiting.indexOf(request), 1);
      request.settle(outcome);
    }
  }

  // Reading

  #readChunk(chunk: Buffer): void {
    for (let start = 0; start < chunk.length && !this.#broken;) {
      const end = chunk.indexOf(10, start);
      const piece = chunk.subarray(start, end < 0 ? chunk.length : end);
      this.#pieces.push(piece);
      this.#pieceBytes += piece.length;
      if (this.#pieceBytes > MAX_LINE_BYTES) {
        const beginning = quoteBytes(this.#takeLine());
        this.#refuse(
          (method) =>
            new ContractError(
              `the mcptest binary answered ${method} with a line of more than ` +
                `${MAX_LINE_BYTES} bytes; it begins with ${beginning}`,
            ),
        );
        return;
      }
      if (end < 0) return;
      this.#readLine(this.#takeLine());
      start = end + 1;
    }
  }

  #takeLine(): Buffer {
    const pieces = this.#pieceBytes > MAX_LINE_BYTES ? this.#pieces.slice(0, 1) : this.#pieces;
    this.#pieces = [];
    this.#pieceBytes = 0;
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  }

  #readLine(line: Buffer): void {
    // After a shutdown only its answer can come.
    if (isBlank(line) || this.#closing) return;
    if (!this.#current) {
      const early = quoteBytes(line);
      this.#stop((method) => buildDrift(`before ${method} was sent, there came ${early}`));
      return;
    }
    const value = parseLine(line);
    if (!isObject(value)) {
      const shown = quoteBytes(line);
      this.#refuse(
        (method) =>
          new ContractError(
            `the mcptest binary answered ${method} with a line that is not a response: ${shown}; ` +
              "is MCPTEST_BIN the mcptest binary, and does nothing else write to its stdout?",
          ),
      );
      return;
    }
    const problem = findProblem(value, this.#lastId);
    if (problem) {
      this.#refuse((method) => buildDrift(`the answer to ${method} ${problem}`));
      return;
    }
    if (Object.hasOwn(value, "error")) {
      const { code, message, data } = value["error"] as ErrorMembers;
      this.#settle({ failure: () => buildRefusal(code, message, data) });
    } else {
      this.#settle({ result: value["result"] });
    }
  }

  /** Stop the binary because of its answer to the current request. */
  #refuse(build: (method: string) => McptestError): void {
    const asked = this.#current?.method;
    this.#stop((method) => build(asked ?? method));
  }

  // Ending

  /** Kill the binary; the current request and all later ones fail with this error. */
  #stop(why: (method: string) => McptestError): void {
    if (this.#broken || this.#isOver) return;
    this.#broken = why;
    this.#kill();
    const method = this.#current?.method;
    if (method !== undefined) this.#settle({ failure: () => why(method) });
    this.#sendNext();
  }

  /** Kill the binary with its process group; it has arranged for the end of its server. */
  #kill(): void {
    const { pid, exitCode, signalCode, stdout, stderr } = this.#child;
    const isRunning = exitCode === null && signalCode === null;
    // A process that it left behind may have its output open.
    if (pid !== undefined && (isRunning || !stdout.destroyed || !stderr.destroyed)) {
      try {
        if (process.platform === "win32") this.#child.kill("SIGKILL");
        else process.kill(-pid, "SIGKILL");
      } catch {
        // It has just ended.
      }
    }
    for (const pipe of this.#child.stdio) pipe?.destroy();
  }

  /** The binary has ended, or has closed its output: whatever waits for it waits in vain. */
  #finish(): void {
    if (this.#isOver) return;
    const { exitCode, signalCode } = this.#child;
    const how = describeEnd(exitCode, signalCode);
    const half = this.#pieceBytes
      ? `, in the middle of a line: ${quoteBytes(this.#takeLine())}`
      : "";
    const stderr = this.#stderr.text;
    const words = stderr ? `; its last words: ${stderr}` : "";
    const asked = this.#current?.method;
    // Only a bad command line ends the binary like this.
    const usage = this.binaryVersion === "" && exitCode === 2 ? readUsage(stderr) : "";
    if (!this.#closing) {
      this.#stop((method) => {
        const end = `the mcptest binary ended before it answered ${asked ?? method}: ${how}`;
        return new BinaryError(usage ? `${usage}\n(${end})` : `${end}${half}${words}`);
      });
    }
    this.#isOver = true;
    this.#markOver();
  }

  async #close(): Promise<void> {
    const isIdle = !this.#broken && !this.#current && this.#waiting.length === 0;
    if (isIdle) {
      this.#child.stdin.end(`{"jsonrpc":"2.0","id":${this.#lastId + 1},"method":"mcp.shutdown"}\n`);
      await this.#waitUntilOver(SHUTDOWN_MS);
    } else {
      this.#stop(
        (method) => new ClosedError(`the connection was closed before ${method} was answered`),
      );
    }
    const hasEnded = this.#isOver;
    this.#kill();
    await this.#waitUntilOver(ENDING_MS);
    const { exitCode, signalCode } = this.#child;
    const warnings = [...this.#stderr.warnings];
    if (isIdle && !hasEnded) warnings.push(`the mcptest binary did not end, and was killed`);
    else if (isIdle && exitCode !== 0) {
      warnings.push(`the mcptest binary ended with ${describeEnd(exitCode, signalCode)}`);
    }
    for (const warning of warnings) process.emitWarning(warning, "McptestWarning");
  }

  async #waitUntilOver(limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => (timer = startTimer(limitMs, resolve)));
    await Promise.race([this.#over, limit]);
    clearTimeout(timer);
  }
}

/** The end of what the binary wrote to stderr, and all warnings in it. */
class StderrTail {
  readonly warnings: string[] = [];
  readonly #decoder = new TextDecoder();
  #tail = Buffer.alloc(0);
  #bytes = 0;
  #line = "";

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-MAX_STDERR_BYTES);
    const lines = (this.#line + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#line = lines.pop()?.slice(0, MAX_STDERR_BYTES) ?? "";
    for (const line of lines) {
      if (line.startsWith("warning: ") && this.warnings.length < MAX_WARNINGS) {
        this.warnings.push(visible(line.slice("warning: ".length, MAX_STDERR_BYTES)));
      }
    }
  }

  get text(): string {
    const text = visible(new TextDecoder().decode(this.#tail).trim(), true);
    return this.#bytes > MAX_STDERR_BYTES ? `…${text}` : text;
  }
}

/** Act after a while, and after reading what has come: the program may have been busy meanwhile. */
function startTimer(limitMs: number, act: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), Math.min(limitMs, MAX_TIMER_MS));
}

function startBinary(
  program: string,
  args: readonly string[],
  env: Record<string, string> | undefined,
): ChildProcessWithoutNullStreams {
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
      // In a process group of its own, to be killed with all that it started.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    // Arguments that no program can get are the caller's mistake.
    if (error instanceof TypeError || !(error instanceof Error)) throw error;
    throw new BinaryError(describeStart(program, error));
  }
  // Then Node has made no pipes, and reports the error later.
  if (!child.stdio) {
    child.on("error", () => undefined);
    throw new BinaryError(describeStart(program, new Error("there are too many open files")));
  }
  return child;
}

function describeStart(program: string, error: NodeJS.ErrnoException): string {
  let missing = "it is not on the PATH";
  if (program.includes("/")) {
    missing = existsSync(program)
      ? "it is there, but the interpreter that its first line names is not"
      : "there is no such file";
  }
  const reasons: Record<string, string> = {
    ENOENT: missing,
    EACCES: "it is not an executable file",
    E2BIG: "its arguments and environment are too large",
  };
  const reason = reasons[error.code ?? ""] ?? error.message;
  const message = `the mcptest binary cannot be started: ${visible(program)}: ${reason}`;
  return `${message}. Install mcptest, or set MCPTEST_BIN to it.`;
}

function describeEnd(code: number | null, signal: string | null): string {
  if (signal !== null) return `killed by ${signal}`;
  return code === null ? "it closed its output, and did not exit" : `exit status ${code}`;
}

/** What the binary says of its command line, with the names of this SDK; "" if it says nothing. */
function readUsage(stderr: string): string {
  const [, message = ""] = /(?:^|\n)error: ([^]*)$/.exec(stderr) ?? [];
  return message.replace(/^--[a-z-]+/, (option) => OPTIONS[option] ?? option);
}

interface ErrorMembers {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What is wrong with a response, as the end of a sentence; "" if nothing is. */
function findProblem(value: Record<string, unknown>, id: number): string {
  const members = ["jsonrpc", "id", "result", "error"];
  const surplus = Object.keys(value).find((key) => !members.includes(key));
  if (surplus !== undefined) return `has an unknown member ${quoteJson(surplus)}`;
  const hasError = Object.hasOwn(value, "error");
  if (value["jsonrpc"] !== "2.0" || hasError === Object.hasOwn(value, "result")) {
    return `is not a response: ${quoteJson(value)}`;
  }
  if (hasError) {
    const error = value["error"];
    if (
      !isObject(error) ||
      !Number.isInteger(error["code"]) ||
      typeof error["message"] !== "string" ||
      Object.keys(error).some((key) => !["code", "message", "data"].includes(key))
    ) {
      return `has an invalid error: ${quoteJson(value)}`;
    }
    if (value["id"] === null) {
      return `says that the request could not be read: ${excerpt(error["message"])}`;
    }
  }
  return value["id"] === id ? "" : `has another id: ${quoteJson(value["id"])}`;
}

/** The JSON value in a line; undefined if it is not UTF-8, or not JSON in the strict sense. */
function parseLine(line: Buffer): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
    // First, because JSON.parse would use gigabytes for a value that is nested too deep.
    const names = countNames(text);
    if (Number.isNaN(names)) return undefined;
    const value: unknown = JSON.parse(text);
    // JSON.parse keeps the last of two members with the same name: then there are fewer of them.
    return countMembers(value) === names ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The number of members in a value; NaN if it has a number that was too large for a double. */
function countMembers(value: unknown): number {
  if (typeof value === "number") return Number.isFinite(value) ? 0 : NaN;
  if (typeof value !== "object" || value === null) return 0;
  const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let count = Array.isArray(value) ? 0 : inner.length;
  for (const each of inner) count += countMembers(each);
  return count;
}

/** The number of colons outside of strings; NaN if the text is nested too deep, or is not JSON. */
function countNames(text: string): number {
  let count = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') {
      do at = text.indexOf('"', at + 1);
      while (isEscaped(text, at));
      if (at < 0) return NaN;
    } else if (char === ":") count++;
    else if (char === "]" || char === "}") depth--;
    else if ((char === "[" || char === "{") && ++depth > MAX_DEPTH) return NaN;
  }
  return count;
}

function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charAt(start - 1) === "\\") start--;
  return (at - start) % 2 === 1;
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 32 || byte === 9 || byte === 13);
}

function quoteBytes(line: Buffer): string {
  return excerpt(line.subarray(0, 1000).toString("utf-8"));
}
