//! Options for reading a file of another program: its format, and the benchmarks to show.

use clap::Args;
use formats::{FileFormat, TimeUnit};

/// What the files are.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files of other programs")]
pub struct InputOptions {
    /// What the files are [default: found out from what is in them]
    #[arg(long, visible_alias = "from", value_name = "FORMAT", value_enum)]
    pub format: Option<FileFormat>,
    #[command(flatten)]
    pub kind: KindOptions,
    /// The most values to keep of a file that is read line by line; no option.
    #[arg(skip)]
    pub values_max: Option<usize>,
}

/// [`InputOptions`] for the verb whose --format is what it writes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files of other programs")]
pub struct FromOptions {
    /// What the files are [default: found out from what is in them]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub from: Option<FileFormat>,
    #[command(flatten)]
    pub kind: KindOptions,
}

/// What some formats do not say themselves, and the benchmarks to show.
#[derive(Args, Clone, Debug, Default)]
pub struct KindOptions {
    /// Unit of lines of times [default: s]
    #[arg(long, value_name = "UNIT", value_enum)]
    pub unit: Option<TimeUnit>,
    /// Which sample of a criterion directory: new, base or the name of a baseline [default: new]
    #[arg(long, value_name = "NAME")]
    pub side: Option<String>,
    /// Most bytes that a compressed file may unpack to, for example 500M or 4G [default: a 64th of the free memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub max_unpacked: Option<u64>,
    /// Only this benchmark or command; can be repeated
    #[arg(short = 'b', long, value_name = "NAME")]
    pub benchmark: Vec<String>,
}

/// A number of bytes, with K, M or G.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];
    let (digits, factor) = units
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)))
        .unwrap_or((text, 1));
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| format!("{text:?} is no number of bytes; write for example 500M or 4G"))
}

impl From<&FromOptions> for InputOptions {
    fn from(options: &FromOptions) -> Self {
        let FromOptions { from, kind } = options.clone();
        Self { format: from, kind, values_max: None }
    }
}
