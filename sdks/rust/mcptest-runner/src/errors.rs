//! What can go wrong, and how it is shown.

use std::fmt;

use serde_json::Value;

pub(crate) const MAY_HAVE_RUN: &str = "it may have taken effect anyway";

const UPSTREAM: i64 = -32000;
const UPSTREAM_GONE: i64 = -32001;
/// How hints of the binary name the limit for the start of a server.
const START_LIMIT: &str = "--start-timeout, or \"startupTimeout\" in the config";
const MAX_QUOTED: usize = 200;

/// Why a call failed.
///
/// `Display` is the whole message. `Debug`, which `unwrap()` and tests that return a `Result` show,
/// adds the kind of the error, and how the server ended and what it wrote to stderr.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The mcptest binary cannot be started, or has ended.
    Binary(String),
    /// The binary did not answer in time; it was killed together with the server.
    Timeout(String),
    /// The binary sent something that this version does not know, or a line that is too long.
    Contract(String),
    /// The binary speaks another version; the message says which side to upgrade.
    Version(String),
    /// The connection was closed, before the call or while it waited.
    Closed(String),
    /// The server refused the request, did not answer in time, or its answer cannot be used.
    Upstream(Refusal),
    /// The server could not be started or reached, or has exited.
    UpstreamGone(Refusal),
    /// mcptest refused the request: a mistake in a suite, an upload that failed.
    Refused(Refusal),
    /// An argument cannot be used; nothing was sent.
    Arguments(String),
}

impl Error {
    /// The answer of the binary, if this error is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Upstream(refusal) | Error::UpstreamGone(refusal) | Error::Refused(refusal) => {
                Some(refusal)
            }
            _ => None,
        }
    }

    pub(crate) fn refused(code: i64, message: String, data: Value) -> Error {
        let refusal = Refusal { code, message, data };
        match code {
            UPSTREAM => Error::Upstream(refusal),
            UPSTREAM_GONE => Error::UpstreamGone(refusal),
            _ => Error::Refused(refusal),
        }
    }

    /// Something that the contract does not know.
    pub(crate) fn drift(message: impl fmt::Display) -> Error {
        let advice = "the binary and this SDK are of different releases";
        Error::Contract(format!("contract drift: {message}; {advice}"))
    }

    fn kind(&self) -> &'static str {
        match self {
            Error::Binary(_) => "Binary",
            Error::Timeout(_) => "Timeout",
            Error::Contract(_) => "Contract",
            Error::Version(_) => "Version",
            Error::Closed(_) => "Closed",
            Error::Upstream(_) => "Upstream",
            Error::UpstreamGone(_) => "UpstreamGone",
            Error::Refused(_) => "Refused",
            Error::Arguments(_) => "Arguments",
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Binary(message)
            | Error::Timeout(message)
            | Error::Contract(message)
            | Error::Version(message)
            | Error::Closed(message)
            | Error::Arguments(message) => f.write_str(message),
            Error::Upstream(refusal) | Error::UpstreamGone(refusal) | Error::Refused(refusal) => {
                refusal.fmt(f)
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.kind())?;
        for note in self.refusal().iter().flat_map(|refusal| refusal.notes()) {
            write!(f, "\n{note}")?;
        }
        Ok(())
    }
}

/// An error response of the binary.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The code of the channel: -32000 for [`Error::Upstream`], -32001 for [`Error::UpstreamGone`].
    /// The server's own is [`server_code`](Refusal::server_code).
    pub code: i64,
    /// The message of the binary, unchanged.
    pub message: String,
    /// The details, `Null` if there are none. If they have no `kind`, they are the server's own.
    pub data: Value,
}

impl Refusal {
    /// The code of the error that the server answered with, such as -32602; `None` if it did not.
    pub fn server_code(&self) -> Option<i64> {
        let is_own = self.code == UPSTREAM && self.kind().is_none();
        self.data["code"].as_i64().filter(|_| is_own)
    }

    /// What happened, such as `"timeout"`; `None` if the error is the server's own.
    /// `docs/faults.md` of mcptest lists them.
    pub fn kind(&self) -> Option<&str> {
        self.data["kind"].as_str()
    }

    /// Whether the call may have been carried out although it failed.
    pub fn may_have_taken_effect(&self) -> bool {
        self.detail("effect") == Some("indefinite")
    }

    /// What may help.
    pub fn hint(&self) -> Option<String> {
        Some(self.detail("hint")?.replace(START_LIMIT, ".start_timeout"))
    }

    /// The last lines that the server wrote to stderr.
    pub fn stderr(&self) -> Option<&str> {
        self.detail("stderr")
    }

    /// How the server's process ended, such as `"exit status 3"`.
    pub fn exit_status(&self) -> Option<&str> {
        self.detail("exit_status")
    }

    /// The exit code of the server's process; `None` if it did not end in this way.
    pub fn exit_code(&self) -> Option<i64> {
        self.kind().and_then(|_| self.data["exit_code"].as_i64())
    }

    /// The signal that killed the server's process, such as `"SIGKILL"`.
    pub fn signal(&self) -> Option<&str> {
        self.detail("signal")
    }

    /// A string among the details of the binary. Details without a kind are the server's own.
    fn detail(&self, name: &str) -> Option<&str> {
        let text = self.kind().and_then(|_| self.data[name].as_str())?;
        (!text.is_empty()).then_some(text)
    }

    /// The server, how it ended, and what it wrote to stderr.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(url) = self.detail("url") {
            notes.push(format!("  url       {}", visible(url)));
        }
        if let (Some(_), Some(words)) = (self.kind(), self.data["command"].as_array()) {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            notes.push(format!("  command   {}", visible(&words.join(" "))));
        }
        if let Some(status) = self.exit_status() {
            notes.push(format!("  ended     {}", visible(status)));
        }
        let stderr = self.stderr().unwrap_or_default();
        notes.extend(stderr.lines().map(|line| format!("  stderr    {}", visible(line))));
        notes
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible_lines(&self.message))?;
        if let Some(hint) = self.hint() {
            write!(f, "\nhint: {}", visible_lines(&hint))?;
        }
        if self.may_have_taken_effect() {
            write!(f, "\n{MAY_HAVE_RUN}")?;
        }
        Ok(())
    }
}

// Foreign text, as it can be shown

/// The text with control characters escaped.
pub(crate) fn visible(text: &str) -> String {
    escape(text, |_| false)
}

/// The same, with line breaks and tabs kept.
pub(crate) fn visible_lines(text: &str) -> String {
    escape(text, |c| c == '\n' || c == '\t')
}

fn escape(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Characters that end a line or change the direction of the text around them.
        let is_format = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if (c.is_control() || is_format) && !is_kept(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The beginning of the text on one line.
pub(crate) fn excerpt(text: &str) -> String {
    let beginning: String = text.chars().take(MAX_QUOTED).collect();
    let dots = if beginning.len() < text.len() { "…" } else { "" };
    visible(&beginning) + dots
}

/// The beginning of a line that the binary wrote.
pub(crate) fn excerpt_bytes(line: &[u8]) -> String {
    // A character has up to four bytes.
    let shown = &line[..line.len().min(4 * MAX_QUOTED + 4)];
    let text = excerpt(&String::from_utf8_lossy(shown));
    if shown.len() < line.len() && !text.ends_with('…') {
        return text + "…";
    }
    text
}

/// The beginning of a JSON value.
pub(crate) fn excerpt_json(value: &Value) -> String {
    excerpt(&value.to_string())
}
