//! `/proc/interrupts` (proc_interrupts(5), kernel/irq/proc.c `show_interrupts`): how often each interrupt came on each
//! CPU since the CPU came online.

use crate::Host;

/// With hundreds of CPUs and queues the file has several megabytes.
const BYTES_MAX: u64 = 64 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// The CPUs of the columns. Offline CPUs have no column, so the numbers have holes.
    pub cpus: Vec<usize>,
    pub rows: Vec<InterruptRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptRow {
    /// A number, or letters for counters of the architecture (`LOC`, `NMI`, `IPI0`).
    pub name: String,
    /// Counts on each of [`Interrupts::cpus`]. Empty if the kernel counts for the whole machine (`ERR`).
    pub counts: Vec<u64>,
    /// Controller, trigger and devices, or the meaning of the letters.
    pub what: String,
}

impl Interrupts {
    /// Reads the current table. `None` if it cannot be read.
    pub fn read(host: &Host) -> Option<Self> {
        Self::parse(&host.read_long("proc/interrupts", BYTES_MAX)?)
    }

    /// Parses the table. `None` if the text does not start with a line of CPUs.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let header = lines.next()?.split_ascii_whitespace();
        let cpus: Option<Vec<usize>> =
            header.map(|name| name.strip_prefix("CPU")?.parse().ok()).collect();
        let cpus = cpus.filter(|cpus| !cpus.is_empty())?;
        let rows = lines.filter_map(|line| InterruptRow::parse(line, cpus.len())).collect();
        Some(Self { cpus, rows })
    }

    /// Subtracts an earlier reading. An interrupt or a CPU that was absent then counts from zero.
    pub fn since(mut self, before: &Self) -> Self {
        let columns: Vec<Option<usize>> =
            self.cpus.iter().map(|cpu| before.cpus.iter().position(|known| known == cpu)).collect();
        for row in &mut self.rows {
            let Some(old) = before.row(&row.name) else { continue };
            for (count, column) in row.counts.iter_mut().zip(&columns) {
                let old = column.and_then(|column| old.counts.get(column)).copied().unwrap_or(0);
                *count = count.saturating_sub(old);
            }
        }
        self
    }

    pub fn row(&self, name: &str) -> Option<&InterruptRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// All interrupts of a CPU, including the local timer's. `None` if it has no column.
    pub fn total_on(&self, cpu: usize) -> Option<u64> {
        let column = self.cpus.iter().position(|&known| known == cpu)?;
        let counts = self.rows.iter().filter_map(|row| row.counts.get(column));
        Some(counts.fold(0, |sum: u64, count| sum.saturating_add(*count)))
    }
}

impl InterruptRow {
    /// Parses a row with a count for each CPU, or one for the whole machine. If a CPU goes off- or online while the
    /// kernel writes the file, rows differ in length and their counts cannot be assigned.
    fn parse(line: &str, n_cpus: usize) -> Option<Self> {
        let (name, rest) = line.split_once(':')?;
        let mut counts = Vec::new();
        let mut rest = rest.trim_start();
        while counts.len() < n_cpus {
            let end = rest.find(|char: char| char.is_ascii_whitespace()).unwrap_or(rest.len());
            let Ok(count) = rest[..end].parse() else { break };
            counts.push(count);
            rest = rest[end..].trim_start();
        }
        if counts.len() < n_cpus {
            counts.clear();
        }
        Some(Self { name: name.trim().to_owned(), counts, what: words(rest) })
    }
}

/// Joins words with single blanks. The kernel pads the columns for the longest name.
fn words(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARSE: &str = "           CPU0       CPU2       \n\
        \x20  0:         31          0  IR-IO-APIC    2-edge      timer\n\
        \x20 24:          0         12  PCI-MSIX-0000:00:1f.2   0-edge      ahci[0000:00:1f.2], i2c 3\n\
        NMI:          1          2   Non-maskable interrupts\n\
        LOC:     494836     450817   Local timer interrupts\n\
        ERR:          7\n\
        MIS:          0\n";

    #[test]
    fn offline_cpus_have_no_column() {
        let found = Interrupts::parse(SPARSE).unwrap();
        assert_eq!(found.cpus, [0, 2]);
        assert_eq!(found.total_on(2), Some(12 + 2 + 450_817));
        assert_eq!(found.total_on(0), Some(31 + 1 + 494_836));
        assert_eq!(found.total_on(1), None);
        let row = found.row("24").unwrap();
        assert_eq!(row.what, "PCI-MSIX-0000:00:1f.2 0-edge ahci[0000:00:1f.2], i2c 3");
    }

    /// One count for the whole machine does not belong to CPU 0.
    #[test]
    fn rows_of_the_whole_machine() {
        let found = Interrupts::parse(SPARSE).unwrap();
        assert!(found.row("ERR").unwrap().counts.is_empty());
        // With one CPU, both forms look the same and mean the same.
        let found =
            Interrupts::parse("  CPU0\nERR: 7\nIPI0: 5  Rescheduling interrupts\n").unwrap();
        assert_eq!(found.total_on(0), Some(12));
    }

    /// CPU 1 goes offline while the kernel writes the file.
    #[test]
    fn rows_that_are_too_short_belong_to_nobody() {
        let found = Interrupts::parse("CPU0 CPU1\n 1: 5 6 x\n 2: 7 GICv3 27 Level arch_timer\n");
        let found = found.unwrap();
        assert_eq!((found.total_on(0), found.total_on(1)), (Some(5), Some(6)));
        assert_eq!(found.row("2").unwrap().what, "GICv3 27 Level arch_timer");
    }

    #[test]
    fn what_came_since() {
        let before = Interrupts::parse("CPU0 CPU2\n1: 5 6 x\nLOC: 100 200 t\n").unwrap();
        let now = Interrupts::parse("CPU0 CPU1 CPU2\n1: 5 1 9 x\n7: 1 2 3 y\nLOC: 90 7 260 t\n");
        let found = now.unwrap().since(&before);
        // A counter that decreases belongs to a CPU that was offline in between.
        assert_eq!((0..3).map(|cpu| found.total_on(cpu).unwrap()).collect::<Vec<_>>(), [1, 10, 66]);
    }

    #[test]
    fn other_texts() {
        for text in ["", "\n", "hello\n1: 2\n", "CPUx\n", "CPU0 CPU\n", "CPU0 12\n"] {
            assert_eq!(Interrupts::parse(text), None, "{text:?}");
        }
        let huge = "CPU0\n1: 99999999999999999999999\n2: 18446744073709551615 x\n3: 5 x\n";
        assert_eq!(Interrupts::parse(huge).unwrap().total_on(0), Some(u64::MAX));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,80}", rows in "(?s)[ 0-9:\nA-C]{0,80}") {
            let _ = Interrupts::parse(&text);
            let _ = Interrupts::parse(&format!("  CPU0 CPU3\n{rows}\n{text}"));
        }

        #[test]
        fn tables_round_trip(
            cpus in proptest::collection::btree_set(0_usize..2048, 1..40),
            rows in proptest::collection::vec((0_u32..1000, 0_u64..1 << 40), 0..20),
        ) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            let header: String = cpus.iter().map(|cpu| format!("{:>11}", format!("CPU{cpu}"))).collect();
            let mut text = format!("    {header}\n");
            for (name, count) in &rows {
                let counts: String = cpus.iter().map(|cpu| format!(" {:>10}", count + *cpu as u64)).collect();
                text += &format!("{name:>4}:{counts}  GICv3  7 Edge  9p-virtio\n");
            }
            let found = Interrupts::parse(&text).unwrap();
            proptest::prop_assert_eq!(&found.cpus, &cpus);
            let expect: Vec<InterruptRow> = rows
                .iter()
                .map(|(name, count)| InterruptRow {
                    name: name.to_string(),
                    counts: cpus.iter().map(|cpu| count + *cpu as u64).collect(),
                    what: "GICv3 7 Edge 9p-virtio".to_owned(),
                })
                .collect();
            proptest::prop_assert_eq!(found.rows, expect);
        }
    }
}
