//! What a tool answered.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::errors::{excerpt_json, Error};

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether the tool reported no error. An `isError` that is not a boolean is not a success.
    pub success: bool,
    /// The text blocks, joined by newlines; `None` if there are none.
    pub text: Option<String>,
    /// The structured content; `Null` if there is none.
    pub data: Value,
    /// The text of the error that the tool reported.
    pub error: Option<String>,
    /// How long the answer took.
    pub duration: Duration,
    /// The unchanged answer.
    pub raw: Value,
}

const FIELDS: [&str; 5] = ["success", "data", "text", "error", "duration_ms"];

/// The verdict in a result of `mcp.call`.
pub(crate) fn read_verdict(result: Value, took: Duration) -> Result<Verdict, Error> {
    let Value::Object(answer) = &result else {
        let shown = excerpt_json(&result);
        return Err(Error::drift(format!("the result of mcp.call is {shown}")));
    };
    // Only a verdict has this member.
    if answer.contains_key("success") {
        return read_declared(answer, &result);
    }
    let text = join_text(answer.get("content"));
    let error = match answer.get("isError") {
        None | Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => {
            let fallback = || "the tool reported an error".to_owned();
            Some(text.clone().filter(|text| !text.is_empty()).unwrap_or_else(fallback))
        }
        Some(other) => {
            Some(format!("isError must be true or false and is {}", excerpt_json(other)))
        }
    };
    Ok(Verdict {
        success: error.is_none(),
        text,
        data: answer.get("structuredContent").cloned().unwrap_or_default(),
        error,
        duration: took,
        raw: result,
    })
}

fn read_declared(answer: &Map<String, Value>, result: &Value) -> Result<Verdict, Error> {
    let drift = |message: String| {
        let unless = "unless the server itself answered with \"success\"";
        Err(Error::drift(format!("{message}, {unless}")))
    };
    if let Some(key) = answer.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return drift(format!(
            "a verdict of mcp.call has no field {}",
            excerpt_json(&key.as_str().into())
        ));
    }
    if let Some(field) = FIELDS.iter().find(|field| !answer.contains_key(**field)) {
        return drift(format!("a verdict of mcp.call without \"{field}\""));
    }
    match (
        answer["success"].as_bool(),
        read_text(&answer["text"]),
        read_text(&answer["error"]),
        read_millis(&answer["duration_ms"]),
    ) {
        (Some(success), Some(text), Some(error), Some(duration)) => Ok(Verdict {
            success,
            text,
            data: answer["data"].clone(),
            error,
            duration,
            raw: result.clone(),
        }),
        _ => drift(format!("{} is not a verdict of mcp.call", excerpt_json(result))),
    }
}

/// A number of milliseconds, with a fraction.
pub(crate) fn read_millis(value: &Value) -> Option<Duration> {
    let millis = value.as_f64().filter(|millis| *millis >= 0.0)?;
    let fraction = Duration::from_secs_f64(millis.fract() / 1000.0);
    Duration::from_millis(millis.trunc() as u64).checked_add(fraction)
}

/// A string or null; `None` for anything else.
fn read_text(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text.clone())),
        _ => None,
    }
}

fn join_text(content: Option<&Value>) -> Option<String> {
    let blocks = content?.as_array()?;
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str())
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
