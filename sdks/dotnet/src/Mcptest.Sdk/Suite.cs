using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace Mcptest
{
    /// <summary>
    /// The tests of a file, for any test framework. mcptest reads the file, starts its server when a test needs it,
    /// and judges the answers.
    /// </summary>
    public sealed class Suite : IAsyncDisposable
    {
        // Those of Load. The end of the program closes them.
        private static readonly Dictionary<string, Suite> Loaded = new Dictionary<string, Suite>();
        private static bool _isExitWatched;

        private readonly SuiteChannel _channel;
        private readonly Action<string> _warn;
        private readonly List<SuiteCase> _cases = new List<SuiteCase>();
        private readonly Dictionary<string, SuiteCase> _byId = new Dictionary<string, SuiteCase>();

        private Suite(SuiteChannel channel, JsonElement list, Action<string> warn)
        {
            _channel = channel;
            _warn = text => warn(Messages.MakeVisible(text));
            File = Json.GetString(list, "file") ?? "";
            foreach (var test in Json.Get(list, "tests").EnumerateArray())
            {
                Add(new SuiteCase(this, test));
            }
            foreach (var lane in Json.Get(list, "lanes").EnumerateArray())
            {
                var name = Json.GetString(lane, "lane") ?? "";
                var reason = Loader.LaneCliHint(name, File);
                Add(new SuiteCase(this, MakeUnique($"lanes::{name}"), "lanes", name, File, Json.Get(lane, "line").GetInt64(), reason));
            }
            foreach (var entry in Json.Get(list, "left").EnumerateArray())
            {
                var name = Json.GetString(entry, "name") ?? "";
                Add(new SuiteCase(this, MakeUnique(name), "", name, File, 0, Json.GetString(entry, "reason") ?? ""));
            }
            foreach (var warning in Json.Get(list, "warnings").EnumerateArray())
            {
                _warn(Json.ReadString(warning));
            }
        }

        /// <summary>The path of the file, relative to the current folder.</summary>
        public string File { get; }

        /// <summary>
        /// The tests in the order of the file; then, as skipped tests, the lanes that an SDK cannot drive and what is
        /// judged for a whole run only.
        /// </summary>
        public IReadOnlyList<SuiteCase> Cases => _cases;

        /// <summary>The test with this id.</summary>
        public SuiteCase this[string id] => _byId.TryGetValue(id ?? throw new ArgumentNullException(nameof(id)), out var found)
            ? found
            : throw new ArgumentException($"{Messages.MakeVisible(File)} has no test \"{Messages.Quote(id)}\"; it has {DescribeIds()}", nameof(id));

        /// <summary>
        /// Those of <see cref="Cases"/> that are chosen, by their tags for example. An <see cref="ArgumentException"/> if no test
        /// is: with lanes alone, or nothing, a run would look like a success.
        /// </summary>
        public IReadOnlyList<SuiteCase> Choose(Func<SuiteCase, bool> choice)
        {
            var chosen = Cases.Where(choice ?? throw new ArgumentNullException(nameof(choice))).ToArray();
            return chosen.Any(each => each.IsTest)
                ? chosen
                : throw new ArgumentException($"no test of {Messages.MakeVisible(File)} was chosen", nameof(choice));
        }

        /// <summary>
        /// Open a file that <c>mcptest run</c> accepts: a suite, a test file, a contract or a folder. The same file is
        /// opened once, and closed at the end of the program. Mistakes in it are a <see cref="RefusedException"/> with all of them.
        /// </summary>
        public static Suite Load(string file)
        {
            var path = CompletePath(CheckPath(file));
            lock (Loaded)
            {
                if (Loaded.TryGetValue(path, out var found))
                {
                    return found;
                }
                // Nothing in this library needs the context of the caller.
                var suite = OpenAsync(file).GetAwaiter().GetResult();
                Loaded[path] = suite;
                if (!_isExitWatched)
                {
                    _isExitWatched = true;
                    AppDomain.CurrentDomain.ProcessExit += (sender, e) => CloseLoaded();
                }
                return suite;
            }
        }

        /// <summary>Open a file as <see cref="Load"/> does, to be disposed of by the caller.</summary>
        /// <param name="file">A suite, a test file, a contract or a folder.</param>
        /// <param name="onWarning">Called with each problem that failed no test (default: writes to standard error).</param>
        /// <param name="cancellationToken">Cancels opening it.</param>
        public static async Task<Suite> OpenAsync(
            string file, Action<string>? onWarning = null, CancellationToken cancellationToken = default)
        {
            var warn = onWarning ?? Messages.WriteWarning;
            var channel = await SuiteChannel.OpenAsync(CheckPath(file), warn, cancellationToken).ConfigureAwait(false);
            try
            {
                return new Suite(channel, await channel.ListAsync(cancellationToken).ConfigureAwait(false), warn);
            }
            catch
            {
                await channel.DisposeAsync().ConfigureAwait(false);
                throw;
            }
        }

        /// <summary>Stop the servers of the suite.</summary>
        public ValueTask DisposeAsync()
        {
            lock (Loaded)
            {
                foreach (var path in Loaded.Where(each => each.Value == this).Select(each => each.Key).ToArray())
                {
                    Loaded.Remove(path);
                }
            }
            return _channel.DisposeAsync();
        }

        internal async Task<SuiteVerdict> RunAsync(string id, CancellationToken cancellationToken)
        {
            var verdict = await _channel.RunAsync(id, cancellationToken).ConfigureAwait(false);
            // The text of a test that did not pass has them.
            foreach (var note in verdict.Notes.Where(_ => verdict.Status == SuiteStatus.Passed))
            {
                _warn($"{id}: {note}");
            }
            return verdict;
        }

        private string DescribeIds()
        {
            const int most = 20;
            var more = _cases.Count > most ? $", and {_cases.Count - most} more" : "";
            return string.Join(", ", _cases.Take(most).Select(each => $"\"{Messages.Quote(each.Id)}\"")) + more;
        }

        private void Add(SuiteCase test)
        {
            _cases.Add(test);
            _byId[test.Id] = test;
        }

        /// <summary>The id as it is, or with a number as in pytest: a server may be called "lanes".</summary>
        private string MakeUnique(string id)
        {
            var unique = id;
            for (var number = 2; _byId.ContainsKey(unique); number++)
            {
                unique = $"{id} #{number}";
            }
            return unique;
        }

        private static string CheckPath(string file)
        {
            return !string.IsNullOrEmpty(file)
                ? file
                : throw new ArgumentException("there is no file: give the path of a suite, a test file, a contract or a folder", nameof(file));
        }

        private static string CompletePath(string file)
        {
            try
            {
                return Path.GetFullPath(file);
            }
            catch (IOException)
            {
                // The current folder does not exist any more, which mcptest reports.
                return file;
            }
        }

        /// <summary>So that warnings are seen; without it, the end of its input ends the binary as well.</summary>
        private static void CloseLoaded()
        {
            // Somebody may be loading another one.
            if (!Monitor.TryEnter(Loaded, TimeSpan.FromSeconds(1)))
            {
                return;
            }
            // A test that is under way must not fail because the program is ended.
            var idle = Loaded.Values.Select(suite => suite._channel).Where(channel => channel.IsIdle);
            var closing = idle.Select(channel => channel.DisposeAsync().AsTask()).ToArray();
            Monitor.Exit(Loaded);
            Task.WaitAll(closing, TimeSpan.FromSeconds(3));
        }
    }

    /// <summary>A test of a suite, or what stands for a part of it that an SDK cannot run.</summary>
    public sealed class SuiteCase
    {
        private readonly Suite _suite;

        internal SuiteCase(Suite suite, JsonElement test)
        {
            _suite = suite;
            Id = Json.GetString(test, "id") ?? "";
            Server = Json.GetString(test, "server") ?? "";
            Name = Json.GetString(test, "name") ?? "";
            File = Json.GetString(test, "file") ?? "";
            Line = Json.Get(test, "line").GetInt64();
            Tags = Json.Get(test, "tags").EnumerateArray().Select(Json.ReadString).ToArray();
            var skip = Json.GetString(test, "skip");
            SkipReason = string.IsNullOrEmpty(skip) ? null : Messages.MakeVisible(skip, keepNewlines: true);
            IsTest = true;
        }

        internal SuiteCase(Suite suite, string id, string server, string name, string file, long line, string reason)
        {
            _suite = suite;
            Id = id;
            Server = server;
            Name = name;
            File = file;
            Line = line;
            Tags = new string[0];
            SkipReason = Messages.MakeVisible(reason, keepNewlines: true);
        }

        /// <summary><c>server::name</c>, unique in the file; the same as in pytest.</summary>
        public string Id { get; }

        /// <summary>The name of its server.</summary>
        public string Server { get; }

        /// <summary>The name of the test.</summary>
        public string Name { get; }

        /// <summary>The file it is in; a suite may import others.</summary>
        public string File { get; }

        /// <summary>The line it begins at.</summary>
        public long Line { get; }

        /// <summary>Whether it is a test of the file, and not what stands for another part of it.</summary>
        internal bool IsTest { get; }

        /// <summary>Its tags.</summary>
        public IReadOnlyList<string> Tags { get; }

        /// <summary>The reason for skipping it; null if it is run.</summary>
        public string? SkipReason { get; }

        /// <summary>
        /// Run the test. A test that fails is a <see cref="SuiteTestException"/>; one that is skipped calls
        /// <paramref name="skip"/> with the reason, such as <c>Assert.Skip</c> or <c>Assert.Ignore</c>.
        /// </summary>
        public async Task RunAsync(Action<string> skip, CancellationToken cancellationToken = default)
        {
            if (skip == null)
            {
                throw new ArgumentNullException(nameof(skip));
            }
            if (SkipReason != null)
            {
                skip(SkipReason);
                return;
            }
            var verdict = await _suite.RunAsync(Id, cancellationToken).ConfigureAwait(false);
            if (verdict.Status == SuiteStatus.Skipped)
            {
                skip(Messages.MakeVisible(verdict.Text, keepNewlines: true));
            }
            else if (verdict.Status != SuiteStatus.Passed)
            {
                throw new SuiteTestException(verdict);
            }
        }

        /// <summary>The id, as test frameworks show it.</summary>
        public override string ToString() => Id;
    }

    /// <summary>How a test ended.</summary>
    public enum SuiteStatus
    {
        /// <summary>All expectations were met.</summary>
        Passed,

        /// <summary>An expectation was not met.</summary>
        Failed,

        /// <summary>The test could not be completed.</summary>
        Error,

        /// <summary>The test was skipped.</summary>
        Skipped,
    }

    /// <summary>The verdict on a test of a suite.</summary>
    public sealed class SuiteVerdict
    {
        internal SuiteVerdict(JsonElement result)
        {
            Status = ReadStatus(Json.GetString(result, "status")) ?? SuiteStatus.Error;
            Text = Json.GetString(result, "text") ?? "";
            File = Json.GetString(result, "file") ?? "";
            Line = Json.Get(result, "line").GetInt64();
            Duration = Verdict.ReadMilliseconds(Json.Get(result, "duration_ms"));
            Notes = Json.Get(result, "notes").EnumerateArray().Select(Json.ReadString).ToArray();
        }

        /// <summary>How the test ended.</summary>
        public SuiteStatus Status { get; }

        /// <summary>What <c>mcptest run</c> prints for a test that did not pass; the reason of a skipped one.</summary>
        public string Text { get; }

        /// <summary>The file of the failure, or of the test.</summary>
        public string File { get; }

        /// <summary>The line of the failure, or of the test.</summary>
        public long Line { get; }

        /// <summary>How long the test took.</summary>
        public TimeSpan Duration { get; }

        /// <summary>Further remarks, such as that a retry passed.</summary>
        public IReadOnlyList<string> Notes { get; }

        internal static SuiteStatus? ReadStatus(string? word)
        {
            return word switch
            {
                "passed" => SuiteStatus.Passed,
                "failed" => SuiteStatus.Failed,
                "error" => SuiteStatus.Error,
                "skipped" => SuiteStatus.Skipped,
                _ => (SuiteStatus?)null,
            };
        }
    }
}
