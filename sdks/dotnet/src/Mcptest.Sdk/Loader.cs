using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace Mcptest
{
    /// <summary>What a suite contains: its tests, and the lanes that an SDK cannot drive.</summary>
    public static class Loader
    {
        /// <summary>The lanes of a suite that an SDK cannot drive.</summary>
        public static IReadOnlyList<string> UnsupportedLanes { get; } = new[] { "agents", "compliance", "security", "evals" };

        /// <summary>The reason for skipping a lane, with the command that runs it for the suite at this path.</summary>
        public static string LaneCliHint(string lane, string? suite = null)
        {
            var command = (lane ?? throw new ArgumentNullException(nameof(lane))) switch
            {
                "compliance" => "mcptest compliance run --from-suite",
                "evals" => "mcptest eval",
                _ => "mcptest run",
            };
            var file = suite == null ? "<suite>" : Words.Quote(suite);
            return $"lane \"{lane}\" is not drivable over the SDK channel; run: {command} {file}";
        }
    }

    /// <summary>The suite channel: lists and runs the tests of one file.</summary>
    internal sealed class SuiteChannel : IAsyncDisposable
    {
        private const int SuiteVersion = 1;

        // Added to the time that a test can take.
        private static readonly TimeSpan Slack = TimeSpan.FromSeconds(15);
        // For a test whose limit is not known, because the tests were not listed.
        private static readonly TimeSpan Unlisted = TimeSpan.FromMinutes(10);

        private readonly Coprocess _coprocess;
        private readonly string _file;
        private Dictionary<string, TimeSpan> _limits = new Dictionary<string, TimeSpan>();

        private SuiteChannel(Coprocess coprocess, string file)
        {
            _coprocess = coprocess;
            _file = file;
        }

        public string BinaryVersion => _coprocess.BinaryVersion;

        public bool IsIdle => _coprocess.IsIdle;

        public static async Task<SuiteChannel> OpenAsync(string file, Action<string>? warn, CancellationToken cancellationToken = default)
        {
            // A path that begins with a dash would be taken for an option.
            var arguments = new[] { "--suite-server", file.StartsWith('-') ? $"./{file}" : file };
            var coprocess = await Coprocess.StartAsync(arguments, null, null, warn, cancellationToken).ConfigureAwait(false);
            return new SuiteChannel(coprocess, file);
        }

        /// <summary>The checked result of suite.list.</summary>
        public async Task<JsonElement> ListAsync(CancellationToken cancellationToken = default)
        {
            const string method = "suite.list";
            JsonElement result;
            try
            {
                result = await _coprocess.RequestAsync(method, null, null, cancellationToken).ConfigureAwait(false);
            }
            catch (RefusedException error) when (!File.Exists(_file) && !Directory.Exists(_file))
            {
                // Test frameworks change the current folder, which the user may not know.
                throw new RefusedException(error.Code, error.RawMessage, error.Details, Environment.CurrentDirectory);
            }
            var version = Json.Get(result, "version");
            if (Json.IsInteger(version) && version.GetInt64() != SuiteVersion)
            {
                throw _coprocess.Fail(Messages.BuildMismatch("suite channel", version.GetInt64(), SuiteVersion));
            }
            Shape.Check(
                method,
                "the result",
                result,
                ("version", Json.IsInteger),
                ("file", Shape.IsString),
                ("tests", Shape.IsArray),
                ("lanes", Shape.IsArray),
                ("left", Shape.IsArray),
                ("warnings", Shape.IsStrings));
            var limits = new Dictionary<string, TimeSpan>();
            foreach (var test in Json.Get(result, "tests").EnumerateArray())
            {
                Shape.Check(
                    method,
                    "a test",
                    test,
                    ("id", Shape.IsString),
                    ("server", Shape.IsString),
                    ("name", Shape.IsString),
                    ("file", Shape.IsString),
                    ("line", Json.IsInteger),
                    ("tags", Shape.IsStrings),
                    ("skip", Shape.IsString),
                    ("limit_ms", Shape.IsNumber));
                var id = Json.GetString(test, "id") ?? "";
                if (!limits.TryAdd(id, Verdict.ReadMilliseconds(Json.Get(test, "limit_ms"))))
                {
                    throw Messages.BuildDrift($"two tests of {method} have the id {Messages.Quote(id)}");
                }
            }
            foreach (var lane in Json.Get(result, "lanes").EnumerateArray())
            {
                Shape.Check(method, "a lane", lane, ("lane", Shape.IsString), ("line", Json.IsInteger));
            }
            foreach (var entry in Json.Get(result, "left").EnumerateArray())
            {
                Shape.Check(method, "an entry of left", entry, ("name", Shape.IsString), ("reason", Shape.IsString));
            }
            _limits = limits;
            return result;
        }

        /// <summary>The verdict on one test.</summary>
        public async Task<SuiteVerdict> RunAsync(string id, CancellationToken cancellationToken = default)
        {
            const string method = "suite.run";
            var limit = _limits.TryGetValue(id, out var listed) ? listed : Unlisted;
            limit = limit < TimeSpan.MaxValue - Slack ? limit + Slack : limit;
            var parameters = Json.BuildObject(("id", Json.Write(id, nameof(id))));
            var result = await _coprocess.RequestAsync(method, parameters, limit, cancellationToken).ConfigureAwait(false);
            Shape.Check(
                method,
                "the result",
                result,
                ("status", value => Shape.IsString(value) && SuiteVerdict.ReadStatus(Json.ReadString(value)) != null),
                ("text", Shape.IsString),
                ("file", Shape.IsString),
                ("line", Json.IsInteger),
                ("duration_ms", Shape.IsNumber),
                ("notes", Shape.IsStrings));
            return new SuiteVerdict(result);
        }

        public ValueTask DisposeAsync() => _coprocess.DisposeAsync();

        /// <summary>Objects with exactly the members that the contract has.</summary>
        private static class Shape
        {
            public static void Check(string method, string part, JsonElement value, params (string Name, Func<JsonElement, bool> IsRight)[] members)
            {
                var mistake = FindMistake(value, members);
                if (mistake != null)
                {
                    throw Messages.BuildDrift($"{part} of {method} {mistake}");
                }
            }

            public static bool IsString(JsonElement value) => value.ValueKind == JsonValueKind.String;

            public static bool IsNumber(JsonElement value) => value.ValueKind == JsonValueKind.Number;

            public static bool IsArray(JsonElement value) => value.ValueKind == JsonValueKind.Array;

            public static bool IsStrings(JsonElement value) => IsArray(value) && value.EnumerateArray().All(IsString);

            private static string? FindMistake(JsonElement value, (string Name, Func<JsonElement, bool> IsRight)[] members)
            {
                if (value.ValueKind != JsonValueKind.Object)
                {
                    return $"is {Messages.Quote(value)}";
                }
                var surplus = value.EnumerateObject().Select(Json.GetName).FirstOrDefault(name => members.All(each => each.Name != name));
                if (surplus != null)
                {
                    return $"has an unknown member {Messages.Quote(surplus)}";
                }
                foreach (var (name, isRight) in members)
                {
                    var member = Json.Get(value, name);
                    if (member.ValueKind == JsonValueKind.Undefined)
                    {
                        return $"has no member \"{name}\"";
                    }
                    if (!isRight(member))
                    {
                        return $"has an invalid \"{name}\": {Messages.Quote(member)}";
                    }
                }
                return null;
            }
        }
    }
}
