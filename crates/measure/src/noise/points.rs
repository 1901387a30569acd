//! Tracepoints of the kernel that tell which program or interrupt has the CPU: their ids and the places of their
//! fields, from tracefs (Documentation/trace/events.rst).

use std::collections::HashMap;

use crate::fields::word;
use crate::noise::blame::RunEventKind;
use crate::noise::trace::{CpuEventKind, Trace};
use host::{EVENT_FOLDERS, EventFormat, Host, Interrupts};
use record::ledger::NoiseSource;

/// Softirqs by number (include/linux/interrupt.h).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Vectors of x86 by their names in `/proc/interrupts`.
const VECTORS: [(&str, &str); 10] = [
    ("local_timer", "LOC"),
    ("reschedule", "RES"),
    ("call_function", "CAL"),
    ("call_function_single", "CAL"),
    ("thermal_apic", "TRM"),
    ("threshold_apic", "THR"),
    ("deferred_error_apic", "DFR"),
    ("error_apic", "ERR"),
    ("spurious_apic", "SPU"),
    ("x86_platform_ipi", "PLT"),
];

/// perf itself uses these interrupts, so the kernel refuses to record their end (`perf_perm_irq_work_exit`).
const UNTRACEABLE: [&str; 1] = ["irq_work"];

#[derive(Clone, Debug, Default)]
pub struct Points {
    by_id: HashMap<u64, Point>,
    /// The devices of the numbered interrupts.
    devices: HashMap<u32, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Point {
    /// A context switch: offsets of the next thread's id and name, and of the previous thread's id and state.
    Switch { thread: usize, name: usize, before: usize, state: usize },
    /// A fork: offsets of the ids of both threads.
    Fork { parent: usize, child: usize },
    /// The beginning or the end of an event.
    Edge { is_entry: bool, of: EdgeSource },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum EdgeSource {
    Line(String),
    /// An interrupt; the offset of its number.
    Number(usize),
    /// A softirq; the offset of its number.
    Vector(usize),
}

impl Points {
    /// The tracepoints of a machine whose tracefs is mounted and readable.
    pub fn read(host: &Host) -> Option<Self> {
        EVENT_FOLDERS.iter().find_map(|events| Self::read_at(host, events))
    }

    fn read_at(host: &Host, events: &str) -> Option<Self> {
        let mut by_id = HashMap::new();
        let mut add = |name: &str, make: &dyn Fn(&EventFormat) -> Option<Point>| {
            let format = EventFormat::read(host, events, name)?;
            by_id.insert(format.id()?, make(&format)?);
            Some(())
        };
        add("sched/sched_switch", &|format| {
            Some(Point::Switch {
                thread: format.offset("next_pid")?,
                name: format.offset("next_comm")?,
                before: format.offset("prev_pid")?,
                state: format.offset("prev_state")?,
            })
        })?;
        add("sched/sched_process_fork", &|format| {
            let (parent, child) = (format.offset("parent_pid")?, format.offset("child_pid")?);
            Some(Point::Fork { parent, child })
        });
        for (edge, is_entry) in [("entry", true), ("exit", false)] {
            let irq = |format: &EventFormat| Some(EdgeSource::Number(format.offset("irq")?));
            let softirq = |format: &EventFormat| Some(EdgeSource::Vector(format.offset("vec")?));
            let edge_of = |of| Point::Edge { is_entry, of };
            add(&format!("irq/irq_handler_{edge}"), &|format| irq(format).map(edge_of));
            add(&format!("irq/softirq_{edge}"), &|format| softirq(format).map(edge_of));
            add(&format!("ipi/ipi_{edge}"), &|_| Some(edge_of(EdgeSource::Line("IPI".into()))));
        }
        for name in host.list(format!("{events}/irq_vectors")) {
            let is_entry = name.ends_with("_entry");
            let vector = name.strip_suffix("_entry").or(name.strip_suffix("_exit"));
            let Some(vector) = vector.filter(|vector| !UNTRACEABLE.contains(vector)) else {
                continue;
            };
            let known = VECTORS.iter().find(|(known, _)| *known == vector);
            let line = known.map_or(vector, |(_, line)| line).to_owned();
            add(&format!("irq_vectors/{name}"), &|_| {
                Some(Point::Edge { is_entry, of: EdgeSource::Line(line.clone()) })
            });
        }
        Some(Self { by_id, devices: devices(host) })
    }

    pub fn ids(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// The event of a raw record for the trace of one loop, whose thread is `own`.
    pub fn event_kind(&self, raw: &[u8], own: i32, trace: &mut Trace) -> Option<CpuEventKind> {
        if let Point::Switch { thread, .. } = self.point(raw)?
            && integer(raw, *thread)? == own
        {
            return Some(CpuEventKind::Switch(None));
        }
        Some(match self.run_event_kind(raw, trace)? {
            RunEventKind::Switch { to_source, .. } => CpuEventKind::Switch(Some(to_source)),
            RunEventKind::Enter(source) => CpuEventKind::Enter(source),
            RunEventKind::Exit(source) => CpuEventKind::Exit(source),
            RunEventKind::Fork { .. } => return None,
        })
    }

    pub fn run_event_kind(&self, raw: &[u8], trace: &mut Trace) -> Option<RunEventKind> {
        let thread = |at: usize| integer(raw, at).map(i32::cast_unsigned);
        Some(match self.point(raw)? {
            Point::Switch { thread: to, name, before, state } => RunEventKind::Switch {
                from: thread(*before)?,
                // The low bits give the reason of a sleep; 0 means preempted (include/trace/events/sched.h).
                is_preempted: raw.get(*state).is_some_and(|bits| *bits == 0),
                to: thread(*to)?,
                to_source: trace.index_of(task(raw, *name)?),
            },
            Point::Fork { parent, child } => {
                RunEventKind::Fork { parent: thread(*parent)?, child: thread(*child)? }
            }
            Point::Edge { is_entry, of } => {
                let source = trace.index_of(self.source(of, raw)?);
                if *is_entry { RunEventKind::Enter(source) } else { RunEventKind::Exit(source) }
            }
        })
    }

    /// Every record starts with the number of its tracepoint (common_type).
    fn point(&self, raw: &[u8]) -> Option<&Point> {
        let id = u16::from_ne_bytes(raw.get(..2)?.try_into().ok()?);
        self.by_id.get(&id.into())
    }

    fn source(&self, of: &EdgeSource, raw: &[u8]) -> Option<NoiseSource> {
        Some(match of {
            EdgeSource::Line(line) => NoiseSource::Interrupt { line: line.clone() },
            EdgeSource::Number(at) => {
                let number = integer(raw, *at)?.cast_unsigned();
                let line = self.devices.get(&number).cloned();
                NoiseSource::Interrupt { line: line.unwrap_or_else(|| number.to_string()) }
            }
            EdgeSource::Vector(at) => {
                let number = integer(raw, *at)?;
                let known = usize::try_from(number).ok().and_then(|number| SOFTIRQS.get(number));
                NoiseSource::Softirq {
                    vector: known.map_or_else(|| number.to_string(), |name| (*name).into()),
                }
            }
        })
    }
}

/// Name of an interrupt: its number and its devices.
pub fn line_name(name: &str, what: &str) -> String {
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    let device = device_of(what);
    let device = device.filter(|device| is_number && !device.is_empty());
    device.map_or_else(|| name.to_owned(), |device| format!("{name} {device}"))
}

/// Controller, number there and trigger come before the devices.
fn device_of(what: &str) -> Option<&str> {
    let triggers = ["edge", "level", "fasteoi", "Edge", "Level"];
    triggers.iter().find_map(|trigger| Some(what.split_once(trigger)?.1.trim()))
}

fn devices(host: &Host) -> HashMap<u32, String> {
    let table = Interrupts::read(host).unwrap_or_default();
    let named = table
        .rows
        .iter()
        .filter_map(|row| Some((row.name.parse().ok()?, line_name(&row.name, &row.what))));
    named.collect()
}

/// The program with the name at this offset.
fn task(raw: &[u8], at: usize) -> Option<NoiseSource> {
    let name = raw.get(at..at + 16)?.split(|&byte| byte == 0).next()?;
    Some(NoiseSource::Task { name: String::from_utf8_lossy(name).into_owned() })
}

fn integer(raw: &[u8], at: usize) -> Option<i32> {
    word(raw, at).map(u32::cast_signed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::expand;

    const MACHINE: &str = "sys/kernel/tracing/events/sched/sched_switch/format = name: sched_switch\\nID: 372\\nformat:\\n\\tfield:char prev_comm[16];\\toffset:8;\\tsize:16;\\tsigned:0;\\n\\tfield:pid_t prev_pid;\\toffset:24;\\tsize:4;\\tsigned:1;\\n\\tfield:long prev_state;\\toffset:32;\\tsize:8;\\tsigned:1;\\n\\tfield:char next_comm[16];\\toffset:40;\\tsize:16;\\tsigned:0;\\n\\tfield:pid_t next_pid;\\toffset:56;\\tsize:4;\\tsigned:1;\n\
        sys/kernel/tracing/events/sched/sched_process_fork/format = ID: 374\\n\\tfield:pid_t parent_pid;\\toffset:8;\\tsize:4;\\tsigned:1;\\n\\tfield:pid_t child_pid;\\toffset:12;\\tsize:4;\\tsigned:1;\n\
        sys/kernel/tracing/events/irq/irq_handler_entry/format = ID: 225\\n\\tfield:int irq;\\toffset:8;\\tsize:4;\\tsigned:1;\n\
        sys/kernel/tracing/events/irq/softirq_exit/format = ID: 222\\n\\tfield:unsigned int vec;\\toffset:8;\\tsize:4;\\tsigned:0;\n\
        sys/kernel/tracing/events/irq_vectors/local_timer_entry/format = ID: 165\n\
        sys/kernel/tracing/events/irq_vectors/irq_work_entry/format = ID: 160\n\
        sys/kernel/tracing/events/irq_vectors/vector_alloc/format = ID: 170\n\
        proc/interrupts = CPU0\\n 36: 7 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n";

    /// A record: the number of the tracepoint, and integers at their offsets.
    fn raw(id: u16, integers: &[(usize, i32)]) -> Vec<u8> {
        let mut raw = vec![0; 64];
        raw[..2].copy_from_slice(&id.to_ne_bytes());
        for (at, value) in integers {
            raw[*at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        raw
    }

    #[test]
    fn records_are_read_as_tracefs_describes_them() {
        let (_directory, host) = expand(MACHINE);
        let points = Points::read(&host).unwrap();
        assert_eq!(points.ids(), [165, 222, 225, 372, 374]);
        let mut trace = Trace::default();
        let mut other = raw(372, &[(56, 99)]);
        other[40..43].copy_from_slice(b"cc1");
        assert_eq!(points.event_kind(&other, 7, &mut trace), Some(CpuEventKind::Switch(Some(0))));
        assert_eq!(
            points.event_kind(&raw(372, &[(56, 7)]), 7, &mut trace),
            Some(CpuEventKind::Switch(None))
        );
        assert_eq!(points.event_kind(&raw(165, &[]), 7, &mut trace), Some(CpuEventKind::Enter(1)));
        assert_eq!(
            points.event_kind(&raw(225, &[(8, 36)]), 7, &mut trace),
            Some(CpuEventKind::Enter(2))
        );
        assert_eq!(
            points.event_kind(&raw(222, &[(8, 9)]), 7, &mut trace),
            Some(CpuEventKind::Exit(3))
        );
        assert_eq!(points.event_kind(&raw(170, &[]), 7, &mut trace), None);
        assert_eq!(points.event_kind(&[1], 7, &mut trace), None);
        let expected = [
            NoiseSource::Task { name: "cc1".into() },
            NoiseSource::Interrupt { line: "LOC".into() },
            NoiseSource::Interrupt { line: "36 virtio1-req.0".into() },
            NoiseSource::Softirq { vector: "RCU".into() },
        ];
        assert_eq!(trace.sources, expected);
    }

    #[test]
    fn records_of_runs() {
        let (_directory, host) = expand(MACHINE);
        let points = Points::read(&host).unwrap();
        let mut trace = Trace::default();
        let switch = |is_preempted| {
            Some(RunEventKind::Switch { from: 7, is_preempted, to: 99, to_source: 0 })
        };
        for (state, is_preempted) in [(0, true), (1, false), (2, false), (0x100, true)] {
            let raw = raw(372, &[(24, 7), (32, state), (56, 99)]);
            assert_eq!(points.run_event_kind(&raw, &mut trace), switch(is_preempted), "{state:#x}");
        }
        let fork = raw(374, &[(8, 7), (12, 8)]);
        let expected = RunEventKind::Fork { parent: 7, child: 8 };
        assert_eq!(points.run_event_kind(&fork, &mut trace), Some(expected));
        assert_eq!(points.event_kind(&fork, 7, &mut trace), None);
    }

    #[test]
    fn without_tracefs_there_are_none() {
        assert!(Points::read(&expand("proc/interrupts = CPU0\n").1).is_none());
        assert_eq!(line_name("LOC", "Local timer interrupts"), "LOC");
        assert_eq!(line_name("7", "GICv3 27 Level arch_timer"), "7 arch_timer");
        assert_eq!(line_name("9", "IR-IO-APIC 9-fasteoi acpi"), "9 acpi");
    }
}
