//! Tests by hand: a server for each test.

use mcptest_runner::{connect, json, Client, Error, Server};

fn shelf() -> Result<Client, Error> {
    connect(Server::command([env!("CARGO_BIN_EXE_shelf")]))
}

#[test]
fn a_book_is_found_again() -> Result<(), Error> {
    let server = shelf()?;
    let added = server.call_tool("add_book", json!({"title": "Dubliners"}))?;
    let found = server.call_tool("find_book", json!({"id": added.data["id"]}))?;
    assert!(found.success);
    assert_eq!(found.text.as_deref(), Some("Dubliners"));
    Ok(())
}

#[test]
fn a_book_that_is_not_there() -> Result<(), Error> {
    let missing = shelf()?.call_tool("find_book", json!({"id": 7}))?;
    assert_eq!(missing.error.as_deref(), Some("there is no book 7"));
    Ok(())
}
