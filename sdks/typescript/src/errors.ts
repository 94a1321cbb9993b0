/**
 * The errors of this SDK. Those of calls are a `McptestError`; `kind` tells them apart as well.
 *
 * Mistakes in arguments are a `TypeError`, and a cancelled call is rejected with the reason of its
 * `AbortSignal`.
 */

import { fileURLToPath } from "node:url";

const MAY_HAVE_RUN = "it may have taken effect anyway";
const MAX_QUOTED = 200;
// Nobody reads more, and to escape 64 MiB takes gigabytes.
const MAX_SHOWN = 100_000;
// How hints of the binary name an option of this SDK.
const START_LIMIT = '--start-timeout, or "startupTimeout" in the config';
const MAX_STDERR_LINES = 20;
// Where the frames of this package are, as Node and as bundlers write it.
const OWN_URL = new URL(".", import.meta.url).href;
const OWN_FOLDER = fileURLToPath(OWN_URL);

export type ErrorKind =
  | "binary"
  | "timeout"
  | "version"
  | "contract"
  | "closed"
  | "refused"
  | "upstream"
  | "upstream_gone";

/** What can go wrong with a server; docs/faults.md of mcptest explains each. */
export type FaultKind =
  | "spawn_failed"
  | "exited_early"
  | "handshake_timeout"
  | "handshake_refused"
  | "unsupported_version"
  | "exited_during_call"
  | "early_response"
  | "timeout"
  | "stdin_blocked"
  | "malformed_line"
  | "protocol_violation"
  | "line_too_long"
  | "output_budget"
  | "name_lookup"
  | "connect_failed"
  | "tls_failed"
  | "redirect_refused"
  | "auth_failed"
  | "http_status"
  | "content_type"
  | "http_body"
  | "event_stream"
  | "malformed_json"
  | "session_lost"
  // Later versions may have more. This keeps the names above in the completion of editors.
  | (string & {});

/** A call failed in the channel to mcptest, or behind it. */
abstract class CallError extends Error {
  abstract get kind(): ErrorKind;

  static {
    nameErrors(this, "McptestError");
  }
}

/** The mcptest binary cannot be started, or has ended. */
export class BinaryError extends CallError {
  get kind(): "binary" | "timeout" {
    return "binary";
  }

  static {
    nameErrors(this, "BinaryError");
  }
}

/** The mcptest binary did not answer in time. It was stopped, together with the server. */
export class TimeoutError extends BinaryError {
  override get kind(): "timeout" {
    return "timeout";
  }

  static {
    nameErrors(this, "TimeoutError");
  }
}

/** The binary and this SDK have different versions; the message says which one to upgrade. */
export class VersionError extends CallError {
  get kind(): "version" {
    return "version";
  }

  static {
    nameErrors(this, "VersionError");
  }
}

/** The binary sent something that this version of the contract does not know. */
export class ContractError extends CallError {
  get kind(): "contract" {
    return "contract";
  }

  static {
    nameErrors(this, "ContractError");
  }
}

/** The connection was closed, before the call or while it waited for its answer. */
export class ClosedError extends CallError {
  get kind(): "closed" {
    return "closed";
  }

  static {
    nameErrors(this, "ClosedError");
  }
}

/** mcptest refused the request: a file that is not a cassette, an upload that failed. */
export class RefusedError extends CallError {
  /** The code of the error response of mcptest; that of the server is `serverCode`. */
  readonly code: number;
  /** The message of the response, unchanged and whole; `message` also has hints and stderr. */
  readonly rawMessage: string;
  /** The details of the response; undefined if there are none. */
  readonly data: any;

  constructor(code: number, message: string, data?: unknown, folder?: string) {
    const place = folder === undefined ? [] : [`looked for in ${folder}`];
    const parts = [message, ...place, ...describeDetails(data)];
    super(parts.map((part) => visible(part, true)).join("\n"));
    this.code = code;
    this.rawMessage = message;
    this.data = data;
  }

  get kind(): "refused" | "upstream" | "upstream_gone" {
    return "refused";
  }

  static {
    nameErrors(this, "RefusedError");
  }
}

/** The server refused the request, did not answer in time, or gave an unusable answer. */
export class UpstreamError extends RefusedError {
  override get kind(): "upstream" {
    return "upstream";
  }

  /** The code of the error that the server answered with, such as -32602; null if it did not. */
  get serverCode(): number | null {
    return this.fault === null && Number.isInteger(this.data?.code) ? this.data.code : null;
  }

  /** What went wrong, such as "timeout"; null if the server answered with an error. */
  get fault(): FaultKind | null {
    return readFault(this.data);
  }

  static {
    nameErrors(this, "UpstreamError");
  }
}

/** The server could not be started or reached, or has exited. */
export class UpstreamGoneError extends RefusedError {
  override get kind(): "upstream_gone" {
    return "upstream_gone";
  }

  /** What went wrong, such as "spawn_failed" or "exited_during_call"; null if it is not known. */
  get fault(): FaultKind | null {
    return readFault(this.data);
  }

  /** How the process ended, such as "exit status 3"; "" if it did not start. */
  get exitStatus(): string {
    return this.data?.exit_status ?? "";
  }

  /** The exit code of the process; null if it did not end in this way. */
  get exitCode(): number | null {
    return this.data?.exit_code ?? null;
  }

  /** The signal that killed the process, such as "SIGKILL"; null if it did not end in this way. */
  get signal(): string | null {
    return this.data?.signal ?? null;
  }

  static {
    nameErrors(this, "UpstreamGoneError");
  }
}

/** Any of the errors of calls. `kind` tells which, also to the compiler. */
export type McptestError =
  | (BinaryError & { readonly kind: "binary" })
  | TimeoutError
  | VersionError
  | ContractError
  | ClosedError
  | (RefusedError & { readonly kind: "refused" })
  | UpstreamError
  | UpstreamGoneError;

/** The base class of the errors of calls. */
export const McptestError = CallError as unknown as abstract new () => McptestError;

/**
 * A test of a suite did not pass. The message is what `mcptest run` prints for it.
 *
 * Not a `McptestError`: the call worked. It has no other members, because runners print them.
 */
export class SuiteTestError extends Error {
  constructor(text: string, file: string, line: number) {
    super(visible(text, true));
    // Runners show the place of the test in the suite instead of one in this package.
    this.stack = `${this.name}: ${this.message}\n    at ${visible(file)}:${line}:1`;
  }

  static {
    nameErrors(this, "SuiteTestError");
  }
}

/** The error for an error response, by its code. */
export function buildRefusal(code: number, message: string, data: unknown): RefusedError {
  if (code === -32000) return new UpstreamError(code, message, data);
  if (code === -32001) return new UpstreamGoneError(code, message, data);
  return new RefusedError(code, message, data);
}

/** The error for no answer in time. */
export function buildTimeout(method: string, limitMs: number): TimeoutError {
  const message = `the mcptest binary did not answer ${method} within ${limitMs / 1000} s`;
  return new TimeoutError(
    method === "coprocess/handshake" ? message : `${message}; ${MAY_HAVE_RUN}`,
  );
}

/** The error for an answer that has a form of another release. */
export function buildDrift(problem: string): ContractError {
  return new ContractError(
    `contract drift: ${problem}; the mcptest binary and this SDK are of different releases`,
  );
}

/** The sentence that says which side to upgrade. */
export function describeUpgrade(channel: string, theirs: number, ours: number): string {
  const advice =
    theirs < ours
      ? "Upgrade the mcptest binary (or pin the SDK to the matching release)."
      : "Upgrade the typescript SDK (or pin the mcptest binary to the matching release).";
  return `mcptest binary speaks ${channel} v${theirs}; this SDK needs v${ours}. ${advice}`;
}

/** A JSON value as a message can show it. */
export function quoteJson(value: unknown): string {
  try {
    return excerpt(JSON.stringify(value) ?? String(value));
  } catch {
    // Nested too deep for JSON.stringify.
    return "a deeply nested value";
  }
}

/** Foreign text as part of a sentence: its beginning, with control characters escaped. */
export function excerpt(text: string): string {
  const start = text.slice(0, MAX_QUOTED);
  return start.length < text.length ? `${visible(start)}…` : visible(start);
}

/** Text in which each character that is not visible is written as an escape. */
export function visible(text: string, keepsNewlines = false): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return shown.replace(/[\p{C}\p{Z}]/gu, (char) => {
    if (char === " " || (keepsNewlines && char === "\n")) return char;
    const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[char];
    const code = char.codePointAt(0) ?? 0;
    if (code > 0xffff) return `\\u{${code.toString(16)}}`;
    return named ?? `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** What helps to understand a refusal: a hint, whether the call may have run, the server's stderr. */
function describeDetails(data: unknown): string[] {
  // Data without a kind is the server's own.
  if (typeof data !== "object" || data === null) return [];
  const { kind, hint, effect, stderr } = data as Record<string, unknown>;
  if (typeof kind !== "string") return [];
  const lines: string[] = [];
  if (typeof hint === "string" && hint)
    lines.push(`hint: ${hint.replace(START_LIMIT, "startTimeoutMs")}`);
  if (effect === "indefinite") lines.push(MAY_HAVE_RUN);
  if (typeof stderr === "string" && stderr.trim()) {
    const written = stderr.trimEnd().split("\n").slice(-MAX_STDERR_LINES);
    lines.push(...written.map((line, n) => `  ${n ? "      " : "stderr"}  | ${excerpt(line)}`));
  }
  return lines;
}

/** The kind of fault in the details of a refusal. */
function readFault(data: any): FaultKind | null {
  return typeof data?.kind === "string" ? data.kind : null;
}

/** Take the frames of this package out of the stack, so that the caller's line comes first. */
export function pointAtCaller<Reason>(error: Reason): Reason {
  // The reason of an AbortSignal is not ours.
  if (!(error instanceof CallError || error instanceof TypeError)) return error;
  const { name, message, stack = "" } = error;
  const head = `${name}: ${message}`;
  if (!stack.startsWith(head)) return error;
  const frames = stack.slice(head.length + 1).split("\n");
  const isOurs = (frame = "") => frame.includes(OWN_URL) || frame.includes(OWN_FOLDER);
  const rest = frames.slice(frames.findLastIndex(isOurs) + 1);
  // It may come from the caller's own code, such as a `toJSON`, or may not show the caller.
  if (isOurs(frames[0]) && rest.length) error.stack = [head, ...rest].join("\n");
  return error;
}

/** Give all errors of a class their name, without a member that runners would print. */
function nameErrors(type: { prototype: Error }, name: string): void {
  Object.defineProperty(type.prototype, "name", { value: name, configurable: true });
}
