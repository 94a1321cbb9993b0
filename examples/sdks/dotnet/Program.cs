using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;
using Mcptest;

/// <summary>
/// Tests of a server: some written by hand, and those of mcptest.yaml. This program needs no test framework; the README
/// of the SDK shows the same with xunit, NUnit and MSTest. An argument is a part of the names of the tests to run.
/// </summary>
public static class Program
{
    private static async Task ABookIsFoundAgain()
    {
        await using var server = await McpServer.ConnectAsync("python3", "bookshelf_server.py");
        var added = await server.CallToolAsync("add_book", new { title = "Ulysses" });
        var found = await server.CallToolAsync("find_book", new { id = added.Data.GetProperty("id").GetInt32() });
        Expect("Ulysses", found.Text);
    }

    private static async Task WhatIsNotThereIsAnError()
    {
        await using var server = await McpServer.ConnectAsync("python3", "bookshelf_server.py");
        var missing = await server.CallToolAsync("find_book", new { id = 404 });
        Expect(false, missing.Success);
        Expect("there is no book 404", missing.Error);
    }

    public static async Task<int> Main(string[] args)
    {
        Directory.SetCurrentDirectory(FindFolder());
        var tests = new List<(string Name, Func<Action<string>, Task> Run)>
        {
            ("a book is found again", _ => ABookIsFoundAgain()),
            ("what is not there is an error", _ => WhatIsNotThereIsAnError()),
        };
        await using var suite = await Suite.OpenAsync("mcptest.yaml");
        foreach (var test in suite.Cases)
        {
            tests.Add((test.Id, skip => test.RunAsync(skip)));
        }
        var (passed, skipped, failed) = (0, 0, 0);
        foreach (var (name, run) in tests.Where(test => args.All(part => test.Name.Contains(part, StringComparison.Ordinal))))
        {
            try
            {
                string? reason = null;
                await run(why => reason = why);
                (passed, skipped) = reason == null ? (passed + 1, skipped) : (passed, skipped + 1);
                Console.WriteLine(reason == null ? $"ok    {name}" : $"skip  {name}: {reason}");
            }
            catch (Exception error)
            {
                failed++;
                Console.WriteLine($"FAIL  {name}\n{error.Message}");
            }
        }
        Console.WriteLine($"{passed} passed, {skipped} skipped, {failed} failed");
        return failed == 0 && passed > 0 ? 0 : 1;
    }

    private static void Expect<T>(T expected, T actual)
    {
        if (!Equals(expected, actual))
        {
            throw new InvalidOperationException($"expected {expected}, and it is {actual}");
        }
    }

    private static string FindFolder([CallerFilePath] string file = "") => Path.GetDirectoryName(file) ?? ".";
}
