// The classes of the README for xunit, NUnit and MSTest, with the little of these frameworks that they use: so that they
// are known to compile and to work, and nothing needs to be installed.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading.Tasks;

namespace Mcptest.Tests
{
    public class FrameworkTests
    {
        private static readonly string[] Wanted =
        {
            "ok", "SuiteTestException", "SkipException: not built yet", "ok", "SkipException: lane \"agents\"",
            "SkipException: lane \"evals\"", "SkipException: judged for a whole run only",
        };

        [Test]
        public Task Xunit() => RunAsync(OfXunit.SuiteTests.Ids.Select(row => ((string)row[0], row)), new OfXunit.SuiteTests());

        [Test]
        public Task Nunit()
        {
            var cases = typeof(OfNunit.SuiteTests).GetProperty("Cases", BindingFlags.NonPublic | BindingFlags.Static)!.GetValue(null);
            var rows = ((IEnumerable<OfNunit.TestCaseData>)cases!).Select(row => (row.Name, new[] { row.Value }));
            return RunAsync(rows, new OfNunit.SuiteTests());
        }

        [Test]
        public Task Mstest() => RunAsync(OfMstest.SuiteTests.Ids.Select(row => ((string)row[0], row)), new OfMstest.SuiteTests());

        [Test]
        public Task They_are_those_of_the_readme()
        {
            var source = File.ReadAllText(Path.Combine(Scratch.Tests, "FrameworkTests.cs"));
            var blocks = File.ReadAllText(Path.Combine(Scratch.Tests, "..", "README.md")).Split("```")
                .Where(block => block.StartsWith("csharp\n// ", StringComparison.Ordinal))
                .ToArray();
            Check.Equal(3, blocks.Length);
            foreach (var line in blocks.SelectMany(block => block.Split('\n').Skip(2)))
            {
                Check.Contains(line.Trim(), source);
            }
            return Task.CompletedTask;
        }

        private static async Task RunAsync(IEnumerable<(string Name, object[] Arguments)> rows, object tests)
        {
            var did = new List<string>();
            foreach (var (name, arguments) in rows.Where(row => row.Name != "second::it hangs"))
            {
                try
                {
                    await (Task)tests.GetType().GetMethod("Passes")!.Invoke(tests, arguments)!;
                    did.Add("ok");
                }
                catch (Exception error)
                {
                    did.Add($"{error.GetType().Name}: {error.Message}");
                }
            }
            Check.Equal(Wanted.Length, did.Count);
            foreach (var (wanted, found) in Wanted.Zip(did, (wanted, found) => (wanted, found)))
            {
                Check.True(found.StartsWith(wanted, StringComparison.Ordinal));
            }
        }

        /// <summary>In the place of the file in the README.</summary>
        internal static class Suite
        {
            public static Mcptest.Suite Load(string file)
            {
                Check.Equal("mcptest.yaml", file);
                return Mcptest.Suite.Load(Path.Combine(Scratch.Tests, "suite.yaml"));
            }
        }

        public sealed class SkipException : Exception
        {
            public SkipException(string message)
                : base(message)
            {
            }
        }

        public static class OfXunit
        {
            public class SuiteTests
            {
                public static IEnumerable<object[]> Ids => Suite.Load("mcptest.yaml").Cases.Select(test => new object[] { test.Id });

                [Theory, MemberData(nameof(Ids))]
                public Task Passes(string id) => Suite.Load("mcptest.yaml")[id].RunAsync(skip: Assert.Skip);
            }

            internal static class Assert
            {
                public static void Skip(string reason) => throw new SkipException(reason);
            }

            internal sealed class TheoryAttribute : Attribute
            {
            }

            internal sealed class MemberDataAttribute : Attribute
            {
                public MemberDataAttribute(string memberName, params object[] parameters) => _ = (memberName, parameters);
            }
        }

        public static class OfNunit
        {
            public class SuiteTests
            {
                private static IEnumerable<TestCaseData> Cases => Suite.Load("mcptest.yaml").Cases.Select(test => new TestCaseData(test).SetName(test.Id));

                [TestCaseSource(nameof(Cases))]
                public Task Passes(SuiteCase test) => test.RunAsync(skip: Assert.Ignore);
            }

            internal static class Assert
            {
                public static void Ignore() => Ignore("");

                public static void Ignore(string? message) => throw new SkipException(message ?? "");

                public static void Ignore(string message, params object[] args) => _ = (message, args);
            }

            internal sealed class TestCaseData
            {
                public TestCaseData(object value) => Value = value;

                public object Value { get; }

                public string Name { get; private set; } = "";

                public TestCaseData SetName(string name)
                {
                    Name = name;
                    return this;
                }
            }

            internal sealed class TestCaseSourceAttribute : Attribute
            {
                public TestCaseSourceAttribute(string sourceName) => _ = sourceName;
            }
        }

        public static class OfMstest
        {
            [TestClass]
            public class SuiteTests
            {
                public static IEnumerable<object[]> Ids => Suite.Load("mcptest.yaml").Cases.Select(test => new object[] { test.Id });

                [TestMethod, DynamicData(nameof(Ids))]
                public Task Passes(string id) => Suite.Load("mcptest.yaml")[id].RunAsync(skip: Assert.Inconclusive);
            }

            internal static class Assert
            {
                public static void Inconclusive() => Inconclusive("");

                public static void Inconclusive(string message) => throw new SkipException(message);

                public static void Inconclusive(string message, params object[] parameters) => _ = (message, parameters);
            }

            internal sealed class TestClassAttribute : Attribute
            {
            }

            internal sealed class TestMethodAttribute : Attribute
            {
            }

            internal sealed class DynamicDataAttribute : Attribute
            {
                public DynamicDataAttribute(string dynamicDataSourceName) => _ = dynamicDataSourceName;
            }
        }
    }
}
