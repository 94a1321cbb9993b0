/* The cheapest MCP server there is: what is measured against it is the tester.
 *
 * It finds the raw "id" and "text" of each line and writes them back. It is no JSON
 * parser: it only has to understand the requests that the benchmark writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The raw JSON text of a member: from its value to the end of that string or number. */
static int member(const char *line, const char *name, const char **start)
{
    const char *at = strstr(line, name);
    if (!at)
        return 0;
    at += strlen(name);
    while (*at == ' ')
        at++;
    const char *end = at + 1;
    if (*at == '"') {
        while (*end && *end != '"')
            end += *end == '\\' ? 2 : 1;
        end++;
    } else {
        while (*end && !strchr(",} \n", *end))
            end++;
    }
    *start = at;
    return (int)(end - at);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        const char *id, *text;
        int id_size = member(line, "\"id\":", &id);
        if (!id_size)
            continue;
        printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":", id_size, id);
        if (strstr(line, "\"initialize\""))
            printf("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
                   "\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}}\n");
        else if (strstr(line, "\"tools/list\""))
            printf("{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]}}\n");
        else {
            int text_size = member(line, "\"text\":", &text);
            printf("{\"content\":[{\"type\":\"text\",\"text\":%.*s}],\"isError\":false}}\n",
                   text_size ? text_size : 2, text_size ? text : "\"\"");
        }
        fflush(stdout);
    }
    free(line);
    return 0;
}
