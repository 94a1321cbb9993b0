/** The verdict on a call of a tool, and the check of what is sent with one. */

import { buildDrift, quoteJson } from "./errors.js";

/** The outcome of a call. An error that the tool itself reports is a verdict, too. */
export interface Verdict<Data = any> {
  /** Whether the tool reported no error. */
  readonly success: boolean;
  /** Its text blocks, joined by newlines; null if there are none. */
  readonly text: string | null;
  /** Its structured content; null if there is none. */
  readonly data: Data | null;
  /** The text of the error that it reported; null if it reported none. */
  readonly error: string | null;
  /** How long the answer took. */
  readonly durationMs: number;
  /** The unchanged answer of the server. */
  readonly raw: Record<string, any>;
}

const FIELDS = ["success", "data", "text", "error", "duration_ms"];
// The contract allows 200 levels, with those around the arguments.
const MAX_DEPTH = 190;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The verdict in a result of `mcp.call`: a declared one, or one that the server's answer implies. */
export function readVerdict(result: unknown, tookMs: number): Verdict {
  if (!isObject(result)) throw buildDrift(`the result of mcp.call is ${quoteJson(result)}`);
  if (Object.hasOwn(result, "success")) return readDeclared(result);
  const blocks: unknown[] = Array.isArray(result["content"]) ? result["content"] : [];
  const texts = blocks.flatMap((block) =>
    isObject(block) && block["type"] === "text" && typeof block["text"] === "string"
      ? [block["text"]]
      : [],
  );
  const text = texts.length ? texts.join("\n") : null;
  const error = findError(result, text);
  return {
    success: error === null,
    text,
    data: Object.hasOwn(result, "structuredContent") ? result["structuredContent"] : null,
    error,
    durationMs: tookMs,
    raw: result,
  };
}

function findError(result: Record<string, unknown>, text: string | null): string | null {
  const isError = Object.hasOwn(result, "isError") ? result["isError"] : false;
  if (isError === false) return null;
  if (isError === true) return text || "the tool reported an error";
  return `isError is ${quoteJson(isError)}, and must be true or false`;
}

function readDeclared(result: Record<string, unknown>): Verdict {
  const surplus = Object.keys(result).find((key) => !FIELDS.includes(key));
  if (surplus !== undefined) {
    throw buildDrift(`the result of mcp.call has no field ${quoteJson(surplus)}`);
  }
  const missing = FIELDS.find((key) => !Object.hasOwn(result, key));
  if (missing) throw buildDrift(`the result of mcp.call is a verdict without "${missing}"`);
  const { success, data, text, error, duration_ms: durationMs } = result;
  if (
    typeof success !== "boolean" ||
    (text !== null && typeof text !== "string") ||
    (error !== null && typeof error !== "string") ||
    typeof durationMs !== "number"
  ) {
    throw buildDrift(`the result of mcp.call is not a verdict: ${quoteJson(result)}`);
  }
  return { success, text, data, error, durationMs, raw: result };
}

/**
 * Refuse what JSON cannot express, where `JSON.stringify` would drop or change it silently.
 *
 * Members that are undefined are left out, as usual, and `toJSON` is respected.
 */
export function checkJson(value: unknown, path: string, depth = 0): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") {
    if (!Number.isFinite(value))
      throw new TypeError(`${path} is ${value}, which JSON cannot express`);
    return;
  }
  if (typeof value !== "object") {
    throw new TypeError(`${path} is ${describeType(value)}, which JSON cannot express`);
  }
  if (depth > MAX_DEPTH) {
    const start = path.slice(0, 100);
    throw new TypeError(`${start}… is nested deeper than ${MAX_DEPTH} levels, or contains itself`);
  }
  if ("toJSON" in value && typeof value.toJSON === "function") {
    checkJson(value.toJSON(), path, depth + 1);
  } else if (Array.isArray(value)) {
    // Not forEach: it passes over holes, which JSON.stringify turns into null.
    for (let n = 0; n < value.length; n++) checkJson(value[n], `${path}[${n}]`, depth + 1);
  } else if (Object.prototype.toString.call(value) === "[object Object]") {
    for (const [key, inner] of Object.entries(value)) {
      if (inner !== undefined) checkJson(inner, `${path}.${key}`, depth + 1);
    }
  } else {
    throw new TypeError(`${path} is ${describeType(value)}, which JSON cannot express`);
  }
}

export function describeType(value: unknown): string {
  if (value === undefined) return "undefined";
  return `a ${Object.prototype.toString.call(value).slice(8, -1)}`;
}
