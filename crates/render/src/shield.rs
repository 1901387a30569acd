//! Describes a shield in words.

use crate::units::counted;
use host::shield::{Isolation, ShieldKind};
use model::values::name_cpus;

/// Describes the isolation in one sentence.
pub fn sentence(isolation: &Isolation) -> String {
    let (free, bound) = (isolation.shielded_cpus(), isolation.bound_cpus());
    if !isolation.how.is_shield() {
        return match bound.is_empty() {
            true => "no CPU is kept free".into(),
            false => format!("the commands run on {}, which is not kept free", name_cpus(&bound)),
        };
    }
    let by = by(isolation);
    let idle: Vec<usize> = free.iter().copied().filter(|cpu| !bound.contains(cpu)).collect();
    let idle = match idle.is_empty() {
        true => String::new(),
        false => format!(", and {} idle", if idle.len() == 1 { "its sibling" } else { "the rest" }),
    };
    let left = left(isolation).map(|left| format!("; {left}")).unwrap_or_default();
    format!(
        "{} kept free by {by}; the commands run on {}{idle}{left}",
        cpus(&free),
        name_cpus(&bound)
    )
}

/// Returns `CPU 1 is`, or the plural.
pub fn cpus(cpus: &[usize]) -> String {
    format!("{} {}", name_cpus(cpus), if cpus.len() == 1 { "is" } else { "are" })
}

fn by(isolation: &Isolation) -> String {
    match (&isolation.partition, isolation.how) {
        (Some(partition), _) => format!("{} ({partition})", isolation.how.name()),
        (None, how) => how.name().into(),
    }
}

/// The tasks, kernel threads and interrupts that may still run on the CPUs.
fn left(isolation: &Isolation) -> Option<String> {
    let count = |n: u32, what: &str| (n > 0).then(|| counted(n as usize, what));
    let left: Vec<String> = [
        count(isolation.n_tasks_left, "task"),
        count(isolation.n_kernel_threads_left, "kernel thread"),
        count(isolation.n_irqs_left, "interrupt"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!left.is_empty()).then(|| format!("{} may still run there", left.join(", ")))
}

/// Describes the isolation in full. `lost`: the reason for its loss.
pub fn text(isolation: &Isolation, lost: Option<&str>) -> String {
    let free = isolation.shielded_cpus();
    let mut text = match lost {
        None => format!("{} kept free by {}\n", cpus(&free), by(isolation)),
        Some(why) => format!("the shield of {} was lost: {why}\n", name_cpus(&free)),
    };
    if let Some(others) = &isolation.others {
        let others = model::values::parse_cpu_list(others).unwrap_or_default();
        text += &format!("everything else is on {}\n", name_cpus(&others));
    }
    let left = left(isolation);
    text += &match (left, isolation.how) {
        (Some(left), _) => format!("{left}\n"),
        (None, ShieldKind::Boot | ShieldKind::Affinity) => String::new(),
        (None, _) => "nothing else may run there but what the kernel has on each CPU\n".into(),
    };
    for note in &isolation.notes {
        text += &format!("note: {note}\n");
    }
    text
}

/// States the number of files that the shield changed.
pub fn turned(n_set: usize) -> String {
    let files = counted(n_set, "file");
    format!("{files} changed for it; `stillwell shield off` puts everything back\n")
}

/// The process for whose time a shield was made.
pub struct ShieldOwner {
    pub pid: u32,
    pub is_alive: bool,
}

/// Names the owner of the shield and tells how long it lasts.
pub fn owner(owner: Option<ShieldOwner>) -> String {
    match owner {
        None => "until `stillwell shield off` or the next boot\n".into(),
        Some(ShieldOwner { pid, is_alive: true }) => format!("until process {pid} ends\n"),
        Some(ShieldOwner { pid, is_alive: false }) => {
            format!(
                "process {pid}, whose it was, has ended; `stillwell shield off` gives it back\n"
            )
        }
    }
}
