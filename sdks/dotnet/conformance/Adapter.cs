using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace Mcptest.Conformance
{
    /// <summary>
    /// The adapter of this SDK: plays the scenarios of protocol/coprocess/kit, and says what came of them.
    /// What it writes is put together as text, so that results stay as the SDK returned them.
    /// </summary>
    internal static class Program
    {
        private static async Task Main()
        {
            var lines = new StreamReader(Console.OpenStandardInput(), Encoding.UTF8);
            using var output = Console.OpenStandardOutput();
            for (string? line; (line = await lines.ReadLineAsync()) != null;)
            {
                using var given = JsonDocument.Parse(line, new JsonDocumentOptions { MaxDepth = 512 });
                var did = await new Scenario(given.RootElement).PlayAsync();
                var name = given.RootElement.GetProperty("name").GetRawText();
                output.Write(Encoding.UTF8.GetBytes($"{{\"name\":{name},\"did\":[{string.Join(",", did)}]}}\n"));
                output.Flush();
            }
        }
    }

    internal sealed class Scenario
    {
        // Connections that a scenario has neither closed nor let go.
        private static readonly List<object> Forgotten = new List<object>();

        private readonly JsonElement _given;
        private Coprocess? _coprocess;
        private McpServer? _server;
        private SuiteChannel? _suite;

        public Scenario(JsonElement given)
        {
            _given = given;
        }

        private McpServer Server => _server ?? throw new InvalidOperationException("no server is open");

        private SuiteChannel Suite => _suite ?? throw new InvalidOperationException("no suite is open");

        public async Task<List<string>> PlayAsync()
        {
            var did = new List<string>();
            if (_given.GetProperty("open").GetString() != "none")
            {
                did.Add(await TryAsync(OpenAsync));
            }
            if (did.Count == 0 || did[0].StartsWith("{\"opened\"", StringComparison.Ordinal))
            {
                foreach (var step in _given.GetProperty("do").EnumerateArray())
                {
                    did.Add(await DoAsync(step));
                }
            }
            await CloseAsync();
            return did;
        }

        private static async Task<string> TryAsync(Func<Task<string>> work)
        {
            try
            {
                return await work();
            }
            catch (Exception error) when (FindKind(error) != null)
            {
                var members = new List<string> { $"\"kind\":{Write(FindKind(error)!)}", $"\"message\":{Write(error.Message)}" };
                if (error is RefusedException refused)
                {
                    members.Add($"\"code\":{refused.Code}");
                    members.Add($"\"said\":{Write(refused.RawMessage)}");
                    members.Add($"\"data\":{refused.Details.GetRawText()}");
                }
                return $"{{\"error\":{{{string.Join(",", members)}}}}}";
            }
        }

        private static string? FindKind(Exception error)
        {
            return error switch
            {
                OverdueException _ => "timeout",
                BinaryException _ => "binary",
                VersionException _ => "version",
                ContractException _ => "contract",
                ClosedException _ => "closed",
                UpstreamException _ => "upstream",
                UpstreamGoneException _ => "upstream_gone",
                RefusedException _ => "refused",
                OperationCanceledException _ => "cancelled",
                ArgumentException _ => "arguments",
                _ => null,
            };
        }

        private async Task<string> OpenAsync()
        {
            switch (_given.GetProperty("open").GetString())
            {
                case "suite":
                    _suite = await SuiteChannel.OpenAsync(Text(_given, "file") ?? "", null);
                    return $"{{\"opened\":{Write(_suite.BinaryVersion)}}}";
                case "connect":
                    _server = await McpServer.ConnectAsync(ReadOptions());
                    break;
                default:
                    var arguments = new[] { "--connection-server", "--server-command", Words.Quote(Strings(_given, "command")) };
                    _coprocess = await Coprocess.StartAsync(arguments, Time(_given, "timeout_ms"));
                    _server = new McpServer(_coprocess);
                    break;
            }
            return $"{{\"opened\":{Write(_server.BinaryVersion)}}}";
        }

        private ServerOptions ReadOptions()
        {
            var given = _given.TryGetProperty("options", out var found) ? found : default;
            return new ServerOptions
            {
                Command = Strings(_given, "command"),
                Url = Text(given, "url"),
                BearerEnv = Text(given, "bearer_env"),
                HeaderEnv = Pairs(given, "header_env"),
                CaFile = Text(given, "ca_file"),
                WorkingDirectory = Text(given, "cwd"),
                Environment = Pairs(given, "env"),
                Secrets = Strings(given, "secrets"),
                Revision = Text(given, "revision"),
                Timeout = Time(given, "timeout_ms"),
                StartTimeout = Time(given, "start_timeout_ms"),
                Cache = Text(given, "cache") is { } mode ? ReadCacheMode(mode) : (CacheMode?)null,
                Record = Text(given, "record"),
                Replay = Text(given, "replay"),
            };
        }

        private async Task<string> DoAsync(JsonElement step)
        {
            if (step.TryGetProperty("after_ms", out var pause))
            {
                await Task.Delay(pause.GetInt32());
            }
            var (verb, given) = step.EnumerateObject()
                .Where(member => member.Name != "after_ms" && member.Name != "cancel_ms")
                .Select(member => (member.Name, member.Value))
                .Single();
            if (verb == "parallel")
            {
                var did = await Task.WhenAll(given.EnumerateArray().Select(DoAsync).ToArray());
                return $"{{\"parallel\":[{string.Join(",", did)}]}}";
            }
            using var cancel = step.TryGetProperty("cancel_ms", out var limit)
                ? new CancellationTokenSource(limit.GetInt32())
                : new CancellationTokenSource();
            return await TryAsync(() => DoAsync(verb, given, cancel.Token));
        }

        private async Task<string> DoAsync(string verb, JsonElement given, CancellationToken token)
        {
            switch (verb)
            {
                case "request":
                    var parameters = given.TryGetProperty("params", out var found) ? found.GetRawText() : null;
                    var answer = await (_coprocess ?? throw new InvalidOperationException()).RequestAsync(
                        given.GetProperty("method").GetString() ?? "", parameters, null, token);
                    return Result(answer.GetRawText());
                case "call":
                    return Describe(await Server.CallToolAsync(Text(given, "tool") ?? "", Arguments(given), token));
                case "bad_call":
                    var bad = new { degrees = new object[] { 1, double.NaN } };
                    return Describe(await Server.CallToolAsync(Text(given, "tool") ?? "", bad, token));
                case "list_tools":
                    return Result(List(await Server.ListToolsAsync(token)));
                case "list_resources":
                    return Result(List(await Server.ListResourcesAsync(token)));
                case "read_resource":
                    return Result((await Server.ReadResourceAsync(Text(given, "uri") ?? "", token)).GetRawText());
                case "get_prompt":
                    return Result((await Server.GetPromptAsync(Text(given, "name") ?? "", Arguments(given), token)).GetRawText());
                case "initialize":
                    return Result((await Server.InitializeAsync(token)).GetRawText());
                case "set_cache":
                    await Server.SetCacheAsync(ReadCacheMode(Text(given, "mode")), token);
                    return Result("null");
                case "set_cassette":
                    var mode = Text(given, "mode") switch
                    {
                        "record" => CassetteMode.Record,
                        "replay" => CassetteMode.Replay,
                        _ => CassetteMode.Off,
                    };
                    await Server.SetCassetteAsync(mode, Text(given, "path"), token);
                    return Result("null");
                case "upload_to":
                    await Server.UploadToAsync(Text(given, "target") ?? "", token);
                    return Result("null");
                case "stop_uploads":
                    await Server.StopUploadsAsync(token);
                    return Result("null");
                case "flush":
                    return Result($"{await Server.FlushAsync(token)}");
                case "list":
                    var list = (await Suite.ListAsync(token)).EnumerateObject().Where(member => member.Name != "version");
                    return Result($"{{{string.Join(",", list.Select(member => $"{Write(member.Name)}:{member.Value.GetRawText()}"))}}}");
                case "run":
                    return Describe(await Suite.RunAsync(Text(given, "id") ?? "", token));
                case "close":
                    await CloseAsync();
                    return "{\"closed\":true}";
                case "forget":
                    Forgotten.Add((object?)_suite ?? Server);
                    (_suite, _server) = (null, null);
                    return "{\"forgotten\":true}";
                case "lanes":
                    return Result(JsonSerializer.Serialize(Loader.UnsupportedLanes));
                case "lane":
                    return Result(Write(Loader.LaneCliHint(Text(given, "lane") ?? "", Text(given, "suite"))));
                case "quote":
                    return Result(Write(Words.Quote(given.EnumerateArray().Select(word => word.GetString() ?? ""))));
                case "split":
                    return Result(JsonSerializer.Serialize(Words.Split(given.GetString() ?? "")));
                default:
                    return $"{{\"error\":{{\"kind\":\"unsupported\",\"message\":{Write(verb)}}}}}";
            }
        }

        private async Task CloseAsync()
        {
            if (_suite != null)
            {
                await _suite.DisposeAsync();
            }
            if (_server != null)
            {
                await _server.DisposeAsync();
            }
        }

        private static string Describe(Verdict verdict)
        {
            var members = new[]
            {
                $"\"success\":{(verdict.Success ? "true" : "false")}",
                $"\"text\":{Write(verdict.Text)}",
                $"\"data\":{verdict.Data.GetRawText()}",
                $"\"error\":{Write(verdict.Error)}",
                $"\"duration_ms\":{JsonSerializer.Serialize(verdict.Duration.TotalMilliseconds)}",
                $"\"raw\":{verdict.Raw.GetRawText()}",
            };
            return $"{{\"verdict\":{{{string.Join(",", members)}}}}}";
        }

        private static string Describe(SuiteVerdict verdict)
        {
            return Result(JsonSerializer.Serialize(new
            {
                status = verdict.Status.ToString().ToLowerInvariant(),
                text = verdict.Text,
                file = verdict.File,
                line = verdict.Line,
                duration_ms = verdict.Duration.TotalMilliseconds,
                notes = verdict.Notes,
            }));
        }

        private static string Result(string json) => $"{{\"result\":{json}}}";

        private static string Write(string? text) => JsonSerializer.Serialize(text);

        private static string List(IEnumerable<JsonElement> entries) => $"[{string.Join(",", entries.Select(each => each.GetRawText()))}]";

        private static object? Arguments(JsonElement given) => given.TryGetProperty("arguments", out var found) ? (object)found : null;

        private static string? Text(JsonElement given, string name) => Find(given, name) is { } found ? found.GetString() : null;

        private static TimeSpan? Time(JsonElement given, string name)
        {
            return Find(given, name) is { } found ? TimeSpan.FromMilliseconds(found.GetDouble()) : (TimeSpan?)null;
        }

        private static string[] Strings(JsonElement given, string name)
        {
            return Find(given, name) is { } found ? found.EnumerateArray().Select(each => each.GetString() ?? "").ToArray() : new string[0];
        }

        private static Dictionary<string, string> Pairs(JsonElement given, string name)
        {
            return Find(given, name) is { } found
                ? found.EnumerateObject().ToDictionary(each => each.Name, each => each.Value.GetString() ?? "")
                : new Dictionary<string, string>();
        }

        private static JsonElement? Find(JsonElement given, string name)
        {
            return given.ValueKind == JsonValueKind.Object && given.TryGetProperty(name, out var found) ? found : (JsonElement?)null;
        }

        private static CacheMode ReadCacheMode(string? mode)
        {
            return mode switch
            {
                "read_write" => CacheMode.ReadWrite,
                "read_only" => CacheMode.ReadOnly,
                "refresh" => CacheMode.Refresh,
                _ => CacheMode.Off,
            };
        }
    }
}
