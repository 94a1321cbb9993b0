//! The main function of a test target, for the file that `SUITE` names: what tests/harness.rs starts.

fn main() -> std::process::ExitCode {
    mcptest_runner::suite(std::env::var_os("SUITE").expect("SUITE names a file"))
}
