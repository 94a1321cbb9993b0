using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Mcptest.Tests
{
    public class SuiteTests
    {
        private const string FailureText = "result.structuredContent.word: differs\n  expected  \"HELLO\"\n  actual    \"hello\"\n"
            + "  hint      differs only in case\n\n{0}:12";

        private static string SuiteFile => Path.GetRelativePath(Environment.CurrentDirectory, Path.Combine(Scratch.Tests, "suite.yaml"));

        [Test]
        public async Task Its_cases_are_the_tests_the_lanes_and_what_is_left()
        {
            await using var suite = await Suite.OpenAsync(SuiteFile);
            var ids = suite.Cases.Select(each => $"{each}");
            Check.Equal(
                "first::it echoes, second::it shouts, second::it is not built yet, second::it hangs, second::it answers, lanes::agents, lanes::evals, coverage gate",
                string.Join(", ", ids));
            var echoes = suite["first::it echoes"];
            Check.Equal(("first", "it echoes", SuiteFile, 6L), (echoes.Server, echoes.Name, echoes.File, echoes.Line));
            Check.True(echoes.Tags.SequenceEqual(new[] { "quick" }) && echoes.SkipReason == null);
            var error = await Check.ThrowsAsync<ArgumentException>(() => suite["nothing"].RunAsync(_ => { }));
            Check.Contains("has no test \"nothing\"; it has \"first::it echoes\", \"second::it shouts\"", error.Message);
        }

        [Test]
        public async Task Tests_pass_fail_and_are_skipped()
        {
            await using var suite = await Suite.OpenAsync(SuiteFile, _ => { });
            var skipped = new List<string>();
            await suite["first::it echoes"].RunAsync(skipped.Add);
            Check.Equal(0, skipped.Count);
            var failed = await Check.ThrowsAsync<SuiteTestException>(() => suite["second::it shouts"].RunAsync(skipped.Add));
            Check.Equal(string.Format(System.Globalization.CultureInfo.InvariantCulture, FailureText, SuiteFile), failed.Message);
            Check.Equal((SuiteStatus.Failed, SuiteFile, 12L), (failed.Verdict.Status, failed.Verdict.File, failed.Verdict.Line));
            foreach (var each in suite.Cases.Where(each => each.SkipReason != null))
            {
                await each.RunAsync(skipped.Add);
            }
            Check.Equal(
                "not built yet\n"
                + $"lane \"agents\" is not drivable over the SDK channel; run: mcptest run {SuiteFile}\n"
                + $"lane \"evals\" is not drivable over the SDK channel; run: mcptest eval {SuiteFile}\n"
                + $"judged for a whole run only; run: mcptest run {SuiteFile}",
                string.Join("\n", skipped));
        }

        [Test]
        public async Task A_choice_of_no_test_is_a_mistake()
        {
            await using var suite = await Suite.OpenAsync(SuiteFile, _ => { });
            Check.Equal("first::it echoes", string.Join(", ", suite.Choose(test => test.Tags.Contains("quick"))));
            Check.Equal(suite.Cases.Count, suite.Choose(_ => true).Count);
            // Lanes alone would be skipped, which is no failure in any framework.
            foreach (var choice in new Func<SuiteCase, bool>[] { test => test.Tags.Contains("quikc"), test => test.Server == "lanes" })
            {
                var error = await Check.ThrowsAsync<ArgumentException>(() => Task.FromResult(suite.Choose(choice)));
                Check.Contains($"no test of {SuiteFile} was chosen", error.Message);
            }
            await Check.ThrowsAsync<ArgumentException>(() => Suite.OpenAsync(""));
        }

        [Test]
        public async Task Null_is_a_mistake_that_names_the_argument()
        {
            await using var suite = await Suite.OpenAsync(SuiteFile, _ => { });
            async Task RefuseAsync(string name, Func<object?> work)
            {
                Check.Equal(name, (await Check.ThrowsAsync<ArgumentException>(() => Task.FromResult(work()))).ParamName);
            }
            await RefuseAsync("file", () => Suite.Load(null!));
            await RefuseAsync("file", () => Suite.Load(""));
            await RefuseAsync("file", () => Suite.OpenAsync(null!).GetAwaiter().GetResult());
            await RefuseAsync("id", () => suite[null!]);
            await RefuseAsync("choice", () => suite.Choose(null!));
            await RefuseAsync("lane", () => Loader.LaneCliHint(null!));
            foreach (var test in new[] { suite["first::it echoes"], suite["lanes::agents"] })
            {
                var error = await Check.ThrowsAsync<ArgumentException>(() => test.RunAsync(null!));
                Check.Equal("skip", error.ParamName);
            }
        }

        [Test]
        public async Task A_file_that_is_not_there_is_reported_with_the_folder()
        {
            var error = await Check.ThrowsAsync<RefusedException>(() => Suite.OpenAsync("nowhere.yaml"));
            Check.Equal($"there is no file or folder 'nowhere.yaml'\nlooked for in {Environment.CurrentDirectory}", error.Message);
            Check.Equal("there is no file or folder 'nowhere.yaml'", error.RawMessage);
        }

        [Test]
        public async Task A_server_may_be_called_lanes()
        {
            using var scratch = new Scratch();
            var file = Path.Combine(scratch.Folder, "mcptest.yaml");
            File.WriteAllText(file, $"servers:\n  lanes: {{command: [python3, {Scratch.ServerFile}]}}\n"
                + "tools:\n  - {name: agents, tool: echo}\nagents:\n  - {name: it books a table, server: lanes, prompt: book a table}\n");
            await using var suite = await Suite.OpenAsync(file, _ => { });
            // As in pytest.
            Check.Equal("lanes::agents, lanes::agents #2", string.Join(", ", suite.Cases));
            var skipped = new List<string>();
            await suite["lanes::agents"].RunAsync(skipped.Add);
            Check.Equal(0, skipped.Count);
            await suite["lanes::agents #2"].RunAsync(skipped.Add);
            Check.Equal(Loader.LaneCliHint("agents", suite.File), string.Join(", ", skipped));
            Check.Equal("lanes::agents", string.Join(", ", suite.Choose(test => test.Id == "lanes::agents")));
        }

        [Test]
        public async Task One_test_starts_only_its_own_server()
        {
            using var scratch = new Scratch();
            Environment.SetEnvironmentVariable("JOURNAL", scratch.Journal);
            try
            {
                await using var suite = await Suite.OpenAsync(SuiteFile, _ => { });
                Check.Equal(0, scratch.Lines.Length);
                await suite["first::it echoes"].RunAsync(_ => { });
                var started = scratch.Lines.Where(line => line.StartsWith("start ", StringComparison.Ordinal)).ToArray();
                Check.Equal(1, started.Length);
                Check.True(started[0].EndsWith(" first", StringComparison.Ordinal));
            }
            finally
            {
                Environment.SetEnvironmentVariable("JOURNAL", null);
            }
            await scratch.UntilGoneAsync();
        }

        [Test]
        public async Task A_cancelled_test_stops_its_server()
        {
            using var scratch = new Scratch();
            Environment.SetEnvironmentVariable("JOURNAL", scratch.Journal);
            try
            {
                await using var suite = await Suite.OpenAsync(SuiteFile, _ => { });
                using var source = new CancellationTokenSource();
                var test = suite["second::it hangs"].RunAsync(_ => { }, source.Token);
                await scratch.UntilCalledAsync("hang");
                source.Cancel();
                await Check.ThrowsAsync<OperationCanceledException>(() => test);
                await Check.ThrowsAsync<ClosedException>(() => suite["first::it echoes"].RunAsync(_ => { }));
                await scratch.UntilGoneAsync();
            }
            finally
            {
                Environment.SetEnvironmentVariable("JOURNAL", null);
            }
        }

        [Test]
        public async Task A_file_is_loaded_once_until_it_is_disposed_of()
        {
            var suite = Suite.Load(SuiteFile);
            Check.True(ReferenceEquals(suite, Suite.Load(Path.GetFullPath(SuiteFile))));
            await suite.DisposeAsync();
            var again = Suite.Load(SuiteFile);
            Check.True(!ReferenceEquals(suite, again));
            await again["first::it echoes"].RunAsync(_ => { });
            await again.DisposeAsync();
            await Check.ThrowsAsync<ClosedException>(() => again["first::it echoes"].RunAsync(_ => { }));
        }

        [Test]
        public async Task Mistakes_in_a_file_are_all_in_the_message()
        {
            using var scratch = new Scratch();
            var file = Path.Combine(scratch.Folder, "mcptest.yaml");
            File.WriteAllText(file, "servers:\n  a: {command: [b]}\ntols: []\ntools:\n  - {name: c, tool: d, exspect: []}\n");
            var error = await Check.ThrowsAsync<RefusedException>(() => Suite.OpenAsync(file));
            Check.Contains("tols", error.Message);
            Check.Contains("exspect", error.Message);
            await Check.ThrowsAsync<RefusedException>(() => Task.Run(() => Suite.Load(Path.Combine(scratch.Folder, "none.yaml"))));
        }

        [Test]
        public async Task Warnings_of_a_suite_go_to_the_handler()
        {
            var warnings = new List<string>();
            await using (var suite = await Suite.OpenAsync(SuiteFile, warnings.Add))
            {
                await suite["first::it echoes"].RunAsync(_ => { });
                await Check.ThrowsAsync<SuiteTestException>(() => suite["second::it shouts"].RunAsync(_ => { }));
                Check.Equal(0, warnings.Count);
            }
            Check.Contains("the tool echo is offered by", string.Join("\n", warnings));
        }
    }

    /// <summary>The end of a program that uses the SDK, in any way: nothing may be left behind.</summary>
    public class EndingTests
    {
        [Test]
        public Task A_program_that_forgets_to_close_ends_by_itself() => EndAsync("forget", 0);

        [Test]
        public Task A_program_that_crashes_leaves_nothing() => EndAsync("crash", 134);

        [Test]
        public Task A_program_that_exits_during_a_call_leaves_nothing() => EndAsync("exit", 7);

        [Test]
        public Task Ctrl_C_leaves_nothing() => EndAsync("hang", 130, "INT");

        [Test]
        public Task A_program_that_is_terminated_leaves_nothing() => EndAsync("hang", 143, "TERM");

        [Test]
        public Task A_program_that_is_killed_leaves_nothing() => EndAsync("hang", 137, "KILL");

        [Test]
        public Task A_suite_that_hangs_does_not_hold_up_the_end() => EndAsync("suite", 143, "TERM");

        [Test]
        public async Task A_loaded_suite_is_closed_at_the_end_of_the_program()
        {
            var said = await EndAsync("load", 0);
            Check.Contains("mcptest: warning: the tool echo is offered by", said);
        }

        [Test]
        public async Task A_current_folder_that_was_removed_is_reported()
        {
            Check.Equal("", await EndAsync("nowhere", 0, hasServer: false));
        }

        private static async Task<string> EndAsync(string scene, int status, string? signal = null, bool hasServer = true)
        {
            using var scratch = new Scratch();
            var assembly = typeof(EndingTests).Assembly.Location;
            var start = new ProcessStartInfo("dotnet") { RedirectStandardError = true, RedirectStandardInput = true };
            foreach (var word in new[] { assembly, "--play", scene, scratch.Folder })
            {
                start.ArgumentList.Add(word);
            }
            start.Environment["JOURNAL"] = scratch.Journal;
            using var program = Process.Start(start)!;
            var said = program.StandardError.ReadToEndAsync();
            if (signal != null)
            {
                await scratch.UntilCalledAsync("hang");
                Process.Start("kill", $"-{signal} {program.Id}")!.WaitForExit();
            }
            Check.True(program.WaitForExit(20_000));
            Check.Equal(status, program.ExitCode);
            if (hasServer)
            {
                await scratch.UntilGoneAsync();
            }
            return await said;
        }
    }

    /// <summary>Programs that use the SDK, for tests about their end.</summary>
    internal static class Scenes
    {
        public static async Task<int> PlayAsync(string scene, string[] args)
        {
            if (scene == "nowhere")
            {
                return await StandNowhereAsync(args[0]);
            }
            Environment.CurrentDirectory = Scratch.Tests;
            if (scene == "load" || scene == "suite")
            {
                var suite = Suite.Load("suite.yaml");
                await suite["first::it echoes"].RunAsync(_ => { });
                await suite[scene == "load" ? "second::it answers" : "second::it hangs"].RunAsync(_ => { });
                return 0;
            }
            var server = await McpServer.ConnectAsync("python3", "server.py");
            switch (scene)
            {
                case "crash":
                    throw new InvalidOperationException("as the test wants it");
                case "exit":
                    _ = server.CallToolAsync("hang");
                    Environment.Exit(7);
                    return 0;
                case "hang":
                    await server.CallToolAsync("hang");
                    return 0;
                default:
                    return (await server.CallToolAsync("echo")).Success ? 0 : 1;
            }
        }

        private static async Task<int> StandNowhereAsync(string folder)
        {
            var gone = Directory.CreateDirectory(Path.Combine(folder, "gone"));
            Environment.CurrentDirectory = gone.FullName;
            gone.Delete();
            const string says = "the current folder does not exist any more";
            Check.Contains(says, (await Check.ThrowsAsync<BinaryException>(() => McpServer.ConnectAsync("a"))).Message);
            Check.Contains(says, (await Check.ThrowsAsync<BinaryException>(() => Task.Run(() => Suite.Load("a")))).Message);
            Environment.SetEnvironmentVariable("MCPTEST_BIN", "./mcptest");
            Check.Contains("MCPTEST_BIN", (await Check.ThrowsAsync<BinaryException>(() => McpServer.ConnectAsync("a"))).Message);
            return 0;
        }
    }
}
