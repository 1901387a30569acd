//! Where the tasks of a run wait, by a sample with the kernel's call chain at every switch to another task, and the
//! kernel's records of switches. This needs the right to sample the kernel. Such a pair takes about 2 microseconds, so
//! a run that switches very often is not watched.

use std::io;

use perf_event::events::Software;
use perf_event::{Builder, Sampler};

use crate::counting::sample_chains;
use crate::switches::{RECORD_LOST, RECORD_SWITCH};

/// Added to the kind of these records.
pub const OF_WAITING: u32 = 0x2_0000;
const RING_BYTES: usize = 256 << 10;
const DEPTH_MAX: u16 = 32;
/// Most times off the CPU in a second. More would cost over half a percent of the time. Each has two records.
const SWITCHES_PER_S_MAX: u64 = 2_500;
/// A shorter untimed run does not show how often the others switch.
const NS_MIN: u64 = 100_000;

#[derive(Default)]
pub struct WaitingLog {
    rings: Vec<Sampler>,
    is_on: bool,
    n_switches: u64,
    n_lost: u64,
    /// Whether a run has shown that the runs switch too often.
    is_too_costly: bool,
}

impl WaitingLog {
    /// Opens an event on each of these CPUs; none if the kernel does not permit it.
    pub fn open(cpus: &[usize]) -> Self {
        let rings = cpus.iter().map(|&cpu| open_ring(cpu)).collect::<io::Result<Vec<Sampler>>>();
        Self { rings: rings.unwrap_or_default(), ..Self::default() }
    }

    /// Begins a run. Returns whether it is watched.
    pub fn before(&mut self, is_wanted: bool) -> bool {
        for ring in &mut self.rings {
            while ring.next_record().is_some() {}
        }
        (self.n_switches, self.n_lost) = (0, 0);
        let is_on = is_wanted && !self.is_too_costly && !self.rings.is_empty();
        if is_on != self.is_on {
            let switched = self
                .rings
                .iter_mut()
                .all(|ring| if is_on { ring.enable().is_ok() } else { ring.disable().is_ok() });
            self.is_on = is_on && switched;
        }
        self.is_on
    }

    /// Passes on the kernel's records.
    pub fn drain(&mut self, mut each: impl FnMut(u32, u16, &[u8])) {
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                match record.ty() {
                    RECORD_LOST => self.n_lost += 1,
                    kind => {
                        self.n_switches += u64::from(kind == RECORD_SWITCH);
                        each(kind + OF_WAITING, record.misc(), &record.to_contiguous());
                    }
                }
            }
        }
    }

    /// Ends a run. Returns whether the records are complete.
    pub fn after(&mut self, took_ns: u64, is_timed: bool) -> bool {
        if !is_timed && took_ns > NS_MIN {
            self.is_too_costly |=
                self.n_switches > 2 * SWITCHES_PER_S_MAX * took_ns / 1_000_000_000 + 20;
        }
        self.is_on && self.n_lost == 0
    }
}

fn open_ring(cpu: usize) -> io::Result<Sampler> {
    let mut builder = Builder::new(Software::CONTEXT_SWITCHES);
    sample_chains(&mut builder, cpu, DEPTH_MAX);
    builder
        .enabled(false)
        .include_kernel()
        .sample_period(1)
        .context_switch(true)
        .sample_id_all(true);
    builder.build()?.sampled(RING_BYTES)
}
