//! The tests of a file, listed and run over the suite channel.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{json, Map, Value};

use crate::client::{check_variable, Variables};
use crate::coprocess::Coprocess;
use crate::errors::{excerpt_json, Error};
use crate::harness;
use crate::verdict::read_millis;
use crate::words::quote_word;

const LIST_VERSION: u64 = 1;
const LIST_LIMIT: Duration = Duration::from_secs(60);
/// Added to the limit of a test.
const SLACK: Duration = Duration::from_secs(15);
/// The limit of a test that has not been listed.
const UNLISTED_LIMIT: Duration = Duration::from_secs(10 * 60);

/// The lanes of a suite that cannot be driven over the channel.
pub const UNSUPPORTED_SDK_LANES: [&str; 4] = ["agents", "compliance", "security", "evals"];

/// Why a lane is skipped, and the command that runs it. Without a suite, `<suite>` stands for its
/// path.
pub fn lane_cli_hint(lane: &str, suite: Option<&str>) -> String {
    let command = match lane {
        "compliance" => "mcptest compliance run --from-suite",
        "evals" => "mcptest eval",
        _ => "mcptest run",
    };
    let suite = suite.map_or_else(|| "<suite>".to_owned(), quote_word);
    format!("lane \"{lane}\" is not drivable over the SDK channel; run: {command} {suite}")
}

/// What a file declares.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Listing {
    /// The path of the file, relative to the current folder.
    pub file: String,
    /// The tests, in the order of the file.
    pub tests: Vec<Test>,
    /// The lanes that cannot be driven.
    pub lanes: Vec<Lane>,
    /// What is judged for a whole run only.
    pub left: Vec<Left>,
    /// Warnings about the file.
    pub warnings: Vec<String>,
}

/// A test of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Test {
    /// `server::name`, made unique by a number.
    pub id: String,
    /// The name of its server.
    pub server: String,
    /// The name of the test.
    pub name: String,
    /// The file that declares it.
    pub file: String,
    /// The line in that file.
    pub line: u64,
    /// Its tags.
    pub tags: Vec<String>,
    /// The reason for skipping it; empty if it is run.
    pub skip: String,
    /// Longer than it can take.
    pub limit: Duration,
}

/// A lane that cannot be driven; [`lane_cli_hint`] has the sentence for it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lane {
    /// The name of the lane.
    pub lane: String,
    /// Its line in the file.
    pub line: u64,
}

/// What is judged for a whole run only, such as a gate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Left {
    /// What it is called.
    pub name: String,
    /// Why it is not judged here, with the command that judges it.
    pub reason: String,
}

/// What came of a test.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The verdict.
    pub status: Status,
    /// What `mcptest run` prints for a test that did not pass; the reason of a skipped one.
    pub text: String,
    /// The file of the failure, or of the test.
    pub file: String,
    /// The line in that file.
    pub line: u64,
    /// How long it took.
    pub duration: Duration,
    /// Further remarks, such as that a retry passed.
    pub notes: Vec<String>,
}

/// The verdict on a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every expectation was met.
    Passed,
    /// An expectation was not met.
    Failed,
    /// The test could not be completed.
    Error,
    /// The test was not run.
    Skipped,
}

/// A file of tests, and how it is run.
///
/// ```no_run
/// // tests/mcptest.rs
/// fn main() -> std::process::ExitCode {
///     mcptest_runner::SuiteFile::new("mcptest.yaml").env("CITY", "Paris").main()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct SuiteFile {
    file: PathBuf,
    env: Variables,
}

impl SuiteFile {
    /// Anything that `mcptest run` accepts.
    pub fn new(file: impl AsRef<Path>) -> SuiteFile {
        SuiteFile { file: file.as_ref().to_owned(), env: Variables::default() }
    }

    /// An additional environment variable of mcptest, for `from_env` and `${NAME}` in the file; the
    /// servers inherit it.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> SuiteFile {
        self.env.0.insert(name.into(), value.into());
        self
    }

    /// Open it to list and run its tests by hand. Mistakes in it are reported by the first request.
    pub fn open(&self) -> Result<Suite, Error> {
        for (name, value) in &self.env.0 {
            check_variable(name, value)?;
        }
        let arguments = [OsString::from("--suite-server"), self.file.clone().into()];
        let variables: Vec<_> =
            self.env.0.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let coprocess = Coprocess::start(&arguments, &variables, LIST_LIMIT)?;
        Ok(Suite { coprocess, limits: Mutex::default() })
    }

    /// Run its tests as `cargo test` asks for in the arguments of this process: the main function of
    /// a test target with `harness = false`.
    pub fn main(&self) -> ExitCode {
        harness::run(self)
    }
}

/// A file whose tests are run one at a time, in any order. Its servers are stopped when this is
/// dropped.
pub struct Suite {
    coprocess: Coprocess,
    /// The limits of the tests, by id, once they are known.
    limits: Mutex<HashMap<String, Duration>>,
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.binary_version();
        f.debug_struct("Suite").field("binary_version", &version).finish_non_exhaustive()
    }
}

impl Suite {
    /// Open anything that `mcptest run` accepts. Mistakes in it are reported by the first request.
    pub fn open(file: impl AsRef<Path>) -> Result<Suite, Error> {
        SuiteFile::new(file).open()
    }

    /// The tests of the file. No server is started.
    pub fn list(&self) -> Result<Listing, Error> {
        let result = self.coprocess.request("suite.list", None)?;
        let listing = read_listing(&result).map_err(|error| self.coprocess.give_up(error))?;
        let limits = listing.tests.iter().map(|test| (test.id.clone(), test.limit)).collect();
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
        Ok(listing)
    }

    /// Run one test. A server is started by the first test that needs it.
    ///
    /// How long a test may take is known from [`list`](Suite::list); without it, 10 minutes.
    pub fn run(&self, id: &str) -> Result<Outcome, Error> {
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = limits.get(id).copied().unwrap_or(UNLISTED_LIMIT).saturating_add(SLACK);
        drop(limits);
        let params = json!({"id": id});
        let result = self.coprocess.request_within("suite.run", Some(params), limit)?;
        read_outcome(&result)
    }

    /// Stop the servers now. A test that runs in another thread fails with [`Error::Closed`].
    pub fn close(&self) {
        self.coprocess.close();
    }

    /// The version of the mcptest binary.
    pub fn binary_version(&self) -> &str {
        self.coprocess.binary_version()
    }
}

// Results of the channel

fn read_listing(result: &Value) -> Result<Listing, Error> {
    let drift = |why| Error::drift(format!("the result of suite.list: {why}"));
    if let Some(theirs) = result["version"].as_u64().filter(|theirs| *theirs != LIST_VERSION) {
        return Err(Error::Version(describe_upgrade(theirs)));
    }
    let names = ["version", "file", "tests", "lanes", "left", "warnings"];
    let listing = Members::of(result, &names).map_err(drift)?;
    let listing = (|| {
        listing.number("version")?;
        Ok(Listing {
            file: listing.text("file")?,
            tests: listing.entries("tests", read_test)?,
            lanes: listing.entries("lanes", |value| {
                let lane = Members::of(value, &["lane", "line"])?;
                Ok(Lane { lane: lane.text("lane")?, line: lane.number("line")? })
            })?,
            left: listing.entries("left", |value| {
                let left = Members::of(value, &["name", "reason"])?;
                Ok(Left { name: left.text("name")?, reason: left.text("reason")? })
            })?,
            warnings: listing.texts("warnings")?,
        })
    })()
    .map_err(drift)?;
    let mut ids = HashSet::new();
    match listing.tests.iter().find(|test| !ids.insert(&test.id)) {
        Some(twice) => {
            let id = excerpt_json(&twice.id.as_str().into());
            Err(drift(format!("two tests have the id {id}")))
        }
        None => Ok(listing),
    }
}

fn read_test(value: &Value) -> Result<Test, String> {
    let names = ["id", "server", "name", "file", "line", "tags", "skip", "limit_ms"];
    let test = Members::of(value, &names)?;
    Ok(Test {
        id: test.text("id")?,
        server: test.text("server")?,
        name: test.text("name")?,
        file: test.text("file")?,
        line: test.number("line")?,
        tags: test.texts("tags")?,
        skip: test.text("skip")?,
        limit: Duration::from_millis(test.number("limit_ms")?),
    })
}

fn read_outcome(result: &Value) -> Result<Outcome, Error> {
    let read = || {
        let names = ["status", "text", "file", "line", "duration_ms", "notes"];
        let outcome = Members::of(result, &names)?;
        Ok(Outcome {
            status: match outcome.text("status")?.as_str() {
                "passed" => Status::Passed,
                "failed" => Status::Failed,
                "error" => Status::Error,
                "skipped" => Status::Skipped,
                other => return Err(format!("there is no status {}", excerpt_json(&other.into()))),
            },
            text: outcome.text("text")?,
            file: outcome.text("file")?,
            line: outcome.number("line")?,
            duration: outcome.read("duration_ms", read_millis)?,
            notes: outcome.texts("notes")?,
        })
    };
    read().map_err(|why| Error::drift(format!("the result of suite.run: {why}")))
}

fn describe_upgrade(theirs: u64) -> String {
    let ours = LIST_VERSION;
    let advice = if theirs < ours {
        "Upgrade the mcptest binary (or pin the SDK to the matching release)."
    } else {
        "Upgrade the rust SDK (or pin the mcptest binary to the matching release)."
    };
    format!("mcptest binary speaks suite channel v{theirs}; this SDK needs v{ours}. {advice}")
}

/// An object with exactly these members.
struct Members<'a>(&'a Map<String, Value>);

impl<'a> Members<'a> {
    fn of(value: &'a Value, names: &[&str]) -> Result<Members<'a>, String> {
        let members =
            value.as_object().ok_or_else(|| format!("{} is not an object", excerpt_json(value)))?;
        if let Some(key) = members.keys().find(|key| !names.contains(&key.as_str())) {
            return Err(format!("there is no member {}", excerpt_json(&key.as_str().into())));
        }
        match names.iter().find(|name| !members.contains_key(**name)) {
            Some(name) => Err(format!("the member \"{name}\" is missing")),
            None => Ok(Members(members)),
        }
    }

    fn read<T>(&self, name: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Result<T, String> {
        let value = &self.0[name];
        read(value).ok_or_else(|| format!("\"{name}\" cannot be {}", excerpt_json(value)))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.read(name, Value::as_str).map(str::to_owned)
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        self.read(name, Value::as_u64)
    }

    fn entries<T>(
        &self,
        name: &str,
        read: impl FnMut(&'a Value) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        self.read(name, Value::as_array)?.iter().map(read).collect()
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let not_text = |value| format!("\"{name}\" cannot have {}", excerpt_json(value));
        self.entries(name, |value| value.as_str().map(str::to_owned).ok_or_else(|| not_text(value)))
    }
}
