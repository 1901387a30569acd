//! This machine's limits of nice levels and real-time policies.

use crate::{Gap, Host, shield};
use model::prose::prose;
use model::values::Sched;

/// Under autogroups a nice level counts only within a session.
pub const NICE: &str = "a nice level that counts against other terminals";
/// The kernel throttles a real-time program that never sleeps.
pub const REAL_TIME: &str = "a real-time policy without pauses";

/// Gaps that concern the reader of the times. `is_shielded`: no other programs use the CPUs.
pub fn caveats(
    host: &Host,
    nice: Option<i32>,
    sched: Option<Sched>,
    is_shielded: bool,
) -> Vec<Gap> {
    let is_real_time = matches!(sched, Some(Sched::Fifo(_) | Sched::Rr(_)));
    [
        autogroups(host).filter(|_| nice.is_some_and(|nice| nice < 0) && !is_shielded),
        real_time(host, is_shielded).filter(|_| is_real_time),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// sched(7), "The autogroup feature".
fn autogroups(host: &Host) -> Option<Gap> {
    let autogroup = host.read("proc/sys/kernel/sched_autogroup_enabled")?;
    (autogroup == "1").then(|| Gap {
        what: NICE.into(),
        why: "kernel.sched_autogroup_enabled is 1, so a nice level counts only among the commands of one terminal".into(),
        fix: prose!["use " Isolate ", or run `stillwell system tune --only autogroup`"],
    })
}

/// Documentation/scheduler/sched-rt-group.rst. From Linux 6.12 on the time goes to a fair server, and only if a program
/// waits (kernel/sched/fair.c, `fair_server_init`).
fn real_time(host: &Host, is_shielded: bool) -> Option<Gap> {
    let has_fair_server = shield::find(host).kernel >= (6, 12);
    let (gives, fix) = match has_fair_server {
        true if is_shielded => return None,
        true => (
            "other programs that wait get 50 ms of each second of a CPU that a real-time program holds".into(),
            prose!["use " Isolate ", where nothing else waits"],
        ),
        false => {
            let limit = |name| host.read_value::<i64>(format!("proc/sys/kernel/sched_rt_{name}_us"));
            let (runtime_us, period_us) = (limit("runtime")?, limit("period")?);
            if runtime_us < 0 || runtime_us >= period_us {
                return None;
            }
            (
                format!(
                    "the kernel stops real-time programs for {} ms of each {} ms (kernel.sched_rt_runtime_us)",
                    (period_us - runtime_us) / 1000,
                    period_us / 1000
                ),
                prose!["use " Isolate " without " Sched ", or run `stillwell system tune --only rt-throttling`"],
            )
        }
    };
    Some(Gap { what: REAL_TIME.into(), why: gives, fix })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand;

    #[track_caller]
    fn check(
        release: &str,
        nice: Option<i32>,
        sched: Option<Sched>,
        shielded: bool,
        what: &[&str],
    ) {
        let (_directory, host) = expand(&format!(
            "proc/sys/kernel/osrelease = {release}\nproc/sys/kernel/sched_autogroup_enabled = 1\n\
             proc/sys/kernel/sched_rt_runtime_us = 950000\nproc/sys/kernel/sched_rt_period_us = 1000000\n"
        ));
        let found = caveats(&host, nice, sched, shielded);
        let found: Vec<&str> = found.iter().map(|gap| gap.what.as_str()).collect();
        assert_eq!(found, what, "{release} {nice:?} {sched:?} {shielded}");
    }

    #[test]
    fn only_what_bites() {
        let fifo = Some(Sched::Fifo(10));
        check("6.1.0", None, None, false, &[]);
        check("6.1.0", Some(5), Some(Sched::Batch), false, &[]);
        check("6.1.0", Some(-5), fifo, false, &[NICE, REAL_TIME]);
        check("6.1.0", Some(-5), fifo, true, &[REAL_TIME]);
        check("6.12.0", Some(-5), fifo, false, &[NICE, REAL_TIME]);
        check("6.12.0", None, fifo, true, &[]);
    }
}
