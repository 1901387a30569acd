//! What `system show` says: every knob as it was read, the CPUs, and which of them a benchmark should have.

use serde::{Serialize, Serializer};

use crate::host::knobs::{Knob, Machine, Reading, Setting, State, knobs};
use crate::host::{
    CpuRow, Host, Interrupts, Recommendation, format_cpu_list, read_cpu_table, recommend,
};

/// What was found on a machine.
#[derive(Debug, Serialize)]
pub struct SystemReport {
    /// The CPUs of the benchmark that the knobs were read for; empty when nobody has said and none is isolated.
    pub cpus: Vec<usize>,
    /// Where they come from.
    pub cpus_from: CpusFrom,
    /// Whether nothing is left that `tune` would change without being asked for it by name.
    pub is_tuned: bool,
    /// What tunes the machine; `None` when nothing is to be tuned.
    pub command: Option<String>,
    /// All knobs, in the order in which they are turned.
    pub knobs: Vec<KnobReport>,
    /// All CPUs.
    pub table: Vec<CpuRow>,
    /// The CPUs that a benchmark should have.
    pub recommended: Recommendation,
}

/// Who has chosen the CPUs of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CpusFrom {
    /// The user.
    Asked,
    /// The command line of the kernel.
    Isolated,
    /// Nobody.
    Nobody,
}

/// A knob and how it stands.
#[derive(Debug)]
pub struct KnobReport {
    /// Its row of the table.
    pub knob: &'static Knob,
    /// How it was read.
    pub reading: Reading,
    /// What follows for the user.
    pub standing: Standing,
}

/// What is to be done about a knob, in the order in which it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// `tune` would change it.
    NotTuned,
    /// `tune` would change it if it were asked for by name.
    OnRequest,
    /// Whether it is as it should be depends on the CPUs of the benchmark, which nobody has named.
    NeedsCpus,
    /// The user can do something about it, `tune` cannot.
    ByHand,
    /// It should be different and cannot be set here.
    CannotSet,
    /// It is as it should be.
    Fine,
    /// It is as it is; a reader of timings should know it.
    Shown,
    /// This machine does not have it.
    Absent,
}

impl SystemReport {
    /// Looks at a machine. Only reads.
    pub fn new(
        host: &Host,
        bench: Vec<usize>,
        is_asked: bool,
        interrupts: Option<&(Interrupts, f64)>,
    ) -> Self {
        let machine = Machine::new(host, bench);
        let knobs: Vec<KnobReport> =
            knobs().map(|knob| KnobReport::new(knob, knob.read(&machine))).collect();
        let table = read_cpu_table(host, interrupts);
        let recommended = recommend(&table);
        let is_tuned = knobs.iter().all(|knob| knob.standing != Standing::NotTuned);
        let cpus = machine.bench.clone();
        let cpus_from = match (is_asked, cpus.is_empty()) {
            (true, _) => CpusFrom::Asked,
            (false, false) => CpusFrom::Isolated,
            (false, true) => CpusFrom::Nobody,
        };
        // Isolated CPUs are what `tune` takes by itself.
        let named = match cpus_from {
            CpusFrom::Asked => cpus.as_slice(),
            CpusFrom::Isolated => &[],
            CpusFrom::Nobody => recommended.cpus.as_slice(),
        };
        let command = (!is_tuned).then(|| tune_command(named));
        Self { cpus, cpus_from, is_tuned, command, knobs, table, recommended }
    }

    /// The knobs that stand like this, in their order.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &KnobReport> {
        self.knobs.iter().filter(move |knob| knob.standing == standing)
    }
}

fn tune_command(cpus: &[usize]) -> String {
    match cpus {
        [] => "sudo stillwell system tune".to_owned(),
        cpus => format!("sudo stillwell system tune --cpus {}", format_cpu_list(cpus)),
    }
}

impl KnobReport {
    fn new(knob: &'static Knob, reading: Reading) -> Self {
        let standing = match &reading.state {
            State::Fine { .. } => Standing::Fine,
            State::NotTuned { .. } if knob.by_default => Standing::NotTuned,
            State::NotTuned { .. } => Standing::OnRequest,
            State::CannotSet { .. } => Standing::CannotSet,
            State::Absent { .. } => Standing::Absent,
            // What `tune` could write, had it been told where.
            State::Reported { advice: Some(_), .. } if !knob.files.is_empty() => {
                Standing::NeedsCpus
            }
            State::Reported { advice: Some(_), .. } => Standing::ByHand,
            State::Reported { advice: None, .. } => Standing::Shown,
        };
        Self { knob, reading, standing }
    }
}

/// Flat, and without what is a function.
impl Serialize for KnobReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            name: &'a str,
            group: super::knobs::Group,
            standing: Standing,
            now: Option<&'a str>,
            wanted: Option<&'a str>,
            why: Option<&'a str>,
            advice: Option<&'a str>,
            noise: &'a str,
            needs: &'a str,
            sure: super::knobs::Sure,
            by_default: bool,
            files: Vec<&'a str>,
            settings: &'a [Setting],
        }
        let (mut now, mut wanted, mut why, mut advice) = (None, None, None, None);
        match &self.reading.state {
            State::Fine { now: found } => now = Some(found.as_str()),
            State::NotTuned { now: found, wanted: better } => {
                (now, wanted) = (Some(found.as_str()), Some(better.as_str()));
            }
            State::CannotSet { why: reason } | State::Absent { why: reason } => {
                why = Some(reason.as_str());
            }
            State::Reported { now: found, advice: better } => {
                (now, advice) = (Some(found.as_str()), better.as_deref());
            }
        }
        let knob = self.knob;
        let files = knob.files.iter().map(|file| file.path).collect();
        Document {
            name: knob.name,
            group: knob.group,
            standing: self.standing,
            now,
            wanted,
            why,
            advice,
            noise: knob.noise,
            needs: knob.needs,
            sure: knob.sure,
            by_default: knob.by_default,
            files,
            settings: &self.reading.settings,
        }
        .serialize(serializer)
    }
}
