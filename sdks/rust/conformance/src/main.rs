//! The adapter of the SDK for Rust: plays the scenarios of protocol/coprocess/kit.

use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;

use mcptest_runner::internal::{join_words, open_client, parse_json, split_binary};
use mcptest_runner::{
    connect, json, lane_cli_hint, CacheMode, Cassette, Client, Error, Listing, Outcome, Server,
    Status, Suite, Value, Verdict, UNSUPPORTED_SDK_LANES,
};

/// What a scenario has opened.
enum Opened {
    Client(Client),
    Suite(Suite),
    Nothing,
}

fn main() {
    for line in io::stdin().lock().split(b'\n') {
        let line = line.expect("standard input can be read");
        // Half a surrogate pair in a scenario is replaced, as in an answer.
        let scenario = parse_json(line).expect("a scenario is JSON");
        let answer = json!({"name": scenario["name"], "did": play(&scenario)});
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{answer}").and_then(|()| stdout.flush()).expect("it is read");
    }
}

fn play(scenario: &Value) -> Vec<Value> {
    let mut opened = match open(scenario) {
        Ok(opened) => opened,
        Err(error) => return vec![describe_error(&error)],
    };
    let version = match &opened {
        Opened::Client(client) => Some(client.binary_version()),
        Opened::Suite(suite) => Some(suite.binary_version()),
        Opened::Nothing => None,
    };
    let mut did: Vec<Value> = version.iter().map(|version| json!({"opened": version})).collect();
    for step in array(&scenario["do"]) {
        if step.get("forget").is_some() {
            std::mem::forget(std::mem::replace(&mut opened, Opened::Nothing));
            did.push(json!({"forgotten": true}));
        } else {
            did.push(run_step(&opened, step));
        }
    }
    did
}

fn open(scenario: &Value) -> Result<Opened, Error> {
    let words: Vec<&str> = array(&scenario["command"]).iter().filter_map(Value::as_str).collect();
    let server = Server::command(words);
    Ok(match text(&scenario["open"]) {
        "connect" => Opened::Client(connect(with_options(server, &scenario["options"]))?),
        "suite" => Opened::Suite(Suite::open(text(&scenario["file"]))?),
        "coprocess" => Opened::Client(open_client(&server, millis(&scenario["timeout_ms"]))?),
        _ => Opened::Nothing,
    })
}

fn with_options(mut server: Server, options: &Value) -> Server {
    for (name, value) in options.as_object().into_iter().flatten() {
        server = match name.as_str() {
            "timeout_ms" => server.timeout(millis(value).expect("a time")),
            "start_timeout_ms" => server.start_timeout(millis(value).expect("a time")),
            "revision" => server.spec_version(text(value)),
            "cache" => server.cache(cache_mode(text(value))),
            "record" => server.record(text(value)),
            "replay" => server.replay(text(value)),
            "cwd" => server.cwd(text(value)),
            "env" => fold(server, value, |server, name, value| server.env(name, value)),
            "secrets" => array(value).iter().fold(server, |server, name| server.secret(text(name))),
            "url" => server.url(text(value)),
            "bearer_env" => server.bearer_env(text(value)),
            "header_env" => {
                fold(server, value, |server, name, value| server.header_env(name, value))
            }
            "ca_file" => server.ca_file(text(value)),
            other => panic!("there is no option {other}"),
        };
    }
    server
}

fn fold(server: Server, members: &Value, add: impl Fn(Server, &str, &str) -> Server) -> Server {
    let members = members.as_object().into_iter().flatten();
    members.fold(server, |server, (name, value)| add(server, name, text(value)))
}

fn run_step(opened: &Opened, step: &Value) -> Value {
    thread::sleep(millis(&step["after_ms"]).unwrap_or_default());
    let members = step.as_object().expect("a step is an object");
    let mut verbs =
        members.iter().filter(|(name, _)| !["after_ms", "cancel_ms"].contains(&name.as_str()));
    let (verb, given) = verbs.next().expect("a step has a verb");
    if verb == "parallel" {
        let did: Vec<Value> = thread::scope(|scope| {
            let start = |each| scope.spawn(move || run_step(opened, each));
            let threads: Vec<_> = array(given).iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        return json!({"parallel": did});
    }
    if step.get("cancel_ms").is_some() || verb == "bad_call" {
        return json!({"error": {"kind": "unsupported", "message": "there is no such thing in Rust"}});
    }
    let did = match opened {
        Opened::Client(client) => ask_client(client, verb, given),
        Opened::Suite(suite) => ask_suite(suite, verb, given),
        Opened::Nothing => ask_nothing(verb, given),
    };
    did.unwrap_or_else(|error| describe_error(&error))
}

fn ask_client(client: &Client, verb: &str, given: &Value) -> Result<Value, Error> {
    let result = match verb {
        "request" => client.request(text(&given["method"]), given.get("params").cloned())?,
        "call" => {
            let arguments = given["arguments"].clone();
            return client.call_tool(text(&given["tool"]), arguments).map(describe_verdict);
        }
        "list_tools" => client.list_tools()?.into(),
        "list_resources" => client.list_resources()?.into(),
        "read_resource" => client.read_resource(text(&given["uri"]))?,
        "get_prompt" => client.get_prompt(text(&given["name"]), given["arguments"].clone())?,
        "initialize" => client.initialize()?,
        "set_cache" => client.set_cache(cache_mode(text(&given["mode"])))?.into(),
        "set_cassette" => {
            let path = text(&given["path"]).into();
            let cassette = match text(&given["mode"]) {
                "record" => Cassette::Record(path),
                "replay" => Cassette::Replay(path),
                _ => Cassette::Off,
            };
            client.set_cassette(cassette)?.into()
        }
        "upload_to" => client.upload_to(text(&given["target"]))?.into(),
        "stop_uploads" => client.stop_uploads()?.into(),
        "flush" => client.flush()?.into(),
        "close" => {
            client.close();
            return Ok(json!({"closed": true}));
        }
        other => panic!("a client has no {other}"),
    };
    Ok(json!({"result": result}))
}

fn ask_suite(suite: &Suite, verb: &str, given: &Value) -> Result<Value, Error> {
    match verb {
        "list" => suite.list().map(describe_listing),
        "run" => suite.run(text(&given["id"])).map(describe_outcome),
        "close" => {
            suite.close();
            Ok(json!({"closed": true}))
        }
        other => panic!("a suite has no {other}"),
    }
}

fn ask_nothing(verb: &str, given: &Value) -> Result<Value, Error> {
    let result = match verb {
        "lanes" => json!(UNSUPPORTED_SDK_LANES),
        "lane" => {
            let suite = given.get("suite").map(text);
            lane_cli_hint(text(&given["lane"]), suite).into()
        }
        "quote" => {
            let words: Vec<&str> = array(given).iter().map(text).collect();
            join_words(&words).into()
        }
        "split" => split_binary(text(given))?.into(),
        other => panic!("there is no {other}"),
    };
    Ok(json!({"result": result}))
}

fn describe_error(error: &Error) -> Value {
    let kind = match error {
        Error::Binary(_) => "binary",
        Error::Timeout(_) => "timeout",
        Error::Contract(_) => "contract",
        Error::Version(_) => "version",
        Error::Closed(_) => "closed",
        Error::Upstream(_) => "upstream",
        Error::UpstreamGone(_) => "upstream_gone",
        Error::Refused(_) => "refused",
        Error::Arguments(_) => "arguments",
        _ => "unsupported",
    };
    let mut described = json!({"kind": kind, "message": error.to_string()});
    if let Some(refusal) = error.refusal() {
        described["code"] = refusal.code.into();
        described["said"] = refusal.message.as_str().into();
        described["data"] = refusal.data.clone();
    }
    json!({"error": described})
}

fn describe_verdict(verdict: Verdict) -> Value {
    json!({"verdict": {
        "success": verdict.success,
        "text": verdict.text,
        "data": verdict.data,
        "error": verdict.error,
        "duration_ms": in_millis(verdict.duration),
        "raw": verdict.raw,
    }})
}

fn describe_listing(listing: Listing) -> Value {
    let tests = listing.tests.iter().map(|test| {
        json!({
            "id": test.id, "server": test.server, "name": test.name, "file": test.file,
            "line": test.line, "tags": test.tags, "skip": test.skip,
            "limit_ms": test.limit.as_millis() as u64,
        })
    });
    let lanes = listing.lanes.iter().map(|lane| json!({"lane": lane.lane, "line": lane.line}));
    let left = listing.left.iter().map(|left| json!({"name": left.name, "reason": left.reason}));
    json!({"result": {
        "file": listing.file,
        "tests": tests.collect::<Value>(),
        "lanes": lanes.collect::<Value>(),
        "left": left.collect::<Value>(),
        "warnings": listing.warnings,
    }})
}

fn describe_outcome(outcome: Outcome) -> Value {
    let status = match outcome.status {
        Status::Passed => "passed",
        Status::Failed => "failed",
        Status::Error => "error",
        Status::Skipped => "skipped",
    };
    json!({"result": {
        "status": status,
        "text": outcome.text,
        "file": outcome.file,
        "line": outcome.line,
        "duration_ms": in_millis(outcome.duration),
        "notes": outcome.notes,
    }})
}

fn cache_mode(mode: &str) -> CacheMode {
    match mode {
        "off" => CacheMode::Off,
        "read_write" => CacheMode::ReadWrite,
        "read_only" => CacheMode::ReadOnly,
        "refresh" => CacheMode::Refresh,
        other => panic!("there is no mode {other}"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn in_millis(time: Duration) -> f64 {
    time.as_millis() as f64 + f64::from(time.subsec_nanos() % 1_000_000) / 1e6
}

fn millis(value: &Value) -> Option<Duration> {
    value.as_u64().map(Duration::from_millis)
}
