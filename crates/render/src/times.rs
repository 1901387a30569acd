//! Lines of `TIME<TAB>COMMAND`, the format of `tim -s` and `tim -r`.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::exported::have_own_values;
use crate::pyperf;
use analysis::convert::of_record;
use formats::ResultUnit;
use model::values::metric::Metric;
use record::Record;

const SECOND_NS: u64 = 1_000_000_000;

/// Writes a line for each finished run in the order of execution, in seconds, as measured. For an import or a worker, a
/// line has the mean time of a loop in one process. Warm-ups are included: tim keeps them too and skips them when it
/// reads. Runs that the timeout ended have no time. The twin of the reference is left out: it is no command of its own.
/// Arms whose values are no times are left out too ([`without_times`]).
pub fn write(to: &mut impl Write, record: &Record) -> io::Result<()> {
    let plan = &record.header.plan;
    let (names, own) = (names(record), have_own_values(record));
    let rows = &record.rows;
    let is_time = |arm: usize| !own[arm] || plan.arms[arm].unit.is_time();
    let is_shown = |index: &usize| {
        let arm = rows.arm(*index);
        rows.is_time(*index) && Some(arm) != plan.twin() && is_time(arm)
    };
    for index in (0..rows.len()).filter(is_shown) {
        let name = &names[rows.arm(index)];
        if let Some(ns) = rows.own(index).filter(|_| own[rows.arm(index)]) {
            writeln!(to, "{}\t{name}", pyperf::seconds(ns))?;
        } else if let Some(wall_ns) = rows.get(index, Metric::WallNs) {
            let (seconds, rest_ns) = (wall_ns / SECOND_NS, wall_ns % SECOND_NS);
            writeln!(to, "{seconds}.{rest_ns:09}\t{name}")?;
        }
    }
    to.flush()
}

/// The candidates that a file of times cannot hold, each with the unit of its values.
pub fn without_times(record: &Record) -> Vec<(String, ResultUnit)> {
    let plan = &record.header.plan;
    let own = have_own_values(record);
    let candidates = plan.candidates().filter(|(at, arm)| own[*at] && !arm.unit.is_time());
    candidates.map(|(at, _)| (plan.full_label(at), of_record::unit(record, at))).collect()
}

/// The arms' commands or the names of their benchmarks, each on one line. The empty shell is the empty command, like
/// tim's overhead. If several arms share a command, all but the first get a number as a shell comment.
fn names(record: &Record) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut names = Vec::new();
    for (at, arm) in record.header.plan.arms.iter().enumerate() {
        let command =
            of_record::name_of_benchmark(record, at).unwrap_or_else(|| arm.command.clone());
        let command = command.replace('\n', "\\n").replace('\r', "\\r");
        let numbered = (2..).map(|number| format!("{command} # {number}"));
        let mut candidates = std::iter::once(command.clone()).chain(numbered);
        let name = candidates.find(|name| !taken.contains(name)).expect("there is always a number");
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::fixture::{record, row, run};

    fn written(record: &Record) -> String {
        let mut out = Vec::new();
        write(&mut out, record).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_run_in_its_order() {
        let mut record = record(&["a", "b 'x\ty'"]);
        run(&mut record, 1, None, 1_500_000_000);
        run(&mut record, 0, Some(0), 7);
        run(&mut record, 1, Some(0), 12_345_678_901);
        let mut timed_out = row(3, 0, Some(1), 99);
        timed_out.timed_out = true;
        record.rows.push(&timed_out);
        let expected = "1.500000000\tb 'x\ty'\n0.000000007\ta\n12.345678901\tb 'x\ty'\n";
        assert_eq!(written(&record), expected);
    }

    /// A line has the time of a loop, not of all loops, and no memory.
    #[test]
    fn own_values_are_lines_if_they_are_times() {
        let mut record = record(&["a", "b"]);
        record.header.plan.arms[1].unit = model::values::ValueUnit::Bytes;
        for (arm, value) in [(0, 13.25), (1, 64.0), (0, 900.0)] {
            let step = u32::try_from(record.rows.len()).unwrap();
            let own = record::Row { value: Some(value), ..row(step, arm, Some(step), 94_601_103) };
            record.rows.push(&own);
        }
        assert_eq!(written(&record), "0.00000001325\ta\n0.0000009\ta\n");
        assert_eq!(without_times(&record), [("b".to_owned(), ResultUnit::Bytes)]);
    }

    #[test]
    fn a_name_is_one_line_and_of_one_arm() {
        let record = record(&["a", "a", "a # 2", "b\nc", "b\\nc"]);
        let shell = record.header.plan.arms.len() - 1;
        let names = names(&record);
        assert_eq!(names[..shell], ["a", "a # 2", "a # 2 # 2", "b\\nc", "b\\nc # 2"]);
        assert_eq!(names[shell], "");
    }

    #[test]
    fn benchmarks_of_one_program_keep_their_names() {
        let mut record = record(&["./g", "./h", "./g", "./h"]);
        for (arm, benchmark) in record.header.plan.arms.iter_mut().zip(["a", "a", "b", "b"]) {
            arm.benchmark = Some(benchmark.into());
        }
        assert_eq!(names(&record)[..4], ["a (./g)", "a (./h)", "b (./g)", "b (./h)"]);
    }
}
