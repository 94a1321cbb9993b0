//! Command lines: words to the text of `--server-command`, and `MCPTEST_BIN` to words.

use crate::errors::Error;

/// The words as one text that is split into the same words, as in a shell.
pub fn join_words<S: AsRef<str>>(words: &[S]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote_word(word.as_ref())).collect();
    quoted.join(" ")
}

/// The word, between single quotes if it needs them.
pub(crate) fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// The words of a command in `MCPTEST_BIN`.
pub fn split_binary(text: &str) -> Result<Vec<String>, Error> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('"'), '\\') if matches!(chars.peek(), Some('"' | '\\')) => {
                word.get_or_insert_with(String::new).extend(chars.next());
            }
            (Some(_), _) => word.get_or_insert_with(String::new).push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_with(String::new);
            }
            (None, '\\') => match chars.next() {
                Some(next) => word.get_or_insert_with(String::new).push(next),
                None => return Err(bad_quoting(text, "it ends with a backslash")),
            },
            (None, ' ' | '\t' | '\r' | '\n') => words.extend(word.take()),
            (None, _) => word.get_or_insert_with(String::new).push(c),
        }
    }
    if quote.is_some() {
        return Err(bad_quoting(text, "a quote does not end"));
    }
    words.extend(word);
    Ok(words)
}

fn bad_quoting(text: &str, why: &str) -> Error {
    let shown = crate::errors::excerpt(text);
    Error::Binary(format!("MCPTEST_BIN cannot be split into words: {why}: {shown}"))
}
