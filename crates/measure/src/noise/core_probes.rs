//! Probes of a CPU's core: is its other hardware thread busy?

use std::thread::sleep;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use host::sys::probe_core;
use model::values::is_core_shared;

/// Number of probes. Each takes some 12 µs, and the pauses between them leave the core alone.
const N: usize = 50;
const PAUSE: Duration = Duration::from_millis(1);

/// How many probes found the core shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CoreProbes {
    /// Number of probes. 0 on a kind of CPU that cannot be probed.
    pub n: usize,
    /// Number of probes that found the core's other hardware thread busy.
    pub n_shared: usize,
}

impl CoreProbes {
    /// Probes this thread's core for some 50 ms.
    #[expect(
        clippy::disallowed_methods,
        reason = "a neighbour that comes and goes needs some time to be seen"
    )]
    pub fn take() -> Self {
        let mut probes = Self::default();
        for _ in 0..N {
            let Some(probe) = probe_core() else { break };
            probes.n += 1;
            probes.n_shared +=
                usize::from(is_core_shared(probe.one_chain_ns, probe.four_chains_ns));
            sleep(PAUSE);
        }
        probes
    }

    pub fn plus(self, other: Self) -> Self {
        Self { n: self.n + other.n, n_shared: self.n_shared + other.n_shared }
    }
}
