//! The output of `system boot`.

use std::fmt::Write as _;

use crate::Styles;
use crate::columns::wrap;
use crate::system::heading;
use host::{BootAdvice, BootParameter, BootState};
use model::values::{format_cpu_list, name_cpus};

/// Lists the parameters with a note on each, and the line that sets them.
pub fn text(advice: &BootAdvice, styles: &Styles) -> String {
    let mut out = String::new();
    let (cpus, others) = (name_cpus(&advice.cpus), name_cpus(&advice.others));
    let why = advice.recommended.as_ref().map(|choice| format!(" ({})", choice.why.join(", ")));
    let head =
        format!("benchmarks on {cpus}{}; everything else on {others}", why.unwrap_or_default());
    wrap(&mut out, "", 0, &head);
    for warning in &advice.warnings {
        wrap(&mut out, "note: ", 6, warning);
    }
    out.push('\n');
    heading(&mut out, styles, "boot with", "");
    advice.parameters.iter().for_each(|parameter| block(&mut out, parameter));
    out.push('\n');
    if advice.line.is_empty() {
        out.push_str("all of it is set already\n");
        return out;
    }
    heading(&mut out, styles, "add to the kernel's command line", "");
    // Without line breaks, so that the user can copy it.
    writeln!(out, "  {}\n", advice.line).ok();
    let list = format_cpu_list(&advice.cpus);
    let after = format!(
        "docs/machine.md says how, with each boot loader. Then reboot; `stillwell system boot --cpus {list}` says what is set."
    );
    wrap(&mut out, "", 0, &after);
    out
}

/// Says whether an entry was removed.
pub fn entry_removed(path: Option<&str>) -> String {
    match path {
        Some(path) => format!("the entry was removed from /{path}\n"),
        None => "there is no entry of stillwell\n".into(),
    }
}

fn block(out: &mut String, parameter: &BootParameter) {
    let now = match &parameter.now {
        BootState::Set => "set".to_owned(),
        BootState::Implied { by } => format!("not needed, {by} does it"),
        BootState::Different { value } => format!("now {value}"),
        BootState::Missing => "not set".to_owned(),
        BootState::Unsupported => "this kernel is built without it".to_owned(),
    };
    writeln!(out, "  {}  [{now}]", parameter.text).ok();
    wrap(out, "      ", 6, parameter.what);
    wrap(out, "      ", 6, &format!("costs: {}", parameter.cost));
}
