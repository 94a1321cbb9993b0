package mcptest;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What came of a call of a tool. JSON in {@code data} and {@code raw} is maps, lists, strings, booleans and null;
 * integers are {@code Integer}, or {@code Long} or {@code BigInteger} if they are too large; other numbers are {@code Double}.
 *
 * @param success whether the tool reported no error
 * @param text the text blocks of the answer, joined by newlines; null if there are none
 * @param data the structured content of the answer; null if there is none
 * @param error the text of the error that the tool reported; null if it reported none
 * @param durationMs how long the answer took, in milliseconds
 * @param raw the unchanged answer
 */
public record Verdict(
        boolean success, String text, Object data, String error, double durationMs, Map<String, Object> raw) {
    private static final Set<String> FIELDS = Set.of("success", "data", "text", "error", "duration_ms");

    /** How long the answer took. */
    public Duration duration() {
        return Duration.ofNanos(Math.round(durationMs * 1e6));
    }

    /**
     * A value inside of {@code data}: {@code data("books", 0, "title")}.
     *
     * @param path names of members and indexes of entries
     * @throws NoSuchElementException if there is no such value
     */
    public Object data(Object... path) {
        Object value = data;
        StringBuilder at = new StringBuilder("data");
        for (Object step : path) {
            if (step instanceof String name && value instanceof Map<?, ?> map && map.containsKey(name)) {
                value = map.get(name);
            } else if (step instanceof Integer index && value instanceof List<?> list && index >= 0 && index < list.size()) {
                value = list.get(index);
            } else {
                throw new NoSuchElementException(
                        at + " has no " + step + ": it is " + Words.quoteLine(value == null ? "null" : Json.write(value)));
            }
            at.append(step instanceof Integer ? "[" + step + "]" : "." + step);
        }
        return value;
    }

    /** Reads a result of {@code mcp.call}: a verdict of the binary, or the answer of the server. */
    static Verdict read(Object result, double tookMs) {
        Map<String, Object> answer = Coprocess.object(result, "mcp.call");
        // Only a verdict has this member.
        if (answer.containsKey("success")) {
            return readDeclared(answer);
        }
        String text = joinText(answer.get("content"));
        String error = null;
        if (answer.containsKey("isError") && !Boolean.FALSE.equals(answer.get("isError"))) {
            error = text == null || text.isEmpty() ? "the tool reported an error" : text;
            if (!(answer.get("isError") instanceof Boolean)) {
                error = "isError is " + Words.quoteLine(Json.write(answer.get("isError"))) + ", not true or false";
            }
        }
        return new Verdict(error == null, text, answer.get("structuredContent"), error, tookMs, answer);
    }

    private static Verdict readDeclared(Map<String, Object> result) {
        for (String name : result.keySet()) {
            if (!FIELDS.contains(name)) {
                throw McptestException.Contract.drift("a verdict has no field " + Words.quoteLine(Json.write(name)));
            }
        }
        for (String name : FIELDS) {
            if (!result.containsKey(name)) {
                throw McptestException.Contract.drift("a verdict without \"" + name + "\"");
            }
        }
        Object text = result.get("text");
        Object error = result.get("error");
        if (!(result.get("success") instanceof Boolean success) || !(result.get("duration_ms") instanceof Number tookMs)
                || !(text == null || text instanceof String) || !(error == null || error instanceof String)) {
            throw McptestException.Contract.drift(Words.quoteLine(Json.write(result)) + " is not a verdict");
        }
        Map<String, Object> raw = new LinkedHashMap<>();
        Object shown = text != null ? text : error;
        raw.put("content", shown == null ? List.of() : List.of(Map.of("type", "text", "text", shown)));
        if (result.get("data") != null) {
            raw.put("structuredContent", result.get("data"));
        }
        raw.put("isError", !success);
        return new Verdict(success, (String) text, result.get("data"), (String) error, tookMs.doubleValue(), raw);
    }

    private static String joinText(Object content) {
        if (!(content instanceof List<?> blocks)) {
            return null;
        }
        List<String> texts = blocks.stream()
                .filter(block -> block instanceof Map<?, ?> map && "text".equals(map.get("type"))
                        && map.get("text") instanceof String)
                .map(block -> (String) ((Map<?, ?>) block).get("text"))
                .collect(Collectors.toList());
        return texts.isEmpty() ? null : String.join("\n", texts);
    }
}
