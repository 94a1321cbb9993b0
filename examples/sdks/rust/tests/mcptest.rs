//! Every test of mcptest.yaml as a test of cargo.

fn main() -> std::process::ExitCode {
    // The suite starts the server that cargo has just built.
    let server = env!("CARGO_BIN_EXE_shelf");
    mcptest_runner::SuiteFile::new("mcptest.yaml").env("SHELF_SERVER", server).main()
}
