//! Lines of `TIME<TAB>COMMAND`, the format of `tim -s` and `tim -r`.

use std::collections::HashSet;
use std::io::{self, Write};

use model::values::metric::Metric;
use record::Record;
use record::plan::Plan;

const SECOND_NS: u64 = 1_000_000_000;

/// Writes a line for each finished run in the order of execution, in seconds to the nanosecond, as measured. Warm-ups
/// are included: tim keeps them too and skips them when it reads. Runs that the timeout ended have no time. The twin of
/// the reference is left out: it is no command of its own.
pub fn write(to: &mut impl Write, record: &Record) -> io::Result<()> {
    let names = names(&record.header.plan);
    let rows = &record.rows;
    let twin = record.header.plan.twin();
    let is_shown = |index: &usize| rows.is_time(*index) && Some(rows.arm(*index)) != twin;
    for index in (0..rows.len()).filter(is_shown) {
        let Some(wall_ns) = rows.get(index, Metric::WallNs) else { continue };
        let (seconds, rest_ns) = (wall_ns / SECOND_NS, wall_ns % SECOND_NS);
        writeln!(to, "{seconds}.{rest_ns:09}\t{}", names[rows.arm(index)])?;
    }
    to.flush()
}

/// The arms' commands in the file, each on one line. The empty shell is the empty command, like tim's overhead. If
/// several arms share a command, all but the first get a number as a shell comment.
fn names(plan: &Plan) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut names = Vec::new();
    for arm in &plan.arms {
        let command = arm.command.replace('\n', "\\n").replace('\r', "\\r");
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

    #[test]
    fn a_name_is_one_line_and_of_one_arm() {
        let record = record(&["a", "a", "a # 2", "b\nc", "b\\nc"]);
        let shell = record.header.plan.arms.len() - 1;
        let names = names(&record.header.plan);
        assert_eq!(names[..shell], ["a", "a # 2", "a # 2 # 2", "b\\nc", "b\\nc # 2"]);
        assert_eq!(names[shell], "");
    }
}
