//! The manual: every command of its `console` blocks runs, and says what the page shows. `make bless` writes the outputs.
//!
//! Times and counts differ from run to run, so only the words of each answer are compared, up to its first empty line.
//! Where the answer depends on the machine, `<!-- varies -->` stands before the block: then only what its lines begin
//! with is. `<!-- before: COMMAND -->` in a page makes what the next block needs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Bench, STILLWELL};

/// Stands between the output of a command and its exit status.
const MARK: char = '\u{1}';

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// What a page has to run, in order.
enum Part<'a> {
    /// Text that stays as it is.
    Text(&'a str),
    Before(&'a str),
    /// The commands of a block, and what the page says of each.
    Block(Vec<(&'a str, String)>),
}

fn parts(page: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = page;
    while let Some(at) =
        [rest.find("<!-- before: "), rest.find("```console\n")].into_iter().flatten().min()
    {
        let (text, found) = rest.split_at(at);
        parts.push(Part::Text(text));
        let end = if found.starts_with('<') { "-->\n" } else { "\n```\n" };
        let (inside, after) = found.split_once(end).expect("it ends");
        parts.push(match inside.strip_prefix("<!-- before: ") {
            Some(command) => Part::Before(command.trim()),
            None => Part::Block(commands(inside.strip_prefix("```console\n").unwrap())),
        });
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts
}

fn commands(block: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command, String::new())),
            (None, Some((_, said))) => *said += &format!("{line}\n"),
            (None, None) => panic!("output before a command: {line}"),
        }
    }
    found
}

/// Runs all commands of a page in one shell; the output and exit status of each.
fn run(bench: &Bench, commands: &[&str]) -> Vec<(String, i32)> {
    let quoted = |command: &str| format!("'{}'", command.replace('\'', r"'\''"));
    let script: String = commands
        .iter()
        .map(|command| {
            format!("eval {}; s=$?; printf '{MARK}%d{MARK}' $s; (exit $s)\n", quoted(command))
        })
        .collect();
    let mut shell: Command = bench.command("bash");
    let programs = Path::new(STILLWELL).parent().unwrap().display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    shell
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .env("PATH", path)
        .env("HOME", bench.path(""));
    shell.env_remove("XDG_STATE_HOME").env_remove("XDG_CACHE_HOME").env("LC_ALL", "C.UTF-8");
    let output = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    let mut fields = output.split(MARK);
    let mut ran = Vec::new();
    while let (Some(said), Some(status)) = (fields.next(), fields.next()) {
        ran.push((without_progress(said), status.parse().unwrap()));
    }
    assert_eq!(ran.len(), commands.len(), "{output}");
    ran
}

/// An answer without lines of progress, which only slow sessions have.
fn without_progress(said: &str) -> String {
    let is_progress = |line: &&str| line.starts_with("stillwell: block ");
    said.split_inclusive('\n').filter(|line| !is_progress(line)).collect()
}

/// Whether the machine was too busy for the answer that the page shows. That is no fault of the page.
fn was_too_busy(said: &str) -> bool {
    // Beside a busy core, t0 is only a limit, and fewer blocks fit.
    said.starts_with("cannot tell yet") || said.contains("at most ")
}

/// What the lines of an answer begin with: `record:`, `gate:`. A note, or a CPU that is quieter than the others, is there
/// or not, as the machine is.
fn labels(said: &str) -> Vec<String> {
    let first_words = said.lines().filter_map(|line| line.split(' ').next());
    let is_always = |it: &&str| it.ends_with(':') && !["note:", "quietest:"].contains(it);
    first_words.filter(is_always).map(str::to_owned).collect()
}

/// The words of an answer without its numbers, units and the breaks of its lines.
fn words(said: &str) -> Vec<String> {
    let answer = said.split("\n\n").next().unwrap();
    let is_word = |word: &&str| word.chars().all(|it| it.is_alphabetic() || "-,.:=/_".contains(it));
    let units = ["ns", "µs", "ms", "s", "min", "KiB", "MiB"];
    let words = answer.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
    words.filter(is_word).filter(|word| !units.contains(word)).map(str::to_owned).collect()
}

/// Runs a page. Returns it with the real outputs, and what differs in words.
fn ran(name: &str) -> (String, Vec<String>) {
    let bench = Bench::new();
    let text = std::fs::read_to_string(page(name)).unwrap();
    let parts = parts(&text);
    let mut all = Vec::new();
    for part in &parts {
        match part {
            Part::Text(_) => {}
            Part::Before(command) => all.push(*command),
            Part::Block(block) => all.extend(block.iter().map(|(command, _)| *command)),
        }
    }
    let mut outputs = run(&bench, &all).into_iter();
    let (mut page, mut differ) = (String::new(), Vec::new());
    let mut compared: fn(&str) -> Vec<String> = words;
    for part in &parts {
        match part {
            Part::Text(text) => {
                page += text;
                compared = if text.ends_with("<!-- varies -->\n") { labels } else { words };
            }
            Part::Before(command) => {
                let (said, status) = outputs.next().unwrap();
                assert_eq!(status, 0, "{name}: {command}: {said}");
                page += &format!("<!-- before: {command} -->\n");
            }
            Part::Block(block) => {
                page += "```console\n";
                for (at, (command, shown)) in block.iter().enumerate() {
                    let (said, status) = outputs.next().unwrap();
                    let is_asked = block.get(at + 1).is_some_and(|(next, _)| *next == "echo $?");
                    let is_answer = status == 0 || (is_asked && status != 2);
                    let is_as_shown = compared(&said) == compared(shown) || was_too_busy(&said);
                    if !is_answer || !is_as_shown {
                        differ.push(format!(
                            "$ {command}\n{said}[ends with {status}]\nshown:\n{shown}"
                        ));
                    }
                    page += &format!("$ {command}\n{}", said.trim_end());
                    page += if said.trim().is_empty() { "" } else { "\n" };
                }
                page += "```\n";
            }
        }
    }
    (page, differ)
}

#[track_caller]
fn check(name: &str) {
    let (should, differ) = ran(name);
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        std::fs::write(page(name), should).unwrap();
        return;
    }
    assert!(
        differ.is_empty(),
        "docs/{name} is out of date; run `make bless`:\n{}",
        differ.join("\n")
    );
}

mod long {
    #[test]
    fn the_tutorial_says_what_happens() {
        super::check("tutorial.md");
    }
}

#[test]
fn the_recipes_say_what_happens() {
    check("recipes.md");
}

/// Every page is in the table of contents, and every page there exists.
#[test]
fn the_contents_have_every_page() {
    let contents = std::fs::read_to_string(page("SUMMARY.md")).unwrap();
    let mut named: Vec<&str> =
        contents.split("](").skip(1).filter_map(|it| it.split(')').next()).collect();
    named.sort_unstable();
    // A folder has the pages of one chapter.
    let below = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(page(folder)).unwrap().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|it| it.ends_with(".md")).map(|it| format!("{folder}{it}")).collect()
    };
    let mut pages = [below(""), below("frameworks/")].concat();
    pages.retain(|it| it != "SUMMARY.md");
    pages.sort_unstable();
    assert_eq!(named, pages);
}
