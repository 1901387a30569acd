//! Rows of a record for other programs, as CSV or as one JSON object a line. Values keep the units of the record.

use formats::csv_cell::cell_of_text;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use std::io::{self, BufWriter, Write};

use crate::csv::io_error;
use model::values::metric::Metric;
use record::{FIXED_COLUMNS, Record, Row};

/// Metrics with a column in the record, in their order.
fn metrics(record: &Record) -> Vec<Metric> {
    let columns = record.header.columns.iter().skip(FIXED_COLUMNS.len());
    columns.filter_map(|column| Metric::from_column(column)).collect()
}

/// Writes a line of column names, then each row. A cell without a value is empty.
pub fn csv(to: &mut impl Write, record: &Record) -> io::Result<()> {
    csv_rows(to, record).map_err(io_error)
}

fn csv_rows(to: &mut impl Write, record: &Record) -> ::csv::Result<()> {
    let metrics = metrics(record);
    let mut table = ::csv::Writer::from_writer(to);
    let names = metrics.iter().map(|metric| metric.info().column);
    let more = OptionalColumns::of(record);
    table.write_record(FIXED_COLUMNS.into_iter().chain(names).chain(more.names()))?;
    for row in record.rows.iter() {
        let measured = metrics.iter().map(|&metric| row.get(metric).map(i128::from));
        for cell in fixed(&row).into_iter().chain(measured) {
            table.write_field(cell.map_or_else(String::new, |value| value.to_string()))?;
        }
        if more.has_value {
            table.write_field(row.value.map_or_else(String::new, |value| value.to_string()))?;
        }
        if more.has_benchmarks {
            table.write_field(&*cell_of_text(more.benchmark(&row)))?;
        }
        table.write_record(None::<&[u8]>)?;
    }
    Ok(table.flush()?)
}

/// Columns that only some records have.
struct OptionalColumns<'a> {
    record: &'a Record,
    /// Whether a row has a value per loop, which no metric holds.
    has_value: bool,
    has_benchmarks: bool,
}

impl<'a> OptionalColumns<'a> {
    fn of(record: &'a Record) -> Self {
        let has_benchmarks = record.header.plan.arms.iter().any(|arm| arm.benchmark.is_some());
        Self { record, has_value: record.rows.has_own(), has_benchmarks }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        [("value", self.has_value), ("benchmark", self.has_benchmarks)]
            .into_iter()
            .filter_map(|(name, is_there)| is_there.then_some(name))
    }

    fn benchmark(&self, row: &Row) -> &'a str {
        let arm = self.record.header.plan.arms.get(row.arm as usize);
        arm.and_then(|arm| arm.benchmark.as_deref()).unwrap_or_default()
    }
}

/// The fixed columns of a row as integers, `timed_out` as 0 or 1.
fn fixed(row: &Row) -> [Option<i128>; FIXED_COLUMNS.len()] {
    [
        Some(row.step.into()),
        Some(row.arm.into()),
        row.block.map(Into::into),
        Some(row.started_ns.into()),
        row.cpu.map(Into::into),
        Some(row.exit.into()),
        Some(i128::from(row.timed_out)),
    ]
}

/// Writes each row as an object with the record's column names. A missing value is null.
pub fn json_lines(to: &mut impl Write, record: &Record) -> io::Result<()> {
    let metrics = metrics(record);
    let mut to = BufWriter::new(to);
    let more = OptionalColumns::of(record);
    for row in record.rows.iter() {
        serde_json::to_writer(&mut to, &RowObject { more: &more, row: &row, metrics: &metrics })?;
        to.write_all(b"\n")?;
    }
    to.flush()
}

struct RowObject<'a> {
    more: &'a OptionalColumns<'a>,
    row: &'a Row,
    metrics: &'a [Metric],
}

impl Serialize for RowObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, cell) in FIXED_COLUMNS.iter().zip(fixed(self.row)) {
            if *name == "timed_out" {
                map.serialize_entry(name, &self.row.timed_out)?;
            } else {
                map.serialize_entry(name, &cell)?;
            }
        }
        for metric in self.metrics {
            map.serialize_entry(metric.info().column, &self.row.get(*metric))?;
        }
        if self.more.has_value {
            map.serialize_entry("value", &self.row.value)?;
        }
        if self.more.has_benchmarks {
            map.serialize_entry("benchmark", self.more.benchmark(self.row))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::ClosedPipe;
    use record::fixture::{record, run};

    fn session() -> Record {
        let mut record = record(&["a", "b"]);
        record.header.columns.push("dwarf_tosses".into());
        run(&mut record, 0, None, 10);
        run(&mut record, 1, Some(0), 20);
        let mut row = record.rows.row(1);
        row.timed_out = true;
        row.set(Metric::SysUs, None);
        row.set(Metric::WallNs, Some(u64::from(u32::MAX) + 1));
        record.rows.push(&row);
        record
    }

    #[test]
    fn comma_separated() {
        let mut out = Vec::new();
        csv(&mut out, &session()).unwrap();
        let expected = "step,arm,block,started_ns,cpu,exit,timed_out,wall_ns,user_us,sys_us,maxrss_kib\n\
                        0,0,,0,,-9,0,10,600,100,3332\n\
                        1,1,0,1000,1,0,0,20,600,100,3332\n\
                        1,1,0,1000,1,0,1,4294967296,600,,3332\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn one_object_a_line() {
        let mut out = Vec::new();
        json_lines(&mut out, &session()).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[2],
            r#"{"step":1,"arm":1,"block":0,"started_ns":1000,"cpu":1,"exit":0,"timed_out":true,"#
                .to_owned()
                + r#""wall_ns":4294967296,"user_us":600,"sys_us":null,"maxrss_kib":3332}"#
        );
        assert!(
            lines[0].contains(r#""block":null"#) && lines[0].contains(r#""exit":-9"#),
            "{text}"
        );
    }

    #[test]
    fn a_closed_pipe_is_an_error_of_its_kind() {
        let mut long = record(&["a"]);
        for _ in 0..2000 {
            run(&mut long, 0, Some(0), 5);
        }
        assert_eq!(csv(&mut ClosedPipe, &long).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(
            json_lines(&mut ClosedPipe, &long).unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
    }
}
