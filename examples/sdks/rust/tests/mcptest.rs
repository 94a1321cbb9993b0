//! Every test of mcptest.yaml as a test of cargo.

fn main() -> std::process::ExitCode {
    // The suite starts the server that cargo has just built.
    std::env::set_var("SHELF_SERVER", env!("CARGO_BIN_EXE_shelf"));
    mcptest_runner::suite("mcptest.yaml")
}
