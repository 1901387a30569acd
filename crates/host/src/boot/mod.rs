//! `system boot`: kernel parameters that keep noise off some CPUs until the next reboot, and which of them the running
//! kernel has (Documentation/admin-guide/kernel-parameters.rst, kernel/sched/isolation.c).

mod entry;

use serde::Serialize;

use crate::{CommandLine, CpuRow, Host, Recommendation, recommend};
use model::prose::{Prose, prose};
use model::values::{format_cpu_list, name_cpus};

pub use entry::remove_entry;

/// Kernel parameters for a machine.
#[derive(Debug, Serialize)]
pub struct BootAdvice {
    pub cpus: Vec<usize>,
    /// The CPUs for everything else.
    pub others: Vec<usize>,
    /// Why these CPUs were chosen, if the user named none; pieces of a sentence.
    pub recommended: Option<Recommendation>,
    /// The recommended parameters, in the order of the command line.
    pub parameters: Vec<BootParameter>,
    /// The missing or different parameters, as text for the command line.
    pub line: String,
    pub warnings: Vec<String>,
}

impl BootAdvice {
    /// Recommends kernel parameters for this machine. Errors: the CPUs cannot be isolated, or no CPU can be
    /// recommended.
    pub fn new(
        host: &Host,
        table: &[CpuRow],
        asked: Option<&[usize]>,
        no_smt: bool,
    ) -> Result<Self, Prose> {
        let recommendation = recommend(table);
        let (cpus, recommended) = match asked {
            Some(asked) => (check(table, asked)?, None),
            None if recommendation.cpus.is_empty() => {
                let why = recommendation.why.join(", ");
                return Err(prose![
                    "no CPU can be recommended for benchmarks: {why}; name some with " Affinity " LIST"
                ]);
            }
            None => (recommendation.cpus.clone(), Some(recommendation)),
        };
        let online = table.iter().filter(|row| row.online).map(|row| row.cpu);
        let others: Vec<usize> = online.filter(|cpu| !cpus.contains(cpu)).collect();
        let running = Running::read(host);
        let mut parameters = parameters(&running, &cpus, &others);
        parameters.extend(no_smt.then(|| smt(&running)));
        let missing = parameters.iter().filter(|parameter| {
            matches!(parameter.now, BootState::Missing | BootState::Different { .. })
        });
        let line = missing.map(|p| p.text.as_str()).collect::<Vec<_>>().join(" ");
        Ok(Self {
            warnings: warnings(table, &cpus, no_smt),
            cpus,
            others,
            recommended,
            line,
            parameters,
        })
    }
}

/// Checks that the CPUs exist, that none is in the boot CPU's core, and that other CPUs remain.
fn check(table: &[CpuRow], asked: &[usize]) -> Result<Vec<usize>, Prose> {
    let online: Vec<usize> = table.iter().filter(|row| row.online).map(|row| row.cpu).collect();
    let list = format_cpu_list(asked);
    if let Some(cpu) = asked.iter().find(|cpu| !online.contains(cpu)) {
        let online = format_cpu_list(&online);
        return Err(prose!["CPU {cpu} is not online; the CPUs of this machine are {online}"]);
    }
    if asked.contains(&0) {
        return Err(prose![
            Affinity " {list} contains CPU 0, where the kernel boots and does its own work; leave it to everything else"
        ]);
    }
    Ok(asked.to_vec())
}

fn warnings(table: &[CpuRow], cpus: &[usize], no_smt: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let chosen = || table.iter().filter(|row| cpus.contains(&row.cpu));
    let mut split: Vec<usize> = chosen().flat_map(|row| row.siblings.iter().copied()).collect();
    split.retain(|cpu| !cpus.contains(cpu));
    split.sort_unstable();
    split.dedup();
    if !split.is_empty() && !no_smt {
        warnings.push(format!(
            "sibling threads are left to everything else: {}; name both threads of a core, or boot with --no-smt",
            name_cpus(&split)
        ));
    }
    let differ = |key: &dyn Fn(&CpuRow) -> Option<usize>| {
        chosen().any(|row| key(row) != chosen().next().and_then(key))
    };
    if differ(&|row| Some(row.node)) {
        warnings
            .push("these CPUs are of several NUMA nodes; times depend on which one runs".into());
    }
    if differ(&|row| row.class.map(|class| class as usize)) {
        warnings.push("these CPUs are of several kinds; times depend on which one runs".into());
    }
    if cpus.len() > 1 {
        warnings.push(
            "the scheduler does not spread threads over isolated CPUs: a benchmark with several threads has to bind each of \
             them, or all run on one CPU"
                .into(),
        );
    }
    warnings
}

struct Running {
    line: CommandLine,
    cpu_last: usize,
    /// `None` if the kernel is built without it.
    nohz: Option<Vec<usize>>,
    isolated: Vec<usize>,
}

impl Running {
    fn read(host: &Host) -> Self {
        let line = CommandLine::read(host);
        let possible = host.read_cpus("sys/devices/system/cpu/possible").unwrap_or_default();
        Self {
            cpu_last: possible.last().copied().unwrap_or(0),
            nohz: host.read_cpus("sys/devices/system/cpu/nohz_full"),
            isolated: host.read_cpus("sys/devices/system/cpu/isolated").unwrap_or_default(),
            line,
        }
    }

    /// State of a parameter with a list of CPUs.
    fn list(&self, name: &str, cpus: &[usize]) -> BootState {
        match self.line.value(name) {
            None => BootState::Missing,
            Some(_) if self.line.cpus(name, self.cpu_last) == cpus => BootState::Set,
            Some(value) => BootState::Different { value: format!("{name}={value}") },
        }
    }

    fn isolcpus(&self, cpus: &[usize]) -> BootState {
        let Some(value) = self.line.value("isolcpus") else { return BootState::Missing };
        let is_set = self.line.isolated().is_some_and(|found| found.domain && found.managed_irq);
        match is_set && self.isolated == cpus {
            true => BootState::Set,
            false => BootState::Different { value: format!("isolcpus={value}") },
        }
    }

    fn nohz_full(&self, cpus: &[usize]) -> BootState {
        match &self.nohz {
            None => BootState::Unsupported,
            Some(nohz) if nohz == cpus => BootState::Set,
            Some(_) => match self.line.value("nohz_full") {
                Some(value) => BootState::Different { value: format!("nohz_full={value}") },
                None => BootState::Missing,
            },
        }
    }

    /// State of `rcu_nocbs=`, which `nohz_full=` implies (kernel/rcu/tree_nocb.h, `rcu_init_nohz`).
    fn rcu_nocbs(&self, cpus: &[usize], nohz_full: &BootState) -> BootState {
        let set = self.line.cpus("rcu_nocbs", self.cpu_last);
        if cpus.iter().all(|cpu| set.contains(cpu)) {
            return BootState::Set;
        }
        match nohz_full {
            BootState::Unsupported => self.list("rcu_nocbs", cpus),
            _ => BootState::Implied { by: "nohz_full=".into() },
        }
    }
}

fn parameters(running: &Running, cpus: &[usize], others: &[usize]) -> Vec<BootParameter> {
    let (list, others_list) = (format_cpu_list(cpus), format_cpu_list(others));
    let nohz_full = running.nohz_full(cpus);
    vec![
        BootParameter {
            text: format!("isolcpus=managed_irq,domain,{list}"),
            what: "the scheduler puts nothing on these CPUs by itself, and the queues of disks and network cards \
                   interrupt others where they can",
            cost: "the CPUs are lost to everything that is not bound to them, until the next boot",
            now: running.isolcpus(cpus),
        },
        BootParameter {
            text: format!("nohz_full={list}"),
            what: "no tick 100 to 1000 times a second while one task runs alone on a CPU; its list must be that of \
                   isolcpus=",
            cost: "each system call takes longer, because the kernel counts time there instead",
            now: nohz_full.clone(),
        },
        BootParameter {
            text: format!("rcu_nocbs={list}"),
            what: "the kernel's deferred frees (RCU callbacks) run on other CPUs",
            cost: "a little more work for those",
            now: running.rcu_nocbs(cpus, &nohz_full),
        },
        BootParameter {
            text: format!("irqaffinity={others_list}"),
            what: "interrupts of devices go to the other CPUs from the start; irqbalance and some drivers change that later",
            cost: "those CPUs get all of them",
            now: running.list("irqaffinity", others),
        },
    ]
}

fn smt(running: &Running) -> BootParameter {
    BootParameter {
        text: "nosmt".into(),
        what: "one thread of each core, so that no sibling takes part of it; `nosmt=force` could not be undone without a boot",
        cost: "a third or so of the machine's throughput, and the numbers of the CPUs have holes",
        now: match running.line.value("nosmt") {
            Some(_) => BootState::Set,
            None => BootState::Missing,
        },
    }
}

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootParameter {
    /// Text on the command line.
    pub text: String,
    /// The noise that the parameter removes.
    pub what: &'static str,
    pub cost: &'static str,
    pub now: BootState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootState {
    Set,
    /// Another parameter has the same effect.
    Implied {
        by: String,
    },
    Different {
        value: String,
    },
    Missing,
    /// This kernel is built without the parameter and ignores it.
    Unsupported,
}
