//! Strict reading of JSON.

use serde_json::Value;

/// The deepest nesting that the contract allows, the frame included.
const MAX_DEPTH: usize = 200;

/// Parse a line strictly: no key occurs twice, and nothing is nested deeper than the contract allows.
/// Half a surrogate pair, which a `String` cannot hold, becomes U+FFFD.
pub fn parse_json(mut line: Vec<u8>) -> Result<Value, String> {
    let (depth, members) = measure(&line);
    if depth > MAX_DEPTH {
        return Err(format!("nested deeper than {MAX_DEPTH} levels"));
    }
    let value = match deserialize(&line) {
        Ok(value) => value,
        Err(error) => {
            if !replace_lone_surrogates(&mut line) {
                return Err(error.to_string());
            }
            deserialize(&line).map_err(|error| error.to_string())?
        }
    };
    if count_members(&value) != members {
        return Err("a key occurs twice".to_owned());
    }
    Ok(value)
}

fn deserialize(line: &[u8]) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    // The limit of the parser is below that of the contract, which has been checked.
    deserializer.disable_recursion_limit();
    let mut values = deserializer.into_iter();
    let value = values.next().unwrap_or_else(|| serde_json::from_slice(b""))?;
    match values.next() {
        None => Ok(value),
        // Parses the same text, and says where it should have ended.
        Some(_) => serde_json::from_slice(line),
    }
}

/// How deep a text is nested, and how many members its objects have, by the punctuation outside of
/// strings.
fn measure(line: &[u8]) -> (usize, usize) {
    let (mut depth, mut deepest, mut members) = (0_usize, 0, 0);
    let (mut is_string, mut is_escaped) = (false, false);
    for byte in line {
        if is_string {
            is_string = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b':' => members += 1,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    (deepest, members)
}

fn count_members(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            members.len() + members.values().map(count_members).sum::<usize>()
        }
        Value::Array(entries) => entries.iter().map(count_members).sum(),
        _ => 0,
    }
}

/// Replace escapes of half a surrogate pair by U+FFFD; whether there were any.
fn replace_lone_surrogates(line: &mut [u8]) -> bool {
    let unit = |line: &[u8], at: usize| {
        let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut has_replaced = false;
    let mut at = 0;
    while at < line.len() {
        at += match (line[at], unit(line, at)) {
            (b'\\', Some(0xd800..=0xdbff))
                if matches!(unit(line, at + 6), Some(0xdc00..=0xdfff)) =>
            {
                12
            }
            (b'\\', Some(0xd800..=0xdfff)) => {
                line[at + 2..at + 6].copy_from_slice(b"fffd");
                has_replaced = true;
                6
            }
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    has_replaced
}
