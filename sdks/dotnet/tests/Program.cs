using System;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Text.Json;
using System.Threading.Tasks;

namespace Mcptest.Tests
{
    /// <summary>Marks a test: a public method of a class of this program that returns a task.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class TestAttribute : Attribute
    {
    }

    /// <summary>
    /// Runs the tests, without a test framework: with none, there is nothing to install. Arguments are parts of the names
    /// of the tests to run; <c>--play SCENE</c> plays a program that uses the SDK, for tests about the end of one, and
    /// <c>--suite FILE [PART]</c> runs the tests of a file, and writes a line of JSON for each.
    /// </summary>
    public static class Program
    {
        private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

        public static async Task<int> Main(string[] args)
        {
            if (args.Length > 1 && args[0] == "--play")
            {
                return await Scenes.PlayAsync(args[1], args.Skip(2).ToArray());
            }
            if (args.Length > 1 && args[0] == "--suite")
            {
                return await RunSuiteAsync(args[1], args.Skip(2).ToArray());
            }
            var passed = 0;
            var failed = 0;
            var tests = Assembly.GetExecutingAssembly().GetTypes()
                .SelectMany(type => type.GetMethods().Where(method => method.GetCustomAttribute<TestAttribute>() != null))
                .Where(method => args.Length == 0 || args.Any(part => Name(method).Contains(part, StringComparison.Ordinal)));
            foreach (var method in tests)
            {
                var watch = Stopwatch.StartNew();
                try
                {
                    var running = Task.Run(() => (Task)method.Invoke(Activator.CreateInstance(method.DeclaringType!), null)!);
                    if (await Task.WhenAny(running, Task.Delay(Limit)) != running)
                    {
                        throw new TimeoutException($"it did not end within {Limit.TotalSeconds} s");
                    }
                    await running;
                    passed++;
                    Console.WriteLine($"ok    {Name(method)} ({watch.ElapsedMilliseconds} ms)");
                }
                catch (Exception error)
                {
                    failed++;
                    Console.WriteLine($"FAIL  {Name(method)}\n{error}");
                }
            }
            Console.WriteLine($"{passed} passed, {failed} failed");
            return failed == 0 && passed > 0 ? 0 : 1;
        }

        private static async Task<int> RunSuiteAsync(string file, string[] parts)
        {
            var exitStatus = 0;
            foreach (var test in Suite.Load(file).Choose(test => parts.All(part => test.Id.Contains(part, StringComparison.Ordinal))))
            {
                var (status, text) = ("passed", "");
                try
                {
                    await test.RunAsync(reason => (status, text) = ("skipped", reason));
                }
                catch (SuiteTestException error)
                {
                    (status, text) = ("failed", error.Message);
                    exitStatus = 1;
                }
                Console.WriteLine(JsonSerializer.Serialize(new { name = test.Id, status, text }));
            }
            return exitStatus;
        }

        private static string Name(MethodInfo method) => $"{method.DeclaringType!.Name}.{method.Name}";
    }
}
