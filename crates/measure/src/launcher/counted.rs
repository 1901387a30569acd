//! Runs whose instructions valgrind counts, and the process whose count is subtracted.

use super::LauncherLoop;
use crate::child_run::ChildRun;
use crate::counters::Counters;
use crate::prepared::PreparedCommand;
use crate::stalls::TaskTotals;
use crate::survivors::SurvivorWatch;
use crate::valgrind::{CountTask, Uncounted};
use crate::wire::{BatchStop, Job};
use host::sys::{self, Envp};
use model::values::metric::Metric;
use record::Row;

impl LauncherLoop {
    /// Removes valgrind's old files. The processor counts one process at a time, so there it executes and counts the
    /// process with half of the iterations.
    pub(super) fn before_count(
        &mut self,
        prepared: &PreparedCommand<'_>,
        job: &Job,
        envp: Envp<'_>,
    ) -> Result<Option<u64>, BatchStop> {
        let command = prepared.command;
        let Some((count, id)) = command.count.as_ref().zip(job.row) else { return Ok(None) };
        count.clear(self.plain.run_as.as_ref());
        let Some(argv) = prepared.half.as_ref().filter(|_| count.folder.is_none()) else {
            return Ok(None);
        };
        self.counters.before();
        let ran = self.run_child(prepared, argv, envp, job.row);
        self.counters.something_ran();
        let ran = ran?;
        if sys::take_stop_request() {
            return Err(BatchStop::Interrupted);
        }
        if !command.accepts(ran.exit, ran.timed_out) {
            return Err(self.failed(count, ran, Uncounted::default()));
        }
        let mut row = ran.row(id, 0);
        self.counters.after(&mut row, &ran);
        Ok(row.get(Metric::Instructions))
    }

    /// Appends the row of a run under valgrind: a count, and no times.
    pub(super) fn take_count(
        &mut self,
        task: &CountTask,
        ran: ChildRun,
        accepted: bool,
        job: &Job,
        stopped: bool,
    ) -> Result<(), BatchStop> {
        let counted = task.count(self.plain.run_as.as_ref());
        if let (Some(id), Some(destination)) = (job.row, &mut self.destination) {
            let mut row = ran.empty_row(id, destination.clock_origin_ns);
            let count = counted.as_ref().ok().filter(|_| accepted);
            row.set(Metric::Instructions, count.map(|count| count.instructions));
            row.set(Metric::SystemCalls, count.and_then(|count| count.system_calls));
            row.set(Metric::LeftOut, count.and_then(|count| count.left_out));
            row.value = instructions_per_iteration(&row, task);
            row.set(Metric::CountingNs, Some(ran.ended_ns - ran.launched.exec_ns));
            destination.append(&row)?;
        }
        if stopped {
            return Err(BatchStop::Interrupted);
        }
        match counted {
            Ok(_) if accepted => Ok(()),
            Ok(_) => Err(self.failed(task, ran, Uncounted::default())),
            Err(uncounted) => Err(self.failed(task, ran, uncounted)),
        }
    }

    /// Why there is no count. A run that took too long would fail without valgrind too.
    fn failed(&self, count: &CountTask, ran: ChildRun, uncounted: Uncounted) -> BatchStop {
        let ChildRun { exit, timed_out, stderr, .. } = ran;
        if timed_out || count.folder.is_none() {
            return BatchStop::Failed { exit, timed_out, stderr };
        }
        let said = count.said(self.plain.run_as.as_ref());
        let said = if uncounted.said.is_empty() { said } else { uncounted.said };
        BatchStop::NotCounted { exit, uncounted: Uncounted { said, ..uncounted }, stderr }
    }
}

/// Reads the counts of a run. There are none if a process of an earlier run has worked meanwhile: the events count all
/// descendants together.
pub(super) fn read(
    counters: &mut Counters,
    survivors: Option<&SurvivorWatch>,
    row: &mut Row,
    ran: &ChildRun,
) -> Option<TaskTotals> {
    let totals = counters.after(row, ran);
    if survivors.is_some_and(SurvivorWatch::have_earlier_worked) {
        counters.remove(row);
    }
    totals
}

/// Subtracts the count of the other process.
pub(super) fn without_half(row: &mut Row, count: Option<&CountTask>, half: Option<u64>) {
    if let (Some(count), true) = (count, half.is_some()) {
        let n = row.get(Metric::Instructions).zip(half).and_then(|(n, half)| n.checked_sub(half));
        row.set(Metric::Instructions, n.filter(|&n| n > 0));
        row.value = instructions_per_iteration(row, count);
    }
}

/// The instructions of one iteration; `None` if a whole process is counted.
fn instructions_per_iteration(row: &Row, count: &CountTask) -> Option<f64> {
    let counted = row.get(Metric::Instructions).filter(|_| count.half.is_some())?;
    Some(counted as f64 / count.n_iterations as f64)
}
