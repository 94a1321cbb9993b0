using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace Mcptest.Tests
{
    public class McpServerTests
    {
        private sealed class Town
        {
            public string Name { get; set; } = "";

            public int People { get; set; }
        }

        [Test]
        public async Task Arguments_are_objects_of_any_type()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            var plain = await server.CallToolAsync("echo", new { word = "Ærø 🙂", numbers = new[] { 1, 2 } });
            Check.Equal("Ærø 🙂", plain.Data.GetProperty("word").GetString());
            Check.True(plain.Success && plain.Error == null && plain.Duration > TimeSpan.Zero);
            Check.Equal("{\"word\": \"\\u00c6r\\u00f8 \\ud83d\\ude42\", \"numbers\": [1, 2]}", plain.Text);
            var listed = await server.CallToolAsync("echo", new Dictionary<string, object> { ["a b"] = 1.5, ["c"] = new[] { "d" } });
            Check.Equal(1.5, listed.Data.GetProperty("a b").GetDouble());
            var town = await server.CallToolAsync("echo", new Town { Name = "Ribe", People = 8000 });
            Check.Equal("Ribe", town.DataAs<Town>().Name);
            Check.Equal(8000, town.DataAs<Town>().People);
            Check.Equal("{}", (await server.CallToolAsync("echo")).Data.GetRawText());
        }

        [Test]
        public async Task Null_may_be_anywhere_in_arguments()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            foreach (var arguments in new object[]
            {
                new { a = (string?)null, b = new string?[] { null } },
                new Dictionary<string, object?> { ["a"] = null, ["b"] = new List<string?> { null } },
                new { a = (Town?)null, b = new object?[] { null } },
                new { a = (double?)null, b = new int?[] { null } },
            })
            {
                Check.Equal("{\"a\": null, \"b\": [null]}", (await server.CallToolAsync("echo", arguments)).Text);
            }
            Check.Equal("{\"a\": null}", (await server.CallToolAsync("echo", new Dictionary<string, string?> { ["a"] = null })).Text);
        }

        [Test]
        public async Task Null_where_there_must_be_something_is_named()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            async Task RefuseAsync(string name, Func<Task> work)
            {
                Check.Equal(name, (await Check.ThrowsAsync<ArgumentException>(work)).ParamName);
            }
            await RefuseAsync("name", () => server.CallToolAsync(null!));
            await RefuseAsync("name", () => server.GetPromptAsync(null!));
            await RefuseAsync("uri", () => server.ReadResourceAsync(null!));
            await RefuseAsync("target", () => server.UploadToAsync(null!));
            await RefuseAsync("options", () => McpServer.ConnectAsync((string[])null!));
            await RefuseAsync("options", () => McpServer.ConnectAsync(new ServerOptions { Command = null! }));
            var empty = new ServerOptions { Command = scratch.Options().Command, Environment = null!, Secrets = null!, HeaderEnv = null! };
            await using var other = await McpServer.ConnectAsync(empty);
            Check.True((await other.CallToolAsync("echo", null)).Success);
        }

        [Test]
        public async Task Text_for_people_has_no_values_of_variables()
        {
            using var scratch = new Scratch();
            var options = scratch.Options();
            options.Command = options.Command.Append("--password=verdigris-4711");
            options.Environment["SHOP_PASSWORD"] = "verdigris-4711";
            options.Environment["LEVEL"] = "3";
            Check.Equal($"python3 {Scratch.ServerFile} --password=[SHOP_PASSWORD]", $"{options}");
            await using var server = await McpServer.ConnectAsync(options);
            Check.Equal($"McpServer({options})", $"{server}");
            Check.Equal("https://shop.example/mcp", $"{new ServerOptions { Url = "https://me:hidden@shop.example/mcp?key=hidden" }}");
            Check.Equal("", $"{new ServerOptions { Command = null!, Environment = null! }}");
        }

        [Test]
        public async Task Json_is_sent_as_it_is()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            using var document = JsonDocument.Parse("{\r\n  \"n\": 123456789012345678901234567890,\n  \"half\": \"\\ud800\"\n}");
            foreach (var arguments in new object[] { document, document.RootElement })
            {
                var found = await server.CallToolAsync("echo", arguments);
                Check.Equal("123456789012345678901234567890", found.Data.GetProperty("n").GetRawText());
                Check.Equal("\"\\ud800\"", found.Data.GetProperty("half").GetRawText());
            }
        }

        [Test]
        public async Task Arguments_that_cannot_be_sent_are_refused_and_the_connection_stays()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            async Task RefuseAsync(object arguments, params string[] says)
            {
                var error = await Check.ThrowsAsync<ArgumentException>(() => server.CallToolAsync("echo", arguments));
                foreach (var text in says)
                {
                    Check.Contains(text, error.Message);
                }
            }
            await RefuseAsync(new { deep = new { degrees = double.NaN } }, "arguments.deep.degrees", "NaN");
            await RefuseAsync(new Dictionary<string, object> { ["a"] = new object[] { 1, float.PositiveInfinity } }, "arguments.a[1]", "Infinity");
            await RefuseAsync(new { text = "\ud800" }, "arguments.text", "half a surrogate pair");
            await RefuseAsync("text", "arguments must be an object");
            await RefuseAsync(new[] { 1 }, "arguments must be an object");
            await RefuseAsync(default(JsonElement), "arguments");
            await RefuseAsync(CancellationToken.None, "cancellationToken:");
            var circle = new Dictionary<string, object>();
            circle["again"] = circle;
            await RefuseAsync(circle, "arguments.again.again");
            await RefuseAsync(new Unreadable(), "arguments cannot be sent as JSON", "not today");
            await RefuseAsync(new { map = new Dictionary<int, int> { [1] = 2 }, work = Task.CompletedTask.GetType() }, "arguments.");
            Check.True((await server.CallToolAsync("echo")).Success);
            Check.Equal(2, scratch.Lines.Length);
        }

        private sealed class Unreadable
        {
            public int Degrees => throw new InvalidOperationException("not today");
        }

        [Test]
        public async Task A_tool_that_fails_is_a_verdict_and_a_server_that_refuses_is_an_error()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            var failed = await server.CallToolAsync("fail");
            Check.True(!failed.Success);
            Check.Equal("no such town", failed.Error);
            Check.Equal(JsonValueKind.Null, failed.Data.ValueKind);
            Check.Equal("error: no such town", $"{failed}");
            var refused = await Check.ThrowsAsync<UpstreamException>(() => server.CallToolAsync("nothing"));
            Check.Equal(-32000, refused.Code);
            Check.Equal((null, -32602L), (refused.Kind, refused.ServerCode));
            Check.Contains("no such tool", refused.Message);
        }

        [Test]
        public async Task A_server_that_ends_says_how()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            var gone = await Check.ThrowsAsync<UpstreamGoneException>(() => server.CallToolAsync("die"));
            Check.Equal(3, gone.ExitCode);
            Check.Equal("exit status 3", gone.ExitStatus);
            Check.Equal(null, gone.Signal);
            Check.Equal(("exited_during_call", null), (gone.Kind, gone.ServerCode));
            Check.Contains("stderr  | out of paper", gone.Message);
            Check.Contains("it may have taken effect anyway", gone.Message);
            await Check.ThrowsAsync<UpstreamGoneException>(() => server.CallToolAsync("echo"));
        }

        [Test]
        public async Task Lines_on_stderr_may_end_as_on_windows()
        {
            using var scratch = new Scratch();
            var options = scratch.Options();
            options.Environment["COLOR"] = "\r\ncall\ra plumber\r";
            await using var server = await McpServer.ConnectAsync(options);
            var gone = await Check.ThrowsAsync<UpstreamGoneException>(() => server.CallToolAsync("die"));
            Check.Contains("  stderr  | out of paper \n          | call\\ra plumber\n", $"{gone.Message}\n");
        }

        [Test]
        public async Task A_server_that_cannot_start_is_reported_by_connecting()
        {
            var gone = await Check.ThrowsAsync<UpstreamGoneException>(() => McpServer.ConnectAsync("./no-such-server"));
            Check.Contains("no-such-server", gone.Message);
            await Check.ThrowsAsync<ArgumentException>(() => McpServer.ConnectAsync());
            await Check.ThrowsAsync<ArgumentException>(() => McpServer.ConnectAsync("python3", "a\0b"));
            Check.Equal("spawn_failed", gone.Kind);
        }

        [Test]
        public async Task Mistakes_in_options_are_named_as_the_user_wrote_them()
        {
            async Task RefuseAsync<T>(string says, Action<ServerOptions> change)
                where T : Exception
            {
                var options = new ServerOptions { Command = new[] { "python3", Scratch.ServerFile } };
                change(options);
                var error = await Check.ThrowsAsync<T>(() => McpServer.ConnectAsync(options));
                Check.True(error.Message.StartsWith(says, StringComparison.Ordinal));
            }
            // Those that mcptest finds: its own message comes first.
            const string ended = " (the mcptest binary ended before it answered coprocess/handshake: exit status 2)";
            await RefuseAsync<BinaryException>($"WorkingDirectory: there is no folder '/nowhere'{ended}", given => given.WorkingDirectory = "/nowhere");
            await RefuseAsync<BinaryException>("Revision takes auto or one of", given => given.Revision = "2025-13-01");
            await RefuseAsync<BinaryException>("BearerEnv names the environment variable 'NOT_SET'", given =>
            {
                given.Url = "http://127.0.0.1:{port}/mcp";
                given.BearerEnv = "NOT_SET";
            });
            await RefuseAsync<ArgumentException>("Secrets: there is no \"COLOR\" in Environment", given => given.Secrets = new[] { "COLOR" });
            await RefuseAsync<ArgumentException>("Environment: \"A=B\" cannot be", given => given.Environment["A=B"] = "");
            await RefuseAsync<ArgumentException>("Environment: the value of A is null", given => given.Environment["A"] = null!);
            await RefuseAsync<ArgumentException>("the command and the environment", given => given.Environment["A"] = new string('a', 200_000));
            await RefuseAsync<ArgumentException>("a word of Command is null", given => given.Command = new string[] { "a", null! });
            await RefuseAsync<ArgumentException>("a cassette is recorded or replayed", given => (given.Record, given.Replay) = ("a", "b"));
            await RefuseAsync<ArgumentException>("Timeout must be longer than 0", given => given.Timeout = TimeSpan.Zero);
            await RefuseAsync<ArgumentException>("StartTimeout must be at most 24 hours", given => given.StartTimeout = TimeSpan.MaxValue);
            await Check.ThrowsAsync<ArgumentNullException>(() => McpServer.ConnectAsync((ServerOptions)null!));
        }

        [Test]
        public async Task The_hint_for_a_slow_start_names_the_option()
        {
            var options = new ServerOptions { Command = new[] { "sleep", "60" }, StartTimeout = TimeSpan.FromMilliseconds(300), OnWarning = _ => { } };
            var gone = await Check.ThrowsAsync<UpstreamGoneException>(() => McpServer.ConnectAsync(options));
            Check.Contains("hint: it is running; the limit is StartTimeout", gone.Message);
            Check.True(!gone.Message.Contains("startupTimeout", StringComparison.Ordinal));
            Check.Equal("handshake_timeout", gone.Kind);
        }

        [Test]
        public async Task Options_reach_the_server_and_secrets_stay_hidden()
        {
            using var scratch = new Scratch();
            var options = scratch.Options();
            options.WorkingDirectory = scratch.Folder;
            options.Environment["COLOR"] = "verdigris-4711";
            options.Secrets = new[] { "COLOR" };
            options.Timeout = TimeSpan.FromSeconds(20);
            options.StartTimeout = TimeSpan.FromSeconds(20);
            options.Revision = "2025-06-18";
            await using var server = await McpServer.ConnectAsync(options);
            var seen = await server.CallToolAsync("look");
            Check.Equal(scratch.Folder, seen.Data.GetProperty("folder").GetString());
            Check.Equal("verdigris-4711", seen.Data.GetProperty("color").GetString());
            Check.Equal("2025-06-18", (await server.InitializeAsync()).GetProperty("protocolVersion").GetString());
            var gone = await Check.ThrowsAsync<UpstreamGoneException>(() => server.CallToolAsync("die"));
            Check.Contains("out of paper", gone.Message);
            Check.True(!$"{gone}{gone.Details}".Contains("verdigris-4711", StringComparison.Ordinal));
        }

        [Test]
        public async Task A_server_that_is_slow_is_an_error_of_the_server()
        {
            using var scratch = new Scratch();
            var options = scratch.Options();
            options.Timeout = TimeSpan.FromMilliseconds(300);
            await using var server = await McpServer.ConnectAsync(options);
            var error = await Check.ThrowsAsync<UpstreamException>(() => server.CallToolAsync("hang"));
            Check.Equal(("timeout", null), (error.Kind, error.ServerCode));
            Check.Contains("it may have taken effect anyway", error.Message);
        }

        [Test]
        public async Task Lists_cassettes_caches_and_uploads()
        {
            using var scratch = new Scratch();
            var tape = Path.Combine(scratch.Folder, "tape.ndjson");
            var calls = Path.Combine(scratch.Folder, "calls.ndjson");
            var options = scratch.Options();
            options.Record = tape;
            await using (var server = await McpServer.ConnectAsync(options))
            {
                Check.Equal("echo", (await server.ListToolsAsync())[0].GetProperty("name").GetString());
                await server.UploadToAsync($"file:{calls}");
                await server.CallToolAsync("echo", new { n = 1 });
                Check.Equal(1, await server.FlushAsync());
                await server.StopUploadsAsync();
            }
            Check.Equal(1, File.ReadAllLines(calls).Length);
            var replayed = new ServerOptions { Command = new[] { "no-such-server" }, Replay = tape, Cache = CacheMode.Off };
            await using (var server = await McpServer.ConnectAsync(replayed))
            {
                Check.Equal(1, (await server.CallToolAsync("echo", new { n = 1 })).Data.GetProperty("n").GetInt32());
                await Check.ThrowsAsync<UpstreamException>(() => server.CallToolAsync("echo", new { n = 2 }));
            }
        }

        [Test]
        public async Task Warnings_go_to_the_handler_when_the_connection_is_closed()
        {
            using var scratch = new Scratch();
            var warnings = new List<string>();
            var options = scratch.Options();
            options.Record = Path.Combine(scratch.Folder, "tape.ndjson");
            await (await McpServer.ConnectAsync(options)).DisposeAsync();
            options.OnWarning = warnings.Add;
            await using (var server = await McpServer.ConnectAsync(options))
            {
                await Check.ThrowsAsync<UpstreamGoneException>(() => server.CallToolAsync("die"));
            }
            Check.True(warnings.Count > 0);
            Check.Contains("tape.ndjson", string.Join("\n", warnings));
        }

        [Test]
        public async Task Leaving_the_block_stops_the_server_and_closes_the_connection()
        {
            using var scratch = new Scratch();
            McpServer left;
            await using (var server = await scratch.ConnectAsync())
            {
                left = server;
                Check.Equal(1, scratch.Running.Length);
            }
            await scratch.UntilGoneAsync();
            var error = await Check.ThrowsAsync<ClosedException>(() => left.ListToolsAsync());
            Check.Contains("mcp.listTools", error.Message);
            await left.DisposeAsync();
        }

        [Test]
        public async Task Connections_that_were_closed_hold_nothing()
        {
            using var scratch = new Scratch();
            (int Files, int Threads) Count()
            {
                // Other tests leave some that are only waiting to be collected.
                GC.Collect();
                GC.WaitForPendingFinalizers();
                return (Directory.GetFiles("/proc/self/fd").Length, Process.GetCurrentProcess().Threads.Count);
            }
            await (await scratch.ConnectAsync()).DisposeAsync();
            var before = Count();
            for (var n = 0; n < 5; n++)
            {
                await (await scratch.ConnectAsync()).DisposeAsync();
            }
            await Check.UntilAsync(() => Count().Files <= before.Files, $"there were {before.Files} files open, and now {Count().Files}");
            await Check.UntilAsync(() => Count().Threads < before.Threads + 10, $"there were {before.Threads} threads, and now {Count().Threads}");
        }

        [Test]
        public async Task A_cancelled_call_stops_the_server()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            using var source = new CancellationTokenSource();
            var call = server.CallToolAsync("hang", cancellationToken: source.Token);
            await scratch.UntilCalledAsync("hang");
            var watch = Stopwatch.StartNew();
            source.Cancel();
            var error = await Check.ThrowsAsync<OperationCanceledException>(() => call);
            Check.True(watch.ElapsedMilliseconds < 1000 && error.CancellationToken == source.Token);
            await Check.ThrowsAsync<ClosedException>(() => server.CallToolAsync("echo"));
            await scratch.UntilGoneAsync();
        }

        [Test]
        public async Task A_binary_behind_a_wrapper_is_stopped_with_it()
        {
            using var scratch = new Scratch();
            var binary = Environment.GetEnvironmentVariable("MCPTEST_BIN");
            var wrapper = Path.Combine(scratch.Folder, "wrapper");
            File.WriteAllText(wrapper, $"{binary ?? "mcptest"} \"$@\"\nexit $?\n");
            Environment.SetEnvironmentVariable("MCPTEST_BIN", $"sh {wrapper}");
            try
            {
                await using var server = await scratch.ConnectAsync();
                var call = server.CallToolAsync("hang");
                await scratch.UntilCalledAsync("hang");
                Check.Equal(2, scratch.Running.Length);
                await server.DisposeAsync();
                await Check.ThrowsAsync<ClosedException>(() => call);
                await scratch.UntilGoneAsync();
            }
            finally
            {
                Environment.SetEnvironmentVariable("MCPTEST_BIN", binary);
            }
        }

        [Test]
        public async Task A_call_that_is_cancelled_before_its_turn_is_not_sent_and_disturbs_no_other()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            using var source = new CancellationTokenSource();
            var slow = server.CallToolAsync("slow");
            var never = server.CallToolAsync("fail", null, source.Token);
            var last = server.CallToolAsync("echo");
            source.Cancel();
            await Check.ThrowsAsync<OperationCanceledException>(() => never);
            Check.Equal("done", (await slow).Text);
            Check.True((await last).Success);
            await Check.ThrowsAsync<OperationCanceledException>(() => server.CallToolAsync("fail", null, source.Token));
            Check.True(!scratch.Lines.Contains("call fail"));
        }

        [Test]
        public async Task Connecting_can_be_cancelled()
        {
            using var source = new CancellationTokenSource(500);
            var options = new ServerOptions { Command = new[] { "sleep", "4711" }, StartTimeout = TimeSpan.FromMinutes(5) };
            var watch = Stopwatch.StartNew();
            await Check.ThrowsAsync<OperationCanceledException>(() => McpServer.ConnectAsync(options, source.Token));
            Check.True(watch.ElapsedMilliseconds < 3000);
        }

        [Test]
        public async Task Threads_share_a_connection()
        {
            using var scratch = new Scratch();
            await using var server = await scratch.ConnectAsync();
            var calls = Enumerable.Range(0, 200).Select(n => Task.Run(() => server.CallToolAsync("echo", new { n })));
            var numbers = (await Task.WhenAll(calls)).Select(verdict => verdict.Data.GetProperty("n").GetInt32());
            Check.True(numbers.SequenceEqual(Enumerable.Range(0, 200)));
        }

        [Test]
        public Task Blocking_on_a_call_in_a_synchronization_context_does_not_lock_up()
        {
            using var scratch = new Scratch();
            var done = new TaskCompletionSource<bool>();
            var thread = new Thread(() =>
            {
                // Continuations that need this context would never run: its only thread is blocked.
                SynchronizationContext.SetSynchronizationContext(new StuckContext());
                var server = scratch.ConnectAsync().GetAwaiter().GetResult();
                var verdict = server.CallToolAsync("echo").GetAwaiter().GetResult();
                server.DisposeAsync().AsTask().GetAwaiter().GetResult();
                done.SetResult(verdict.Success);
            });
            thread.IsBackground = true;
            thread.Start();
            Check.True(thread.Join(20_000) && done.Task.Result);
            return Task.CompletedTask;
        }

        private sealed class StuckContext : SynchronizationContext
        {
            public override void Post(SendOrPostCallback d, object? state)
            {
            }
        }
    }
}
