/** The tests of a file, listed and run by mcptest over its suite channel. */

import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { type CallOptions, Coprocess, MAX_TIMER_MS } from "./coprocess.js";
import { readPath } from "./client.js";
import {
  buildDrift,
  describeUpgrade,
  pointAtCaller,
  quoteJson,
  RefusedError,
  SuiteTestError,
  VersionError,
  visible,
} from "./errors.js";
import { isObject } from "./verdict.js";
import { quoteWord } from "./words.js";

const SUITE_CHANNEL_VERSION = 1;
// Added to the time that a test can take.
const SLACK_MS = 15_000;
// For a test whose limit is not known, because the tests were not listed.
const UNLISTED_MS = 600_000;

/** The lanes of a suite that an SDK cannot drive. */
export const UNSUPPORTED_SDK_LANES = ["agents", "compliance", "security", "evals"] as const;

/** The reason for skipping a lane, with the command that runs it for the suite at this path. */
export function laneCliHint(lane: string, suite?: string): string {
  const commands: Record<string, string> = {
    compliance: "mcptest compliance run --from-suite",
    evals: "mcptest eval",
  };
  const command = commands[lane] ?? "mcptest run";
  const file = suite === undefined ? "<suite>" : quoteWord(suite);
  return `lane "${lane}" is not drivable over the SDK channel; run: ${command} ${file}`;
}

export interface SuiteTest {
  /** `server::name`, unique in the file. */
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly tags: readonly string[];
  /** The reason for skipping it; "" if it is run. */
  readonly skip: string;
  /** Longer than it can take. */
  readonly limitMs: number;
}

export interface SuiteList {
  readonly file: string;
  readonly tests: readonly SuiteTest[];
  /** The lanes that cannot be driven. */
  readonly lanes: readonly { readonly lane: string; readonly line: number }[];
  /** What is judged for a whole run only. */
  readonly left: readonly { readonly name: string; readonly reason: string }[];
  readonly warnings: readonly string[];
}

export interface SuiteVerdict {
  readonly status: "passed" | "failed" | "error" | "skipped";
  /** What `mcptest run` prints for a test that did not pass; the reason of a skipped one. */
  readonly text: string;
  readonly file: string;
  readonly line: number;
  readonly durationMs: number;
  readonly notes: readonly string[];
}

/** Open a file that `mcptest run` accepts: a suite, a test file, a contract, or a folder. */
export async function openSuite(file: string | URL, options: CallOptions = {}): Promise<Suite> {
  const path = readPath(file);
  // A path that begins with a dash would be taken for an option.
  const word = path.startsWith("-") ? `./${path}` : path;
  try {
    return new Suite(await Coprocess.start(["--suite-server", word], options), path);
  } catch (error) {
    throw pointAtCaller(error);
  }
}

/** An open file. Its tests are run one at a time; a server is started by the first that needs it. */
export class Suite implements AsyncDisposable {
  readonly #coprocess: Coprocess;
  readonly #path: string;
  // A relative path was looked for here.
  readonly #folder = process.cwd();
  #list: Promise<SuiteList> | undefined;

  /** For tests of this package: use `openSuite`. */
  constructor(coprocess: Coprocess, path: string) {
    this.#coprocess = coprocess;
    this.#path = path;
  }

  /** The version of the mcptest binary. */
  get binaryVersion(): string {
    return this.#coprocess.binaryVersion;
  }

  /** The tests of the file. Mistakes in it are a `RefusedError` with all of them. */
  list(): Promise<SuiteList> {
    return (this.#list ??= this.#requestList());
  }

  /** Run one test. */
  async run(id: string, options: CallOptions = {}): Promise<SuiteVerdict> {
    const test = (await this.#list)?.tests.find((each) => each.id === id);
    const timeoutMs = (test?.limitMs ?? UNLISTED_MS) + SLACK_MS;
    const result = await this.#coprocess.request("suite.run", { id }, { ...options, timeoutMs });
    return readSuiteVerdict(result);
  }

  close(): Promise<void> {
    return this.#coprocess.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #requestList(): Promise<SuiteList> {
    const result = await this.#coprocess.request("suite.list").catch((error: unknown) => {
      if (!(error instanceof RefusedError) || isAbsolute(this.#path) || existsSync(this.#path)) {
        throw error;
      }
      const { code, rawMessage, data } = error;
      throw pointAtCaller(new RefusedError(code, rawMessage, data, this.#folder));
    });
    const version = isObject(result) ? result["version"] : undefined;
    const ours = SUITE_CHANNEL_VERSION;
    if (typeof version === "number" && Number.isInteger(version) && version !== ours) {
      const message = describeUpgrade("suite channel", version, ours);
      throw this.#coprocess.fail(new VersionError(message));
    }
    return readList(result);
  }
}

/** How a test runner shows a test of a suite. */
export interface RunnerTest {
  skip(reason: string): void;
  note(text: string): void;
  readonly signal: AbortSignal | undefined;
}

export interface RunnerEntry {
  readonly name: string;
  /** Longer than it can take. */
  readonly limitMs: number;
  readonly run: (test: RunnerTest) => Promise<void>;
}

/** The entries of a suite in a test runner: its tests, its lanes, and what only a whole run judges. */
export async function listEntries(suite: Suite): Promise<[string, RunnerEntry[]]> {
  const list = await suite.list().catch(async (error: unknown) => {
    await suite.close();
    throw error;
  });
  // Runners print names, reasons and notes as they are.
  for (const warning of list.warnings) process.emitWarning(visible(warning), "McptestWarning");
  const skip = (name: string, reason: string): RunnerEntry => {
    return { name: visible(name), limitMs: 0, run: async (runner) => runner.skip(visible(reason)) };
  };
  const tests = list.tests.map((test) => {
    if (test.skip) return skip(test.id, test.skip);
    const run = async (runner: RunnerTest) => {
      const verdict = await suite.run(test.id, { signal: runner.signal });
      const { status, text } = verdict;
      // The text of a failure has its notes already.
      if (status === "passed") verdict.notes.forEach((note) => runner.note(visible(note)));
      else if (status === "skipped") runner.skip(visible(text));
      else throw new SuiteTestError(text, verdict.file, verdict.line);
    };
    // More than `run` waits, so that its own error is shown and not one of the runner.
    const limitMs = Math.min(test.limitMs + 2 * SLACK_MS, MAX_TIMER_MS);
    return { name: visible(test.id), limitMs, run };
  });
  const lanes = list.lanes.map(({ lane }) => skip(`lanes::${lane}`, laneCliHint(lane, list.file)));
  const left = list.left.map(({ name, reason }) => skip(name, reason));
  return [visible(list.file), [...tests, ...lanes, ...left]];
}

// Results, in exactly the form that the contract has

type Check = (value: unknown) => boolean;

const isString: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const isInteger: Check = (value) => Number.isInteger(value);
const isListOf = (check: Check): Check => {
  return (value) => Array.isArray(value) && value.every(check);
};
const isOneOf = (...values: unknown[]): Check => {
  return (value) => values.includes(value);
};

/** What is wrong with an object that must have these members and no others; "" if nothing is. */
function findMistake(value: unknown, members: Record<string, Check>): string {
  if (!isObject(value)) return `is ${quoteJson(value)}`;
  const surplus = Object.keys(value).find((key) => !Object.hasOwn(members, key));
  if (surplus !== undefined) return `has an unknown member ${quoteJson(surplus)}`;
  for (const [key, check] of Object.entries(members)) {
    if (!Object.hasOwn(value, key)) return `has no member "${key}"`;
    if (!check(value[key])) return `has an invalid "${key}": ${quoteJson(value[key])}`;
  }
  return "";
}

function readList(result: unknown): SuiteList {
  const refuse = (part: string, mistake: string) => {
    if (mistake) throw buildDrift(`${part} of suite.list ${mistake}`);
  };
  const isList = isListOf(() => true);
  const members = {
    version: isOneOf(SUITE_CHANNEL_VERSION),
    file: isString,
    tests: isList,
    lanes: isList,
    left: isList,
    warnings: isListOf(isString),
  };
  refuse("the result", findMistake(result, members));
  const { file, tests, lanes, left, warnings } = result as any;
  const test = {
    id: isString,
    server: isString,
    name: isString,
    file: isString,
    line: isInteger,
    tags: isListOf(isString),
    skip: isString,
    limit_ms: isNumber,
  };
  for (const each of tests) refuse("a test", findMistake(each, test));
  for (const each of lanes)
    refuse("a lane", findMistake(each, { lane: isString, line: isInteger }));
  for (const each of left)
    refuse("an entry", findMistake(each, { name: isString, reason: isString }));
  const ids = new Set<string>();
  for (const { id } of tests) {
    if (ids.has(id)) throw buildDrift(`two tests of suite.list have the id ${quoteJson(id)}`);
    ids.add(id);
  }
  const named = tests.map(({ limit_ms: limitMs, ...rest }: any) => ({ ...rest, limitMs }));
  return { file, tests: named, lanes, left, warnings };
}

function readSuiteVerdict(result: unknown): SuiteVerdict {
  const mistake = findMistake(result, {
    status: isOneOf("passed", "failed", "error", "skipped"),
    text: isString,
    file: isString,
    line: isInteger,
    duration_ms: isNumber,
    notes: isListOf(isString),
  });
  if (mistake) throw buildDrift(`the result of suite.run ${mistake}`);
  const { duration_ms: durationMs, ...rest } = result as any;
  return { ...rest, durationMs };
}
