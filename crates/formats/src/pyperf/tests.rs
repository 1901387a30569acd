//! Old versions, precedence and metadata. `crate::tests` tests the values.

use std::num::NonZeroU64;

use crate::{
    Calibration, Detail, FileFormat, LaunchView, MetaValue, ReadOptions, ResultUnit, Results,
    SourceFile,
};

#[track_caller]
fn read(text: &str) -> Results {
    FileFormat::Pyperf
        .read(&[SourceFile { path: "", bytes: text.as_bytes() }], ReadOptions::default())
        .unwrap()
}

fn launches(results: &Results) -> Vec<LaunchView<'_>> {
    results.benchmarks[0].launches().collect()
}

/// One run in all versions: 2 x 5 loops, a warm-up of 4 s and a value of 3 s per loop.
#[test]
fn all_versions() {
    let of = |version: &str, outer: &str, warmup: &str, values: &str| {
        format!(
            r#"{{"version":{version},"benchmarks":[{{"{outer}":{{"name":"a","loops":2,"inner_loops":5}},
                "runs":[{{"warmups":[[2,{warmup}]],"{values}":[3.0]}}]}}]}}"#
        )
    };
    let new = read(&of("\"1.0\"", "metadata", "4", "values"));
    let six = read(&of("6", "metadata", "40", "values"));
    let five = read(&of("5", "common_metadata", "40", "samples"));
    assert_eq!(new.tool, "pyperf");
    assert_eq!((&six.benchmarks, &five.benchmarks), (&new.benchmarks, &new.benchmarks));
    let launch = launches(&new)[0];
    assert_eq!((launch.values, launch.warmups), (&[3e9][..], &[(2, 4e9)][..]));
    assert_eq!((launch.loops(), launch.inner_loops()), (2, 5));
    for (version, outer, values) in [("5", "metadata", "values"), ("6", "metadata", "samples")] {
        let text = of(version, outer, "4", values);
        assert!(
            FileFormat::Pyperf
                .read(&[SourceFile { path: "", bytes: text.as_bytes() }], ReadOptions::default())
                .is_err()
        );
    }
}

#[test]
fn what_a_run_says_comes_first() {
    let results = read(
        r#"{"benchmarks":[{"runs":[
            {"values":[1],"metadata":{"loops":3,"x":1}},
            {"values":[1],"metadata":{"inner_loops":7}},
            {"values":[1]}],
          "metadata":{"loops":2,"unit":"byte","x":2}}],
         "metadata":{"loops":1,"inner_loops":4,"name":" a ","unit":"second","x":3,"tags":["t"]},"version":"1.0"}"#,
    );
    let loops: Vec<_> =
        launches(&results).iter().map(|it| (it.loops(), it.inner_loops())).collect();
    assert_eq!(loops, [(3, 4), (2, 7), (2, 4)]);
    let benchmark = &results.benchmarks[0];
    assert_eq!(
        (&*benchmark.name, &benchmark.unit, benchmark.values[0]),
        ("a", &ResultUnit::Bytes, 1.0)
    );
    let of_run = launches(&results)[0].info.metadata.as_ref().unwrap();
    let all =
        [&**of_run, &benchmark.metadata, &results.metadata].map(|metadata| metadata["x"].clone());
    assert_eq!(all, [1, 2, 3].map(MetaValue::Int));
    assert_eq!(results.metadata["tags"], MetaValue::List(vec!["t".into()]));
    assert!(!results.metadata.contains_key("name"));
}

#[test]
fn calibrations() {
    let results = read(
        r#"{"benchmarks":[{"metadata":{"name":"a"},"runs":[
            {"warmups":[[1,1.0]],"metadata":{"calibrate_loops":8}},
            {"warmups":[[1,1.0]],"metadata":{"recalibrate_warmups":0}},
            {"warmups":[[1,1.0]]},
            {"values":[1],"metadata":{"calibrate_loops":9}}]}],"version":"1.0"}"#,
    );
    let launches = launches(&results);
    let eight = Calibration::Loops(NonZeroU64::new(8).unwrap());
    let found: Vec<_> = launches.iter().map(|it| it.info.calibration).collect();
    assert_eq!(found, [Some(eight), Some(Calibration::WarmupsAgain(0)), None, None]);
    // A run with values is no calibration, whatever its metadata says.
    assert_eq!(launches[3].info.metadata.as_ref().unwrap()["calibrate_loops"], MetaValue::Int(9));
}

#[test]
fn only_what_is_wanted() {
    let text = r#"{"benchmarks":[{"metadata":{"name":"a"},"runs":[{"values":[1],"metadata":{"x":[{}],"loops":2}}]}],
        "version":"1.0"}"#;
    let file = [SourceFile { path: "", bytes: text.as_bytes() }];
    let fewer = FileFormat::Pyperf
        .read(&file, ReadOptions { detail: Detail::Values, ..ReadOptions::default() })
        .unwrap();
    let launch = fewer.benchmarks[0].launches().next().unwrap();
    assert_eq!((launch.loops(), &launch.info.metadata), (2, &None));
    // pyperf refuses such metadata, so a user who asks for it gets an error.
    assert!(FileFormat::Pyperf.read(&file, ReadOptions::default()).is_err());
}
