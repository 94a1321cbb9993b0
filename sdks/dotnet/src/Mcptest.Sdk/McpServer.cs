using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Mcptest
{
    /// <summary>Which results of tools of earlier connections are used.</summary>
    public enum CacheMode
    {
        /// <summary>Every call goes to the server.</summary>
        Off,

        /// <summary>Cached results are used, new ones are cached.</summary>
        ReadWrite,

        /// <summary>Cached results are used, new ones are not cached.</summary>
        ReadOnly,

        /// <summary>Every call goes to the server, and its result is cached.</summary>
        Refresh,
    }

    /// <summary>What is done with a cassette, a file of requests and their answers.</summary>
    public enum CassetteMode
    {
        /// <summary>No cassette is used.</summary>
        Off,

        /// <summary>Requests and answers are recorded.</summary>
        Record,

        /// <summary>Requests are answered from the cassette, without the server.</summary>
        Replay,
    }

    /// <summary>A server under test, and how to connect to it.</summary>
    public sealed class ServerOptions
    {
        /// <summary>The words of the command that starts the server, without a shell.</summary>
        public IEnumerable<string> Command { get; set; } = Enumerable.Empty<string>();

        /// <summary>A server on HTTP. With a command, that starts it, and <c>{port}</c> in both is a free port.</summary>
        public string? Url { get; set; }

        /// <summary>The environment variable with the token for <see cref="Url"/>.</summary>
        public string? BearerEnv { get; set; }

        /// <summary>Headers for <see cref="Url"/>: each with the environment variable that has its value.</summary>
        public IDictionary<string, string> HeaderEnv { get; set; } = new Dictionary<string, string>();

        /// <summary>Additional CA certificates to trust (PEM).</summary>
        public string? CaFile { get; set; }

        /// <summary>The working folder of the server (default: the current folder).</summary>
        public string? WorkingDirectory { get; set; }

        /// <summary>Additional environment variables of the server.</summary>
        public IDictionary<string, string> Environment { get; set; } = new Dictionary<string, string>();

        /// <summary>Names in <see cref="Environment"/> whose values are hidden in messages, besides those such as SHOP_TOKEN.</summary>
        public IEnumerable<string> Secrets { get; set; } = Enumerable.Empty<string>();

        /// <summary>Protocol revision to use, such as "2025-06-18" (default: auto-negotiate).</summary>
        public string? Revision { get; set; }

        /// <summary>Time limit for each answer of the server (default: 30 seconds).</summary>
        public TimeSpan? Timeout { get; set; }

        /// <summary>Time limit for the server to be ready (default: 5 seconds, 20 for package runners).</summary>
        public TimeSpan? StartTimeout { get; set; }

        /// <summary>Use results of tools of earlier connections.</summary>
        public CacheMode? Cache { get; set; }

        /// <summary>Record all requests and answers to this file, a cassette.</summary>
        public string? Record { get; set; }

        /// <summary>Answer from this cassette, without starting the server.</summary>
        public string? Replay { get; set; }

        /// <summary>Called at the end with each problem that failed no call (default: writes to standard error).</summary>
        public Action<string>? OnWarning { get; set; }

        /// <summary>The command or the URL of the server, with names instead of the values of <see cref="Environment"/>.</summary>
        public override string ToString()
        {
            var command = string.Join(" ", Command ?? Enumerable.Empty<string>());
            // Credentials of a URL are before the host, or after the path.
            var shown = command.Length > 0 ? command : Regex.Replace(Regex.Replace(Url ?? "", "//[^/@]*@", "//"), "[?#].*", "");
            // The longest first: one value may be a part of another. A short one says nothing.
            var variables = (Environment ?? new Dictionary<string, string>()).Where(each => each.Value?.Length > 3);
            foreach (var (name, value) in variables.OrderByDescending(each => each.Value.Length))
            {
                shown = shown.Replace(value, $"[{name}]");
            }
            return Messages.Quote(shown);
        }
    }

    /// <summary>A server under test. Calls are sent one after the other, in order.</summary>
    public sealed class McpServer : IAsyncDisposable
    {
        private static readonly TimeSpan DefaultTimeout = TimeSpan.FromSeconds(30);
        // The longest default of the binary, for package runners.
        private static readonly TimeSpan DefaultStartTimeout = TimeSpan.FromSeconds(20);
        // The limits of the binary end first, so that it can report what it saw.
        private static readonly TimeSpan Slack = TimeSpan.FromSeconds(15);
        // That of the binary.
        private static readonly TimeSpan MaxTimeout = TimeSpan.FromHours(24);

        private readonly Coprocess _coprocess;
        private readonly string _shown;

        internal McpServer(Coprocess coprocess, string shown = "")
        {
            _coprocess = coprocess;
            _shown = shown;
        }

        /// <summary>The version of the mcptest binary.</summary>
        public string BinaryVersion => _coprocess.BinaryVersion;

        /// <summary>Start mcptest and the server with this command, one string for each word, and initialize the server.</summary>
        public static Task<McpServer> ConnectAsync(params string[] command)
        {
            return ConnectAsync(new ServerOptions { Command = command });
        }

        /// <summary>Start mcptest and the server, and initialize the server.</summary>
        public static async Task<McpServer> ConnectAsync(ServerOptions options, CancellationToken cancellationToken = default)
        {
            var arguments = DescribeServer(options ?? throw new ArgumentNullException(nameof(options)));
            var variable = DescribeEnvironment(options);
            var timeout = (options.Timeout ?? DefaultTimeout) + (options.StartTimeout ?? DefaultStartTimeout) + Slack;
            var coprocess = await Coprocess.StartAsync(arguments, timeout, variable, options.OnWarning, cancellationToken)
                .ConfigureAwait(false);
            var server = new McpServer(coprocess, $"{options}");
            try
            {
                if (options.Cache is { } cache)
                {
                    await server.SetCacheAsync(cache, cancellationToken).ConfigureAwait(false);
                }
                if (options.Record != null)
                {
                    await server.SetCassetteAsync(CassetteMode.Record, options.Record, cancellationToken).ConfigureAwait(false);
                }
                if (options.Replay != null)
                {
                    await server.SetCassetteAsync(CassetteMode.Replay, options.Replay, cancellationToken).ConfigureAwait(false);
                }
                await server.InitializeAsync(cancellationToken).ConfigureAwait(false);
            }
            catch
            {
                await server.DisposeAsync().ConfigureAwait(false);
                throw;
            }
            return server;
        }

        /// <summary>
        /// Call a tool. The arguments are an object of any type, such as <c>new { id = 1 }</c>, a dictionary or a
        /// <see cref="JsonElement"/>. An error that the tool reports is a verdict without success.
        /// </summary>
        public async Task<Verdict> CallToolAsync(string name, object? arguments = null, CancellationToken cancellationToken = default)
        {
            var parameters = Json.BuildObject(
                ("tool", Json.Write(name, nameof(name))),
                ("arguments", arguments == null ? "{}" : Json.WriteArguments(arguments)));
            var watch = Stopwatch.StartNew();
            var result = await _coprocess.RequestAsync("mcp.call", parameters, null, cancellationToken).ConfigureAwait(false);
            return Verdict.Read(result, watch.Elapsed);
        }

        /// <summary>All tools of the server, from all pages.</summary>
        public Task<IReadOnlyList<JsonElement>> ListToolsAsync(CancellationToken cancellationToken = default)
        {
            return RequestListAsync("mcp.listTools", "tools", cancellationToken);
        }

        /// <summary>All resources of the server, from all pages.</summary>
        public Task<IReadOnlyList<JsonElement>> ListResourcesAsync(CancellationToken cancellationToken = default)
        {
            return RequestListAsync("mcp.listResources", "resources", cancellationToken);
        }

        /// <summary>The server's answer to resources/read.</summary>
        public Task<JsonElement> ReadResourceAsync(string uri, CancellationToken cancellationToken = default)
        {
            return RequestAsync("mcp.readResource", Json.BuildObject(("uri", Json.Write(uri, nameof(uri)))), cancellationToken);
        }

        /// <summary>The server's answer to prompts/get.</summary>
        public Task<JsonElement> GetPromptAsync(string name, object? arguments = null, CancellationToken cancellationToken = default)
        {
            var parameters = Json.BuildObject(
                ("name", Json.Write(name, nameof(name))),
                ("arguments", arguments == null ? null : Json.WriteArguments(arguments)));
            return RequestAsync("mcp.callPrompt", parameters, cancellationToken);
        }

        /// <summary>The server's answer to initialize, which is not sent again.</summary>
        public Task<JsonElement> InitializeAsync(CancellationToken cancellationToken = default)
        {
            return RequestAsync("mcp.initialize", null, cancellationToken);
        }

        /// <summary>Use results of tools of earlier connections, or stop using them.</summary>
        public Task SetCacheAsync(CacheMode mode, CancellationToken cancellationToken = default)
        {
            var word = mode switch
            {
                CacheMode.Off => "off",
                CacheMode.ReadWrite => "read_write",
                CacheMode.ReadOnly => "read_only",
                CacheMode.Refresh => "refresh",
                _ => throw new ArgumentOutOfRangeException(nameof(mode)),
            };
            return RequestAsync("mcp.cache.set_mode", Json.BuildObject(("mode", Json.Write(word, nameof(mode)))), cancellationToken);
        }

        /// <summary>Record to a cassette, or replay one without the server.</summary>
        public Task SetCassetteAsync(CassetteMode mode, string? path = null, CancellationToken cancellationToken = default)
        {
            var word = mode switch
            {
                CassetteMode.Off => "off",
                CassetteMode.Record => "record",
                CassetteMode.Replay => "replay",
                _ => throw new ArgumentOutOfRangeException(nameof(mode)),
            };
            var parameters = Json.BuildObject(
                ("mode", Json.Write(word, nameof(mode))),
                ("path", path == null ? null : Json.Write(path, nameof(path))));
            return RequestAsync("mcp.cassette.set_mode", parameters, cancellationToken);
        }

        /// <summary>Have calls delivered to a <c>file:</c> or HTTP target by <see cref="FlushAsync"/>, and at the end.</summary>
        public Task UploadToAsync(string target, CancellationToken cancellationToken = default)
        {
            var parameters = Json.BuildObject(("enabled", "true"), ("target", Json.Write(target, nameof(target))));
            return RequestAsync("mcp.reporter.setUpload", parameters, cancellationToken);
        }

        /// <summary>Queue no further calls; those that are queued are still delivered.</summary>
        public Task StopUploadsAsync(CancellationToken cancellationToken = default)
        {
            return RequestAsync("mcp.reporter.setUpload", Json.BuildObject(("enabled", "false")), cancellationToken);
        }

        /// <summary>Deliver the calls since the last time; returns how many there were.</summary>
        public async Task<int> FlushAsync(CancellationToken cancellationToken = default)
        {
            const string method = "mcp.reporter.flush";
            var flushed = Json.Get(await RequestAsync(method, null, cancellationToken).ConfigureAwait(false), "flushed");
            return flushed.ValueKind == JsonValueKind.Number && flushed.TryGetInt32(out var count)
                ? count
                : throw BuildDrift(method, flushed);
        }

        /// <summary>Stop the server. Calls that wait for their answer fail with a <see cref="ClosedException"/>.</summary>
        public ValueTask DisposeAsync() => _coprocess.DisposeAsync();

        /// <summary>The command or the URL of the server, without secrets.</summary>
        public override string ToString() => $"McpServer({_shown})";

        private async Task<JsonElement> RequestAsync(string method, string? parameters, CancellationToken cancellationToken)
        {
            var result = await _coprocess.RequestAsync(method, parameters, null, cancellationToken).ConfigureAwait(false);
            return result.ValueKind == JsonValueKind.Object ? result : throw BuildDrift(method, result);
        }

        private async Task<IReadOnlyList<JsonElement>> RequestListAsync(string method, string key, CancellationToken cancellationToken)
        {
            var entries = Json.Get(await RequestAsync(method, null, cancellationToken).ConfigureAwait(false), key);
            return entries.ValueKind == JsonValueKind.Array ? entries.EnumerateArray().ToArray() : throw BuildDrift(method, entries);
        }

        private static ContractException BuildDrift(string method, JsonElement result)
        {
            return Messages.BuildDrift($"the result of {method} cannot be {Messages.Quote(result)}");
        }

        /// <summary>A server as arguments of the binary.</summary>
        private static List<string> DescribeServer(ServerOptions options)
        {
            var command = options.Command?.ToArray() ?? new string[0];
            if (command.Length == 0 && options.Url == null)
            {
                throw new ArgumentException("there is no server: give its command, or Url", nameof(options));
            }
            if (command.Any(word => word == null))
            {
                throw new ArgumentException("a word of Command is null", nameof(options));
            }
            if (options.Record != null && options.Replay != null)
            {
                throw new ArgumentException("a cassette is recorded or replayed, not both at once", nameof(options));
            }
            var arguments = new List<string> { "--connection-server" };
            void Add(string option, string? value)
            {
                if (value != null)
                {
                    arguments.Add(option);
                    arguments.Add(value);
                }
            }
            Add("--server-command", command.Length == 0 ? null : Words.Quote(command));
            Add("--url", options.Url);
            Add("--bearer-env", options.BearerEnv);
            foreach (var header in options.HeaderEnv ?? new Dictionary<string, string>())
            {
                Add("--header-env", $"{header.Key}={header.Value}");
            }
            Add("--ca-file", options.CaFile);
            Add("--cwd", options.WorkingDirectory);
            Add("--timeout", DescribeLimit(options.Timeout, nameof(options.Timeout)));
            Add("--start-timeout", DescribeLimit(options.StartTimeout, nameof(options.StartTimeout)));
            Add("--spec-version", options.Revision);
            return arguments;
        }

        /// <summary>The variables of the server, as a variable of the binary: arguments can be seen by everybody.</summary>
        private static (string Name, string Value)? DescribeEnvironment(ServerOptions options)
        {
            var set = new Dictionary<string, string>(options.Environment ?? new Dictionary<string, string>());
            var secrets = options.Secrets?.ToArray() ?? new string[0];
            foreach (var (name, value) in set)
            {
                if (name.Length == 0 || name.Contains('=') || name.Contains('\0'))
                {
                    throw new ArgumentException($"Environment: {Messages.Quote($"\"{name}\"")} cannot be the name of a variable", nameof(options));
                }
                if (value == null || value.Contains('\0'))
                {
                    var problem = value == null ? "is null" : "contains the character NUL";
                    throw new ArgumentException($"Environment: the value of {Messages.Quote(name)} {problem}", nameof(options));
                }
            }
            foreach (var name in secrets.Where(name => name == null || !set.ContainsKey(name)))
            {
                throw new ArgumentException($"Secrets: there is no \"{Messages.Quote(name ?? "")}\" in Environment", nameof(options));
            }
            return set.Count == 0 ? ((string, string)?)null : ("MCPTEST_SERVER_ENV", Json.Write(new { set, secrets }, nameof(options.Environment)));
        }

        private static string? DescribeLimit(TimeSpan? limit, string name)
        {
            if (limit <= TimeSpan.Zero)
            {
                throw new ArgumentException($"{name} must be longer than 0", name);
            }
            if (limit > MaxTimeout)
            {
                throw new ArgumentException($"{name} must be at most 24 hours", name);
            }
            return limit is { } time ? $"{time.TotalMilliseconds.ToString("0.####", CultureInfo.InvariantCulture)}ms" : null;
        }
    }
}
