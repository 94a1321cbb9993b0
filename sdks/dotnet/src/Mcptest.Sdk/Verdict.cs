using System;
using System.Linq;
using System.Text.Json;

namespace Mcptest
{
    /// <summary>The outcome of a call of a tool. An error that the tool itself reports is a verdict, too.</summary>
    public sealed class Verdict
    {
        private static readonly string[] Fields = { "success", "data", "text", "error", "duration_ms" };

        private Verdict(bool success, string? text, JsonElement data, string? error, TimeSpan duration, JsonElement raw)
        {
            Success = success;
            Text = text;
            Data = data.ValueKind == JsonValueKind.Undefined ? Json.Null : data;
            Error = error;
            Duration = duration;
            Raw = raw;
        }

        /// <summary>Whether the tool reported no error.</summary>
        public bool Success { get; }

        /// <summary>Its text blocks, joined by newlines; null if there are none.</summary>
        public string? Text { get; }

        /// <summary>Its structured content; null in JSON if there is none.</summary>
        public JsonElement Data { get; }

        /// <summary>The text of the error that it reported; null if it reported none.</summary>
        public string? Error { get; }

        /// <summary>How long the answer took.</summary>
        public TimeSpan Duration { get; }

        /// <summary>The unchanged answer of the server.</summary>
        public JsonElement Raw { get; }

        /// <summary>Its structured content as a type of yours; names are compared without regard to case.</summary>
        public T DataAs<T>()
        {
            return JsonSerializer.Deserialize<T>(Data.GetRawText(), new JsonSerializerOptions { PropertyNameCaseInsensitive = true, MaxDepth = 256 })!;
        }

        /// <summary>What the tool said, for messages of assertions.</summary>
        public override string ToString() => Success ? $"success: {Messages.Quote(Raw)}" : $"error: {Messages.MakeVisible(Error ?? "", keepNewlines: true)}";

        /// <summary>The verdict in a result of mcp.call: a declared one, or one that the server's answer implies.</summary>
        internal static Verdict Read(JsonElement result, TimeSpan took)
        {
            if (result.ValueKind != JsonValueKind.Object)
            {
                throw Messages.BuildDrift($"the result of mcp.call is {Messages.Quote(result)}");
            }
            if (Json.Get(result, "success").ValueKind != JsonValueKind.Undefined)
            {
                return ReadDeclared(result);
            }
            var content = Json.Get(result, "content");
            var blocks = content.ValueKind == JsonValueKind.Array ? content.EnumerateArray().ToArray() : new JsonElement[0];
            var texts = blocks.Where(block => Json.GetString(block, "type") == "text")
                .Select(block => Json.GetString(block, "text"))
                .Where(each => each != null)
                .ToArray();
            var text = texts.Length > 0 ? string.Join("\n", texts) : null;
            var isError = Json.Get(result, "isError");
            var error = isError.ValueKind switch
            {
                JsonValueKind.Undefined => null,
                JsonValueKind.False => null,
                JsonValueKind.True => string.IsNullOrEmpty(text) ? "the tool reported an error" : text,
                _ => $"isError is {Messages.Quote(isError)}, and must be true or false",
            };
            return new Verdict(error == null, text, Json.Get(result, "structuredContent"), error, took, result);
        }

        private static Verdict ReadDeclared(JsonElement result)
        {
            var names = result.EnumerateObject().Select(Json.GetName).ToArray();
            var surplus = names.FirstOrDefault(name => !Fields.Contains(name));
            if (surplus != null)
            {
                throw Messages.BuildDrift($"the result of mcp.call has an unknown field {Messages.Quote(surplus)}");
            }
            var missing = Fields.FirstOrDefault(name => !names.Contains(name));
            if (missing != null)
            {
                throw Messages.BuildDrift($"the result of mcp.call is a verdict without \"{missing}\"");
            }
            var success = Json.Get(result, "success").ValueKind;
            var duration = Json.Get(result, "duration_ms");
            var isRight = (success == JsonValueKind.True || success == JsonValueKind.False)
                && IsStringOrNull(Json.Get(result, "text"))
                && IsStringOrNull(Json.Get(result, "error"))
                && duration.ValueKind == JsonValueKind.Number;
            if (!isRight)
            {
                throw Messages.BuildDrift($"the result of mcp.call is not a verdict: {Messages.Quote(result)}");
            }
            return new Verdict(
                success == JsonValueKind.True,
                Json.GetString(result, "text"),
                Json.Get(result, "data"),
                Json.GetString(result, "error"),
                ReadMilliseconds(duration),
                result);
        }

        internal static TimeSpan ReadMilliseconds(JsonElement value)
        {
            var ticks = value.GetDouble() * TimeSpan.TicksPerMillisecond;
            return ticks >= long.MaxValue ? TimeSpan.MaxValue : TimeSpan.FromTicks((long)Math.Max(0, ticks));
        }

        private static bool IsStringOrNull(JsonElement value)
        {
            return value.ValueKind == JsonValueKind.String || value.ValueKind == JsonValueKind.Null;
        }
    }
}
