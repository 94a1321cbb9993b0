using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Serialization;
using System.Threading;

namespace Mcptest
{
    /// <summary>JSON as the contract wants it: stricter than System.Text.Json, in both directions.</summary>
    internal static class Json
    {
        /// <summary>For what is absent.</summary>
        public static readonly JsonElement Null = JsonDocument.Parse("null").RootElement.Clone();

        // The contract allows 200 levels.
        private const int MaxDepth = 200;
        private const int MaxSentDepth = 190;

        private static readonly UTF8Encoding Utf8 = new UTF8Encoding(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

        private static readonly JsonSerializerOptions Sending = new JsonSerializerOptions
        {
            Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
            MaxDepth = MaxSentDepth,
            Converters = { new FiniteDouble(), new FiniteSingle(), new WholeString() },
        };

        /// <summary>The value in a line; null if it is not strict JSON in UTF-8.</summary>
        public static JsonElement? Parse(ReadOnlyMemory<byte> line)
        {
            try
            {
                Utf8.GetCharCount(line.Span);
                using var document = JsonDocument.Parse(line, new JsonDocumentOptions { MaxDepth = MaxDepth });
                return IsStrict(line.Span) ? document.RootElement.Clone() : (JsonElement?)null;
            }
            catch (Exception error) when (error is JsonException || error is DecoderFallbackException)
            {
                return null;
            }
        }

        /// <summary>The member of an object; undefined if there is none, or this is not an object.</summary>
        public static JsonElement Get(JsonElement value, string name)
        {
            if (value.ValueKind != JsonValueKind.Object)
            {
                return default;
            }
            foreach (var member in value.EnumerateObject())
            {
                if (GetName(member) == name)
                {
                    return member.Value;
                }
            }
            return default;
        }

        /// <summary>The member of an object that is a string; null if there is none.</summary>
        public static string? GetString(JsonElement value, string name)
        {
            var member = Get(value, name);
            return member.ValueKind == JsonValueKind.String ? ReadString(member) : null;
        }

        /// <summary>The name of a member.</summary>
        public static string GetName(JsonProperty member)
        {
            try
            {
                return member.Name;
            }
            catch (InvalidOperationException)
            {
                // It has half a surrogate pair, and is none of the names of the contract.
                return member.ToString() ?? "";
            }
        }

        /// <summary>A string, even with half a surrogate pair in it, which GetString does not read.</summary>
        public static string ReadString(JsonElement value)
        {
            try
            {
                return value.GetString() ?? "";
            }
            catch (InvalidOperationException)
            {
                return Unescape(value.GetRawText());
            }
        }

        /// <summary>Whether this is a whole number, written as one.</summary>
        public static bool IsInteger(JsonElement value) => value.ValueKind == JsonValueKind.Number && value.TryGetInt64(out _);

        /// <summary>An object with these members, whose values are JSON already; null is left out.</summary>
        public static string BuildObject(params (string Name, string? Value)[] members)
        {
            var texts = members.Where(each => each.Value != null).Select(each => $"{Write(each.Name, "")}:{each.Value}");
            return $"{{{string.Join(",", texts)}}}";
        }

        /// <summary>What a tool or a prompt is called with; <c>ArgumentException</c> if it is not an object in JSON.</summary>
        public static string WriteArguments(object arguments)
        {
            if (arguments is CancellationToken)
            {
                throw new ArgumentException("arguments is a CancellationToken: pass it as cancellationToken:", nameof(arguments));
            }
            var text = Write(arguments, nameof(arguments));
            if (text[0] != '{')
            {
                var message = $"arguments must be an object with a member for each argument, not {Messages.Quote(text)}";
                throw new ArgumentException(message, nameof(arguments));
            }
            return text;
        }

        /// <summary>A value on one line; <c>ArgumentException</c> if JSON cannot express it.</summary>
        public static string Write(object value, string name)
        {
            if (value == null)
            {
                throw new ArgumentNullException(name);
            }
            if (value is JsonDocument document)
            {
                value = document.RootElement;
            }
            if (value is JsonElement element && element.ValueKind != JsonValueKind.Undefined)
            {
                // As it is: numbers of any size, and escapes of any kind. Only white space can have newlines.
                return element.GetRawText().Replace('\n', ' ').Replace('\r', ' ');
            }
            try
            {
                return JsonSerializer.Serialize(value, value.GetType(), Sending);
            }
            catch (Exception error) when (IsRefusal(error))
            {
                throw new ArgumentException($"{FindPlace(value, name)} cannot be sent as JSON: {error.Message}", name, error);
            }
        }

        /// <summary>Which part of a value cannot be sent, as a path: the innermost part that cannot be sent alone.</summary>
        private static string FindPlace(object value, string path)
        {
            for (var level = 0; level < 20; level++)
            {
                var (place, part) = ListParts(value).FirstOrDefault(each => !CanBeSent(each.Part));
                if (part == null)
                {
                    break;
                }
                (path, value) = (path + place, part);
            }
            return Messages.Quote(path);
        }

        private static IEnumerable<(string Place, object? Part)> ListParts(object value)
        {
            switch (value)
            {
                case IDictionary members:
                    return members.Keys.Cast<object>().Select(key => ($".{key}", members[key]));
                case IEnumerable entries when !(value is string):
                    return entries.Cast<object?>().Select((entry, n) => ($"[{n}]", entry));
                case string _:
                case Type _:
                    return new (string, object?)[0];
                default:
                    return value.GetType().GetProperties()
                        .Where(property => property.CanRead && property.GetIndexParameters().Length == 0)
                        .Select(property => ($".{property.Name}", ReadProperty(property, value)));
            }
        }

        private static object? ReadProperty(PropertyInfo property, object value)
        {
            try
            {
                return property.GetValue(value);
            }
            catch (TargetInvocationException)
            {
                // It is what could not be read, and the serializer has said why.
                return null;
            }
        }

        private static bool CanBeSent(object? part)
        {
            try
            {
                return part == null || JsonSerializer.Serialize(part, part.GetType(), Sending).Length > 0;
            }
            catch (Exception error) when (IsRefusal(error))
            {
                return false;
            }
        }

        private static bool IsRefusal(Exception error)
        {
            return error is JsonException || error is NotSupportedException || error is ArgumentException
                || error is InvalidOperationException;
        }

        /// <summary>Whether no key occurs twice in an object, and each number is within the range of doubles.</summary>
        private static bool IsStrict(ReadOnlySpan<byte> line)
        {
            var reader = new Utf8JsonReader(line, new JsonReaderOptions { MaxDepth = MaxDepth });
            var keys = new Stack<HashSet<string>>();
            while (reader.Read())
            {
                switch (reader.TokenType)
                {
                    case JsonTokenType.StartObject:
                        keys.Push(new HashSet<string>(StringComparer.Ordinal));
                        break;
                    case JsonTokenType.EndObject:
                        keys.Pop();
                        break;
                    case JsonTokenType.PropertyName when !keys.Peek().Add(ReadName(ref reader)):
                    case JsonTokenType.Number when !reader.TryGetDouble(out var number) || double.IsInfinity(number):
                        return false;
                }
            }
            return true;
        }

        private static string ReadName(ref Utf8JsonReader reader)
        {
            try
            {
                return reader.GetString() ?? "";
            }
            catch (InvalidOperationException)
            {
                return Unescape($"\"{Encoding.UTF8.GetString(reader.ValueSpan)}\"");
            }
        }

        private static string Unescape(string raw)
        {
            var text = new StringBuilder(raw.Length);
            for (var at = 1; at < raw.Length - 1; at++)
            {
                if (raw[at] != '\\')
                {
                    text.Append(raw[at]);
                }
                else if (raw[++at] == 'u')
                {
                    text.Append((char)int.Parse(raw.Substring(at + 1, 4), NumberStyles.HexNumber, CultureInfo.InvariantCulture));
                    at += 4;
                }
                else
                {
                    text.Append("\b\f\n\r\t\"\\/"["bfnrt\"\\/".IndexOf(raw[at])]);
                }
            }
            return text.ToString();
        }

        private sealed class FiniteDouble : JsonConverter<double>
        {
            public override double Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) => reader.GetDouble();

            public override void Write(Utf8JsonWriter writer, double value, JsonSerializerOptions options)
            {
                if (double.IsNaN(value) || double.IsInfinity(value))
                {
                    throw new JsonException($"{value.ToString(CultureInfo.InvariantCulture)} is not a number in JSON");
                }
                writer.WriteNumberValue(value);
            }
        }

        private sealed class FiniteSingle : JsonConverter<float>
        {
            public override float Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) => reader.GetSingle();

            public override void Write(Utf8JsonWriter writer, float value, JsonSerializerOptions options)
            {
                if (float.IsNaN(value) || float.IsInfinity(value))
                {
                    throw new JsonException($"{value.ToString(CultureInfo.InvariantCulture)} is not a number in JSON");
                }
                writer.WriteNumberValue(value);
            }
        }

        private sealed class WholeString : JsonConverter<string>
        {
            public override string Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) => reader.GetString() ?? "";

            public override void Write(Utf8JsonWriter writer, string value, JsonSerializerOptions options)
            {
                for (var at = 0; at < value.Length; at++)
                {
                    if (char.IsSurrogatePair(value, at))
                    {
                        at++;
                    }
                    else if (char.IsSurrogate(value[at]))
                    {
                        // The writer would replace it.
                        throw new JsonException("it has half a surrogate pair");
                    }
                }
                writer.WriteStringValue(value);
            }
        }
    }
}
