using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;

namespace Mcptest
{
    /// <summary>Command lines: the words of a command as text, and the command in MCPTEST_BIN.</summary>
    internal static class Words
    {
        private const string Plain = "@%+=:,./-_";

        /// <summary>A word as a shell needs it: in single quotes, if necessary.</summary>
        public static string Quote(string word)
        {
            return word.Length > 0 && word.All(IsPlain) ? word : $"'{word.Replace("'", "'\"'\"'")}'";
        }

        /// <summary>A command as text that is split into the same words again.</summary>
        public static string Quote(IEnumerable<string> words) => string.Join(" ", words.Select(Quote));

        /// <summary>The mcptest binary: what MCPTEST_BIN names, else <c>mcptest</c> on the path.</summary>
        public static IReadOnlyList<string> FindBinary()
        {
            var named = (Environment.GetEnvironmentVariable("MCPTEST_BIN") ?? "").Trim(' ', '\t', '\r', '\n');
            if (named.Length == 0)
            {
                return new[] { "mcptest" };
            }
            // A path may contain spaces.
            return File.Exists(named) || Directory.Exists(named) ? new[] { Path.GetFullPath(named) } : Split(named);
        }

        /// <summary>The files that a program can be, in the order in which a shell tries them.</summary>
        public static IReadOnlyList<string> FindProgram(string program)
        {
            // Process would look beside the running program and in the current folder first.
            if (Path.DirectorySeparatorChar == '\\')
            {
                return new[] { program };
            }
            if (program.Contains('/'))
            {
                var whole = Complete(program);
                return Path.IsPathRooted(whole) ? new[] { whole } : new string[0];
            }
            var folders = (Environment.GetEnvironmentVariable("PATH") ?? "").Split(':');
            return folders.Where(folder => folder.Length > 0)
                .Select(folder => Complete(Path.Combine(folder, program)))
                .Where(File.Exists)
                .ToList();
        }

        /// <summary>The words of MCPTEST_BIN, with the quotes and backslashes of a shell.</summary>
        public static IReadOnlyList<string> Split(string text)
        {
            var words = new List<string>();
            StringBuilder? word = null;
            for (var at = 0; at < text.Length; at++)
            {
                var c = text[at];
                if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
                {
                    if (word != null)
                    {
                        words.Add(word.ToString());
                    }
                    word = null;
                    continue;
                }
                word ??= new StringBuilder();
                if (c == '\'')
                {
                    var end = text.IndexOf('\'', at + 1);
                    if (end < 0)
                    {
                        throw Refuse("a single quote does not end");
                    }
                    word.Append(text, at + 1, end - at - 1);
                    at = end;
                }
                else if (c == '"')
                {
                    for (at++; at < text.Length && text[at] != '"'; at++)
                    {
                        var escapes = text[at] == '\\' && at + 1 < text.Length && "\"\\".Contains(text[at + 1]);
                        word.Append(text[escapes ? ++at : at]);
                    }
                    if (at >= text.Length)
                    {
                        throw Refuse("a double quote does not end");
                    }
                }
                else if (c == '\\')
                {
                    if (++at == text.Length)
                    {
                        throw Refuse("it ends with a backslash");
                    }
                    word.Append(text[at]);
                }
                else
                {
                    word.Append(c);
                }
            }
            if (word != null)
            {
                words.Add(word.ToString());
            }
            return words;
        }

        /// <summary>The whole path, or the path as it is if the current folder does not exist any more.</summary>
        private static string Complete(string path)
        {
            try
            {
                return Path.GetFullPath(path);
            }
            catch (IOException)
            {
                return path;
            }
        }

        private static bool IsPlain(char c)
        {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || Plain.Contains(c);
        }

        private static BinaryException Refuse(string problem)
        {
            return new BinaryException($"MCPTEST_BIN cannot be split into words: {problem}");
        }
    }
}
