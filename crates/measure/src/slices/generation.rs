//! One generation: a fresh process for each arm of a benchmark, and their slices in random order.

use crate::core_prober::CoreProber;
use crate::slices::pace::Pace;
use crate::slices::team::TeamWorker;
use crate::slices::{SliceError, SliceRunner};
use model::values::Headline;
use model::values::metric::Metric;
use record::schedule::Step;
use record::{Event, Row};

impl SliceRunner<'_> {
    pub(super) fn generation(&mut self, steps: &[Step], pace: &mut Pace) -> Result<(), SliceError> {
        let mut team = self.team(steps)?;
        let block = steps[0].block;
        for member in &mut team.members {
            for _ in 0..pace.n_warmups {
                self.slice_row(member, None, pace.loops)?;
            }
        }
        let mut seen: Vec<(usize, Vec<f64>)> =
            team.members.iter().map(|member| (member.arm, Vec::new())).collect();
        let n_factors = if self.workers.delta { 2 } else { 1 };
        for round in 0..pace.n_slices * n_factors {
            let loops = pace.loops * u64::from(round % n_factors + 1);
            for at in self.orders.permutation(team.members.len()) {
                let slice_ns = self.slice_row(&mut team.members[at], block, loops)?;
                seen[at].1.push(slice_ns as f64 / loops as f64);
            }
        }
        pace.learn(&seen, team.launch_ns);
        team.quit()
    }

    /// Measures a slice and keeps it. Returns its clean time, or else its wall time.
    pub(super) fn slice_row(
        &mut self,
        member: &mut TeamWorker,
        block: Option<u32>,
        loops: u64,
    ) -> Result<u64, SliceError> {
        let probe = self.prober.as_mut().filter(|_| block.is_some()).and_then(CoreProber::probe);
        let slice = member.slice(loops)?;
        let arm = u32::try_from(member.arm).expect("arms are counted in u32");
        let mut row = Row { cpu: slice.cpu, ..Row::new(0, arm, block, slice.started_ns) };
        let stall = slice.stall;
        for (metric, value) in [
            (Metric::WallNs, Some(slice.wall_ns)),
            (Metric::CpuNs, Some(slice.cpu_ns).filter(|_| !member.has_own_timer)),
            (Metric::Loops, Some(loops)),
            (Metric::RunQueueWaitNs, slice.run_queue_wait_ns),
            (Metric::VoluntarySwitches, slice.voluntary_switches),
            (Metric::InvoluntarySwitches, slice.involuntary_switches),
            (Metric::MaxrssKib, slice.maxrss_kib),
            (Metric::EmptyLoopPs, member.empty_loop_ps),
            (Metric::StalledNs, stall.map(|stall| stall.stalled_ns)),
            (Metric::UnclearNs, stall.map(|stall| stall.unclear_ns)),
            (Metric::OneChainNs, probe.map(|probe| probe.one_chain_ns)),
            (Metric::FourChainsNs, probe.map(|probe| probe.four_chains_ns)),
        ] {
            row.set(metric, value);
        }
        if self.workers.headline == Headline::Tracemalloc && block.is_some() {
            let bytes = member.worker.tracemalloc(loops);
            let bytes = bytes.map_err(|failure| SliceError::Worker(member.arm, failure))?;
            row.value = Some(bytes as f64);
        }
        self.append(&mut row)?;
        if !slice.counters.is_empty() && block.is_some() {
            let counters = slice.counters.into_iter().collect();
            self.append_event(&Event::Counters { step: row.step, arm, loops, counters })?;
        }
        Ok(slice.wall_ns.saturating_sub(stall.map_or(0, |stall| stall.stalled_ns)))
    }
}
