using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using System.Text.Json;

namespace Mcptest
{
    /// <summary>
    /// A call failed in the channel to mcptest, or behind it. Mistakes in arguments are an
    /// <see cref="ArgumentException"/>, and a cancelled call is an <see cref="OperationCanceledException"/>.
    /// </summary>
    public abstract class McptestException : Exception
    {
        private protected McptestException(string message)
            : base(message)
        {
        }
    }

    /// <summary>The mcptest binary cannot be started, or has ended.</summary>
    public class BinaryException : McptestException
    {
        internal BinaryException(string message)
            : base(message)
        {
        }
    }

    /// <summary>The mcptest binary did not answer in time. It was stopped, together with the server.</summary>
    public sealed class OverdueException : BinaryException
    {
        internal OverdueException(string message)
            : base(message)
        {
        }
    }

    /// <summary>The binary and this SDK have different versions; the message says which one to upgrade.</summary>
    public sealed class VersionException : McptestException
    {
        internal VersionException(string message)
            : base(message)
        {
        }
    }

    /// <summary>The binary sent something that this version of the contract does not know.</summary>
    public sealed class ContractException : McptestException
    {
        internal ContractException(string message)
            : base(message)
        {
        }
    }

    /// <summary>The connection was closed, before the call or while it waited for its answer.</summary>
    public sealed class ClosedException : McptestException
    {
        internal ClosedException(string message)
            : base(message)
        {
        }
    }

    /// <summary>mcptest refused the request: a file that is not a cassette, an upload that failed.</summary>
    public class RefusedException : McptestException
    {
        internal RefusedException(long code, string message, JsonElement details, string? folder = null)
            : base(Messages.DescribeRefusal(folder == null ? message : $"{message}\nlooked for in {folder}", details))
        {
            Code = code;
            RawMessage = message;
            Details = details;
            Kind = Json.GetString(details, "kind");
            var own = Json.Get(details, "code");
            ServerCode = code == Messages.Upstream && Kind == null && Json.IsInteger(own) ? own.GetInt64() : (long?)null;
        }

        /// <summary>The code of mcptest: -32000 and -32001 for the server, others for what it refused itself.</summary>
        public long Code { get; }

        /// <summary>
        /// What happened to the server or its answer, such as "timeout", "exited_during_call" or "spawn_failed"; null if the
        /// server answered with an error of its own, and for what mcptest refused. docs/faults.md of mcptest has all of them.
        /// </summary>
        public string? Kind { get; }

        /// <summary>The code of the error that the server answered with, such as -32602; null if it did not.</summary>
        public long? ServerCode { get; }

        /// <summary>The message of the response, unchanged; <see cref="Exception.Message"/> also has hints and stderr.</summary>
        public string RawMessage { get; }

        /// <summary>The <c>data</c> of the response; null in JSON if there is none.</summary>
        public JsonElement Details { get; }
    }

    /// <summary>The server refused the request, did not answer in time, or gave an unusable answer.</summary>
    public sealed class UpstreamException : RefusedException
    {
        internal UpstreamException(long code, string message, JsonElement details)
            : base(code, message, details)
        {
        }
    }

    /// <summary>The server could not be started or reached, or has exited.</summary>
    public sealed class UpstreamGoneException : RefusedException
    {
        internal UpstreamGoneException(long code, string message, JsonElement details)
            : base(code, message, details)
        {
            ExitStatus = Json.GetString(details, "exit_status") ?? "";
            Signal = Json.GetString(details, "signal");
            var exitCode = Json.Get(details, "exit_code");
            ExitCode = exitCode.ValueKind == JsonValueKind.Number && exitCode.TryGetInt32(out var number) ? number : (int?)null;
        }

        /// <summary>How the process ended, such as "exit status 3"; "" if it did not start.</summary>
        public string ExitStatus { get; }

        /// <summary>The exit code of the process; null if it did not end in this way.</summary>
        public int? ExitCode { get; }

        /// <summary>The signal that killed the process, such as "SIGKILL"; null if it did not end in this way.</summary>
        public string? Signal { get; }
    }

    /// <summary>A test of a suite did not pass. The message is what <c>mcptest run</c> prints for it.</summary>
    public sealed class SuiteTestException : McptestException
    {
        internal SuiteTestException(SuiteVerdict verdict)
            : base(Messages.MakeVisible(verdict.Text, keepNewlines: true))
        {
            Verdict = verdict;
        }

        /// <summary>The whole verdict.</summary>
        public SuiteVerdict Verdict { get; }
    }

    /// <summary>The texts of errors.</summary>
    internal static class Messages
    {
        /// <summary>The code for a server that refused a request, or whose answer cannot be used.</summary>
        public const long Upstream = -32000;

        private const string MayHaveRun = "it may have taken effect anyway";
        private const int MaxQuoted = 200;
        private const int MaxStderrLines = 20;

        // What the binary calls the options, and their names here.
        private static readonly (string Theirs, string Ours)[] Options =
        {
            ("--start-timeout, or \"startupTimeout\" in the config", nameof(ServerOptions.StartTimeout)),
            ("\"protocolVersion\" in the config", nameof(ServerOptions.Revision)),
            ("--start-timeout", nameof(ServerOptions.StartTimeout)),
            ("--timeout", nameof(ServerOptions.Timeout)),
            ("--spec-version", nameof(ServerOptions.Revision)),
            ("--cwd", nameof(ServerOptions.WorkingDirectory)),
            ("--server-command", nameof(ServerOptions.Command)),
            ("--url", nameof(ServerOptions.Url)),
            ("--bearer-env", nameof(ServerOptions.BearerEnv)),
            ("--header-env", nameof(ServerOptions.HeaderEnv)),
            ("--ca-file", nameof(ServerOptions.CaFile)),
        };

        /// <summary>What is done with a problem that failed no call, unless the user says otherwise.</summary>
        public static void WriteWarning(string text) => Console.Error.WriteLine($"mcptest: warning: {text}");

        /// <summary>The error for an error response, by its code.</summary>
        public static RefusedException BuildRefusal(long code, string message, JsonElement details)
        {
            return code switch
            {
                Upstream => new UpstreamException(code, message, details),
                -32001 => new UpstreamGoneException(code, message, details),
                _ => new RefusedException(code, message, details),
            };
        }

        /// <summary>The error for no answer in time.</summary>
        public static OverdueException BuildOverdue(string method, TimeSpan limit)
        {
            var seconds = limit.TotalSeconds.ToString("0.###", CultureInfo.InvariantCulture);
            var message = $"the mcptest binary did not answer {method} within {seconds} s";
            return new OverdueException(method == Coprocess.Handshake ? message : $"{message}; {MayHaveRun}");
        }

        /// <summary>The error for an answer that has a form of another release.</summary>
        public static ContractException BuildDrift(string problem)
        {
            return new ContractException(
                $"contract drift: {problem}; the mcptest binary and this SDK are of different releases");
        }

        /// <summary>The error that says which side to upgrade.</summary>
        public static VersionException BuildMismatch(string channel, long theirs, long ours)
        {
            var advice = theirs < ours
                ? "Upgrade the mcptest binary (or pin the SDK to the matching release)."
                : $"Upgrade the {Coprocess.SdkName} SDK (or pin the mcptest binary to the matching release).";
            return new VersionException($"mcptest binary speaks {channel} v{theirs}; this SDK needs v{ours}. {advice}");
        }

        /// <summary>What was refused, and what helps to understand it.</summary>
        public static string DescribeRefusal(string message, JsonElement details)
        {
            var lines = new List<string> { message };
            // Data without a kind is the server's own.
            if (Json.GetString(details, "kind") != null)
            {
                var hint = Json.GetString(details, "hint");
                if (!string.IsNullOrEmpty(hint))
                {
                    lines.Add($"hint: {NameOptions(hint)}");
                }
                if (Json.GetString(details, "effect") == "indefinite")
                {
                    lines.Add(MayHaveRun);
                }
                var stderr = (Json.GetString(details, "stderr") ?? "").TrimEnd();
                var last = stderr.Length == 0 ? new string[0] : stderr.Replace("\r\n", "\n").Split('\n');
                last = last.Skip(last.Length - MaxStderrLines).ToArray();
                lines.AddRange(last.Select((line, n) => $"  {(n == 0 ? "stderr" : "      ")}  | {Quote(line)}"));
            }
            return MakeVisible(string.Join("\n", lines), keepNewlines: true);
        }

        /// <summary>What the binary says of its command line, which has the options of the user.</summary>
        public static string DescribeMistake(string stderr)
        {
            const string beginning = "error: ";
            var at = $"\n{stderr}".LastIndexOf($"\n{beginning}", StringComparison.Ordinal);
            return NameOptions(at < 0 ? stderr : stderr.Substring(at + beginning.Length));
        }

        private static string NameOptions(string text) => Options.Aggregate(text, (done, each) => done.Replace(each.Theirs, each.Ours));

        /// <summary>Foreign text as part of a sentence: its beginning, with control characters escaped.</summary>
        public static string Quote(string text)
        {
            return text.Length <= MaxQuoted ? MakeVisible(text) : $"{MakeVisible(text.Substring(0, MaxQuoted))}…";
        }

        /// <summary>A JSON value as part of a sentence.</summary>
        public static string Quote(JsonElement value)
        {
            return value.ValueKind == JsonValueKind.Undefined ? "missing" : Quote(value.GetRawText());
        }

        /// <summary>A line of the binary as part of a sentence.</summary>
        public static string Quote(ReadOnlySpan<byte> line)
        {
            // One character has up to four bytes.
            return Quote(Encoding.UTF8.GetString(line.Slice(0, Math.Min(line.Length, 4 * (MaxQuoted + 1)))));
        }

        /// <summary>Text in which each character that cannot be seen is written as an escape.</summary>
        public static string MakeVisible(string text, bool keepNewlines = false)
        {
            var shown = new StringBuilder(text.Length);
            for (var at = 0; at < text.Length; at++)
            {
                var isPair = char.IsSurrogatePair(text, at);
                if (text[at] == ' ' || (keepNewlines && text[at] == '\n') || IsVisible(CharUnicodeInfo.GetUnicodeCategory(text, at)))
                {
                    shown.Append(text, at, isPair ? 2 : 1);
                }
                else
                {
                    shown.Append(isPair ? $"\\U{char.ConvertToUtf32(text, at):x8}" : Escape(text[at]));
                }
                at += isPair ? 1 : 0;
            }
            return shown.ToString();
        }

        private static string Escape(char c)
        {
            return c switch
            {
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                _ => $"\\u{(int)c:x4}",
            };
        }

        private static bool IsVisible(UnicodeCategory category)
        {
            switch (category)
            {
                case UnicodeCategory.Control:
                case UnicodeCategory.Format:
                case UnicodeCategory.Surrogate:
                case UnicodeCategory.PrivateUse:
                case UnicodeCategory.OtherNotAssigned:
                case UnicodeCategory.LineSeparator:
                case UnicodeCategory.ParagraphSeparator:
                case UnicodeCategory.SpaceSeparator:
                    return false;
                default:
                    return true;
            }
        }
    }
}
