//! The typed API against the real binary and a real server.

mod common;

use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use common::{is_running, wait_until, Folder, SHELF};
use mcptest_runner::{connect, json, CacheMode, Cassette, Client, Error, Server, Status, Suite};

fn shelf() -> Server {
    Server::command(["python3", "server.py", "shelf"]).cwd(SHELF)
}

fn pid_of(client: &Client) -> u32 {
    let found = client.call_tool("environment", ()).expect("a verdict");
    found.data["pid"].as_u64().and_then(|pid| pid.try_into().ok()).expect("a pid")
}

/// One server for several tests: it is never dropped, and ends with the process.
fn shared() -> &'static Client {
    static SHARED: OnceLock<Client> = OnceLock::new();
    SHARED.get_or_init(|| connect(shelf()).expect("the server starts"))
}

#[test]
fn a_verdict_has_what_the_tool_answered() -> Result<(), Error> {
    let server = connect(shelf())?;
    let added = server.call_tool("add_book", json!({"title": "Dubliners"}))?;
    assert_eq!(added.data["id"], 1);
    let found = server.call_tool("find_book", json!({"id": added.data["id"]}))?;
    assert!(found.success && found.error.is_none() && found.duration > Duration::ZERO);
    assert_eq!(found.text.as_deref(), Some("Dubliners"));
    assert_eq!(found.raw["content"][0]["type"], "text");
    Ok(())
}

#[test]
fn an_error_of_a_tool_is_a_verdict() -> Result<(), Error> {
    let missing = shared().call_tool("find_book", json!({"id": 99}))?;
    assert!(!missing.success);
    assert_eq!(missing.error.as_deref(), Some("there is no book 99"));
    Ok(())
}

#[test]
fn lists_and_the_handshake() -> Result<(), Error> {
    let names: Vec<_> = shared().list_tools()?.iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["add_book", "find_book", "environment", "hang", "crash"]);
    assert_eq!(shared().initialize()?["serverInfo"]["name"], "shelf");
    assert!(!shared().binary_version().is_empty());
    Ok(())
}

#[test]
fn arguments_that_are_not_an_object_are_not_sent() {
    let error = shared().call_tool("find_book", 7).expect_err("not an object");
    assert!(matches!(error, Error::Arguments(_)), "{error:?}");
    assert_eq!(error.to_string(), "arguments are an object, not 7");
    assert!(shared().call_tool("environment", ()).is_ok());
}

#[test]
fn threads_share_a_server() {
    let pid = pid_of(shared());
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| pid_of(shared()))).collect();
        assert!(threads.into_iter().all(|thread| thread.join().expect("no panic") == pid));
    });
}

#[test]
fn a_server_that_cannot_start_is_reported_by_connecting() {
    let error = connect(Server::command(["no-such-server"])).expect_err("it cannot start");
    let Error::UpstreamGone(refusal) = &error else { panic!("{error:?}") };
    assert_eq!((refusal.code, refusal.kind()), (-32001, Some("spawn_failed")));
    assert!(error.to_string().contains("no-such-server"), "{error}");
}

#[test]
fn no_server_is_a_mistake_of_the_caller() {
    let none: [&str; 0] = [];
    assert!(matches!(connect(Server::command(none)), Err(Error::Arguments(_))));
    assert!(matches!(connect(Server::command(["a\0b"])), Err(Error::Arguments(_))));
    let hasty = shelf().timeout(Duration::ZERO);
    assert!(matches!(connect(hasty), Err(Error::Arguments(_))));
}

#[test]
fn unwrap_shows_how_the_server_ended() {
    let server = connect(shelf()).expect("the server starts");
    let error = server.call_tool("crash", ()).expect_err("it exits");
    let refusal = error.refusal().expect("the binary said so");
    assert_eq!((refusal.exit_code(), refusal.signal()), (Some(3), None));
    assert!(refusal.may_have_taken_effect());
    let shown = format!("{error:?}");
    assert!(shown.starts_with("UpstreamGone: "), "{shown}");
    for part in
        ["it may have taken effect", "command   python3 server.py", "ended     exit status 3"]
    {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(shown.contains("stderr    the shelf in None collapsed"), "{shown}");
}

#[test]
fn folder_and_variables_reach_the_server_and_secrets_do_not_leave() -> Result<(), Error> {
    let folder = Folder::new();
    let script = format!("{SHELF}/server.py");
    let described = Server::command(["python3", script.as_str()]).cwd(folder.path(""));
    let server = connect(described.env("CITY", "Ærø-by-the-sea").secret("CITY"))?;
    let seen = server.call_tool("environment", ())?;
    assert_eq!(seen.data["CITY"], "Ærø-by-the-sea");
    assert_eq!(format!("{}/", seen.text.unwrap_or_default()), folder.path("").to_string_lossy());
    let error = server.call_tool("crash", ()).expect_err("it exits");
    let shown = format!("{error:?}");
    assert!(shown.contains("the shelf in") && !shown.contains("by-the-sea"), "{shown}");
    Ok(())
}

#[test]
fn a_server_is_shown_without_the_values_of_its_variables() {
    let shown = format!("{:?}", shelf().env("SHOP_TOKEN", "hunter2"));
    assert!(shown.contains(r#"{"SHOP_TOKEN"}"#) && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_recording_is_replayed_without_the_server() -> Result<(), Error> {
    let folder = Folder::new();
    let tape = folder.path("shelf.ndjson");
    let server = connect(shelf().record(&tape))?;
    server.call_tool("add_book", json!({"title": "Emma"}))?;
    server.close();
    let replayed = connect(Server::command(["no-such-server"]).replay(&tape))?;
    assert_eq!(replayed.call_tool("add_book", json!({"title": "Emma"}))?.data["id"], 1);
    let error = replayed.call_tool("add_book", json!({"title": "Ulysses"})).expect_err("not there");
    assert!(matches!(&error, Error::Upstream(_)) && error.to_string().contains("arguments.title"));
    replayed.set_cassette(Cassette::Off)
}

#[test]
fn uploads_are_delivered() -> Result<(), Error> {
    let folder = Folder::new();
    let calls = folder.path("calls.ndjson");
    let server = connect(shelf().cache(CacheMode::Off))?;
    server.upload_to(&format!("file:{}", calls.display()))?;
    server.call_tool("add_book", json!({"title": "Emma"}))?;
    assert_eq!(server.flush()?, 1);
    server.stop_uploads()?;
    server.call_tool("add_book", json!({"title": "Emma"}))?;
    assert_eq!(server.flush()?, 0);
    let text = std::fs::read_to_string(calls).expect("they were written");
    assert_eq!(text.lines().count(), 1);
    Ok(())
}

#[test]
fn a_limit_is_reported_by_the_binary() {
    let server = connect(shelf().timeout(Duration::from_millis(300))).expect("it starts");
    let error = server.call_tool("hang", ()).expect_err("it hangs");
    assert!(matches!(error, Error::Upstream(_)), "{error:?}");
    assert!(error.refusal().is_some_and(|refusal| refusal.may_have_taken_effect()));
}

#[test]
fn dropping_a_client_stops_the_server() {
    let server = connect(shelf()).expect("the server starts");
    let pid = pid_of(&server);
    assert!(is_running(pid));
    drop(server);
    assert!(!is_running(pid));
}

#[test]
fn closing_ends_a_call_of_another_thread() {
    let server = connect(shelf()).expect("the server starts");
    let pid = pid_of(&server);
    thread::scope(|scope| {
        let call = scope.spawn(|| server.call_tool("hang", ()));
        thread::sleep(Duration::from_millis(300));
        let began = Instant::now();
        server.close();
        let error = call.join().expect("no panic").expect_err("it was closed");
        assert!(matches!(error, Error::Closed(_)), "{error:?}");
        assert!(began.elapsed() < Duration::from_secs(3));
    });
    wait_until("the server ends", || !is_running(pid));
    let error = server.list_tools().expect_err("it is closed");
    assert!(matches!(error, Error::Closed(_)) && error.to_string().contains("mcp.listTools"));
}

#[test]
fn a_panic_stops_the_server() {
    let result = thread::spawn(|| {
        let server = connect(shelf()).expect("the server starts");
        let pid = pid_of(&server);
        std::panic::panic_any(pid);
    })
    .join();
    let pid = *result.expect_err("it panics").downcast::<u32>().expect("the pid");
    assert!(!is_running(pid));
}

#[test]
fn a_suite_is_listed_and_run() -> Result<(), Error> {
    let suite = Suite::open(format!("{SHELF}/mcptest.yaml"))?;
    let listing = suite.list()?;
    let ids: Vec<_> = listing.tests.iter().map(|test| test.id.as_str()).collect();
    let wanted = ["shelf::adds a book", "attic::finds a book", "attic::sorts the books"];
    assert_eq!(ids[..3], wanted);
    assert_eq!(
        (listing.tests[0].line, listing.tests[2].skip.as_str()),
        (8, "there is one book only")
    );
    let failed = suite.run("attic::finds a book")?;
    assert_eq!((failed.status, failed.line), (Status::Failed, 14));
    assert!(failed.text.ends_with("mcptest.yaml:14"), "{}", failed.text);
    assert_eq!(suite.run("shelf::adds a book")?.status, Status::Passed);
    let error = suite.run("shelf::burns").expect_err("there is no such test");
    assert!(matches!(&error, Error::Refused(refusal) if refusal.code == -32602), "{error:?}");
    Ok(())
}

/// Answers the handshake, and leaves a process behind that writes as long as somebody reads.
const OUTLIVED: &str = r#"
import json, os, sys, time
request = json.loads(sys.stdin.readline())
result = {"protocol_version": 2, "binary_version": "0"}
print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
sys.stdin.readline()
read, write = os.pipe()
if os.fork():
    # Until it has left the process group, which is killed.
    os.close(write)
    os.read(read, 1)
    os._exit(3)
os.setsid()
os.close(write)
for stream in (1, 2):
    end = time.monotonic() + 20
    try:
        while time.monotonic() < end:
            os.write(stream, b"\n" * 1000)
    except BrokenPipeError:
        open(f"{sys.argv[1]}/{stream}", "w").close()
"#;

#[test]
fn a_process_that_outlives_the_binary_is_not_read() {
    // This test starts itself in a process of its own, for another binary.
    if let Some(folder) = std::env::var_os("OUTLIVED").map(std::path::PathBuf::from) {
        let error = connect(shelf()).expect_err("it exits");
        assert!(error.to_string().contains("exit status 3"), "{error}");
        wait_until("stdout is closed", || folder.join("1").exists());
        wait_until("stderr is closed", || folder.join("2").exists());
        return;
    }
    let folder = Folder::new();
    let (script, ends) = (folder.path("binary.py"), folder.path(""));
    std::fs::write(&script, OUTLIVED).expect("a file");
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "a_process_that_outlives_the_binary_is_not_read"]);
    command.env("OUTLIVED", &ends);
    let binary = format!("python3 '{}' '{}'", script.display(), ends.display());
    let output = command.env("MCPTEST_BIN", binary).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
