import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  laneCliHint,
  openSuite,
  RefusedError,
  type SuiteTest,
  UNSUPPORTED_SDK_LANES,
} from "@mcptest/sdk";
import { describe, expect, test } from "vitest";
import { FAKE, FIXTURES, isRunning, makeFolder, readStarted, start, waitUntil } from "./helpers.js";

const FILE = join(FIXTURES, "mcptest.yaml");
const VITEST = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));

const MISMATCH = `result.content[0].text: differs
  expected  "ulysses"
  actual    "Ulysses"
             ^
  hint      differs only in case
note: in step 2: tool find_book

mcptest.yaml:18`;
const LANE = `lane "agents" is not drivable over the SDK channel; run: mcptest run mcptest.yaml`;

describe("openSuite", () => {
  test("lists and runs tests, in any order", async () => {
    await using suite = await openSuite(FILE);
    const list = await suite.list();
    expect(list.tests.map(({ id }: SuiteTest) => id)).toEqual([
      "shelf::a book is found again",
      "shelf::expects another book",
      "shelf::falls down",
      "shelf::is not built yet",
      "attic::the attic is empty",
    ]);
    expect(list.lanes.map(({ lane }) => lane)).toEqual(["agents"]);
    expect(list.left.map(({ name }) => name)).toEqual(["coverage gate"]);
    expect(await suite.run("attic::the attic is empty")).toMatchObject({
      status: "passed",
      text: "",
    });
    expect((await suite.run("shelf::falls down")).status).toBe("error");
    await expect(suite.run("shelf::flies")).rejects.toThrow(RefusedError);
  });

  test("a file with mistakes is refused with all of them", async () => {
    await using suite = await openSuite(new URL("fixtures/vitest.config.mjs", import.meta.url));
    await expect(suite.list()).rejects.toMatchObject({ kind: "refused", code: -32602 });
  });

  test("a file that is not there: the error says where it was looked for", async () => {
    await using suite = await openSuite("nowhere.yaml");
    await expect(suite.list()).rejects.toMatchObject({
      message: `there is no file or folder 'nowhere.yaml'\nlooked for in ${process.cwd()}`,
      rawMessage: "there is no file or folder 'nowhere.yaml'",
    });
  });

  test("lanes", () => {
    expect(laneCliHint("agents", "mcptest.yaml")).toBe(LANE);
    expect(UNSUPPORTED_SDK_LANES).toContain("agents");
  });
});

/** Run the fixture suite with a runner. */
function run(runner: "vitest" | "node", words: string[] = [], env: Record<string, string> = {}) {
  const STARTED = join(makeFolder(), "started");
  const command =
    runner === "vitest"
      ? ["node", VITEST, "run", ...words]
      : ["node", "--test", "--test-reporter=tap", ...words, "suite.node.mjs"];
  return { ...start(command, { STARTED, ...env }), started: () => readStarted(STARTED) };
}

describe("vitest", () => {
  test("each test, lane and gate is a test", async () => {
    const { ended, started } = run("vitest", ["--reporter=json"]);
    const { status, output } = await ended;
    expect(status).toBe(1);
    const report = JSON.parse(output.slice(output.indexOf("{"), output.lastIndexOf("}") + 1));
    const results = report.testResults[0].assertionResults;
    expect(results.map((each: any) => [each.ancestorTitles, each.title, each.status])).toEqual([
      [["mcptest.yaml"], "shelf::a book is found again", "passed"],
      [["mcptest.yaml"], "shelf::expects another book", "failed"],
      [["mcptest.yaml"], "shelf::falls down", "failed"],
      [["mcptest.yaml"], "shelf::is not built yet", "skipped"],
      [["mcptest.yaml"], "attic::the attic is empty", "passed"],
      [["mcptest.yaml"], "lanes::agents", "skipped"],
      [["mcptest.yaml"], "coverage gate", "skipped"],
    ]);
    const [message] = results[1].failureMessages;
    expect(message).toBe(`SuiteTestError: ${MISMATCH}\n    at mcptest.yaml:18:1`);
    expect(started().map(({ name }) => name)).toEqual(["shelf", "attic"]);
    expect(started().some(({ pid }) => isRunning(pid))).toBe(false);
  });

  test("shows failures as mcptest does, and why a test is skipped", async () => {
    const { output } = await run("vitest", ["--reporter=verbose"]).ended;
    expect(output).toContain(`SuiteTestError: ${MISMATCH}\n`);
    expect(output).not.toContain("Serialized Error");
    expect(output).toContain(`lanes::agents`);
    expect(output).toContain(`[${LANE}]`);
    expect(output).toContain("[nobody may borrow yet]");
    expect(output).toContain("[judged for a whole run only; run: mcptest run mcptest.yaml]");
    expect(output).toContain("Tests  2 failed | 2 passed | 3 skipped (7)");
  });

  test.for(["forks", "threads"])("one test by name starts only its server, in %s", async (pool) => {
    const { ended, started } = run("vitest", ["-t", "attic is empty", `--pool=${pool}`]);
    const { status, output } = await ended;
    expect(output).toContain("Tests  1 passed | 6 skipped (7)");
    expect(status).toBe(0);
    expect(started().map(({ name }) => name)).toEqual(["attic"]);
    await waitUntil(() => !started().some(({ pid }) => isRunning(pid)), 5000);
  });

  test("no test by name starts no server, and leaves no binary", async () => {
    const file = join(makeFolder(), "binaries");
    const real = process.env["MCPTEST_BIN"] ?? "mcptest";
    const MCPTEST_BIN = `sh -c 'echo binary $$ >> "$0"; exec ${real} "$@"' ${file}`;
    const { ended, started } = run("vitest", ["-t", "no such test"], { MCPTEST_BIN });
    expect((await ended).output).toContain("Tests  7 skipped (7)");
    expect(started()).toEqual([]);
    const [binary] = readStarted(file);
    expect(binary).toBeDefined();
    await waitUntil(() => !isRunning(binary?.pid ?? 0), 5000);
  });

  test("mistakes in the file fail the test file", async () => {
    const { output, status } = await run("vitest", [], { SUITE: "nowhere.yaml" }).ended;
    expect(status).toBe(1);
    expect(output).toContain("RefusedError: there is no file or folder 'nowhere.yaml'");
    expect(output).toContain(`looked for in ${FIXTURES}`);
  });

  test.for(["forks", "threads"])("Ctrl-C leaves no server, in %s", async (pool) => {
    const { pid, ended, started } = run("vitest", [`--pool=${pool}`], { SUITE: "hanging.yaml" });
    await waitUntil(() => started().length === 1);
    process.kill(-pid, "SIGINT");
    await ended;
    await waitUntil(() => !started().some((each) => isRunning(each.pid)), 10_000);
  });
});

describe("node --test", () => {
  test("each test, lane and gate is a test", async () => {
    const { ended, started } = run("node");
    const { status, output } = await ended;
    expect(status).toBe(1);
    const results = [...output.matchAll(/^ {4}((?:not )?ok) \d+ - (.*)$/gm)];
    expect(results.map(([, verdict, name]) => [verdict, name])).toEqual([
      ["ok", "shelf::a book is found again"],
      ["not ok", "shelf::expects another book"],
      ["not ok", "shelf::falls down"],
      ["ok", "shelf::is not built yet # SKIP nobody may borrow yet"],
      ["ok", "attic::the attic is empty"],
      ["ok", `lanes::agents # SKIP ${LANE}`],
      ["ok", "coverage gate # SKIP judged for a whole run only; run: mcptest run mcptest.yaml"],
    ]);
    const indented = MISMATCH.replaceAll(/^/gm, " ".repeat(8));
    expect(output).toContain(`      error: |-\n${indented}\n`);
    expect(started().map(({ name }) => name)).toEqual(["shelf", "attic"]);
    expect(started().some(({ pid }) => isRunning(pid))).toBe(false);
  });

  test("one test by name starts only its server", async () => {
    const { ended, started } = run("node", ["--test-name-pattern", "attic is empty"]);
    const { status, output } = await ended;
    expect(status).toBe(0);
    expect(output).toContain("# pass 1\n");
    expect(started().map(({ name }) => name)).toEqual(["attic"]);
  });

  test("mistakes in the file fail the test file", async () => {
    const { output, status } = await run("node", [], { SUITE: "nowhere.yaml" }).ended;
    expect(status).toBe(1);
    expect(output).toContain("nowhere.yaml");
  });

  test("Ctrl-C leaves no server", async () => {
    const { pid, ended, started } = run("node", [], { SUITE: "hanging.yaml" });
    await waitUntil(() => started().length === 1);
    process.kill(-pid, "SIGINT");
    await ended;
    await waitUntil(() => !started().some((each) => isRunning(each.pid)), 10_000);
  });
});

describe("a binary that is unusual", () => {
  const TEST = { server: "a", name: "b", file: "a.yaml", line: 3, tags: [], skip: "" };
  const LIST = { version: 1, file: "a.yaml", lanes: [], left: [], warnings: [] };
  const VERDICT = { text: "", file: "a.yaml", line: 3, duration_ms: 1, notes: [] };

  /** Run a suite of the fake binary with a runner. */
  function runFake(runner: "vitest" | "node", answers: object, words: string[] = []) {
    const SUITE = join(makeFolder(), "suite.json");
    writeFileSync(SUITE, JSON.stringify({ answers }));
    return run(runner, words, { SUITE, MCPTEST_BIN: FAKE }).ended;
  }

  test.for(["vitest", "node"] as const)("a limit of months, in %s", async (runner) => {
    const { status, output } = await runFake(runner, {
      "suite.list": { result: { ...LIST, tests: [{ ...TEST, id: "a::b", limit_ms: 9e9 }] } },
      "suite.run": { all: [{ wait_ms: 300 }, { result: { ...VERDICT, status: "passed" } }] },
    });
    expect(output).toMatch(/1 passed|# pass 1/);
    expect(status).toBe(0);
  });

  test("closing may take longer than hooks of vitest", async () => {
    const answers = { "mcp.shutdown": { all: [{ wait_ms: 1000 }, { result: {} }] } };
    const words = ["--hookTimeout=300", "-t", "sunny"];
    const { status, output } = await runFake("vitest", answers, words);
    expect(output).toContain("Tests  1 passed");
    expect(status).toBe(0);
  });

  test.for(["vitest", "node"] as const)("control characters are escaped, in %s", async (runner) => {
    const evil = (text: string) => `${text} \u001b[2J`;
    const make = (id: string, skip = "") => ({ ...TEST, id: evil(id), skip, limit_ms: 1000 });
    const answers = {
      "suite.list": {
        result: {
          ...LIST,
          file: evil("file"),
          tests: [make("a"), make("b"), make("c"), make("d", evil("skipped"))],
          lanes: [{ lane: evil("lane"), line: 1 }],
          left: [{ name: evil("left"), reason: evil("reason") }],
          warnings: [evil("warning")],
        },
      },
      "suite.run": [
        { result: { ...VERDICT, status: "failed", text: evil("failed\nagain"), file: evil("at") } },
        { result: { ...VERDICT, status: "skipped", text: evil("not now") } },
        { result: { ...VERDICT, status: "passed", notes: [evil("note")] } },
      ],
    };
    const words = runner === "vitest" ? ["--reporter=verbose"] : [];
    const { output } = await runFake(runner, answers, words);
    expect(output).not.toContain("\u001b");
    expect(output).toMatch(/again \\+u001b\[2J/);
    for (const text of ["skipped", "lane", "left", "reason", "warning", "not now", "note"]) {
      expect(output).toMatch(new RegExp(`${text} \\\\+u001b\\[2J`));
    }
  });
});
