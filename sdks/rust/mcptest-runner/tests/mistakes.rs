//! Mistakes of the caller, and what the messages keep to themselves.

#[allow(dead_code)]
mod common;

use std::time::Duration;

use common::{Folder, SHELF};
use mcptest_runner::{connect, json, Error, Server, SuiteFile};

fn shelf() -> Server {
    Server::command(["python3", "server.py", "shelf"]).cwd(SHELF)
}

/// The message about arguments that cannot be used.
fn refused(server: Server) -> String {
    match connect(server).expect_err("it cannot be used") {
        Error::Arguments(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_feature_changes_what_the_server_under_test_does() {
    // Under `cargo test` the server is built with the features of its tests.
    let manifest = include_str!("../Cargo.toml");
    let wanted = r#"serde_json = { version = "1.0.100", features = ["unbounded_depth"] }"#;
    assert_eq!(manifest.matches("features").count(), 2, "one is in the comment");
    assert!(manifest.contains(wanted));
}

#[test]
fn variables_are_not_shown() {
    let server = shelf().env("SHOP_TOKEN", "hunter2-hunter2").envs([("CITY", "Paris")]);
    let shown = format!("{server:?}");
    assert!(shown.contains(r#"env: {"CITY", "SHOP_TOKEN"}"#), "{shown}");
    assert!(!shown.contains("hunter2") && !shown.contains("Paris"), "{shown}");
    let suite = SuiteFile::new("mcptest.yaml").env("SHOP_TOKEN", "hunter2-hunter2");
    let wanted = r#"SuiteFile { file: "mcptest.yaml", env: {"SHOP_TOKEN"} }"#;
    assert_eq!(format!("{suite:?}"), wanted);
}

#[test]
fn a_secret_of_the_environment_is_hidden() -> Result<(), Error> {
    // cargo sets it: the folder of this package.
    let name = "CARGO_MANIFEST_DIR";
    let program = format!("import os, sys; sys.exit('key ' + os.environ['{name}'])");
    let error = connect(Server::command(["python3", "-c", program.as_str()]).secret(name))
        .expect_err("it ends at once");
    let shown = format!("{error:?}");
    assert!(shown.contains("key [secret]"), "{shown}");
    assert!(!shown.contains(env!("CARGO_MANIFEST_DIR")), "{shown}");
    Ok(())
}

#[test]
fn a_secret_without_a_value() {
    let message = refused(shelf().secret("NO_SUCH_KEY"));
    let wanted = ".secret names the variable NO_SUCH_KEY, which is not set: give it a value with \
                  .env(\"NO_SUCH_KEY\", …), or in the environment of the tests";
    assert_eq!(message, wanted);
    assert!(refused(shelf().env("A=B", "c")).contains("'A=B'"));
    let message = refused(shelf().env("CITY", "Par\0is"));
    assert!(message.contains("CITY") && !message.contains("Par"), "{message}");
}

#[test]
fn mistakes_are_reported_before_anything_is_started() {
    let message = refused(shelf().cwd("no/such/folder"));
    assert!(message.starts_with(".cwd: there is no folder 'no/such/folder' in /"), "{message}");
    let at = || Server::at("http://127.0.0.1:1/mcp");
    let message = refused(at().bearer_env("NO_SUCH_TOKEN"));
    assert!(message.contains(".bearer_env") && message.contains("NO_SUCH_TOKEN"), "{message}");
    let message = refused(at().header_env("X-Key", "NO_SUCH_KEY"));
    assert!(message.contains(".header_env") && message.contains("NO_SUCH_KEY"), "{message}");
    assert!(refused(at().env("CITY", "Paris")).starts_with(".env is for a server that is started"));
    assert!(refused(at().secret("HOME")).starts_with(".secret is for"));
    assert!(refused(at().cwd("/")).starts_with(".cwd is for"));
}

#[test]
fn the_message_of_the_binary_comes_first() {
    let revision = shelf().spec_version("1999-01-01");
    let url = Server::at("htp:/127.0.0.1");
    for (server, wanted) in [
        (revision, ".spec_version takes auto or one of 2024-11-05, "),
        (url, ".url is not the URL of a server: it must begin with http:// or https://"),
        (
            Server::at("http://127.0.0.1:1/mcp").ca_file("/nowhere.pem"),
            ".ca_file: there is no file",
        ),
    ] {
        let error = connect(server).expect_err("a mistake");
        assert!(matches!(error, Error::Binary(_)), "{error:?}");
        let shown = error.to_string();
        assert!(shown.starts_with(wanted), "{shown}");
        assert!(
            shown.ends_with("before it answered coprocess/handshake: exit status 2)"),
            "{shown}"
        );
    }
}

#[test]
fn the_hint_about_a_slow_start_names_the_method() {
    let slow = Server::command(["python3", "-c", "import time; time.sleep(60)"]);
    let error = connect(slow.start_timeout(Duration::from_millis(300))).expect_err("too slow");
    let refusal = error.refusal().expect("the binary said so");
    assert_eq!((refusal.kind(), refusal.server_code()), (Some("handshake_timeout"), None));
    let hint = refusal.hint().expect("a hint");
    assert!(hint.contains("the limit is .start_timeout"), "{hint}");
    let shown = error.to_string();
    assert!(shown.contains(&hint) && !shown.contains("startupTimeout"), "{shown}");
}

#[test]
fn the_code_of_the_server() -> Result<(), Error> {
    let error = connect(shelf())?.get_prompt("poem", json!({})).expect_err("there are no prompts");
    let Error::Upstream(refusal) = &error else { panic!("{error:?}") };
    assert_eq!((refusal.code, refusal.server_code()), (-32000, Some(-32601)), "{error:?}");
    assert_eq!(refusal.kind(), None);
    Ok(())
}

#[test]
fn variables_reach_the_suite() -> Result<(), Error> {
    let folder = Folder::new();
    let file = folder.path("mcptest.yaml");
    let text = "
variables: { script: { from_env: SHELF_SCRIPT } }
servers: { shelf: { command: [python3, \"${script}\"] } }
tools: [{ name: adds, server: shelf, tool: add_book, args: { title: Emma } }]
";
    std::fs::write(&file, text).expect("a file");
    let suite = SuiteFile::new(&file).env("SHELF_SCRIPT", format!("{SHELF}/server.py")).open()?;
    let outcome = suite.run("shelf::adds")?;
    assert_eq!(outcome.status, mcptest_runner::Status::Passed, "{}", outcome.text);
    let error = SuiteFile::new(&file).env("", "x").open().expect_err("no name");
    assert!(matches!(error, Error::Arguments(_)), "{error:?}");
    Ok(())
}
