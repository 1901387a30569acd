//! `mcp`, as a client sees it: lines of JSON-RPC, right and wrong ones.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bench::{Bench, Record, STILLWELL, send, wait_until};
use crate::documents::check_document;

/// Longest wait for an answer. Only a test that has already failed reaches it.
const DEADLINE: Duration = Duration::from_secs(120);

/// A server and its client.
struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<Value>,
}

impl Client {
    fn start(bench: &Bench) -> Self {
        let mut command = bench.command(STILLWELL);
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let (sender, answers) = channel();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { return };
                // A line that is no JSON ends the test.
                sender.send(serde_json::from_str(&line).unwrap()).ok();
            }
        });
        Self { stdin: server.stdin.take(), server, answers }
    }

    fn line(&mut self, line: &str) {
        let mut stdin = self.stdin.as_ref().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    fn send(&mut self, id: u32, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.line(&message.to_string());
    }

    fn call(&mut self, id: u32, tool: &str, arguments: Value) {
        self.send(id, "tools/call", json!({ "name": tool, "arguments": arguments }));
    }

    fn cancel(&mut self, id: u32) {
        let params = json!({ "requestId": id, "reason": "no longer of interest" });
        let message =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        self.line(&message.to_string());
    }

    #[track_caller]
    fn answer(&self) -> Value {
        self.answers.recv_timeout(DEADLINE).unwrap()
    }

    /// The next answer, which has to be a tool's.
    #[track_caller]
    fn document(&self, id: u32) -> Value {
        let answer = self.answer();
        assert_eq!(answer["id"], id, "{answer:#}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let structured = &answer["result"]["structuredContent"];
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *structured);
        assert_eq!(answer["result"]["isError"], structured["error"].is_object(), "{answer:#}");
        structured.clone()
    }

    /// The exit code of the server, which has to end by itself.
    #[track_caller]
    fn end(&mut self) -> Option<i32> {
        let mut code = None;
        let server = &mut self.server;
        wait_until("the server ends", || {
            let status = server.try_wait().unwrap();
            code = status.and_then(|status| status.code());
            status.is_some()
        });
        code
    }

    /// Closes standard input; then the server ends.
    #[track_caller]
    fn close(mut self) {
        drop(self.stdin.take());
        assert_eq!(self.end(), Some(0));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

#[test]
fn a_client_finds_four_tools_and_measures() {
    let bench = Bench::new();
    let mut client = Client::start(&bench);
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    client.send(1, "initialize", params);
    let found = client.answer();
    assert_eq!(found["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(found["result"]["serverInfo"]["name"], "stillwell");
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.send(2, "tools/list", json!({}));
    let found = client.answer();
    let tools = found["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["measure", "compare", "try", "status"]);
    for tool in &tools {
        let schema = &tool["inputSchema"];
        jsonschema::meta::validate(schema).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&"object".into(), &false.into())
        );
    }
    client.call(3, "measure", json!({ "command": ["true"], "runs": 3 }));
    let found = client.document(3);
    assert_eq!((&found["schema"], &found["exit_code"]), (&"session".into(), &0.into()));
    assert_eq!(found["conclusion"]["measured"][0]["n_runs"], 3);
    assert!(found.get("plan").is_none(), "the record has it");
    // The record has the whole document.
    let record = found["record"].as_str().unwrap();
    let shown = bench.stillwell(&["show", "--json", record]).ends_with(0);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["conclusion"], found["conclusion"]);
    client.call(4, "compare", json!({ "commands": [["true"], ["sleep", "0.05"]], "runs": 12 }));
    let found = client.document(4);
    assert_eq!(found["conclusion"]["verdict"], "slower", "{found:#}");
    client.call(5, "compare", json!({ "records": [record, found["record"]] }));
    assert!(client.document(5)["schema"].is_string());
    client.close();
}

/// No shell reads the words of a command, and none of them is an option.
#[test]
fn the_words_of_a_command_are_only_words() {
    let bench = Bench::new();
    bench.script("show", "#!/bin/sh\nprintf '%s\\n' \"$@\" > seen\n");
    let mut client = Client::start(&bench);
    let words = ["./show", "--json", "$(touch made)", "a'b\"c", "; touch made", "*", ""];
    client.call(1, "measure", json!({ "command": words, "runs": 1 }));
    let found = client.document(1);
    assert_eq!(found["exit_code"], 0, "{found:#}");
    let lines: String = words[1..].iter().map(|word| format!("{word}\n")).collect();
    assert_eq!(bench.read("seen"), lines);
    assert!(!bench.path("made").exists());
    client.close();
}

#[test]
fn mistakes_are_answered_and_the_server_goes_on() {
    let bench = Bench::new();
    let mut client = Client::start(&bench);
    let code = |client: &Client| client.answer()["error"]["code"].as_i64().unwrap();
    client.line("{ no JSON");
    assert_eq!(code(&client), -32700);
    client.line("\u{0}\u{1b}[2J");
    assert_eq!(code(&client), -32700);
    client.line(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#);
    assert_eq!(code(&client), -32600);
    client.line(&format!("\"{}\"", "x".repeat(3 << 20)));
    assert_eq!(code(&client), -32700);
    client.send(1, "resources/list", json!({}));
    assert_eq!(code(&client), -32601);
    client.call(2, "rm", json!({}));
    assert_eq!(code(&client), -32602);
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#);
    client.line("");
    for (id, arguments) in [
        (3, json!({})),
        (4, json!({ "command": "true; false" })),
        (5, json!({ "command": ["true"], "shell": "sh" })),
        (6, json!({ "command": ["true"], "runs": -1 })),
        (7, json!([])),
        (8, json!({ "command": ["true"], "directory": "/nowhere" })),
        (9, json!({ "command": ["true"], "budget": "soon" })),
    ] {
        client.call(id, "measure", arguments.clone());
        let found = client.document(id);
        assert!(found["error"]["message"].is_string(), "{arguments}: {found:#}");
    }
    client.call(10, "measure", json!({ "command": ["/nowhere/program"], "runs": 1 }));
    let found = client.document(10);
    assert_eq!(found["exit_code"], 2, "{found:#}");
    client.send(11, "ping", json!({}));
    assert_eq!(client.answer()["result"], json!({}));
    client.close();
}

/// Two sessions at once would disturb each other: the second one waits. What only reads does not.
#[test]
fn sessions_run_one_after_the_other() {
    let bench = Bench::new();
    bench.script("alone", "#!/bin/sh\nmkdir busy && sleep 0.05 && rmdir busy\n");
    let mut client = Client::start(&bench);
    client.call(1, "measure", json!({ "command": ["./alone"], "runs": 5 }));
    client.call(2, "measure", json!({ "command": ["./alone"], "runs": 5 }));
    client.send(3, "ping", json!({}));
    assert_eq!(client.answer()["id"], 3);
    for id in [1, 2] {
        let found = client.document(id);
        assert_eq!(found["exit_code"], 0, "{found:#}");
    }
    client.close();
}

/// The pids that a script wrote into `pids`, of which some live.
fn living(bench: &Bench) -> usize {
    let pids = bench.read("pids");
    let lives = |pid: &str| std::path::Path::new(&format!("/proc/{pid}")).exists();
    pids.lines().filter(|pid| lives(pid)).count()
}

const SLOW: &str = "#!/bin/sh\necho $$ >> pids\nexec sleep 60\n";

#[test]
fn a_cancelled_session_ends_with_its_commands_and_keeps_its_record() {
    let bench = Bench::new();
    bench.script(
        "quick",
        "#!/bin/sh\necho >> n\n[ $(wc -l < n) -lt 6 ] || { echo $$ >> pids; exec sleep 60; }\n",
    );
    let mut client = Client::start(&bench);
    client.call(1, "measure", json!({ "command": ["./quick"], "runs": 20 }));
    client.call(2, "measure", json!({ "command": ["./quick"], "runs": 20 }));
    wait_until("the slow run has started", || living(&bench) == 1);
    client.cancel(2);
    client.cancel(1);
    wait_until("the run has ended", || living(&bench) == 0);
    // No answer comes for either, and the server goes on.
    client.call(3, "measure", json!({ "command": ["true"], "runs": 1 }));
    assert_eq!(client.document(3)["exit_code"], 0);
    let records = std::fs::read_dir(bench.path("state/stillwell")).unwrap();
    let records = records.map(|it| it.unwrap().path());
    let kept: Vec<_> =
        records.filter(|it| it.extension().is_some_and(|it| it == "swell")).collect();
    let n_rows: Vec<usize> = kept.iter().map(|path| Record::read(path).rows.len()).collect();
    assert!(n_rows.contains(&5) || n_rows.contains(&6), "{n_rows:?}");
    client.close();
}

#[test]
fn the_end_of_the_input_or_a_signal_ends_all_sessions() {
    for signal in [None, Some(Signal::INT), Some(Signal::TERM), Some(Signal::KILL)] {
        let bench = Bench::new();
        bench.script("slow", SLOW);
        let mut client = Client::start(&bench);
        client.call(1, "measure", json!({ "command": ["./slow"], "runs": 20 }));
        wait_until("the run has started", || living(&bench) == 1);
        match signal {
            None => drop(client.stdin.take()),
            Some(signal) => send(client.server.id().try_into().unwrap(), signal),
        }
        let expected = match signal {
            None => Some(0),
            Some(Signal::KILL) => None,
            Some(_) => Some(130),
        };
        assert_eq!(client.end(), expected, "{signal:?}");
        wait_until("the run has ended", || living(&bench) == 0);
    }
}

#[test]
fn the_last_line_needs_no_end() {
    let bench = Bench::new();
    let mut client = Client::start(&bench);
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    client.stdin.take().unwrap().write_all(ping).unwrap();
    assert_eq!(client.answers.recv_timeout(DEADLINE).unwrap()["id"], 1);
    assert_eq!(client.end(), Some(0));
}

/// The tools of a campaign are command lines of this program, whatever it says to them.
#[test]
fn the_tools_of_a_campaign_answer_with_a_document() {
    let bench = Bench::new();
    let mut client = Client::start(&bench);
    client.call(1, "status", json!({ "campaign": "none" }));
    let found = client.document(1);
    assert_eq!(found["exit_code"], 2, "{found:#}");
    client.call(2, "try", json!({ "campaign": "none", "name": "a", "command": ["true"] }));
    let mut found = client.document(2);
    assert_eq!(found["exit_code"], 2, "{found:#}");
    found.as_object_mut().unwrap().remove("exit_code");
    check_document("run", &found);
    client.close();
}
