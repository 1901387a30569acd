//! `man` and `completions`: what clap makes of the command line's definition.

use anyhow::Result;
use clap::CommandFactory as _;

use crate::spec::Cli;
use crate::values::metric::METRICS;

/// One page with all verbs: `stillwell man | man -l -`.
pub fn man() -> Result<u8> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    // Gives the verbs their full names.
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for verb in command.get_subcommands() {
        section(&mut page, verb)?;
        // `system` has actions of its own.
        verb.get_subcommands().try_for_each(|action| section(&mut page, action))?;
    }
    page.extend(metrics_section().bytes());
    super::print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}

fn section(page: &mut Vec<u8>, verb: &clap::Command) -> std::io::Result<()> {
    let man = clap_mangen::Man::new(verb.clone());
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_options_section(page)
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

/// The completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stillwell", &mut script);
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
