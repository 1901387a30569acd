//! Several simultaneous copies: their CPUs and throughput.

use crate::columns::wrap;
use crate::text::SummaryContext;
use crate::uncertain;
use analysis::throughput;

/// Appends the number of copies in a run of each command, and how many end in a second.
pub(super) fn append(out: &mut String, page: &SummaryContext<'_>) {
    let Some(copies) = &page.plan.copies else { return };
    let (n, n_cpus) = (copies.n as usize, copies.n_cpus);
    let cpus = match (n_cpus, if n_cpus == 1 { "CPU" } else { "CPUs" }) {
        (0, _) => String::new(),
        (_, cpus) if n_cpus < n => format!(" on {n_cpus} {cpus}, which they share"),
        _ if copies.cpus.iter().any(|own| own.len() > 1) => ", each on CPUs of its own".into(),
        _ => ", each on a CPU of its own".into(),
    };
    let rate = |arm: usize| {
        let time = page.compared.get(arm)?;
        let rate = uncertain::significant(throughput(page.plan, time.value)?, 3);
        let least = if time.is_upper_limit { "at least " } else { "" };
        Some(format!("{least}{rate} a second"))
    };
    let is_alone = page.candidates().count() == 1;
    let rates = page.candidates().filter_map(|arm| {
        let name = if is_alone { String::new() } else { format!(" of {}", page.names[arm.arm]) };
        Some(rate(arm.arm)? + &name)
    });
    let rates: Vec<String> = rates.collect();
    let rates = if rates.is_empty() {
        String::new()
    } else {
        format!("; throughput: {}", rates.join(", "))
    };
    wrap(out, "", 0, &format!("a run is {n} copies at the same time{cpus}{rates}"));
}
