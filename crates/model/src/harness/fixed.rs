//! Fixed iteration counts. Two builds do the same work only then, so the times of their functions can be compared.

use crate::harness::{Harness, asv};

/// The arguments for a run of `n` iterations instead of a time; `None` if the framework has no such option.
pub fn with_iterations(harness: Harness, argv: &[String], n: u64) -> Option<Vec<String>> {
    // All iterations are in one sample.
    let replaced = |option: &str, samples: &str| {
        let word = |word: &String| match word {
            word if word.starts_with(option) => format!("{option}{n}x"),
            word if word.starts_with(samples) => format!("{samples}1"),
            word => word.clone(),
        };
        argv.iter().any(|word| word.starts_with(option)).then(|| argv.iter().map(word).collect())
    };
    match harness {
        // Since 1.8.
        Harness::GoogleBenchmark => replaced("--benchmark_min_time=", "--benchmark_repetitions="),
        Harness::Go => replaced("-test.benchtime=", "-test.count="),
        Harness::Divan => {
            let at = argv.iter().position(|word| word == "--max-time")?;
            let once = ["--sample-count", "1", "--sample-size"].map(String::from);
            let before = argv[..at].iter().cloned();
            let after = argv[at + 2..].iter().cloned();
            Some(before.chain(once).chain([n.to_string()]).chain(after).collect())
        }
        Harness::Asv => {
            let mut words = argv.to_vec();
            let settings = words.iter_mut().find(|word| word.starts_with(asv::SETTINGS))?;
            *settings =
                format!("{}1, \"repeat\": 1, \"number\": {n}, \"warmup_time\": 0}}", asv::SETTINGS);
            Some(words)
        }
        Harness::Criterion
        | Harness::Criterion0_3
        | Harness::Libtest
        | Harness::Catch2
        | Harness::PytestBenchmark
        | Harness::Jmh => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_takes_the_place_of_a_time() {
        let words = |harness: Harness| {
            let argv = harness.command(&["p".into()], "b", None);
            with_iterations(harness, &argv, 500).map(|words| words.join(" "))
        };
        let google = words(Harness::GoogleBenchmark).unwrap();
        assert!(
            google.contains("--benchmark_min_time=500x") && !google.contains("0.05"),
            "{google}"
        );
        let go = words(Harness::Go).unwrap();
        assert!(go.ends_with("-test.benchtime=500x -test.count=1"), "{go}");
        let divan = words(Harness::Divan).unwrap();
        let expected = "p --bench --exact b --sample-count 1 --sample-size 500 --color never";
        assert_eq!(divan, expected);
        let asv = Harness::Asv.command(&["asv.benchmark".into(), "d".into()], "b", None);
        let asv = with_iterations(Harness::Asv, &asv, 500).unwrap();
        assert_eq!(asv[4], r#"{"rounds": 1, "repeat": 1, "number": 500, "warmup_time": 0}"#);
        assert_eq!(words(Harness::Criterion), None);
    }
}
