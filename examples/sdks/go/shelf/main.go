// A small MCP server over stdio that keeps books on a shelf. Standard library only.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type object map[string]any

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Name            string `json:"name"`
		Arguments       struct {
			Title string `json:"title"`
			ID    int    `json:"id"`
		} `json:"arguments"`
	} `json:"params"`
}

var shelf []string

var book = object{"type": "object", "properties": object{"id": object{"type": "integer"}}, "required": []string{"id"}}

var tools = []object{
	{
		"name":        "add_book",
		"description": "Puts a book on the shelf.",
		"inputSchema": object{
			"type": "object", "properties": object{"title": object{"type": "string"}}, "required": []string{"title"},
		},
		"outputSchema": book,
	},
	{"name": "find_book", "description": "Finds a book by its id.", "inputSchema": book},
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked message
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if asked.ID != nil {
			_ = answers.Encode(object{"jsonrpc": "2.0", "id": asked.ID, "result": answer(asked)})
		}
	}
}

func answer(asked message) object {
	switch asked.Method {
	case "initialize":
		return object{
			"protocolVersion": asked.Params.ProtocolVersion,
			"capabilities":    object{"tools": object{}},
			"serverInfo":      object{"name": "shelf", "version": "1.0.0"},
		}
	case "tools/list":
		return object{"tools": tools}
	case "tools/call":
		return call(asked)
	}
	return object{}
}

func call(asked message) object {
	given := asked.Params.Arguments
	if asked.Params.Name == "add_book" {
		shelf = append(shelf, given.Title)
		added := text(fmt.Sprintf(`{"id":%d}`, len(shelf)), false)
		added["structuredContent"] = object{"id": len(shelf)}
		return added
	}
	if given.ID < 1 || given.ID > len(shelf) {
		return text(fmt.Sprintf("there is no book %d", given.ID), true)
	}
	return text(shelf[given.ID-1], false)
}

func text(words string, isError bool) object {
	return object{"content": []object{{"type": "text", "text": words}}, "isError": isError}
}
