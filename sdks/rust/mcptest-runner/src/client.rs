//! Connecting to a server, and its calls.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{json, Value};

use crate::coprocess::Coprocess;
use crate::errors::{excerpt, excerpt_json, Error};
use crate::verdict::{read_verdict, Verdict};
use crate::words::join_words;

const USUAL_TIMEOUT: Duration = Duration::from_secs(30);
/// That of package runners.
const LONGEST_USUAL_START: Duration = Duration::from_secs(20);
/// The limit of the binary ends first, so that it can report what it saw.
const SLACK: Duration = Duration::from_secs(15);

/// A server under test: how it is started or reached, and how it is asked.
#[derive(Clone, Debug, Default)]
pub struct Server {
    command: Vec<OsString>,
    url: String,
    bearer_env: String,
    header_env: Vec<(String, String)>,
    ca_file: PathBuf,
    spec_version: String,
    cwd: PathBuf,
    env: Variables,
    secrets: Vec<String>,
    timeout: Option<Duration>,
    start_timeout: Option<Duration>,
    cache: Option<CacheMode>,
    cassette: Option<Cassette>,
}

impl Server {
    /// A server that this command starts. It is run without a shell.
    pub fn command<I>(words: I) -> Server
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let command = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        Server { command, ..Server::default() }
    }

    /// A server on HTTP that is running, such as `http://127.0.0.1:3001/mcp`.
    pub fn at(url: impl Into<String>) -> Server {
        Server { url: url.into(), ..Server::default() }
    }

    /// The URL at which the command serves HTTP; `{port}` in both is a free port.
    pub fn url(self, url: impl Into<String>) -> Server {
        Server { url: url.into(), ..self }
    }

    /// The environment variable with the token for the URL.
    pub fn bearer_env(self, variable: impl Into<String>) -> Server {
        Server { bearer_env: variable.into(), ..self }
    }

    /// A header for the URL, with the environment variable of its value.
    pub fn header_env(mut self, header: impl Into<String>, variable: impl Into<String>) -> Server {
        self.header_env.push((header.into(), variable.into()));
        self
    }

    /// Additional CA certificates to trust (PEM).
    pub fn ca_file(self, path: impl Into<PathBuf>) -> Server {
        Server { ca_file: path.into(), ..self }
    }

    /// The protocol revision to use, such as `2025-06-18` (default: auto-negotiate).
    pub fn spec_version(self, revision: impl Into<String>) -> Server {
        Server { spec_version: revision.into(), ..self }
    }

    /// The working folder of the server (default: the current folder).
    pub fn cwd(self, path: impl Into<PathBuf>) -> Server {
        Server { cwd: path.into(), ..self }
    }

    /// An additional environment variable of the server.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Server {
        self.env.0.insert(name.into(), value.into());
        self
    }

    /// Several additional environment variables of the server.
    pub fn envs<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Server
    where
        N: Into<String>,
        V: Into<String>,
    {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.env.0.extend(variables);
        self
    }

    /// Names a variable whose value is hidden in all messages, besides those with names such as
    /// `SHOP_TOKEN`. It has been set with [`env`](Server::env), or the server gets it from the
    /// environment of this process.
    pub fn secret(mut self, name: impl Into<String>) -> Server {
        self.secrets.push(name.into());
        self
    }

    /// The time limit for each answer of the server (default: 30 s).
    pub fn timeout(self, limit: Duration) -> Server {
        Server { timeout: Some(limit), ..self }
    }

    /// The time limit for the server to be ready (default: 5 s, 20 s for package runners).
    pub fn start_timeout(self, limit: Duration) -> Server {
        Server { start_timeout: Some(limit), ..self }
    }

    /// Cache results of tools, from the start.
    pub fn cache(self, mode: CacheMode) -> Server {
        Server { cache: Some(mode), ..self }
    }

    /// Write every request and answer to this file, the cassette.
    pub fn record(self, path: impl Into<PathBuf>) -> Server {
        Server { cassette: Some(Cassette::Record(path.into())), ..self }
    }

    /// Answer from this cassette without starting the server.
    pub fn replay(self, path: impl Into<PathBuf>) -> Server {
        Server { cassette: Some(Cassette::Replay(path.into())), ..self }
    }

    /// Report mistakes that are better explained here than by the binary.
    fn check_places(&self, is_running: bool) -> Result<(), Error> {
        let given = [
            (".env", !self.env.0.is_empty()),
            (".secret", !self.secrets.is_empty()),
            (".cwd", self.cwd != Path::new("")),
        ];
        if let Some((method, _)) = given.iter().find(|(_, is_given)| is_running && *is_given) {
            return Err(Error::Arguments(format!(
                "{method} is for a server that is started, and this one is only reached by its \
                 URL: describe it with Server::command(…).url(…), or leave {method} out"
            )));
        }
        if self.cwd != Path::new("") && !self.cwd.is_dir() {
            let path = excerpt(&self.cwd.to_string_lossy());
            let mut message = format!(".cwd: there is no folder '{path}'");
            if let (true, Ok(here)) = (self.cwd.is_relative(), std::env::current_dir()) {
                message += &format!(" in {}", here.display());
            }
            return Err(Error::Arguments(message));
        }
        let bearer = (".bearer_env", &self.bearer_env);
        let headers = self.header_env.iter().map(|(_, variable)| (".header_env", variable));
        for (method, variable) in headers.chain([bearer]).filter(|(_, name)| !name.is_empty()) {
            // A name that is not one is for the binary to report.
            if !variable.contains(['=', '\0']) && std::env::var_os(variable).is_none() {
                let name = excerpt(variable);
                return Err(Error::Arguments(format!(
                    "{method} names the environment variable {name}, which is not set: set it in \
                     the environment of the tests"
                )));
            }
        }
        Ok(())
    }

    /// The arguments of `mcptest exec`.
    fn arguments(&self) -> Result<Vec<OsString>, Error> {
        let mut arguments = vec![OsString::from("--connection-server")];
        let mut add = |option: &str, value: OsString| {
            if !value.is_empty() {
                arguments.extend([OsString::from(option), value]);
            }
        };
        let words: Option<Vec<&str>> = self.command.iter().map(|word| word.to_str()).collect();
        let Some(words) = words else {
            return Err(Error::Arguments("a word of the command is not UTF-8".to_owned()));
        };
        if self.url.is_empty() && words.first().map_or(true, |word| word.is_empty()) {
            return Err(Error::Arguments("there is no server: its command is empty".to_owned()));
        }
        self.check_places(words.is_empty())?;
        add("--server-command", join_words(&words).into());
        add("--url", self.url.clone().into());
        add("--bearer-env", self.bearer_env.clone().into());
        for (header, variable) in &self.header_env {
            add("--header-env", format!("{header}={variable}").into());
        }
        add("--ca-file", self.ca_file.clone().into());
        add("--spec-version", self.spec_version.clone().into());
        add("--cwd", self.cwd.clone().into());
        for (option, limit) in
            [("--timeout", self.timeout), ("--start-timeout", self.start_timeout)]
        {
            match limit {
                Some(limit) if limit < Duration::from_millis(1) => {
                    let message = format!("a limit of {limit:?} is too short for an answer");
                    return Err(Error::Arguments(message));
                }
                Some(limit) => add(option, format!("{}ms", limit.as_millis()).into()),
                None => {}
            }
        }
        Ok(arguments)
    }

    /// How long a request may wait for the binary, which may have to start the server for it.
    fn limit(&self) -> Duration {
        let start = self.start_timeout.unwrap_or(LONGEST_USUAL_START);
        self.timeout.unwrap_or(USUAL_TIMEOUT).saturating_add(start).saturating_add(SLACK)
    }

    /// The variables of the binary.
    fn variables(&self) -> Result<Vec<(&'static str, String)>, Error> {
        if self.env.0.is_empty() && self.secrets.is_empty() {
            return Ok(Vec::new());
        }
        let mut set = self.env.0.clone();
        for name in &self.secrets {
            if set.contains_key(name) {
                continue;
            }
            check_variable(name, "")?;
            let value = std::env::var(name).map_err(|error| {
                let shown = excerpt(name);
                let why = match error {
                    std::env::VarError::NotPresent => "is not set",
                    std::env::VarError::NotUnicode(_) => "is not UTF-8",
                };
                Error::Arguments(format!(
                    ".secret names the variable {shown}, which {why}: give it a value with \
                     .env(\"{shown}\", …), or in the environment of the tests"
                ))
            })?;
            set.insert(name.clone(), value);
        }
        for (name, value) in &set {
            check_variable(name, value)?;
        }
        let value = json!({"set": set, "secrets": self.secrets});
        Ok(vec![("MCPTEST_SERVER_ENV", value.to_string())])
    }
}

/// Whether a process can have this variable. The value is not shown.
pub(crate) fn check_variable(name: &str, value: &str) -> Result<(), Error> {
    if name.is_empty() || name.contains(['=', '\0']) {
        let name = excerpt(name);
        return Err(Error::Arguments(format!("'{name}' cannot be the name of a variable")));
    }
    if value.contains('\0') {
        let name = excerpt(name);
        return Err(Error::Arguments(format!("the value of {name} has a null character")));
    }
    Ok(())
}

/// Variables of the server. `Debug` shows their names only: values may be secrets.
#[derive(Clone, Default)]
pub(crate) struct Variables(pub(crate) BTreeMap<String, String>);

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// How results of tools are cached across connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMode {
    /// Every call goes to the server.
    Off,
    /// Cached results are used, new ones are cached.
    ReadWrite,
    /// Cached results are used, new ones are not cached.
    ReadOnly,
    /// Every call goes to the server, and its result is cached.
    Refresh,
}

/// Whether requests and answers are recorded or replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cassette {
    /// Neither.
    Off,
    /// Every request and answer is written to this file.
    Record(PathBuf),
    /// Requests are answered from this file, without the server.
    Replay(PathBuf),
}

/// Start the binary and the server, and perform the handshake with both.
pub fn connect(server: Server) -> Result<Client, Error> {
    let client = open_client(&server, None)?;
    if let Some(mode) = server.cache {
        client.set_cache(mode)?;
    }
    if let Some(cassette) = server.cassette {
        client.set_cassette(cassette)?;
    }
    client.initialize()?;
    Ok(client)
}

/// Start the binary only. `limit` is how long a request may wait for it.
pub fn open_client(server: &Server, limit: Option<Duration>) -> Result<Client, Error> {
    let limit = limit.unwrap_or_else(|| server.limit());
    let coprocess = Coprocess::start(&server.arguments()?, &server.variables()?, limit)?;
    Ok(Client { coprocess })
}

/// A server that has been connected to. It is stopped when this is dropped.
///
/// Threads may share it: their calls are sent one at a time, in order. A client in a `static`, which
/// is never dropped, ends with the process.
pub struct Client {
    coprocess: Coprocess,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.binary_version();
        f.debug_struct("Client").field("binary_version", &version).finish_non_exhaustive()
    }
}

impl Client {
    /// Call a tool with arguments, an object; `()` for none. An error that the tool reports is a
    /// verdict without success.
    pub fn call_tool(&self, name: &str, arguments: impl Into<Value>) -> Result<Verdict, Error> {
        let arguments = check_arguments(arguments.into())?.unwrap_or_else(|| json!({}));
        let params = json!({"tool": name, "arguments": arguments});
        let began = Instant::now();
        let result = self.coprocess.request("mcp.call", Some(params))?;
        read_verdict(result, began.elapsed())
    }

    /// All tools, of all pages.
    pub fn list_tools(&self) -> Result<Vec<Value>, Error> {
        self.request_list("mcp.listTools", "tools")
    }

    /// All resources, of all pages.
    pub fn list_resources(&self) -> Result<Vec<Value>, Error> {
        self.request_list("mcp.listResources", "resources")
    }

    /// The server's answer to `resources/read`.
    pub fn read_resource(&self, uri: &str) -> Result<Value, Error> {
        self.request_object("mcp.readResource", Some(json!({"uri": uri})))
    }

    /// The server's answer to `prompts/get`; the arguments are an object, or `()` for none.
    pub fn get_prompt(&self, name: &str, arguments: impl Into<Value>) -> Result<Value, Error> {
        let mut params = json!({"name": name});
        if let Some(arguments) = check_arguments(arguments.into())? {
            params["arguments"] = arguments;
        }
        self.request_object("mcp.callPrompt", Some(params))
    }

    /// The server's answer to `initialize`, which is not repeated.
    pub fn initialize(&self) -> Result<Value, Error> {
        self.request_object("mcp.initialize", None)
    }

    /// Cache results of tools from now on.
    pub fn set_cache(&self, mode: CacheMode) -> Result<(), Error> {
        let mode = match mode {
            CacheMode::Off => "off",
            CacheMode::ReadWrite => "read_write",
            CacheMode::ReadOnly => "read_only",
            CacheMode::Refresh => "refresh",
        };
        self.request_object("mcp.cache.set_mode", Some(json!({"mode": mode}))).map(drop)
    }

    /// Record or replay from now on.
    pub fn set_cassette(&self, cassette: Cassette) -> Result<(), Error> {
        let (mode, path) = match &cassette {
            Cassette::Off => ("off", None),
            Cassette::Record(path) => ("record", Some(path)),
            Cassette::Replay(path) => ("replay", Some(path)),
        };
        let mut params = json!({"mode": mode});
        if let Some(path) = path {
            params["path"] = check_path(path)?.into();
        }
        self.request_object("mcp.cassette.set_mode", Some(params)).map(drop)
    }

    /// Have calls delivered to a `file:` or HTTP target by [`flush`](Client::flush), and at the end.
    pub fn upload_to(&self, target: &str) -> Result<(), Error> {
        let params = json!({"enabled": true, "target": target});
        self.request_object("mcp.reporter.setUpload", Some(params)).map(drop)
    }

    /// Queue no further calls; those that are queued are still delivered.
    pub fn stop_uploads(&self) -> Result<(), Error> {
        self.request_object("mcp.reporter.setUpload", Some(json!({"enabled": false}))).map(drop)
    }

    /// Deliver the calls since the last time; how many there were.
    pub fn flush(&self) -> Result<u64, Error> {
        let method = "mcp.reporter.flush";
        let result = self.request_object(method, None)?;
        result["flushed"].as_u64().ok_or_else(|| unexpected(method, &result))
    }

    /// Stop the server now. A call that waits in another thread fails with [`Error::Closed`].
    pub fn close(&self) {
        self.coprocess.close();
    }

    /// The version of the mcptest binary.
    pub fn binary_version(&self) -> &str {
        self.coprocess.binary_version()
    }

    /// Any request of the channel, for the conformance adapter.
    #[doc(hidden)]
    pub fn request(&self, method: &str, params: Option<Value>) -> Result<Value, Error> {
        self.coprocess.request(method, params)
    }

    fn request_object(&self, method: &str, params: Option<Value>) -> Result<Value, Error> {
        let result = self.coprocess.request(method, params)?;
        if result.is_object() {
            return Ok(result);
        }
        Err(unexpected(method, &result))
    }

    fn request_list(&self, method: &str, key: &str) -> Result<Vec<Value>, Error> {
        match self.request_object(method, None)?[key].take() {
            Value::Array(entries) => Ok(entries),
            other => Err(unexpected(method, &other)),
        }
    }
}

fn unexpected(method: &str, result: &Value) -> Error {
    Error::drift(format!("the result of {method} cannot be {}", excerpt_json(result)))
}

/// An object; `None` if there are no arguments.
fn check_arguments(arguments: Value) -> Result<Option<Value>, Error> {
    match arguments {
        Value::Null => Ok(None),
        Value::Object(_) => Ok(Some(arguments)),
        other => {
            let message = format!("arguments are an object, not {}", excerpt_json(&other));
            Err(Error::Arguments(message))
        }
    }
}

fn check_path(path: &Path) -> Result<&str, Error> {
    let not_utf8 = || Error::Arguments(format!("the path {} is not UTF-8", path.display()));
    path.to_str().ok_or_else(not_utf8)
}

#[cfg(test)]
mod tests {
    use super::{Duration, Server};

    #[test]
    fn the_limits_of_the_binary_end_first() {
        let server = Server::command(["npx", "shelf"]);
        let limit = |server: &Server| server.limit().as_secs();
        assert_eq!(limit(&server), 30 + 20 + 15);
        let server = server.timeout(Duration::from_secs(1));
        assert_eq!(limit(&server), 1 + 20 + 15);
        let server = server.start_timeout(Duration::from_secs(90));
        assert_eq!(limit(&server), 1 + 90 + 15);
        assert_eq!(server.timeout(Duration::MAX).limit(), Duration::MAX);
    }
}
