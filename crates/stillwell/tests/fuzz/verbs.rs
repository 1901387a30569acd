//! Verbs end to end: a command line and its input file.

use std::path::Path;

use clap::Parser as _;

use crate::cmd::fuzz::readers::folder_of;
use crate::cmd::{self, usage};
use host::terminal;
use model::spec::Cli;

/// Command lines for an input without one. These verbs read a file and write only to standard output.
const LINES: [&str; 18] = [
    "show FILE",
    "show --json FILE",
    "show --fail-on slower:2 FILE",
    "stats FILE",
    "stats --json FILE",
    "hist FILE",
    "hist --bins 3 --log --ascii FILE",
    "check FILE",
    "check --json FILE",
    "dump FILE",
    "dump --format json FILE",
    "dump --format text FILE",
    "metadata FILE",
    "slowest FILE",
    "noise FILE",
    "compare FILE",
    "compare --distributions FILE",
    "compare FILE FILE",
];
/// Options that write a file, or read another one than the input.
const ELSEWHERE: [&str; 6] = ["--export", "--report", "--db", "--output", "--host-root", "--raw"];
/// Placeholder of the file in a command line.
const FILE: &str = "FILE";

/// The first line may be a command line with words separated by blanks; the rest is the file.
pub fn verbs(bytes: &[u8]) {
    terminal::mute();
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let first = String::from_utf8_lossy(&bytes[..end]);
    let is_verb = |line: &&str| first.split(' ').next() == line.split(' ').next();
    let (line, content) = match LINES.iter().any(is_verb) {
        true => (&*first, bytes.get(end + 1..).unwrap_or_default()),
        false => (LINES[bytes.len() % LINES.len()], bytes),
    };
    let Some(folder) = folder_of("file", content) else { return };
    let file = folder.path().join("file");
    let words = words(line, &file);
    // Without a file, a verb reads the newest record of this user.
    let has_file = words[1..].iter().any(|word| Path::new(word) == file);
    if has_file && !words.iter().any(|word| is_elsewhere(word)) {
        match Cli::try_parse_from(&words) {
            Ok(cli) => drop(cmd::execute(cli.verb)),
            Err(error) if usage::is_answer(&error) => {}
            Err(error) => drop(usage::mistake(&error, &words)),
        }
    }
}

fn is_elsewhere(word: &str) -> bool {
    let has_short = word.starts_with('-') && !word.starts_with("--") && word.contains('o');
    has_short || word == "-" || ELSEWHERE.iter().any(|option| word.starts_with(option))
}

fn words(line: &str, file: &Path) -> Vec<String> {
    let file = file.display().to_string();
    let words = line.split_whitespace().map(|word| if word == FILE { &*file } else { word });
    std::iter::once("stillwell").chain(words).map(String::from).collect()
}
