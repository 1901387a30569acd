//! The scripts of the action for GitHub, with a made-up server in the place of GitHub.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::bench::{Bench, skipped};

/// Whether there is curl and jq, as on a runner.
fn has_tools(bench: &Bench) -> bool {
    let has = |program: &str| bench.command(program).arg("--version").output().is_ok();
    let has_all = has("curl") && has("jq");
    if !has_all {
        skipped("there is no curl or no jq");
    }
    has_all
}

fn script(bench: &Bench, name: &str, variables: &[(&str, &str)]) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci").join(name);
    let mut command: Command = bench.command("sh");
    command.arg(path).env("no_proxy", "*").envs(variables.iter().copied()).output().unwrap()
}

/// An archive as `packaging/archive` makes it, with a program that is a script. Returns its path and checksum.
fn archive(bench: &Bench) -> (PathBuf, String) {
    std::fs::create_dir_all(bench.path("stillwell-0.1.0/bin")).unwrap();
    bench.script("stillwell-0.1.0/bin/stillwell", "#!/bin/sh\necho it is me\n");
    let mut tar = bench.command("tar");
    let done = tar.args(["-czf", "release.tar.gz", "stillwell-0.1.0"]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let path = bench.path("release.tar.gz");
    let digest = Sha256::digest(std::fs::read(&path).unwrap());
    (path, digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[test]
fn an_archive_is_unpacked_only_with_its_checksum() {
    let bench = Bench::new();
    if !has_tools(&bench) {
        return;
    }
    let (path, sum) = archive(&bench);
    let address = format!("file://{}", path.display());
    let install = |to: &str, sum: &str| {
        let to = bench.path(to).display().to_string();
        script(&bench, "install", &[("TO", &to), ("ARCHIVE", &address), ("SHA256", sum)])
    };
    for (sum, why) in [("", "SHA256 is missing"), ("0000", "has the checksum")] {
        let done = install("wrong", sum);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && said.contains(why), "{said}");
        assert!(
            !bench.path("wrong/bin/stillwell").exists() && !bench.path("wrong/archive").exists()
        );
    }
    // The second time it is there, and nothing is fetched.
    for _ in 0..2 {
        let done = install("right", &sum);
        assert!(done.status.success(), "{done:?}");
        std::fs::remove_file(&path).ok();
    }
    let said = Command::new(bench.path("right/bin/stillwell")).output().unwrap().stdout;
    assert_eq!(said, b"it is me\n");
}

/// A request: its first line, whether it had the token, and its body.
type Request = (String, bool, Value);

/// Answers each request with the next of these: a status and a body. Returns the address and what was asked.
fn server(answers: Vec<(u16, Value)>) -> (String, JoinHandle<Vec<Request>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serve = move || {
        let answer = |(status, body): (u16, Value)| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                lines.push(line.trim().to_owned());
            }
            let n_bytes = lines.iter().find_map(|line| {
                line.to_lowercase().strip_prefix("content-length: ")?.parse().ok()
            });
            let mut bytes = vec![0; n_bytes.unwrap_or(0)];
            reader.read_exact(&mut bytes).unwrap();
            let body = body.to_string();
            write!(
                stream,
                "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            let has_token = lines.contains(&"Authorization: Bearer secret".to_owned());
            let asked = serde_json::from_slice(&bytes).unwrap_or_default();
            (lines[0].trim_end_matches(" HTTP/1.1").to_owned(), has_token, asked)
        };
        answers.into_iter().map(answer).collect()
    };
    (address, std::thread::spawn(serve))
}

/// What the script says, and what it asked the server.
fn comment(bench: &Bench, answers: Vec<(u16, Value)>) -> (String, Vec<Request>) {
    let (address, served) = server(answers);
    let variables = [
        ("FILE", "gate.md"),
        ("REPOSITORY", "a/b"),
        ("NUMBER", "7"),
        ("TOKEN", "secret"),
        ("GITHUB_API_URL", &address),
    ];
    let done = script(bench, "comment", &variables);
    assert!(done.status.success(), "{done:?}");
    (String::from_utf8(done.stdout).unwrap(), served.join().unwrap())
}

#[test]
fn the_comment_of_a_pull_request_is_replaced() {
    let bench = Bench::new();
    if !has_tools(&bench) {
        return;
    }
    bench.write("gate.md", "### Benchmarks: pass\n`\"x\"` & more\n");
    let text = "<!-- stillwell gate -->\n### Benchmarks: pass\n`\"x\"` & more\n";
    let list = "GET /repos/a/b/issues/7/comments?per_page=100&page=1".to_owned();
    let (said, asked) = comment(&bench, vec![(200, json!([])), (201, json!({}))]);
    let post = ("POST /repos/a/b/issues/7/comments".to_owned(), true, json!({ "body": text }));
    assert_eq!((said.as_str(), &asked), ("", &vec![(list.clone(), true, Value::Null), post]));
    // The one before, behind a page of others.
    let mut others = vec![json!({ "id": 1, "body": "nice" }); 100];
    others[3] = json!({ "id": 4, "body": text });
    let answers = vec![(200, others.into()), (200, json!([])), (200, json!({}))];
    let (_, asked) = comment(&bench, answers);
    let patch = "PATCH /repos/a/b/issues/comments/4".to_owned();
    assert_eq!(asked[2], (patch, true, json!({ "body": text })));
}

/// The token of a job of a fork may only read.
#[test]
fn a_comment_that_is_refused_is_no_failure() {
    let bench = Bench::new();
    if !has_tools(&bench) {
        return;
    }
    bench.write("gate.md", "x\n");
    let (said, _) = comment(&bench, vec![(200, json!([])), (403, json!({}))]);
    assert!(said.contains("no comment on pull request 7: ") && said.contains("403"), "{said}");
    assert!(said.contains("the summary of the job has it"), "{said}");
}
