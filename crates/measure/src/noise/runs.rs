//! Traces every context switch and interrupt on a session's CPUs for `run --attribute`. The kernel's buffers are
//! emptied between two pieces of the session.

use perf_event::{Counter, Sampler};

use crate::noise::blame::{RunEvent, RunInterval, by_run, losses};
use crate::noise::points::Points;
use crate::noise::trace::Trace;
use crate::noise::tracer::{
    drain_points, find_points, open_points, raise_limit_of_files, refused_points,
};
use host::{Gap, Host};
use record::ledger::LedgerEntry;

pub struct RunTracer {
    rings: Vec<(usize, Sampler, Vec<Counter>)>,
    points: Points,
    /// The launcher, whose descendants are the runs.
    root: u32,
    names: Trace,
}

impl RunTracer {
    /// Starts to watch. Errors: the missing tracepoints or rights.
    pub fn open(host: &Host, cpus: &[usize], root: u32) -> Result<Self, Gap> {
        raise_limit_of_files();
        let points = find_points(host)?;
        let mut rings = Vec::new();
        for &cpu in cpus {
            let opened = open_points(cpu, &points.ids());
            let (ring, others) = opened.map_err(|error| refused_points(&error))?;
            rings.push((cpu, ring, others));
        }
        Ok(Self { rings, points, root, names: Trace::default() })
    }

    /// Events that the kernel dropped, because runs were too long for its buffers.
    pub fn n_lost(&self) -> u64 {
        self.names.n_lost
    }

    /// The losses of each run since the last call, by source.
    pub fn losses_by_run(&mut self, runs: &[RunInterval]) -> Vec<(u32, Vec<LedgerEntry>)> {
        let mut events = Vec::new();
        for (cpu, ring, _) in &mut self.rings {
            let n_lost = drain_points(ring, |time_ns, raw| {
                let kind = self.points.run_event_kind(raw, &mut self.names);
                events.extend(kind.map(|kind| RunEvent { time_ns, cpu: *cpu, kind }));
            });
            self.names.n_lost += n_lost;
        }
        events.sort_by_key(|event| event.time_ns);
        let segments = losses(&events, self.root);
        by_run(&segments, runs, &self.names.sources)
    }
}
