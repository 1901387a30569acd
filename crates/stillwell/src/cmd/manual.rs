//! `man`: a manual page for each verb, and an overview.

#![expect(clippy::disallowed_methods, reason = "writes the pages; man(1) shows one on a terminal")]

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command as Process, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Command;
use clap_mangen::Man;

use crate::cmd::documents;
use crate::cmd::print::print;
use host::user_files::replace;
use model::spec::verb_groups::GROUPS;
use model::spec::{ManVerb, command as command_line};
use model::values::exit_code;
use model::values::metric::METRICS;

/// Verbs whose pages list the metrics of --metrics and --export.
const VERBS_WITH_METRICS: [&str; 4] = ["run", "timeit", "bench", "dump"];
const FILES: &str = "\
.SH FILES
.TP
\\fI$XDG_STATE_HOME/stillwell/\\fR
The records of sessions without \\fB\\-o\\fR, and the history. Without XDG_STATE_HOME it is
\\fI~/.local/state/stillwell/\\fR.
";
const EXIT_STATUS: &str = "\
.SH EXIT STATUS
.TP
0
The verb did its work. With \\fB\\-\\-fail\\-on\\fR: nothing is slower.
.TP
1
A check failed, or a part is missing. With \\fB\\-\\-fail\\-on\\fR: something is slower.
.TP
2
A mistake on the command line, an error, or a command that failed.
.TP
3
There is too little data for a finding.
.TP
124
A run took longer than \\fB\\-\\-timeout\\fR.
.TP
130
The session was interrupted.
";

pub fn man(verb: &ManVerb) -> Result<u8> {
    let mut command = command_line();
    // Gives the verbs their full names.
    command.build();
    if let Some(directory) = &verb.dir {
        return write_all(directory, &command);
    }
    let page = match &verb.verb.words[..] {
        [] => overview(&command)?,
        [name, ..] => match command.find_subcommand(name) {
            Some(named) => page_of(named)?,
            None => bail!("man {name}: there is no such verb; `stillwell --help` lists the verbs"),
        },
    };
    if !io::stdout().is_terminal() {
        print(&page)?;
        return Ok(exit_code::SUCCESS);
    }
    if shown_by_man(&page) { Ok(exit_code::SUCCESS) } else { documents::help(&verb.verb) }
}

/// Shows a page with man(1). Returns whether that worked.
fn shown_by_man(page: &str) -> bool {
    let man = Process::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn();
    let Ok(mut man) = man else { return false };
    // A reader who quits early closes the pipe.
    man.stdin.take().map(|mut pipe| pipe.write_all(page.as_bytes()));
    man.wait().is_ok_and(|status| status.success())
}

fn write_all(directory: &Path, command: &Command) -> Result<u8> {
    let shown = directory.display();
    std::fs::create_dir_all(directory).with_context(|| format!("--dir {shown}"))?;
    let mut pages = vec![("stillwell".to_owned(), overview(command)?)];
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        pages.push((format!("stillwell-{}", verb.get_name()), page_of(verb)?));
    }
    for (name, page) in pages {
        let path = directory.join(name + ".1");
        let cannot_write = || format!("--dir {shown}: cannot write {}", path.display());
        replace(&path, 0o666, page.as_bytes()).with_context(cannot_write)?;
    }
    Ok(exit_code::SUCCESS)
}

/// The page of a verb with its actions.
fn page_of(verb: &Command) -> Result<String> {
    let mut page = Vec::new();
    let tool = concat!("stillwell ", env!("CARGO_PKG_VERSION"));
    Man::new(verb.clone()).source(tool).render_title(&mut page)?;
    section(&mut page, verb)?;
    let actions = verb.get_subcommands().filter(|action| !action.is_hide_set());
    actions.into_iter().try_for_each(|action| section(&mut page, action))?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    if VERBS_WITH_METRICS.contains(&verb.get_name()) {
        page += &metrics_section();
    }
    Ok(page + ".SH SEE ALSO\n\\fBstillwell\\fR(1)\n")
}

fn section(page: &mut Vec<u8>, command: &Command) -> io::Result<()> {
    // clap_mangen's own synopsis shows options with values as flags.
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let man = Man::new(command.clone().override_usage(usage));
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    if command.get_long_about().is_some() {
        man.render_description_section(page)?;
    }
    man.render_options_section(page)?;
    if command.get_after_help().is_some() {
        man.render_extra_section(page)?;
    }
    Ok(())
}

/// The page `stillwell` with one line for each verb.
fn overview(command: &Command) -> Result<String> {
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    page += ".SH SYNOPSIS\n\\fBstillwell\\fR \\fIVERB\\fR [...]\n.br\n\
             \\fBstillwell\\fR [\\fIOPTIONS of run\\fR] \\fICOMMAND\\fR...\n\
             .SH DESCRIPTION\n\
             Stillwell measures programs and compares them. It runs them in turns, in random order,\n\
             so that changes of the machine hit all of them alike.\n\
             Without a verb, commands with a blank or a slash are timed:\n\
             \\fBstillwell ./a ./b\\fR means \\fBstillwell run ./a ./b\\fR.\n";
    for (group, verbs) in GROUPS {
        page += &format!(".SH {}\n", group.to_uppercase());
        for name in verbs {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let name = name.replace('-', "\\-");
            let about = about.replace('-', "\\-");
            page += &format!(".TP\n\\fBstillwell\\-{name}\\fR(1)\n{about}\n");
        }
    }
    page += EXIT_STATUS;
    page += FILES;
    page += ".SH SEE ALSO\n\\fBperf\\-stat\\fR(1), \\fBtime\\fR(1)\n";
    Ok(page)
}

/// The metrics of --metrics and of the record, in roff.
fn metrics_section() -> String {
    let mut section = ".SH METRICS\n".to_owned();
    for info in &METRICS {
        section += &format!(
            ".TP\n\\fB{}\\fR (column \\fI{}\\fR)\n{}\n",
            info.name, info.column, info.what
        );
    }
    section.replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built() -> Command {
        let mut command = command_line();
        command.build();
        command
    }

    #[test]
    fn the_page_of_a_verb_has_its_options_and_actions() {
        let command = built();
        let page = |name: &str| page_of(command.find_subcommand(name).unwrap()).unwrap();
        let run = page("run");
        let title = concat!(".TH stillwell-run 1  \"stillwell ", env!("CARGO_PKG_VERSION"), "\"");
        assert!(run.contains(title), "{run}");
        assert!(run.contains("\\-\\-warmup") && run.contains("METRICS"), "{run}");
        assert!(!run.contains("\\-\\-host\\-root"), "hidden");
        let system = page("system");
        assert!(system.contains("\\fBstillwell system tune\\fR [OPTIONS]\n"), "{system}");
        assert!(!system.contains("guard"), "hidden");
    }

    #[test]
    fn the_overview_names_the_page_of_every_visible_verb() {
        let command = built();
        let page = overview(&command).unwrap();
        for verb in command.get_subcommands() {
            let name = format!("stillwell\\-{}\\fR(1)", verb.get_name().replace('-', "\\-"));
            assert_eq!(page.contains(&name), !verb.is_hide_set(), "{name}");
        }
    }

    #[test]
    fn every_page_is_written() {
        let folder = tempfile::tempdir().unwrap();
        write_all(&folder.path().join("man1"), &built()).unwrap();
        let names = std::fs::read_dir(folder.path().join("man1")).unwrap();
        let n_visible: usize = GROUPS.iter().map(|(_, verbs)| verbs.len()).sum();
        assert_eq!(names.count(), n_visible + 1);
    }
}
