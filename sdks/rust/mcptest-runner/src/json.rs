//! Strict reading of JSON.

use serde_json::{Number, Value};

/// The deepest nesting that the contract allows, the frame included.
const MAX_DEPTH: usize = 200;

/// Parse a line strictly: no key occurs twice, and nothing is nested deeper than the contract allows.
/// Half a surrogate pair, which a `String` cannot hold, becomes U+FFFD. Numbers are exact doubles.
pub fn parse_json(mut line: Vec<u8>) -> Result<Value, String> {
    let (depth, members) = measure(&line);
    if depth > MAX_DEPTH {
        return Err(format!("nested deeper than {MAX_DEPTH} levels"));
    }
    let mut value = match deserialize(&line) {
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
    Numbers { text: &line, at: 0 }.correct(&mut value);
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

/// Walks through a text that has been parsed, to read its numbers again.
///
/// The parser rounds some doubles wrongly. Its feature `float_roundtrip` would do the same as this,
/// but cargo would turn it on for the server under test, too.
struct Numbers<'a> {
    text: &'a [u8],
    at: usize,
}

impl Numbers<'_> {
    /// Correct the value that begins here, and go to its end.
    fn correct(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for _ in 0..members.len() {
                    self.skip_to(|byte| byte == b'"');
                    let key = self.take_string();
                    let key: Option<String> = serde_json::from_slice(key).ok();
                    self.skip_to(|byte| byte == b':');
                    self.at += 1;
                    if let Some(member) = key.and_then(|key| members.get_mut(&key)) {
                        self.correct(member);
                    }
                }
                self.skip_past(b'}');
            }
            Value::Array(entries) => {
                self.skip_past(b'[');
                entries.iter_mut().for_each(|entry| self.correct(entry));
                self.skip_past(b']');
            }
            Value::String(_) => {
                self.skip_to(|byte| byte == b'"');
                self.take_string();
            }
            Value::Number(number) => {
                self.skip_to(|byte| byte == b'-' || byte.is_ascii_digit());
                let begin = self.at;
                self.skip_to(|byte| !(byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)));
                let text = std::str::from_utf8(&self.text[begin..self.at]).unwrap_or_default();
                // Integers of up to 64 bits are exact.
                if number.is_f64() {
                    let exact = text.parse().ok().and_then(Number::from_f64);
                    *number = exact.unwrap_or_else(|| number.clone());
                }
            }
            Value::Null | Value::Bool(_) => {
                self.skip_to(|byte| byte.is_ascii_alphabetic());
                self.skip_to(|byte| !byte.is_ascii_alphabetic());
            }
        }
    }

    fn skip_to(&mut self, is_wanted: impl Fn(u8) -> bool) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| is_wanted(*byte)).unwrap_or(rest.len());
    }

    fn skip_past(&mut self, wanted: u8) {
        self.skip_to(|byte| byte == wanted);
        self.at += 1;
    }

    /// The string that begins here, with its quotes.
    fn take_string(&mut self) -> &[u8] {
        let begin = self.at;
        self.at += 1;
        while !matches!(self.text.get(self.at), None | Some(b'"')) {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at = self.text.len().min(self.at + 1);
        &self.text[begin..self.at]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Value {
        parse_json(text.as_bytes().to_vec()).expect("JSON")
    }

    #[test]
    fn numbers_are_exact() {
        // The last digits of these are what the parser rounds wrongly by itself.
        let long = "-7.04205570775945886694687843575612079620984434831879407927296e59";
        let numbers = [
            ("0.30000000000000004", "0.30000000000000004"),
            ("31.245270191439438", "31.245270191439438"),
            (long, "-7.042055707759459e59"),
            ("5e-324", "5e-324"),
            ("123456789012345678901234567890", "1.2345678901234568e29"),
        ];
        for (text, wanted) in numbers {
            let wanted: Option<f64> = wanted.parse().ok();
            assert_eq!(parse(text).as_f64(), wanted, "{text}");
        }
        assert_eq!(parse("18446744073709551615"), u64::MAX);
        assert_eq!(parse("-9223372036854775808"), i64::MIN);
        assert!(parse_json(b"1e400".to_vec()).is_err());
    }

    #[test]
    fn numbers_are_exact_everywhere() {
        let x = "31.245270191439438";
        let text = format!(
            r#" {{ "b\\" : [ {x} , [] , {{}}, [{{"a": {{"z":{x},"]\"}}1.5":"1.5,{{"}}}}]], "é\u0022":{x},
            "a" : -{x}E0 , "c":[true,false,null,1,-2,{x}],"d":"{x}" , "": {x} }} "#
        );
        let value = parse(&text);
        let wanted = 31.245270191439438;
        for path in ["/b\\/0", "/b\\/3/0/a/z", "/é\"", "/c/5", "/"] {
            assert_eq!(value.pointer(path).and_then(Value::as_f64), Some(wanted), "{path}");
        }
        assert_eq!(value["a"].as_f64(), Some(-wanted));
        assert_eq!(value["c"].to_string(), format!("[true,false,null,1,-2,{x}]"));
        assert_eq!(
            (&value["d"], &value["b\\"][3][0]["a"]["]\"}1.5"]),
            (&x.into(), &"1.5,{".into())
        );
    }
}
