//! An MCP server on stdio that keeps books on a shelf.

use std::io::{self, BufRead, Write};

use serde_json::{json, Value};

fn main() -> io::Result<()> {
    let mut books: Vec<String> = Vec::new();
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        // A notification is not answered.
        let Some(id) = request.get("id") else { continue };
        let params = &request["params"];
        let mut answer = json!({"jsonrpc": "2.0", "id": id});
        match request["method"].as_str() {
            Some("initialize") => {
                answer["result"] = json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "shelf", "version": env!("CARGO_PKG_VERSION")},
                });
            }
            Some("ping") => answer["result"] = json!({}),
            Some("tools/list") => answer["result"] = json!({"tools": list_tools()}),
            Some("tools/call") => answer["result"] = call_tool(&mut books, params),
            _ => answer["error"] = json!({"code": -32601, "message": "there is no such method"}),
        }
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}

fn list_tools() -> Value {
    let tool = |name: &str, argument: &str, kind: &str| {
        json!({"name": name, "inputSchema": {
            "type": "object", "properties": {argument: {"type": kind}}, "required": [argument],
        }})
    };
    json!([tool("add_book", "title", "string"), tool("find_book", "id", "integer")])
}

fn call_tool(books: &mut Vec<String>, params: &Value) -> Value {
    let arguments = &params["arguments"];
    match (params["name"].as_str(), arguments["title"].as_str(), arguments["id"].as_u64()) {
        (Some("add_book"), Some(title), _) => {
            books.push(title.to_owned());
            let data = json!({"id": books.len()});
            let text = data.to_string();
            json!({"content": [{"type": "text", "text": text}], "structuredContent": data})
        }
        (Some("find_book"), _, Some(id)) => {
            match usize::try_from(id).ok().and_then(|id| books.get(id.checked_sub(1)?)) {
                Some(title) => json!({"content": [{"type": "text", "text": title}]}),
                None => fail(&format!("there is no book {id}")),
            }
        }
        _ => fail("there is no such tool, or an argument is missing"),
    }
}

fn fail(message: &str) -> Value {
    json!({"content": [{"type": "text", "text": message}], "isError": true})
}
