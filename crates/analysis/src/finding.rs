//! The notes for the reader of a result, as data.

use schemars::JsonSchema;
use serde::Serialize;

use crate::long_slices::LongSlices;
use crate::low_runs::LoneRun;
use crate::neighbours::Neighbours;
use crate::steadiness::SteadinessFlag;
use crate::summary::UncertainValue;
use record::ShortSlice;
use record::ledger::LedgerEntry;

/// One note.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Note {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// Share of the total time that the note is about; notes are sorted by it.
    pub weight: f64,
}

/// The kinds of findings. Shares are of the measured time; arms are indices into the plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// The time above t0: its sum, which is a lower limit where a t0 is an upper one, and its largest parts with a cause.
    /// `share` is the largest part ÷ the measured time.
    Lost { total_ns: i64, is_lower_limit: bool, share: f64, parts: Vec<LedgerEntry> },
    /// The runs of each value of a parameter followed a setup or a cleanup of their own, so they were not mixed.
    NotMixed,
    /// Every block ran the arms in the order in which they are listed, so an effect of the place in a block counts as a
    /// difference of the arms.
    ListedOrder,
    /// Page faults that read from a device.
    MajorFaults { n: f64 },
    /// Moves between CPUs.
    Migrations { per_run: f64 },
    /// The other hardware thread of the core was busy when runs, or slices, began.
    Neighbours(Neighbours),
    /// The machine was busy when the session started.
    Busy { load: f64, n_cpus: u32 },
    /// Runs failed or have no value to compare; they do not count.
    RejectedRuns { arm: usize, n: usize, n_runs: usize },
    /// Runs had another exit status than 0, but they count.
    FailedRuns { arm: usize, n: usize, n_runs: usize },
    /// Runs left processes behind, which ran beside later runs until the end of the session.
    LeftBehind { arm: usize, n: u32, n_runs: u32, name: String },
    /// Processes outlived a run that was ended, and were ended too.
    Outlived { arm: usize, n: u32, name: String },
    /// Runs took longer than the timeout and do not count.
    TimedOutRuns { arm: usize, n: usize, n_runs: usize },
    /// The arm's peak memory is not above the launcher's.
    MemoryFloor { arm: usize, floor_kib: u64 },
    /// The arm's lowest run stands alone far below the rest.
    LoneRun { arm: usize, run: LoneRun },
    /// The low tail of the arm's times does not end.
    NoFloor { arm: usize },
    /// Once the control is subtracted, t0 is not above 0 by more than its error.
    TooShort { arm: usize, t0: UncertainValue },
    /// The times of the arm are not the times of one steady process. `n_warmups`: warm-up runs that would leave out the
    /// slow start, if there was one and no other note has as many.
    Unstable { arm: usize, flags: Vec<SteadinessFlag>, n_warmups: Option<usize> },
    /// Blocks at the beginning were slower and are left out of a comparison. `n_warmups`: warm-up runs that would
    /// leave them out, if the plan can have them and the times do not alternate between modes.
    SlowStart { n_blocks: usize, n_warmups: Option<usize> },
    /// Workers waited on the run queue for a large share of their slices' time.
    WorkersWaited { share: f64 },
    /// A loop of the arm takes hardly any time: the compiler may have removed the work.
    HardlyAnything { arm: usize, per_loop_ns: f64 },
    /// Slices at the beginning of each process were slower and are left out. `is_steady`: the warm-up came to an end.
    WarmUp { arm: usize, n_slices: u32, is_steady: bool },
    /// A loop takes longer in short slices, so the slices are long ones.
    ShortSlices { arm: usize, times: ShortSlice },
    /// The user chose slices so short that reading the clock is a part of their time.
    ClockInSlices { arm: usize, slice_ns: f64 },
    /// Much of the time is in few slices, by the program's own doing.
    LongSlices { arm: usize, shares: LongSlices },
    /// The arm has several threads on one CPU.
    OneCpu { arm: usize, n_threads: u32 },
    /// The shield was lost before the end; other programs may have disturbed the last runs.
    ShieldLost { n_runs: usize, why: String },
    /// On CPUs without other programs, the processes or threads of the runs waited for each other.
    SharedCpus { share: f64, n_cpus: usize },
    /// More threads of the arm were ready than it had CPUs, for this share of its time.
    Crowded { arm: usize, share: f64, n_threads: u64, n_cpus: usize },
    /// The nice level counts only among the commands of one terminal, and other programs took the CPU. `share`: of the
    /// time, in which runs were preempted; the wait for a CPU afterwards is not in it.
    NiceInTerminal { share: f64 },
    /// Runs were long enough for the kernel to stop a real-time program.
    RealTimePauses { why: String },
    /// The arm takes more time than its reference and executes fewer instructions, or the other way round. Both are ratios,
    /// new ÷ reference.
    CountersDisagree { arm: usize, time: f64, instructions: f64 },
    /// The times of two arms were read in large steps. `share`: a step ÷ the shortest time. `misread`: by how much the ratio
    /// may be off.
    CoarseSteps { share: f64, misread: f64 },
    /// All runs of all arms are forks of one process, so they share one memory layout.
    OneLayout,
}

impl Finding {
    pub fn arm_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::RejectedRuns { arm, .. }
            | Self::FailedRuns { arm, .. }
            | Self::TimedOutRuns { arm, .. }
            | Self::LeftBehind { arm, .. }
            | Self::Outlived { arm, .. }
            | Self::MemoryFloor { arm, .. }
            | Self::Crowded { arm, .. }
            | Self::LoneRun { arm, .. }
            | Self::NoFloor { arm }
            | Self::TooShort { arm, .. }
            | Self::CountersDisagree { arm, .. }
            | Self::Unstable { arm, .. }
            | Self::HardlyAnything { arm, .. }
            | Self::WarmUp { arm, .. }
            | Self::ShortSlices { arm, .. }
            | Self::ClockInSlices { arm, .. }
            | Self::LongSlices { arm, .. }
            | Self::OneCpu { arm, .. } => Some(arm),
            _ => None,
        }
    }
}
