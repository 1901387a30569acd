//! Measures how fast the core is just now: is its other hardware thread busy?
//!
//! On a virtual machine another guest may run there. Neither steal time nor any counter of a guest shows that, and a
//! program then takes up to 1.6 times as long. But a chain of additions takes one cycle each, whoever else uses the
//! core, and four chains at a time need four of its units. So four chains take as long as one on an unshared core, and
//! longer if another program uses the units too. The clock frequency cancels.

/// CPU times of the probe's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreProbe {
    /// CPU time of one chain of additions, ns.
    pub one_chain_ns: u64,
    /// CPU time of four chains of the same length at a time, ns.
    pub four_chains_ns: u64,
    /// CPU time of the whole probe, ns.
    pub all_ns: u64,
}

/// Additions in a chain: 4 µs at 3 GHz. Reading the clock takes a twentieth of that.
const ROUNDS: u64 = 750;
/// After a sleep, the core runs slower for some 4 µs.
const WARM_UP_ROUNDS: u64 = ROUNDS;

/// CPU time of this thread, ns.
fn cpu_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Computes until this thread has used this much more CPU time, and returns the actual amount. It needs no memory and
/// allocates nothing, so a child can call it before exec.
pub fn use_cpu(least_ns: u64) -> u64 {
    let start_ns = cpu_ns();
    loop {
        let used_ns = cpu_ns().saturating_sub(start_ns);
        if used_ns >= least_ns {
            return used_ns;
        }
    }
}

/// Times the core; `None` if the CPU's units are unknown. It takes some 12 µs, needs no memory and allocates nothing,
/// so a child can call it before exec.
pub fn probe_core() -> Option<CoreProbe> {
    if cfg!(not(target_arch = "x86_64")) {
        return None;
    }
    let start_ns = cpu_ns();
    one_chain(WARM_UP_ROUNDS);
    let warm_ns = cpu_ns();
    one_chain(ROUNDS);
    let between_ns = cpu_ns();
    four_chains(ROUNDS);
    let end_ns = cpu_ns();
    Some(CoreProbe {
        one_chain_ns: between_ns.saturating_sub(warm_ns),
        four_chains_ns: end_ns.saturating_sub(between_ns),
        all_ns: end_ns.saturating_sub(start_ns),
    })
}

/// Additions that each wait for the one before, 16 a round.
#[cfg(target_arch = "x86_64")]
fn one_chain(rounds: u64) {
    // SAFETY: the code changes the named registers only.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            "add {a}, {step}",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            a = inout(reg) 1_u64 => _,
            step = in(reg) 3_u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
}

/// Four chains at a time.
#[cfg(target_arch = "x86_64")]
fn four_chains(rounds: u64) {
    // SAFETY: the code changes the named registers only.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            "add {a}, {step}",
            "add {b}, {step}",
            "add {c}, {step}",
            "add {d}, {step}",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            a = inout(reg) 1_u64 => _,
            b = inout(reg) 1_u64 => _,
            c = inout(reg) 1_u64 => _,
            d = inout(reg) 1_u64 => _,
            step = in(reg) 3_u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn one_chain(_rounds: u64) {}

#[cfg(not(target_arch = "x86_64"))]
fn four_chains(_rounds: u64) {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// One addition a cycle, so at most 8 GHz; and never faster with four chains than with one.
    #[test]
    fn a_chain_takes_a_cycle_for_each_addition() {
        let probes: Vec<CoreProbe> = (0..50).filter_map(|_| probe_core()).collect();
        let least = |of: fn(&CoreProbe) -> u64| probes.iter().map(of).min().unwrap();
        assert!(least(|probe| probe.one_chain_ns) * 8 > 16 * ROUNDS);
        assert!(least(|probe| probe.four_chains_ns) * 8 > 16 * ROUNDS);
        assert!(probes.iter().all(|it| it.all_ns >= it.one_chain_ns + it.four_chains_ns));
    }
}
