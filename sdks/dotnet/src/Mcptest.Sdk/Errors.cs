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
        internal RefusedException(long code, string message, JsonElement details)
            : base(Messages.DescribeRefusal(message, details))
        {
            Code = code;
            RawMessage = message;
            Details = details;
        }

        /// <summary>The code of the error response.</summary>
        public long Code { get; }

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
            : base(verdict.Text)
        {
            Verdict = verdict;
        }

        /// <summary>The whole verdict.</summary>
        public SuiteVerdict Verdict { get; }
    }

    /// <summary>The texts of errors.</summary>
    internal static class Messages
    {
        private const string MayHaveRun = "it may have taken effect anyway";
        private const int MaxQuoted = 200;
        private const int MaxStderrLines = 20;

        /// <summary>What is done with a problem that failed no call, unless the user says otherwise.</summary>
        public static void WriteWarning(string text) => Console.Error.WriteLine($"mcptest: warning: {text}");

        /// <summary>The error for an error response, by its code.</summary>
        public static RefusedException BuildRefusal(long code, string message, JsonElement details)
        {
            return code switch
            {
                -32000 => new UpstreamException(code, message, details),
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
                    lines.Add($"hint: {hint}");
                }
                if (Json.GetString(details, "effect") == "indefinite")
                {
                    lines.Add(MayHaveRun);
                }
                var stderr = (Json.GetString(details, "stderr") ?? "").TrimEnd();
                var last = stderr.Length == 0 ? new string[0] : stderr.Split('\n');
                last = last.Skip(last.Length - MaxStderrLines).ToArray();
                lines.AddRange(last.Select((line, n) => $"  {(n == 0 ? "stderr" : "      ")}  | {Quote(line)}"));
            }
            return MakeVisible(string.Join("\n", lines), keepNewlines: true);
        }

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
