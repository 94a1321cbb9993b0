package shelf;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A small MCP server over stdio that keeps books on a shelf. Java has no JSON in its standard library, so it finds the few
 * members that it needs with patterns; a real server uses the MCP SDK for Java.
 */
public final class ShelfServer {
    private static final String TOOLS = """
            {"tools": [
              {"name": "add_book", "description": "Puts a book on the shelf.",
               "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
               "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
              {"name": "find_book", "description": "Finds a book by its id.",
               "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}
            ]}""".replace("\n", "");

    private static final String UNKNOWN_TOOL = "\"error\": {\"code\": -32602, \"message\": \"no such tool\"}";

    /** Titles as JSON strings. */
    private static final List<String> SHELF = new ArrayList<>();

    private ShelfServer() {}

    public static void main(String[] words) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            // Arguments have an id as well; that of the request is in front of them.
            String id = find(line.replaceFirst("\"params\":.*", ""), "id");
            if (!id.isEmpty()) {
                String result = answer(line);
                String outcome = result.isEmpty() ? UNKNOWN_TOOL : "\"result\": " + result;
                out.println("{\"jsonrpc\": \"2.0\", \"id\": " + id + ", " + outcome + "}");
            }
        }
    }

    /** The result as JSON; an empty text for a tool that is not there. */
    private static String answer(String line) {
        String arguments = line.replaceFirst(".*\"arguments\":", "");
        switch (find(line, "method")) {
            case "\"initialize\"":
                return "{\"protocolVersion\": " + find(line, "protocolVersion")
                        + ", \"capabilities\": {\"tools\": {}}, \"serverInfo\": {\"name\": \"shelf\", \"version\": \"1.0.0\"}}";
            case "\"tools/list\"":
                return TOOLS;
            case "\"tools/call\"":
                return switch (find(line, "name")) {
                    case "\"add_book\"" -> add(find(arguments, "title"));
                    case "\"find_book\"" -> get(find(arguments, "id"));
                    default -> "";
                };
            default:
                return "{}";
        }
    }

    private static String add(String title) {
        SHELF.add(title);
        String book = "{\"id\": " + SHELF.size() + "}";
        return "{\"content\": [" + text("\"" + book.replace("\"", "\\\"") + "\"") + "], \"structuredContent\": " + book + "}";
    }

    private static String get(String id) {
        int number = Integer.parseInt(id);
        if (number < 1 || number > SHELF.size()) {
            return "{\"content\": [" + text("\"there is no book " + number + "\"") + "], \"isError\": true}";
        }
        return "{\"content\": [" + text(SHELF.get(number - 1)) + "]}";
    }

    private static String text(String string) {
        return "{\"type\": \"text\", \"text\": " + string + "}";
    }

    /** The first number or string with this name, as it is in the JSON; an empty text if there is none. */
    private static String find(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\\s*(-?\\d+|\"(?:[^\"\\\\]|\\\\.)*\")").matcher(json);
        return found.find() ? found.group(1) : "";
    }
}
