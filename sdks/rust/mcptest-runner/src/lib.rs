//! Test MCP servers from Rust, and run mcptest suites with `cargo test`.
//!
//! ```no_run
//! use mcptest_runner::{connect, json, Server};
//!
//! # fn main() -> Result<(), mcptest_runner::Error> {
//! let server = connect(Server::command(["python3", "shelf_server.py"]))?;
//! let added = server.call_tool("add_book", json!({"title": "Dubliners"}))?;
//! let found = server.call_tool("find_book", json!({"id": added.data["id"]}))?;
//! assert_eq!(found.text.as_deref(), Some("Dubliners"));
//! # Ok(())
//! # }
//! ```
//!
//! Every test of a suite becomes a test of cargo in a test target with `harness = false`:
//!
//! ```no_run
//! // tests/mcptest.rs
//! fn main() -> std::process::ExitCode {
//!     mcptest_runner::suite("mcptest.yaml")
//! }
//! ```
//!
//! The crate starts the `mcptest` binary, which does the rest: `MCPTEST_BIN`, else `mcptest` on the
//! path.

mod client;
mod coprocess;
mod errors;
mod harness;
mod json;
mod suite;
mod verdict;
mod words;

pub use client::{connect, CacheMode, Cassette, Client, Server};
pub use coprocess::COPROCESS_PROTOCOL_VERSION;
pub use errors::{Error, Refusal};
pub use harness::suite;
pub use serde_json::{json, Value};
pub use suite::{
    lane_cli_hint, Lane, Left, Listing, Outcome, Status, Suite, SuiteFile, Test,
    UNSUPPORTED_SDK_LANES,
};
pub use verdict::Verdict;

/// Internal parts that the conformance adapter uses. Not part of the API.
#[doc(hidden)]
pub mod internal {
    pub use crate::client::open_client;
    pub use crate::json::parse_json;
    pub use crate::words::{join_words, split_binary};
}
