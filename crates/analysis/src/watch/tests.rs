use super::*;
use record::fixture::{record, run};
use record::plan::suite::SuiteMembership;

/// The last number of pairs depends on a suspect's labels: no look there.
#[test]
fn a_suspect_has_no_look_at_the_end_of_a_gate() {
    let mut record = record(&["a", "b"]);
    let (name, benchmark) = ("gate".to_owned(), "b".to_owned());
    let suite = SuiteMembership { name, benchmark, family: 1, is_gate: true, has_suspects: true };
    record.header.plan.suite = Some(suite);
    // A signal ended the first run of the fixture.
    run(&mut record, 0, None, 1000);
    for block in 0..12 {
        run(&mut record, 0, Some(block), 1000 + u64::from(block % 3));
        run(&mut record, 1, Some(block), 1010 + u64::from(block % 5));
    }
    let n_seen = |record: &Record| {
        let found = SessionComparisons::of(record, &Walls::of(record)).unwrap();
        found.candidates()[0].test.n_pairs_seen()
    };
    assert_eq!(n_seen(&record), 12);
    record.events.insert(0, Event::Suspect);
    assert_eq!(n_seen(&record), 10, "the last of the fixed numbers");
}
