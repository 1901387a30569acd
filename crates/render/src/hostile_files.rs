//! Randomly damaged files of other programs, which every reader and writer has to survive.

use formats::samples::{ALL, CRITERION};
use formats::{Detail, FileFormat, ReadOptions, detect};
use proptest::prelude::*;

use crate::{bmf, pyperf, values};

proptest! {
    /// Damage leads to consistent results or to an error.
    #[test]
    fn nothing_panics(
        which in 0..ALL.len() + 1,
        cut in 0.0..1.3f64,
        changes in prop::collection::vec((0.0..1.0f64, prop::sample::select(b"0123456789-+.eE\"[]{},:nulNaI \n\t\\\xff\x00".to_vec())), 0..6),
    ) {
        let (format, files) = ALL.get(which).copied().unwrap_or((FileFormat::Criterion, &CRITERION));
        let mut bytes = files[0].bytes.to_vec();
        bytes.truncate((cut * bytes.len() as f64) as usize);
        for (place, byte) in changes {
            let index = (place * bytes.len() as f64) as usize;
            if let Some(to) = bytes.get_mut(index) {
                *to = byte;
            }
        }
        let mut changed = files.to_vec();
        changed[0].bytes = &bytes;
        detect(&bytes).ok();
        for detail in [Detail::Values, Detail::Everything] {
            if let Ok(results) = format.read(&changed, ReadOptions { detail, ..ReadOptions::default() }) {
                for benchmark in &results.benchmarks {
                    prop_assert!(benchmark.values.iter().all(|value| value.is_finite()));
                    prop_assert_eq!(benchmark.launches().map(|it| it.values.len()).sum::<usize>(), benchmark.values.len());
                    prop_assert!(benchmark.extras.iter().all(|it| it.values.len() == benchmark.values.len()));
                }
                pyperf::write(&mut Vec::new(), &results).ok();
                bmf::write(&mut Vec::new(), &results).ok();
                values::write_csv(&mut Vec::new(), &results).ok();
            }
        }
    }

    /// Readers refuse files of other formats, except that any line with a number is a time.
    #[test]
    fn any_file_as_any_format(which in 0..ALL.len(), other in 0..ALL.len()) {
        let (format, files) = (ALL[other].0, ALL[which].1);
        prop_assume!(format != FileFormat::Times);
        let is_right = ALL[which].0 == format;
        prop_assert_eq!(format.read(files, ReadOptions::default()).is_ok(), is_right);
    }
}
