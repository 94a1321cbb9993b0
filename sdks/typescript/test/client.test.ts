import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  BinaryError,
  ClosedError,
  connect,
  McpServer,
  McptestError,
  RefusedError,
  type ServerOptions,
  UpstreamError,
  UpstreamGoneError,
  type Verdict,
} from "@mcptest/sdk";
import { afterAll, beforeAll, describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import { isRunning, makeFolder, readStarted, SHELF, waitUntil } from "./helpers.js";

describe("one connection", () => {
  let server: McpServer;
  beforeAll(async () => void (server = await connect({ command: SHELF })));
  afterAll(() => server.close());

  test("a book is found again", async () => {
    const added = await server.callTool("add_book", { title: "Dubliners" });
    expect(await server.callTool("find_book", { id: added.data.id })).toMatchObject({
      success: true,
      text: "Dubliners",
      data: null,
      error: null,
    });
  });

  test("an error that the tool reports is a verdict", async () => {
    const verdict = await server.callTool("find_book", { id: 99 });
    expect(verdict).toMatchObject({ success: false, error: "there is no book 99" });
    expect(verdict.raw).toEqual({
      content: [{ type: "text", text: "there is no book 99" }],
      isError: true,
    });
    expect(verdict.durationMs).toBeGreaterThan(0);
  });

  test("lists, resources, prompts and the handshake", async () => {
    const tools = await server.listTools();
    expect(tools.map((tool) => tool["name"])).toContain("add_book");
    expect(await server.listResources()).toEqual([{ uri: "shelf://rules", name: "rules" }]);
    const read = await server.readResource(new URL("shelf://rules"));
    expect(read["contents"][0].text).toBe("be quiet");
    const prompt = await server.getPrompt("greet", { who: "Ada" });
    expect(prompt["messages"][0].content.text).toBe("Greet Ada.");
    expect((await server.initialize())["serverInfo"].name).toBe("shelf");
  });

  test("what the server refuses is an error that points at the call", async () => {
    const error = await server.callTool("borrow").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UpstreamError);
    expect(readFrames(error)[0]).toContain("client.test.ts");
    expect(String(error)).toMatch(/^UpstreamError: /);
    expect(error).toMatchObject({ code: -32000, serverCode: -32602, fault: null });
  });

  test.for([[], null, "Emma", 1])("arguments without names: %j", async (args) => {
    const message = `arguments are an object, such as { id: 1 }, not ${
      Array.isArray(args) ? "an array" : JSON.stringify(args)
    }`;
    const calls = [
      () => server.callTool("token", args as object),
      () => server.getPrompt("greet", args as object),
    ];
    for (const call of calls) {
      const error = await call().catch((reason: unknown) => reason);
      expect(error).toEqual(new TypeError(message));
      expect(readFrames(error)[0]).toContain("client.test.ts");
    }
  });

  test("what the caller's own code throws keeps its place", async () => {
    const args = {
      toJSON: function refuseToBeSent() {
        throw new TypeError("not me");
      },
    };
    const error = await server.callTool("token", args).catch((reason: unknown) => reason);
    expect(readFrames(error)[0]).toContain("refuseToBeSent");
  });

  test("what mcptest refuses is an error with its reason, and the connection goes on", async () => {
    const error = await server.uploadTo("nowhere:1").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RefusedError);
    expect(error).toMatchObject({ kind: "refused", code: -32602 });
    expect(await server.flush()).toBe(0);
  });

  test.for([
    [{ when: [new Map()] }, "arguments.when[0] is a Map"],
    [{ big: 1n }, "arguments.big is a BigInt"],
    [{ list: [1, undefined] }, "arguments.list[1] is undefined"],
    [{ list: Array(2) }, "arguments.list[0] is undefined"],
    [{ act: () => 1 }, "arguments.act is a Function"],
    [{ far: -Infinity }, "arguments.far is -Infinity"],
  ] as const)("arguments that JSON cannot express: %s", async ([args, message]) => {
    await expect(server.callTool("token", args)).rejects.toThrow(
      new TypeError(`${message}, which JSON cannot express`),
    );
  });

  test("arguments that contain themselves", async () => {
    const args: Record<string, unknown> = {};
    args["self"] = args;
    await expect(server.callTool("token", args)).rejects.toThrow("or contains itself");
  });

  test("arguments that JSON expresses as usual", async () => {
    const args = {
      title: "Emma",
      left_out: undefined,
      at: new Date(0),
      nested: Object.create(null),
    };
    expect((await server.callTool("add_book", args)).success).toBe(true);
  });

  test("arguments are sent as they were when the call was made", async () => {
    const args = { title: "before" };
    const calls = [server.callTool("token"), server.callTool("add_book", args)] as const;
    args.title = "after";
    const added = (await Promise.all(calls))[1];
    expect((await server.callTool("find_book", added.data)).text).toBe("before");
  });

  test("types", () => {
    type Book = { id: number };
    expectTypeOf(server.listTools).returns.resolves.toEqualTypeOf<Record<string, any>[]>();
    expectTypeOf<Verdict>().toHaveProperty("data").toBeAny();
    type Found = Awaited<ReturnType<typeof server.callTool<Book>>>;
    expectTypeOf<Found["data"]>().toEqualTypeOf<Book | null>();
    expectTypeOf<"sometimes">().not.toExtend<ServerOptions["cache"]>();
    expectTypeOf<{ comand: string }>().not.toExtend<ServerOptions>();
  });

  test("the kind of an error tells its class, also to the compiler", async () => {
    const error: unknown = await server.callTool("borrow").catch((reason: unknown) => reason);
    if (!(error instanceof McptestError)) throw error;
    if (error.kind === "upstream") {
      expectTypeOf(error).toEqualTypeOf<UpstreamError>();
      expect(error.serverCode).toBe(-32602);
    } else if (error.kind === "upstream_gone") {
      expectTypeOf(error).toEqualTypeOf<UpstreamGoneError>();
    } else if (error.kind === "closed") {
      expectTypeOf(error).toEqualTypeOf<ClosedError>();
    }
    if (error instanceof RefusedError) {
      expectTypeOf(error.kind).toEqualTypeOf<"refused" | "upstream" | "upstream_gone">();
    }
    expect.assertions(1);
  });

  test("the SDK and the binary are of the same release", () => {
    const text = readFileSync(new URL("../package.json", import.meta.url), "utf-8");
    expect(server.binaryVersion).toBe(JSON.parse(text).version);
    const source = readFileSync(new URL("../src/coprocess.ts", import.meta.url), "utf-8");
    expect(source).toContain(`const SDK_VERSION = "${server.binaryVersion}";`);
  });
});

describe("options", () => {
  test("a folder, variables and secrets", async () => {
    const folder = makeFolder();
    const STARTED = join(folder, "started");
    const env = { STARTED, SHELF_TOKEN: "Zk3-tidal-lemon-77" };
    await using server = await connect({
      command: SHELF,
      cwd: folder,
      env,
      secrets: ["SHELF_TOKEN"],
    });
    expect(readStarted(STARTED).map(({ cwd }) => cwd)).toEqual([folder]);
    expect((await server.callTool("token")).text).toBe("Zk3-tidal-lemon-77");
    const gone = await server.callTool("crash").catch((reason: unknown) => reason);
    expect(gone).toBeInstanceOf(UpstreamGoneError);
    expect(gone).toMatchObject({ exitCode: 3, signal: null, exitStatus: "exit status 3" });
    expect(gone).toMatchObject({ fault: "exited_during_call" });
    expect(String(gone)).toContain("the shelf fell down");
    expect(String(gone)).not.toContain("tidal-lemon");
  });

  test("a secret that the server inherits", async () => {
    setVariable("SHELF_TOKEN", "Zk3-tidal-lemon-78");
    await using server = await connect({ command: SHELF, secrets: ["SHELF_TOKEN"] });
    expect((await server.callTool("token")).text).toBe("Zk3-tidal-lemon-78");
    const gone = await server.callTool("crash").catch((reason: unknown) => reason);
    expect(String(gone)).toContain("the shelf fell down");
    expect(String(gone)).not.toContain("tidal-lemon");
  });

  test("an option that only mcptest can judge: its message comes first", async () => {
    const wrong = { command: SHELF, revision: "2020-01-01" };
    const error = await connect(wrong).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BinaryError);
    expect(String(error)).toMatch(/^BinaryError: revision takes auto or one of .*2025-06-18/);
    expect(String(error)).toMatch(/\n\(the mcptest binary ended .*: exit status 2\)$/);
    expect(readFrames(error)[0]).toContain("client.test.ts");
  });

  test("a command as text is split by mcptest", async () => {
    await using server = await connect({ command: SHELF.join(" ") });
    expect((await server.callTool("token")).text).toBe("none");
  });

  test("a server that cannot start is reported by connect", async () => {
    const error = await connect({ command: ["./no-such-server"] }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(UpstreamGoneError);
    expect(String(error)).toContain("./no-such-server");
  });

  test("an environment that no program can get", async () => {
    const large = connect({ command: SHELF, env: { LARGE: "x".repeat(10_000_000) } });
    await expect(large).rejects.toMatchObject({
      kind: "binary",
      message: expect.stringContaining("its arguments and environment are too large"),
    });
  });

  test("a server that is not ready in time", async () => {
    const slow = connect({ command: ["sleep", "60"], startTimeoutMs: 300 });
    await expect(slow).rejects.toThrow("the limit is startTimeoutMs");
  });

  test("a server that does not answer in time", async () => {
    await using server = await connect({ command: SHELF, timeoutMs: 400 });
    const late = await server.callTool("wait").catch((reason: unknown) => reason);
    expect(String(late)).toMatch(/400 ms|0\.4 s/);
    expect(late).toMatchObject({ kind: "upstream", fault: "timeout", serverCode: null });
    expect((await server.callTool("token")).success).toBe(true);
  });

  test("a cassette is recorded, and replayed without the server", async () => {
    const file = join(makeFolder(), "shelf.ndjson");
    {
      await using server = await connect({ command: SHELF, record: file });
      await server.callTool("add_book", { title: "Emma" });
    }
    await using server = await connect({ command: ["no-such-server"], replay: file });
    expect((await server.callTool("add_book", { title: "Emma" })).data).toEqual({ id: 1 });
    await expect(server.callTool("add_book", { title: "Ulysses" })).rejects.toThrow("Ulysses");
  });

  test("calls are delivered", async () => {
    const file = join(makeFolder(), "calls.ndjson");
    await using server = await connect({ command: SHELF });
    await server.uploadTo(`file:${file}`);
    await server.callTool("token");
    expect(await server.flush()).toBe(1);
    await server.stopUploads();
    await server.callTool("token");
    expect(await server.flush()).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf-8"))).toMatchObject({ tool: "token" });
  });

  test.for([
    [{}, "there is no server: give its command, or url"],
    [{ command: [] }, "there is no server: give its command, or url"],
    [{ command: SHELF, record: "a", replay: "b" }, "a cassette is recorded or replayed"],
    [{ command: SHELF, timeoutMs: 0 }, "timeoutMs is a number of milliseconds above 0, not 0"],
    [{ command: SHELF, startTimeoutMs: NaN }, "startTimeoutMs is a number of milliseconds"],
    [{ command: SHELF, env: { "A=": "1" } }, 'env has "A=", which is not a name'],
    [{ command: SHELF, env: { A: 12345 } }, "env.A is a string, not a Number"],
    [{ command: SHELF, env: { A: "1" }, secrets: ["B_"] }, '"B_", which is not in env, nor in'],
    [{ command: SHELF, cwd: "no/folder" }, 'cwd: there is no folder "no/folder"'],
    [{ command: SHELF, cwd: "package.json" }, 'cwd: there is no folder "package.json"'],
    [{ command: SHELF, revision: "latest" }, 'a date such as "2025-06-18", not "latest"'],
    [{ url: "http://[::1]:1", bearerEnv: "B_" }, 'bearerEnv names the environment variable "B_"'],
    [{ url: "http://[::1]:1", headerEnv: { "X-A": "B_" } }, 'headerEnv["X-A"] names the'],
    [{ comand: SHELF }, 'there is no option "comand"; the options are command, url, '],
    ["node server.mjs", "connect takes an object with options"],
  ] as [any, string][])("options that make no sense: %j", async ([options, message]) => {
    const error = await connect(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain(message);
    expect(readFrames(error)[0]).toContain("client.test.ts");
  });
});

/** The lines of a stack behind the message. */
function readFrames(error: unknown): string[] {
  return ((error as Error).stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
}

/** Set an environment variable until the test ends. */
function setVariable(name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

describe("cancelling", () => {
  test("a call that was sent stops the server, and what follows is closed", async () => {
    const STARTED = join(makeFolder(), "started");
    await using server = await connect({ command: SHELF, env: { STARTED } });
    const [started] = readStarted(STARTED);
    const reason = new Error("enough");
    const control = new AbortController();
    setTimeout(() => control.abort(reason), 200);
    await expect(server.callTool("wait", {}, { signal: control.signal })).rejects.toBe(reason);
    await expect(server.callTool("token")).rejects.toThrow(ClosedError);
    await waitUntil(() => !isRunning(started?.pid ?? 0), 5000);
  });

  test("a call that waits for its turn is only taken back", async () => {
    await using server = await connect({ command: SHELF, timeoutMs: 800 });
    const control = new AbortController();
    const first = server.callTool("wait").catch((error: unknown) => error);
    const second = server.callTool("add_book", { title: "Emma" }, { signal: control.signal });
    control.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    expect(await first).toBeInstanceOf(UpstreamError);
    expect((await server.callTool("add_book", { title: "Emma" })).data).toEqual({ id: 1 });
  });

  test("a signal that was given before sends nothing", async () => {
    await using server = await connect({ command: SHELF });
    const signal = AbortSignal.abort();
    await expect(server.callTool("crash", {}, { signal })).rejects.toBe(signal.reason);
    expect((await server.callTool("token")).success).toBe(true);
    await expect(connect({ command: SHELF, signal })).rejects.toBe(signal.reason);
  });
});
