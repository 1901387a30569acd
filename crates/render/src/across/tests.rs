use super::*;
use crate::fixture::{analysis, uncertain};
use analysis::verdict::judge;
use record::fixture::record;

fn pair<'a>(record: &Record, old: &'a ArmSummary, new: &'a ArmSummary) -> ArmPair<'a> {
    let evidence = Evidence::Unpaired {
        ratio: uncertain(1.018, 0.006),
        because: NoTest::SeparateRecords,
        past: None,
    };
    let comparison = Comparison { arm: new.arm, reference: new.arm, evidence };
    let judgement = judge(&comparison, &record.header.plan.policy);
    ArmPair { old: vec![old], new, comparison, judgement, distributions: None }
}

#[test]
fn both_sides_and_no_verdict() {
    let (mut old, new) = (record(&["sleep 1"]), record(&["sleep 1"]));
    old.path = "/tmp/old.swell".into();
    old.header.facts.kernel = Some("6.1".into());
    let (old_arms, new_arms) = (analysis(&old, &[1e9]).arms, analysis(&new, &[1.018e9]).arms);
    let pairs = [pair(&new, &old_arms[0], &new_arms[0])];
    let session = |record, n_shared| SessionRecord {
        record,
        neighbours: Some(Neighbours { n_probes: 50, n_shared, ratio: None }),
    };
    let (old, new) = (session(&old, 2), session(&new, 20));
    let text = text(&[old], new, &pairs, &[], &Styles::default());
    insta::assert_snapshot!(text);
    let mut out = Vec::new();
    json(&mut out, &[old], new, &pairs, &[]).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["pairs"][0]["comparison"]["evidence"]["ratio"]["value"], 1.018);
    assert_eq!(document["old"][0]["record"], "/tmp/old.swell");
    assert_eq!(document["new"]["neighbours"]["n_shared"], 20);
}

/// The benchmarks of a suite may have one program.
#[test]
fn a_benchmark_has_its_name() {
    let mut record = record(&["a", "b"]);
    for (arm, name) in record.header.plan.arms.iter_mut().zip(["x", "y"]) {
        (arm.name, arm.benchmark) = (Some("prog".into()), Some(name.into()));
    }
    let arms = analysis(&record, &[1e9, 2e9]).arms;
    let pairs = [0, 1].map(|arm| pair(&record, &arms[arm], &arms[arm]));
    let session = SessionRecord { record: &record, neighbours: None };
    let text = text(&[session], session, &pairs, &[], &Styles::default());
    assert!(text.starts_with("x took ") && text.contains("\ny took "), "{text}");
    assert!(text.contains("\nx\nold ") && text.contains("\ny\nold "), "{text}");
}

/// Two interpreters looked alike.
#[test]
fn two_programs_of_a_benchmark_have_their_names() {
    let records = ["3.11.7", "3.12.1"].map(|version| {
        let path = format!("/home/somebody/.pyenv/versions/{version}/bin/python3 -m pyperformance");
        let mut record = record(&[&path]);
        record.header.plan.arms[0].benchmark = Some("sort".into());
        record
    });
    let arms = records.each_ref().map(|record| analysis(record, &[1e9]).arms);
    let [old, new] = records.each_ref().map(|record| SessionRecord { record, neighbours: None });
    let pairs = [pair(&records[1], &arms[0][0], &arms[1][0])];
    let text = text(&[old], new, &pairs, &[], &Styles::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("sort: …3.12.1/bin/python3 -m pyperformance took "), "{text}");
    let expected = "as long as …3.11.7/bin/python3 -m pyperformance in the old session";
    assert!(text.contains(expected), "{text}");
}

/// A ratio of limits is no estimate of either direction.
#[test]
fn the_ratio_of_a_limit_is_one() {
    let (record, evidence) = (record(&["a"]), Evidence::None { because: NoTest::Sequential });
    let arms = [false, true].map(|is_limit| {
        let mut arm = analysis(&record, &[1e9]).arms.remove(0);
        arm.times.as_mut().unwrap().is_upper_limit = is_limit;
        arm
    });
    let found = |old: &[usize], new: usize| {
        let comparison = Comparison { arm: 0, reference: 0, evidence: evidence.clone() };
        let judgement = judge(&comparison, &record.header.plan.policy);
        let old = old.iter().map(|&at| &arms[at]).collect();
        bound(&ArmPair { old, new: &arms[new], comparison, judgement, distributions: None })
    };
    assert_eq!([found(&[0], 0), found(&[0, 0], 1)], [RatioBound::Exact, RatioBound::AtMost]);
    assert_eq!([found(&[0, 1], 0), found(&[1], 1)], [RatioBound::AtLeast, RatioBound::About]);
}

#[track_caller]
fn check(old: &str, new: &str, because: NoTest, expected: &str) {
    let (old, new) = (record(&[old]), record(&[new]));
    let mut out = String::new();
    offer_one_session(&mut out, &old.header.plan.arms[0], (&new, 0), because);
    assert_eq!(out, expected);
}

#[test]
fn the_command_line_can_be_copied() {
    use NoTest::SeparateRecords;
    let plain = "        stillwell run --reference ./old ./new\n";
    check("./old", "./new", SeparateRecords, plain);
    let quoted = "        stillwell run --reference './old -x' 'echo '\\''$HOME'\\'''\n";
    check("./old -x", "echo '$HOME'", SeparateRecords, quoted);
    let rebuilt = "        stillwell run --reference OLD ./prog\n        \
                   where OLD runs the old program, kept under another name\n";
    check("./prog", "./prog", SeparateRecords, rebuilt);
    check("./old", "a\u{1b}[2J", SeparateRecords, "        stillwell run --reference ./old NEW\n");
    check("./old", "./new", NoTest::Sequential, "");
}
