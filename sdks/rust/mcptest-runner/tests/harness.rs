//! What cargo and cargo-nextest see of a suite. `cargo test` also builds examples/suite_file.rs, which
//! these tests start; `cargo test --test harness` alone does not.

mod common;

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{is_running, wait_until, Folder, SHELF};
use mcptest_runner::{json, Value};

/// A test target with `harness = false`, started as cargo does.
fn target(folder: &Folder, file: &str, arguments: &[&str]) -> Command {
    let deps = std::env::current_exe().expect("this test");
    let built: PathBuf = deps.parent().and_then(|deps| deps.parent()).expect("target").into();
    let mut command = Command::new(built.join("examples").join("suite_file"));
    command.args(arguments).env("SUITE", file).env("JOURNAL", folder.path("journal"));
    command.current_dir(SHELF);
    command
}

/// The lines of the journal of the servers.
fn journal(folder: &Folder) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path("journal")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The names and process ids of the servers that were started.
fn started(folder: &Folder) -> Vec<(String, u32)> {
    let read = |line: &String| {
        let (name, pid) = line.strip_prefix("start ")?.rsplit_once(' ')?;
        Some((name.to_owned(), pid.parse().ok()?))
    };
    journal(folder).iter().filter_map(read).collect()
}

fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String) {
    shown(target(folder, "mcptest.yaml", arguments).output().expect("it runs"))
}

fn shown(output: Output) -> (Option<i32>, String) {
    let text = String::from_utf8(output.stdout).expect("text");
    // Without the time that it took.
    let text = match text.split_once("; finished in ") {
        Some((before, _)) => before.to_owned(),
        None => text,
    };
    (output.status.code(), text)
}

const TESTS: [&str; 7] = [
    "shelf::adds a book",
    "attic::finds a book",
    "attic::sorts the books",
    "attic::collapses",
    "mcptest::lanes::agents",
    "mcptest::lanes::compliance",
    "mcptest::left::coverage gate",
];

#[test]
fn a_whole_run() {
    let folder = Folder::new();
    let (status, text) = run(&folder, &[]);
    assert_eq!(status, Some(101), "{text}");
    let wanted = "
running 7 tests
test shelf::adds a book ... ok
test attic::finds a book ... FAILED
test attic::sorts the books ... ignored, there is one book only
test attic::collapses ... FAILED
test mcptest::lanes::agents ... ignored, lane \"agents\" is not drivable over the SDK channel; \
run: mcptest run mcptest.yaml
test mcptest::lanes::compliance ... ignored, lane \"compliance\" is not drivable over the SDK \
channel; run: mcptest compliance run --from-suite mcptest.yaml
test mcptest::left::coverage gate ... ignored, ";
    assert!(text.starts_with(wanted), "{text}");
    let suite = mcptest_runner::Suite::open(format!("{SHELF}/mcptest.yaml")).expect("a suite");
    let failed = suite.run("attic::finds a book").expect("a verdict").text;
    // The other process was started in the folder of the file.
    let failed = failed.replace(&format!("{SHELF}/mcptest.yaml"), "mcptest.yaml");
    let failed = failed.replace("tests/shelf/mcptest.yaml", "mcptest.yaml");
    assert!(
        text.contains(&format!("\n---- attic::finds a book stdout ----\n{failed}\n")),
        "{text}\n{failed}"
    );
    assert!(
        text.contains("exit status 3") && text.contains("the shelf in None collapsed"),
        "{text}"
    );
    let end = "
failures:
    attic::finds a book
    attic::collapses

test result: FAILED. 1 passed; 2 failed; 4 ignored; 0 measured; 0 filtered out";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn nextest_lists_all_and_those_that_are_ignored() {
    let folder = Folder::new();
    let list =
        |names: &[&str]| -> String { names.iter().map(|name| format!("{name}: test\n")).collect() };
    assert_eq!(run(&folder, &["--list", "--format", "terse"]), (Some(0), list(&TESTS)));
    let ignored = [&TESTS[2..3], &TESTS[4..]].concat();
    let (status, text) = run(&folder, &["--list", "--format", "terse", "--ignored"]);
    assert_eq!((status, text), (Some(0), list(&ignored)));
    assert_eq!(journal(&folder), [""; 0]);
}

#[test]
fn cargo_lists() {
    let (status, text) = run(&Folder::new(), &["--list", "book"]);
    let wanted =
        "shelf::adds a book: test\nattic::finds a book: test\nattic::sorts the books: test\n";
    assert_eq!((status, text), (Some(0), format!("{wanted}\n3 tests, 0 benchmarks\n")));
}

#[test]
fn one_test_by_name_starts_only_its_server() {
    let folder = Folder::new();
    let (status, text) = run(&folder, &["--exact", "shelf::adds a book", "--nocapture"]);
    let wanted = "\nrunning 1 test\ntest shelf::adds a book ... ok\n
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 6 filtered out";
    assert_eq!((status, text.as_str()), (Some(0), wanted));
    let names: Vec<_> = started(&folder).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["shelf"]);
    assert!(started(&folder).iter().all(|(_, pid)| !is_running(*pid)));
}

#[test]
fn filters_and_skips() {
    let folder = Folder::new();
    let (status, text) = run(&folder, &["attic", "shelf::", "--skip", "finds", "--skip=collapses"]);
    assert_eq!(status, Some(0));
    assert!(
        text.contains("test shelf::adds a book ... ok\ntest attic::sorts the books ... ignored")
    );
    assert!(text.ends_with("1 passed; 0 failed; 1 ignored; 0 measured; 5 filtered out"), "{text}");
    let (status, text) = run(&folder, &["--exact", "shelf"]);
    assert_eq!(status, Some(0));
    assert!(text.ends_with("0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out"), "{text}");
}

#[test]
fn ignored_tests_stay_ignored_and_name_the_command() {
    let (status, text) = run(&Folder::new(), &["--ignored", "--nocapture"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("running 4 tests\ntest attic::sorts the books ... ignored, "), "{text}");
    assert!(text.contains("; run: mcptest compliance run --from-suite mcptest.yaml\n"), "{text}");
    assert!(text.ends_with("0 passed; 0 failed; 4 ignored; 0 measured; 3 filtered out"), "{text}");
}

#[test]
fn terse_is_a_letter_for_each_test() {
    let folder = Folder::new();
    let arguments = ["-q", "--test-threads=1", "--color", "always", "-Z", "unstable-options"];
    let (_, text) = run(&folder, &arguments);
    assert!(text.starts_with("\nrunning 7 tests\n.FiFiii\n\nfailures:\n"), "{text}");
}

#[test]
fn mistakes_in_the_file_fail_the_target() {
    let folder = Folder::new();
    let file = folder.path("mcptest.yaml");
    std::fs::write(&file, "servers: {a: {command: [python3]}}\ntols: []\nprompt: []\n")
        .expect("a file");
    for arguments in [&["--list"][..], &[]] {
        let output = target(&folder, &file.to_string_lossy(), arguments).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(101));
        assert!(errors.starts_with("error[F006]: ") && errors.contains("\"tols\""), "{errors}");
        assert!(errors.contains("\"prompt\""), "{errors}");
    }
}

#[test]
fn an_unknown_option_and_a_missing_binary_fail_the_target() {
    let folder = Folder::new();
    let output = target(&folder, "mcptest.yaml", &["--colour"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(101));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: Unrecognized option: '--colour'\n");
    let mut command = target(&folder, "mcptest.yaml", &[]);
    let output = command.env("MCPTEST_BIN", "/nowhere/mcptest").output().expect("it runs");
    assert_eq!(output.status.code(), Some(101));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("/nowhere/mcptest") && errors.contains("MCPTEST_BIN"), "{errors}");
}

/// A process that does not outlive its test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A target that runs a test which hangs; its server has been called.
fn start_hanging(folder: &Folder) -> Killed {
    let file = folder.path("mcptest.yaml");
    let server = format!("[python3, {SHELF}/server.py, shelf]");
    let tests = "tools: [{name: hangs, server: shelf, tool: hang, timeout: 50s}]";
    std::fs::write(&file, format!("servers: {{shelf: {{command: {server}}}}}\n{tests}\n"))
        .expect("a file");
    let mut command = target(folder, &file.to_string_lossy(), &[]);
    let child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Killed).expect("it starts");
    wait_until("the tool is called", || journal(folder).contains(&"call hang".to_owned()));
    child
}

#[test]
fn signals_leave_no_process() {
    for signal in ["-INT", "-TERM", "-KILL"] {
        let folder = Folder::new();
        let mut child = start_hanging(&folder);
        let pid = child.0.id().to_string();
        let sent = Command::new("kill").args([signal, pid.as_str()]).status().expect("kill");
        assert!(sent.success());
        assert!(!child.0.wait().expect("it ends").success());
        wait_until("the server ends", || started(&folder).iter().all(|(_, pid)| !is_running(*pid)));
    }
}

/// A target whose binary says what this script of protocol/coprocess/fake_binary.py tells it to.
fn scripted(folder: &Folder, script: Value) -> Command {
    let file = folder.path("script.json");
    std::fs::write(&file, script.to_string()).expect("a file");
    let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../protocol/coprocess/fake_binary.py");
    let mut command = target(folder, &file.to_string_lossy(), &[]);
    command.env("MCPTEST_BIN", format!("python3 '{fake}'"));
    command
}

#[test]
fn the_end_of_the_binary_is_noticed_where_sigchld_is_ignored() {
    let ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); \
        os.execv(sys.argv[1], sys.argv[1:])";
    let began = Instant::now();
    let run = |script| {
        let folder = Folder::new();
        let command = scripted(&folder, script);
        let mut launcher = Command::new("python3");
        launcher.args(["-c", ignore]).arg(command.get_program());
        launcher.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shown(launcher.output().expect("it runs"))
    };
    let (status, text) = run(json!({}));
    assert_eq!(status, Some(101));
    assert!(text.ends_with("1 passed; 2 failed; 4 ignored; 0 measured; 0 filtered out"), "{text}");
    let exit = json!({"exit": 3, "stderr": "out of memory"});
    let (_, text) = run(json!({"answers": {"suite.run": exit}}));
    let wanted = "suite.run: how it ended is not known; its last words: out of memory";
    assert!(text.contains(wanted), "{text}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn control_characters_are_escaped() {
    let test = json!({"id": "a::\u{7}b", "server": "a", "name": "\u{7}b", "file": "a.yaml", "line": 1,
        "tags": [], "skip": "", "limit_ms": 5000});
    let listing = json!({"version": 1, "file": "a.yaml", "tests": [test],
        "lanes": [{"lane": "\u{1b}[5m", "line": 1}], "left": [], "warnings": ["\u{1b}[31mred"]});
    let verdict = json!({"status": "failed", "text": "\u{1b}[2J\r\n\tcold\n\na.yaml:1",
        "file": "a.yaml", "line": 1, "duration_ms": 1, "notes": []});
    let folder = Folder::new();
    let script =
        json!({"answers": {"suite.list": {"result": listing}, "suite.run": {"result": verdict}}});
    let output = scripted(&folder, script).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "warning: \\u{1b}[31mred\n");
    let (_, text) = shown(output);
    assert!(text.contains("\n---- a::\\u{7}b stdout ----\n\\u{1b}[2J\\r\n\tcold\n"), "{text}");
    assert!(!text.contains(['\u{7}', '\u{1b}', '\r']), "{text}");
}

#[test]
fn warnings_of_a_binary_that_was_killed_are_passed_on() {
    let folder = Folder::new();
    let said =
        json!([{"stderr": "warning: one upload failed\n"}, {"wait_ms": 300}, {"frame": "DEBUG"}]);
    let script = json!({"answers": {"suite.run": {"all": said}}});
    let output = scripted(&folder, script).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "warning: one upload failed\n");
}

#[test]
fn a_line_of_spaces_may_be_too_long() {
    let folder = Folder::new();
    let spaces = json!({"all": [{"half": " ".repeat(1 << 20)}], "times": 65});
    let verdict = json!({"status": "passed", "text": "", "file": "a.yaml", "line": 1,
        "duration_ms": 1, "notes": []});
    let script = json!({"answers": {"suite.run": {"all": [spaces, {"result": verdict}]}}});
    let (_, text) = shown(scripted(&folder, script).output().expect("it runs"));
    assert!(text.contains("suite.run with a line of more than 67174400 bytes"), "{text}");
    assert!(text.contains("0 passed; 3 failed;"), "{text}");
}
