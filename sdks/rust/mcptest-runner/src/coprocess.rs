//! The channel: starts the mcptest binary, then one request at a time.
//!
//! docs/coprocess.md of mcptest is the contract. A thread writes to the binary and two read from it,
//! so that nothing that the binary does or does not do can block a call for longer than its limit.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{json, Map, Value};

use crate::errors::{
    excerpt, excerpt_bytes, excerpt_json, visible, visible_lines, Error, MAY_HAVE_RUN,
};
use crate::json::parse_json;
use crate::words::split_binary;

/// The version of the coprocess protocol that this crate speaks.
pub const COPROCESS_PROTOCOL_VERSION: u32 = 2;

const HANDSHAKE: &str = "coprocess/handshake";
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);
/// Longer times cannot be added to the clock everywhere.
const LONGEST_LIMIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A line of the server, and a little around it.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024 + 64 * 1024;
/// How long a request may be. What is not its params is shorter than 1024 bytes.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;
const MAX_STDERR_BYTES: usize = 4 * 1024;
const MAX_WARNINGS: usize = 100;

/// Options that are methods of `Server`.
const SERVER_OPTIONS: [&str; 8] = [
    "--url",
    "--bearer-env",
    "--header-env",
    "--ca-file",
    "--spec-version",
    "--cwd",
    "--timeout",
    "--start-timeout",
];

/// How often a waiting call looks whether the binary still runs.
const POLL: Duration = Duration::from_millis(50);
/// How long the pipes of a binary that has ended may stay open: its children may hold them.
const DRAIN: Duration = Duration::from_millis(600);

/// One mcptest binary. Threads may share it: their requests are sent one at a time, in order.
pub(crate) struct Coprocess {
    shared: Arc<Shared>,
    limit: Duration,
    binary_version: String,
}

/// What the callers and the threads that read share.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    child: Child,
    /// How and since when it has ended. There is no status where SIGCHLD is ignored.
    exited: Option<(Option<ExitStatus>, Instant)>,
    /// To the thread that writes; its input ends when there is none.
    to_binary: Option<Sender<Vec<u8>>>,
    lines: VecDeque<Line>,
    /// Set at the end of the binary's output: the half line before it.
    half_line: Option<Vec<u8>>,
    stderr: Stderr,
    last_id: u64,
    /// Requests take a ticket and are sent in the order of the tickets.
    next_ticket: u64,
    now_serving: u64,
    is_waiting: bool,
    /// Why nothing more can be asked.
    broken: Option<Error>,
    is_closed: bool,
}

enum Line {
    Whole(Vec<u8>),
    /// The beginning of a line that is too long.
    Overlong(Vec<u8>),
}

#[derive(Default)]
struct Stderr {
    end: Vec<u8>,
    warnings: Vec<String>,
    has_ended: bool,
}

impl Coprocess {
    /// Start the binary with these arguments and variables, and perform the handshake. `limit` is how
    /// long a request waits for the binary if nothing else is said.
    pub(crate) fn start(
        arguments: &[OsString],
        variables: &[(&str, String)],
        limit: Duration,
    ) -> Result<Coprocess, Error> {
        let mut child = spawn_binary(arguments, variables)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (to_binary, lines) = channel();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                child,
                exited: None,
                to_binary: Some(to_binary),
                lines: VecDeque::new(),
                half_line: None,
                stderr: Stderr::default(),
                last_id: 0,
                next_ticket: 0,
                now_serving: 0,
                is_waiting: false,
                broken: None,
                is_closed: false,
            }),
            changed: Condvar::new(),
        });
        // If a thread cannot be started, dropping this kills the binary.
        let mut coprocess =
            Coprocess { shared: Arc::clone(&shared), limit, binary_version: String::new() };
        if let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) {
            let (of_stdout, of_stderr) = (Arc::clone(&shared), shared);
            coprocess.run_thread(move || write_lines(stdin, &lines))?;
            coprocess.run_thread(move || read_lines(stdout, &of_stdout))?;
            coprocess.run_thread(move || read_stderr(stderr, &of_stderr))?;
        }
        coprocess.binary_version = coprocess.handshake()?;
        Ok(coprocess)
    }

    fn run_thread(&self, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let started = thread::Builder::new().name("mcptest".to_owned()).spawn(work);
        started.map(drop).map_err(|error| {
            let message = format!("no thread can be started for the mcptest binary: {error}");
            self.give_up(Error::Binary(message))
        })
    }

    /// The version of the binary, as it said in the handshake.
    pub(crate) fn binary_version(&self) -> &str {
        &self.binary_version
    }

    /// The result of a request.
    pub(crate) fn request(&self, method: &str, params: Option<Value>) -> Result<Value, Error> {
        self.request_within(method, params, self.limit)
    }

    /// The result of a request that may take this long once it has been sent.
    pub(crate) fn request_within(
        &self,
        method: &str,
        params: Option<Value>,
        limit: Duration,
    ) -> Result<Value, Error> {
        let limit = limit.min(LONGEST_LIMIT);
        let params = params.map(|params| params.to_string());
        let size = params.as_ref().map_or(0, String::len);
        if size > MAX_REQUEST_BYTES - 1024 {
            let most = format!("a request has up to {MAX_REQUEST_BYTES}");
            let problem = format!("its params have {size} bytes, and {most}");
            return Err(Error::Arguments(format!("{method} was not sent: {problem}")));
        }
        let turn = self.take_turn(method)?;
        let (id, line) = self.exchange(method, params, limit)?;
        let result = match line {
            Line::Whole(line) => read_response(line, id, method),
            Line::Overlong(line) => {
                let message =
                    format!("the mcptest binary answered {method} with a line of more than");
                let beginning = excerpt_bytes(&line);
                let message =
                    format!("{message} {MAX_LINE_BYTES} bytes; it begins with {beginning}");
                Err(Error::Contract(message))
            }
        };
        if let Err(error @ Error::Contract(_)) = result {
            return Err(self.give_up(error));
        }
        drop(turn);
        result
    }

    /// Shut the binary down; it stops the server. Calls that wait fail.
    pub(crate) fn close(&self) {
        let mut state = self.shared.lock();
        if state.is_closed {
            // Another thread may be closing it.
            drop(self.shared.wait_until(state, SHUTDOWN_LIMIT, State::has_ended));
            return;
        }
        state.is_closed = true;
        // If it is broken, it has been killed, and the calls have said why.
        let mut was_killed = state.broken.is_some() || state.is_waiting;
        if was_killed {
            // The answer to a call that waits is of no use any more.
            state.kill();
        } else {
            let id = state.last_id + 1;
            let shutdown = json!({"jsonrpc": "2.0", "id": id, "method": "mcp.shutdown"});
            state.send(&shutdown.to_string());
        }
        state.to_binary = None;
        // The answer to the shutdown is not needed.
        state.lines.clear();
        self.shared.changed.notify_all();
        state = self.shared.wait_until(state, SHUTDOWN_LIMIT, State::has_ended);
        was_killed |= !state.has_ended();
        state.kill();
        state = self.shared.wait_until(state, DRAIN, |state| state.stderr.has_ended);
        let mut warnings = std::mem::take(&mut state.stderr.warnings);
        let status = state.exited.and_then(|(status, _)| status);
        if let Some(status) = status.filter(|status| !was_killed && !status.success()) {
            warnings.push(format!("the mcptest binary ended with {}", describe_end(status)));
        }
        drop(state);
        self.shared.changed.notify_all();
        // Not `eprintln!`: the test harness would keep it from the user.
        let mut stderr = io::stderr().lock();
        for warning in warnings {
            let _ = writeln!(stderr, "warning: {warning}");
        }
    }

    fn handshake(&self) -> Result<String, Error> {
        let ours = i64::from(COPROCESS_PROTOCOL_VERSION);
        let params = json!({
            "protocol_version": ours,
            "sdk": "rust",
            "sdk_version": env!("CARGO_PKG_VERSION"),
        });
        let version = self.request_within(HANDSHAKE, Some(params), HANDSHAKE_LIMIT);
        let error = match version {
            Ok(result) => match read_handshake(&result) {
                Ok(version) => return Ok(version),
                Err(error) => error,
            },
            Err(error) => match error.refusal() {
                // How a binary without a handshake answers.
                Some(refusal) if refusal.code == -32601 => Error::Version(describe_upgrade(1)),
                Some(refusal) if refusal.code == -32602 => {
                    Error::Version(visible(&refusal.message))
                }
                Some(refusal) => {
                    let code = refusal.code;
                    let message = "the mcptest binary refused the handshake";
                    Error::Contract(format!("{message}: {error} (code {code})"))
                }
                None => error,
            },
        };
        Err(self.give_up(error))
    }

    /// Wait until earlier requests have been answered.
    fn take_turn(&self, method: &str) -> Result<Turn<'_>, Error> {
        let mut state = self.shared.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        loop {
            state.check_usable(method)?;
            if state.now_serving == ticket {
                return Ok(Turn { shared: &self.shared });
            }
            state = self.shared.wait(state);
        }
    }

    /// Send one request and read one line.
    fn exchange(
        &self,
        method: &str,
        params: Option<String>,
        limit: Duration,
    ) -> Result<(u64, Line), Error> {
        let mut state = self.shared.lock();
        state.check_usable(method)?;
        // A line that is already here was written before this request and is not its answer. Before
        // the handshake it is the output of another program, which is reported as such.
        if state.last_id > 0 {
            if let Some(Line::Whole(line) | Line::Overlong(line)) = state.lines.front() {
                let line = excerpt_bytes(line);
                let message = format!("before {method} was sent, there came {line}");
                return Err(self.fail(&mut state, Error::drift(message)));
            }
        }
        state.last_id += 1;
        let id = state.last_id;
        let params = params.map_or(String::new(), |params| format!(",\"params\":{params}"));
        let method_text = Value::from(method);
        state.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method_text}{params}}}"#));
        state.is_waiting = true;
        let deadline = Instant::now() + limit;
        let line = loop {
            if state.is_closed {
                break Err(Error::Closed(format!("closed before {method} was answered")));
            }
            if let Some(line) = state.lines.pop_front() {
                break Ok(line);
            }
            if state.half_line.is_some() || state.has_ended() {
                // Its end and its last words arrive in any order.
                state = self
                    .shared
                    .wait_until(state, DRAIN, |state| state.has_exited() && state.stderr.has_ended);
                break Err(state.describe_death(method));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let limit_s = limit.as_secs_f64();
                let message =
                    format!("the mcptest binary did not answer {method} within {limit_s} s");
                break Err(Error::Timeout(match method {
                    HANDSHAKE => message,
                    _ => format!("{message}; {MAY_HAVE_RUN}"),
                }));
            }
            state = self.shared.wait_for(state, left.min(POLL));
        };
        state.is_waiting = false;
        // The thread that reads waits until there is room for the next line.
        self.shared.changed.notify_all();
        match line {
            Ok(line) => Ok((id, line)),
            Err(error @ Error::Closed(_)) => Err(error),
            Err(error) => Err(self.fail(&mut state, error)),
        }
    }

    /// Ask nothing more of this binary, for this reason.
    pub(crate) fn give_up(&self, error: Error) -> Error {
        self.fail(&mut self.shared.lock(), error)
    }

    /// Kill the binary; every later request fails with the same error.
    fn fail(&self, state: &mut State, error: Error) -> Error {
        let error = state.broken.get_or_insert(error).clone();
        state.kill();
        state.to_binary = None;
        self.shared.changed.notify_all();
        error
    }
}

impl Drop for Coprocess {
    fn drop(&mut self) {
        self.close();
    }
}

/// The right to send a request; the next one has it afterwards.
struct Turn<'a> {
    shared: &'a Shared,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.shared.lock().now_serving += 1;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    fn wait_until<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        limit: Duration,
        is_true: impl Fn(&mut State) -> bool,
    ) -> MutexGuard<'a, State> {
        let deadline = Instant::now() + limit;
        while !is_true(&mut state) && Instant::now() < deadline {
            state = self.wait_for(state, POLL / 5);
        }
        state
    }
}

impl State {
    fn check_usable(&self, method: &str) -> Result<(), Error> {
        if self.is_closed {
            let message = format!("this connection has been closed, so {method} was not sent");
            return Err(Error::Closed(message));
        }
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn send(&self, request: &str) {
        let line = format!("{request}\n").into_bytes();
        // If the thread that writes has ended, so has the binary, which is reported as such.
        if let Some(to_binary) = &self.to_binary {
            let _ = to_binary.send(line);
        }
    }

    fn has_exited(&mut self) -> bool {
        if self.exited.is_none() {
            let status = match self.child.try_wait() {
                Ok(None) => return false,
                Ok(status) => {
                    // What it has left behind.
                    kill_group(&self.child);
                    status
                }
                // It is gone, nobody knows since when: its number may be that of another process.
                Err(_) => None,
            };
            self.exited = Some((status, Instant::now()));
        }
        true
    }

    /// Whether it has exited and its output is complete, as far as that can be known.
    fn has_ended(&mut self) -> bool {
        self.has_exited() && (self.half_line.is_some() || self.is_drained())
    }

    /// Whether it exited so long ago that its own output has been read.
    fn is_drained(&self) -> bool {
        self.exited.is_some_and(|(_, since)| since.elapsed() > DRAIN)
    }

    /// Whether nobody waits for what still comes: a process that outlives the binary writes it.
    fn is_over(&self) -> bool {
        self.exited.is_some() && (self.broken.is_some() || self.is_closed)
    }

    /// The error for a binary that has ended, or has closed its output.
    fn describe_death(&self, method: &str) -> Error {
        let how = match self.exited {
            Some((Some(status), _)) => describe_end(status),
            Some((None, _)) => "how it ended is not known".to_owned(),
            None => "it closed its standard output".to_owned(),
        };
        if let Some(why) = self.describe_usage(method, &how) {
            let end = format!("the mcptest binary ended before it answered {method}: {how}");
            return Error::Binary(format!("{why}\n({end})"));
        }
        let mut message = format!("the mcptest binary ended before it answered {method}: {how}");
        if let Some(half) = self.half_line.as_deref().filter(|half| !half.is_empty()) {
            message += &format!("; it ended in the middle of a line: {}", excerpt_bytes(half));
        }
        let stderr = String::from_utf8_lossy(&self.stderr.end);
        if !stderr.trim().is_empty() {
            message += &format!("; its last words: {}", visible_lines(stderr.trim()));
        }
        Error::Binary(message)
    }

    /// What the binary says of its command line, with the names of this crate; it ends with status 2.
    fn describe_usage(&self, method: &str, how: &str) -> Option<String> {
        if method != HANDSHAKE || how != "exit status 2" {
            return None;
        }
        let stderr = format!("\n{}", String::from_utf8_lossy(&self.stderr.end).trim_end());
        let (_, said) = stderr.split_once("\nerror: ")?;
        let option = said.split([' ', ':']).next().unwrap_or_default();
        let is_ours = SERVER_OPTIONS.contains(&option);
        let name = if is_ours {
            option.replacen("--", ".", 1).replace('-', "_")
        } else {
            option.to_owned()
        };
        Some(visible_lines(&(name + &said[option.len()..])))
    }

    /// Kill the binary, and what it has started in its process group.
    fn kill(&mut self) {
        if self.has_exited() {
            return;
        }
        kill_group(&self.child);
        let _ = self.child.kill();
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.has_exited() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

// The binary

fn spawn_binary(arguments: &[OsString], variables: &[(&str, String)]) -> Result<Child, Error> {
    let words = binary_command()?;
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg("exec")
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(|error| {
        // The error is not one of the system.
        if error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
            return Error::Arguments("no command, path or URL can have a NUL character".to_owned());
        }
        let name = excerpt(&words[0].to_string_lossy());
        let message = format!("the mcptest binary '{name}' cannot be started: {error}");
        Error::Binary(format!("{message}. Install mcptest, or set MCPTEST_BIN to it."))
    })
}

/// The mcptest binary: what `MCPTEST_BIN` names, else `mcptest` on the path.
fn binary_command() -> Result<Vec<OsString>, Error> {
    let named = std::env::var_os("MCPTEST_BIN").unwrap_or_default();
    let Some(text) = named.to_str().map(str::trim) else {
        return Ok(vec![named]);
    };
    if text.is_empty() {
        return Ok(vec!["mcptest".into()]);
    }
    // A path may contain spaces; anything else is split like a command.
    if Path::new(text).exists() {
        return Ok(vec![text.into()]);
    }
    Ok(split_binary(text)?.into_iter().map(OsString::from).collect())
}

#[cfg(unix)]
fn kill_group(child: &Child) {
    extern "C" {
        fn kill(pid: i32, signal: i32) -> i32;
    }
    const SIGKILL: i32 = 9;
    if let Ok(pid) = i32::try_from(child.id()) {
        // SAFETY: `kill` takes two integers and touches no memory. The binary leads the group.
        unsafe { kill(-pid, SIGKILL) };
    }
}

#[cfg(not(unix))]
fn kill_group(_: &Child) {}

fn describe_end(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(number) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let names = [
            (1, "SIGHUP"),
            (2, "SIGINT"),
            (3, "SIGQUIT"),
            (6, "SIGABRT"),
            (9, "SIGKILL"),
            (11, "SIGSEGV"),
            (13, "SIGPIPE"),
            (15, "SIGTERM"),
        ];
        let known = names.iter().find(|(each, _)| *each == number);
        return known
            .map_or(format!("killed by signal {number}"), |(_, name)| format!("killed by {name}"));
    }
    format!("exit status {}", status.code().unwrap_or(-1))
}

// The threads

fn write_lines(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            break;
        }
    }
}

fn read_lines(stdout: ChildStdout, shared: &Shared) {
    let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
    let mut half_line = loop {
        let mut line = Vec::new();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = stdout.by_ref().take(limit).read_until(b'\n', &mut line);
        let is_whole = line.last() == Some(&b'\n');
        if is_whole {
            line.pop();
        }
        let is_overlong = line.len() > MAX_LINE_BYTES;
        if read.is_err() || !(is_whole || is_overlong) {
            break line;
        }
        let is_blank = !is_overlong && line.iter().all(|byte| b" \t\r".contains(byte));
        // One line is read ahead and no more, so that a flood fills the pipe and not the memory.
        let mut state = shared.lock();
        while !is_blank && !state.lines.is_empty() && state.broken.is_none() && !state.is_closed {
            state = shared.wait(state);
        }
        if state.is_over() {
            break Vec::new();
        }
        if is_blank {
            continue;
        }
        if is_overlong {
            line.truncate(MAX_STDERR_BYTES);
            line.shrink_to_fit();
            state.lines.push_back(Line::Overlong(line));
        } else if !state.is_closed && state.broken.is_none() {
            state.lines.push_back(Line::Whole(line));
        }
        shared.changed.notify_all();
        if is_overlong {
            // The rest is not a line. The binary is killed for it.
            return;
        }
    };
    half_line.truncate(MAX_STDERR_BYTES);
    shared.lock().half_line = Some(half_line);
    shared.changed.notify_all();
}

fn read_stderr(mut stderr: ChildStderr, shared: &Shared) {
    let mut chunk = [0; 16 * 1024];
    let mut line = Vec::new();
    loop {
        let count = match stderr.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(count) => count,
            Err(_) => 0,
        };
        let mut state = shared.lock();
        let kept = &mut state.stderr;
        for part in chunk[..count].split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_STDERR_BYTES.saturating_sub(line.len());
            line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                kept.add_line(&line);
                line.clear();
            }
        }
        kept.end.extend_from_slice(&chunk[..count]);
        let surplus = kept.end.len().saturating_sub(MAX_STDERR_BYTES);
        kept.end.drain(..surplus);
        if count == 0 || (state.is_over() && state.is_drained()) {
            let kept = &mut state.stderr;
            kept.add_line(&line);
            kept.has_ended = true;
            shared.changed.notify_all();
            return;
        }
    }
}

impl Stderr {
    fn add_line(&mut self, line: &[u8]) {
        if let Some(text) = line.strip_prefix(b"warning: ") {
            if self.warnings.len() < MAX_WARNINGS {
                self.warnings.push(visible(String::from_utf8_lossy(text).trim_end()));
            }
        }
    }
}

// Answers

/// The result in a response to the request with this id.
fn read_response(line: Vec<u8>, id: u64, method: &str) -> Result<Value, Error> {
    let shown = excerpt_bytes(&line);
    let not_a_response = |why: &str| {
        let message =
            format!("the mcptest binary answered {method} with a line that is not a response");
        let advice =
            "is MCPTEST_BIN the mcptest binary, and does nothing else write to its stdout?";
        Error::Contract(format!("{message}{why}: {shown}; {advice}"))
    };
    let mut response = match parse_json(line) {
        Ok(Value::Object(response)) => response,
        Ok(_) => return Err(not_a_response("")),
        Err(why) => return Err(not_a_response(&format!(" ({why})"))),
    };
    let members = ["jsonrpc", "id", "result", "error"];
    if let Some(key) = response.keys().find(|key| !members.contains(&key.as_str())) {
        let key = excerpt_json(&key.as_str().into());
        return Err(Error::drift(format!("the answer to {method} has the unknown member {key}")));
    }
    let has_result = response.contains_key("result");
    if response.get("jsonrpc") != Some(&"2.0".into())
        || has_result == response.contains_key("error")
    {
        return Err(Error::drift(format!("the answer to {method} is not a response: {shown}")));
    }
    let refusal = match response.get("error") {
        None => None,
        Some(error) => Some(read_error(error).ok_or_else(|| {
            Error::drift(format!("the answer to {method} has an invalid error: {shown}"))
        })?),
    };
    match (response.get("id"), &refusal) {
        (Some(Value::Null), Some(error)) => {
            let message = format!("the mcptest binary could not read {method}: {error}");
            return Err(Error::Contract(message));
        }
        (Some(other), _) if other.as_u64() == Some(id) => {}
        (other, _) => {
            let other = other.map_or("none".to_owned(), excerpt_json);
            return Err(Error::drift(format!("the answer to {method} has another id: {other}")));
        }
    }
    match refusal {
        Some(error) => Err(error),
        None => Ok(response.remove("result").unwrap_or_default()),
    }
}

fn read_error(error: &Value) -> Option<Error> {
    let error = error.as_object()?;
    let is_known = error.keys().all(|key| ["code", "message", "data"].contains(&key.as_str()));
    let code = error.get("code")?.as_i64().filter(|_| is_known)?;
    let message = error.get("message")?.as_str()?;
    let data = error.get("data").cloned().unwrap_or_default();
    Some(Error::refused(code, message.to_owned(), data))
}

/// The version of the binary in its answer to the handshake.
fn read_handshake(result: &Value) -> Result<String, Error> {
    let invalid = || {
        let shown = excerpt_json(result);
        Error::drift(format!("the handshake was answered with {shown}"))
    };
    let theirs = result["protocol_version"].as_i64().ok_or_else(invalid)?;
    if theirs != i64::from(COPROCESS_PROTOCOL_VERSION) {
        return Err(Error::Version(describe_upgrade(theirs)));
    }
    let members = ["protocol_version", "binary_version"];
    let keys = result.as_object().into_iter().flat_map(Map::keys);
    if let Some(key) = keys.into_iter().find(|key| !members.contains(&key.as_str())) {
        let key = excerpt_json(&key.as_str().into());
        return Err(Error::drift(format!("the answer to the handshake has no member {key}")));
    }
    match &result["binary_version"] {
        Value::String(version) => Ok(version.clone()),
        _ => Err(invalid()),
    }
}

fn describe_upgrade(theirs: i64) -> String {
    let ours = COPROCESS_PROTOCOL_VERSION;
    let advice = if theirs < i64::from(ours) {
        "Upgrade the mcptest binary (or pin the SDK to the matching release)."
    } else {
        "Upgrade the rust SDK (or pin the mcptest binary to the matching release)."
    };
    format!("mcptest binary speaks coprocess v{theirs}; this SDK needs v{ours}. {advice}")
}
