using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Threading.Tasks;

namespace Mcptest.Tests
{
    /// <summary>A binary that does what no mcptest binary should; beyond the conformance kit, which every SDK is held against.</summary>
    public class BinaryTests
    {
        // CALL is replaced by what a test wants it to do when a tool is called.
        private const string Program = @"
import json, os, subprocess, sys, time

def answer(result):
    sys.stdout.write(json.dumps({'jsonrpc': '2.0', 'id': request['id'], 'result': result}) + '\n')
    sys.stdout.flush()

for line in sys.stdin:
    request = json.loads(line)
    method = request['method']
    if method == 'coprocess/handshake':
        answer({'protocol_version': 2, 'binary_version': '1'})
    elif method == 'mcp.call':
        CALL
    elif method == 'suite.list':
        tests = [{'id': 'a', 'server': 's', 'name': 'a', 'file': 'f', 'line': 1, 'tags': [], 'skip': '', 'limit_ms': 1},
                 {'id': 'b', 'server': 's', 'name': 'b', 'file': 'f', 'line': 1, 'tags': [], 'skip': '\x1b[31mnot b', 'limit_ms': 1}]
        answer({'version': 1, 'file': 'f', 'tests': tests, 'lanes': [], 'left': [{'name': 'c', 'reason': '\x1b[31mnot c'}], 'warnings': ['\x1b[31mred']})
    elif method == 'suite.run':
        answer({'status': 'failed', 'text': '\x1b[31mwrong\nf:1', 'file': 'f', 'line': 1, 'duration_ms': 1, 'notes': ['tried twice']})
    else:
        answer({})
        if method == 'mcp.shutdown':
            break
";

        [Test]
        public async Task Half_a_line_in_pieces_is_shown_whole()
        {
            using var fake = new Fake("[(os.write(1, b'%c' % c), time.sleep(0.01)) for c in b'{\"half\"']; os._exit(1)");
            await using var server = await McpServer.ConnectAsync("a");
            var error = await Check.ThrowsAsync<BinaryException>(() => server.CallToolAsync("a"));
            Check.Contains("exit status 1, in the middle of a line: {\"half\"", error.Message);
        }

        [Test]
        public async Task Much_on_stderr_does_not_hold_up_the_answer()
        {
            using var fake = new Fake("[os.write(2, (b'y' * 99 + b'\\n') * 1000) for _ in range(4000)]; answer({'content': []})");
            await using var server = await McpServer.ConnectAsync("a");
            var watch = Stopwatch.StartNew();
            Check.True((await server.CallToolAsync("a")).Success);
            // These are 400 MB.
            Check.True(watch.ElapsedMilliseconds < 6000);
        }

        [Test]
        public async Task A_process_that_was_left_behind_cannot_write_forever()
        {
            using var fake = new Fake(
                "subprocess.Popen(['sh', '-c', 'echo start $$ >> ' + os.environ['JOURNAL'] + '; exec yes \"\"'], start_new_session=True); os._exit(3)");
            Environment.SetEnvironmentVariable("JOURNAL", fake.Scratch.Journal);
            try
            {
                await using var server = await McpServer.ConnectAsync("a");
                await Check.ThrowsAsync<BinaryException>(() => server.CallToolAsync("a"));
                await fake.Scratch.UntilGoneAsync();
            }
            finally
            {
                Environment.SetEnvironmentVariable("JOURNAL", null);
            }
        }

        [Test]
        public async Task Lines_of_the_binary_may_end_as_on_windows()
        {
            using var fake = new Fake("os.write(2, b'warning: a\\r\\nb\\r\\nc\\r\\n'); os._exit(1)");
            var warnings = new List<string>();
            await using (var server = await McpServer.ConnectAsync(new ServerOptions { Command = new[] { "a" }, OnWarning = warnings.Add }))
            {
                var error = await Check.ThrowsAsync<BinaryException>(() => server.CallToolAsync("a"));
                Check.Contains("its last words: warning: a\nb\nc", error.Message);
                Check.True(!error.Message.Contains("\\r", StringComparison.Ordinal));
            }
            Check.Equal("a", string.Join(", ", warnings));
        }

        [Test]
        public async Task A_binary_that_ends_at_once_is_an_error_however_often()
        {
            using var fake = new Fake("/bin/true", isCommand: true);
            for (var n = 0; n < 30; n++)
            {
                await Check.ThrowsAsync<BinaryException>(() => McpServer.ConnectAsync("a"));
            }
        }

        [Test]
        public async Task Warnings_may_use_the_connection()
        {
            using var fake = new Fake("os.write(2, b'warning: a\\n'); os._exit(1)");
            McpServer? server = null;
            var was = "";
            var options = new ServerOptions { Command = new[] { "a" } };
            options.OnWarning = _ => was = Task.Run(() => Check.ThrowsAsync<McptestException>(() => server!.CallToolAsync("a"))).Wait(5000)
                ? "answered"
                : "blocked";
            server = await McpServer.ConnectAsync(options);
            await Check.ThrowsAsync<BinaryException>(() => server.CallToolAsync("a"));
            await server.DisposeAsync();
            Check.Equal("answered", was);
        }

        [Test]
        public async Task Texts_of_a_suite_have_no_control_characters_and_notes_of_a_failure_are_not_repeated()
        {
            using var fake = new Fake("");
            var said = new List<string>();
            await using var suite = await Suite.OpenAsync("f", said.Add);
            var error = await Check.ThrowsAsync<SuiteTestException>(() => suite["a"].RunAsync(said.Add));
            Check.Equal("\\u001b[31mwrong\nf:1", error.Message);
            Check.Equal("\x1b[31mwrong\nf:1", error.Verdict.Text);
            await suite["b"].RunAsync(said.Add);
            await suite["c"].RunAsync(said.Add);
            Check.Equal("\\u001b[31mred, \\u001b[31mnot b, \\u001b[31mnot c", string.Join(", ", said));
        }

        /// <summary>A program in the place of mcptest, until it is disposed of.</summary>
        private sealed class Fake : IDisposable
        {
            private readonly string? _before = Environment.GetEnvironmentVariable("MCPTEST_BIN");

            public Fake(string call, bool isCommand = false)
            {
                var file = Path.Combine(Scratch.Folder, "fake.py");
                File.WriteAllText(file, Program.Replace("CALL", call.Length == 0 ? "pass" : call));
                Environment.SetEnvironmentVariable("MCPTEST_BIN", isCommand ? call : $"python3 {file}");
            }

            public Scratch Scratch { get; } = new Scratch();

            public void Dispose()
            {
                Environment.SetEnvironmentVariable("MCPTEST_BIN", _before);
                Scratch.Dispose();
            }
        }
    }
}
