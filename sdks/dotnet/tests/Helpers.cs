using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Mcptest.Tests
{
    internal static class Check
    {
        public static void Equal<T>(T expected, T actual, [CallerLineNumber] int line = 0)
        {
            if (!EqualityComparer<T>.Default.Equals(expected, actual))
            {
                throw new InvalidOperationException($"line {line}: expected\n{expected}\nand it is\n{actual}");
            }
        }

        public static void True(bool condition, [CallerLineNumber] int line = 0) => Equal(true, condition, line);

        public static void Contains(string part, string text, [CallerLineNumber] int line = 0)
        {
            if (!text.Contains(part, StringComparison.Ordinal))
            {
                throw new InvalidOperationException($"line {line}: expected {part} in\n{text}");
            }
        }

        public static async Task<T> ThrowsAsync<T>(Func<Task> work, [CallerLineNumber] int line = 0)
            where T : Exception
        {
            try
            {
                await work();
            }
            catch (T error)
            {
                return error;
            }
            throw new InvalidOperationException($"line {line}: expected {typeof(T).Name}, and nothing was thrown");
        }

        public static async Task UntilAsync(Func<bool> condition, string what, double seconds = 10)
        {
            var watch = Stopwatch.StartNew();
            while (!condition())
            {
                if (watch.Elapsed.TotalSeconds > seconds)
                {
                    throw new InvalidOperationException($"within {seconds} s: {what}");
                }
                await Task.Delay(20);
            }
        }
    }

    /// <summary>A folder of its own for a test, and the servers that were started in it.</summary>
    internal sealed class Scratch : IDisposable
    {
        public Scratch()
        {
            Folder = Directory.CreateDirectory(Path.Combine(Path.GetTempPath(), $"dotnet-{Guid.NewGuid():N}")).FullName;
        }

        /// <summary>The folder of these tests in the repository.</summary>
        public static string Tests { get; } = FindTests();

        public static string ServerFile => Path.Combine(Tests, "server.py");

        public string Folder { get; }

        public string Journal => Path.Combine(Folder, "journal");

        public string[] Lines => File.Exists(Journal) ? File.ReadAllLines(Journal) : new string[0];

        /// <summary>The servers that run.</summary>
        public int[] Running => Lines.Where(line => line.StartsWith("start ", StringComparison.Ordinal))
            .Select(line => int.Parse(line.Split(' ')[1], System.Globalization.CultureInfo.InvariantCulture))
            .Where(IsRunning)
            .ToArray();

        public Task<McpServer> ConnectAsync() => McpServer.ConnectAsync(Options());

        public ServerOptions Options()
        {
            return new ServerOptions
            {
                Command = new[] { "python3", ServerFile },
                Environment = new Dictionary<string, string> { ["JOURNAL"] = Journal },
            };
        }

        public Task UntilCalledAsync(string tool) => Check.UntilAsync(() => Lines.Contains($"call {tool}"), $"{tool} is called");

        public Task UntilGoneAsync() => Check.UntilAsync(() => Lines.Length > 0 && Running.Length == 0, "no server is left", 5);

        public void Dispose() => Directory.Delete(Folder, recursive: true);

        private static bool IsRunning(int pid)
        {
            try
            {
                var stat = File.ReadAllText($"/proc/{pid}/stat");
                return !"ZX".Contains(stat.Substring(stat.LastIndexOf(')') + 2, 1), StringComparison.Ordinal);
            }
            catch (IOException)
            {
                return false;
            }
        }

        private static string FindTests()
        {
            var folder = new DirectoryInfo(AppContext.BaseDirectory);
            while (folder != null && !File.Exists(Path.Combine(folder.FullName, "tests", "server.py")))
            {
                folder = folder.Parent;
            }
            return Path.Combine(folder?.FullName ?? ".", "tests");
        }
    }
}
