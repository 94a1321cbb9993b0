//! The main function of a test target: every test of a file as a test of cargo.
//!
//! Speaks to cargo and to cargo-nextest as the harness of the standard library does.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::errors::{visible, visible_lines, Error};
use crate::suite::{lane_cli_hint, Listing, Status, SuiteFile};

const FAILURE: u8 = 101;

/// Run the tests of a file as `cargo test` asks for in the arguments of this process.
///
/// The file is anything that `mcptest run` accepts; its path is relative to the folder of the
/// package. This is the main function of a test target with `harness = false`. [`SuiteFile`] also
/// passes on variables.
pub fn suite(file: impl AsRef<Path>) -> ExitCode {
    SuiteFile::new(file).main()
}

pub(crate) fn run(file: &SuiteFile) -> ExitCode {
    let done = read_options(std::env::args_os().skip(1)).and_then(|options| {
        if options.is_help {
            print(HELP);
            return Ok(true);
        }
        run_suite(file, &options).map_err(|error| error.to_string())
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILURE),
        Err(message) => {
            // Mistakes in a file have a code of their own: error[F002]: …
            let prefix = if message.starts_with("error[") { "" } else { "error: " };
            let _ = writeln!(io::stderr(), "{prefix}{message}");
            ExitCode::from(FAILURE)
        }
    }
}

const HELP: &str = "\
Usage: [OPTIONS] [FILTERS...]

Runs the tests of a mcptest suite whose names contain one of the filters.

    --list               list the tests and run none
    --exact              the filters are whole names
    --skip FILTER        leave out tests whose names contain this
    --ignored            only tests that are skipped, and lanes
    --include-ignored    these as well
    --format pretty|terse, -q, --quiet
                         how to report
The other options of cargo's test harness are accepted, and change nothing.
";

// Options

#[derive(Default)]
struct Options {
    filters: Vec<String>,
    skips: Vec<String>,
    is_list: bool,
    is_exact: bool,
    is_ignored: bool,
    is_include_ignored: bool,
    is_terse: bool,
    is_bench: bool,
    is_help: bool,
}

fn read_options(words: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.map(|word| word.to_string_lossy().into_owned());
    let mut has_only_filters = false;
    while let Some(word) = words.next() {
        if has_only_filters || !word.starts_with('-') {
            options.filters.push(word);
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word, None),
        };
        let mut read_value = || {
            let next = value.clone().or_else(|| words.next());
            next.ok_or_else(|| format!("the option '{name}' needs a value"))
        };
        match name.as_str() {
            "--" => has_only_filters = true,
            "--list" => options.is_list = true,
            "--exact" => options.is_exact = true,
            "--ignored" => options.is_ignored = true,
            "--include-ignored" => options.is_include_ignored = true,
            "--quiet" | "-q" => options.is_terse = true,
            "--bench" => options.is_bench = true,
            "--help" | "-h" => options.is_help = true,
            "--skip" => options.skips.push(read_value()?),
            "--format" => match read_value()?.as_str() {
                "pretty" => options.is_terse = false,
                "terse" => options.is_terse = true,
                other => return Err(format!("the format is pretty or terse, not '{other}'")),
            },
            "--test"
            | "--nocapture"
            | "--no-capture"
            | "--show-output"
            | "--report-time"
            | "--ensure-time"
            | "--fail-fast"
            | "--force-run-in-process"
            | "--shuffle"
            | "--exclude-should-panic" => {}
            "--test-threads" | "--color" | "--logfile" | "--shuffle-seed" | "-Z" => {
                read_value()?;
            }
            _ => return Err(format!("Unrecognized option: '{name}'")),
        }
    }
    Ok(options)
}

// Tests

/// A test of cargo: one of the file, or one that stands for what cannot be run here.
struct Case {
    name: String,
    /// The id of a test of the file.
    id: Option<String>,
    /// Why it is ignored; empty if it is run.
    reason: String,
}

fn list_cases(listing: Listing) -> Vec<Case> {
    let file = listing.file;
    let tests = listing.tests.into_iter().map(|test| Case {
        name: visible(&test.id),
        id: Some(test.id),
        reason: test.skip,
    });
    let lanes = listing.lanes.into_iter().map(|lane| Case {
        name: format!("mcptest::lanes::{}", visible(&lane.lane)),
        id: None,
        reason: lane_cli_hint(&lane.lane, Some(&file)),
    });
    let left = listing.left.into_iter().map(|left| Case {
        name: format!("mcptest::left::{}", visible(&left.name)),
        id: None,
        reason: left.reason,
    });
    tests.chain(lanes).chain(left).collect()
}

impl Options {
    fn select(&self, cases: Vec<Case>) -> Vec<Case> {
        let has = |name: &str, filter: &String| match self.is_exact {
            true => name == filter,
            false => name.contains(filter.as_str()),
        };
        let is_chosen = |case: &Case| {
            let name = case.name.as_str();
            let is_named = self.filters.is_empty() || self.filters.iter().any(|f| has(name, f));
            let is_kind = self.is_include_ignored || !self.is_ignored || !case.reason.is_empty();
            is_named && is_kind && !self.is_bench && !self.skips.iter().any(|f| has(name, f))
        };
        cases.into_iter().filter(is_chosen).collect()
    }
}

/// Whether all tests that were run have passed.
fn run_suite(file: &SuiteFile, options: &Options) -> Result<bool, Error> {
    let suite = file.open()?;
    let listing = suite.list()?;
    for warning in &listing.warnings {
        let _ = writeln!(io::stderr(), "warning: {}", visible(warning));
    }
    let cases = list_cases(listing);
    let total = cases.len();
    let cases = options.select(cases);
    if options.is_list {
        for case in &cases {
            print(&format!("{}: test\n", case.name));
        }
        if !options.is_terse {
            print(&format!("\n{} tests, 0 benchmarks\n", cases.len()));
        }
        return Ok(true);
    }
    let mut report = Report::new(options, cases.len(), total - cases.len());
    for case in cases {
        report.begin(&case.name);
        let is_asked_for = options.is_ignored || options.is_include_ignored;
        match case.id {
            Some(id) if case.reason.is_empty() || is_asked_for => match suite.run(&id) {
                Ok(outcome) => {
                    report.end(case.name, outcome.status, outcome.text, outcome.notes);
                }
                Err(error) => {
                    report.end(case.name, Status::Error, error.to_string(), Vec::new());
                }
            },
            _ => report.end(case.name, Status::Skipped, case.reason, Vec::new()),
        }
    }
    // Warnings about the servers come before the result.
    suite.close();
    Ok(report.finish())
}

// The report

struct Report {
    is_terse: bool,
    began: Instant,
    filtered: usize,
    passed: usize,
    ignored: usize,
    failures: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Report {
    fn new(options: &Options, count: usize, filtered: usize) -> Report {
        print(&format!("\nrunning {count} test{}\n", if count == 1 { "" } else { "s" }));
        Report {
            is_terse: options.is_terse,
            began: Instant::now(),
            filtered,
            passed: 0,
            ignored: 0,
            failures: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn begin(&self, name: &str) {
        if !self.is_terse {
            print(&format!("test {name} ... "));
        }
    }

    fn end(&mut self, name: String, status: Status, text: String, notes: Vec<String>) {
        let reason = visible(text.trim_end());
        let (letter, word) = match status {
            Status::Passed => (".", "ok".to_owned()),
            Status::Skipped if reason.is_empty() => ("i", "ignored".to_owned()),
            Status::Skipped => ("i", format!("ignored, {reason}")),
            Status::Failed | Status::Error => ("F", "FAILED".to_owned()),
        };
        print(&if self.is_terse { letter.to_owned() } else { format!("{word}\n") });
        match status {
            Status::Passed => {
                self.passed += 1;
                // The text of a failure has them.
                self.notes
                    .extend(notes.iter().map(|note| format!("    {name}: {}", visible(note))));
            }
            Status::Skipped => self.ignored += 1,
            Status::Failed | Status::Error => self.failures.push((name, text)),
        }
    }

    /// Print the rest; whether nothing failed.
    fn finish(self) -> bool {
        let Report { passed, ignored, filtered, .. } = self;
        let mut text = String::from(if self.is_terse { "\n" } else { "" });
        if !self.notes.is_empty() {
            text += &format!("\nnotes:\n{}\n", self.notes.join("\n"));
        }
        if !self.failures.is_empty() {
            text += "\nfailures:\n";
            for (name, failure) in &self.failures {
                let failure = visible_lines(failure.trim_end_matches('\n'));
                text += &format!("\n---- {name} stdout ----\n{failure}\n");
            }
            text += "\n\nfailures:\n";
            for (name, _) in &self.failures {
                text += &format!("    {name}\n");
            }
        }
        let failed = self.failures.len();
        let result = if failed == 0 { "ok" } else { "FAILED" };
        text += &format!(
            "\ntest result: {result}. {passed} passed; {failed} failed; {ignored} ignored;"
        );
        let took_s = self.began.elapsed().as_secs_f64();
        text += &format!(" 0 measured; {filtered} filtered out; finished in {took_s:.2}s\n\n");
        print(&text);
        failed == 0
    }
}

/// Write to standard output at once. That nobody reads it any more is not a failure of a test.
fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}
