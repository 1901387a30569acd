#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use super::*;
use crate::bisection::LayoutVerdict;

fn record(text: &str) -> NewRecord {
    let result = BenchmarkResult {
        benchmark: "fib".into(),
        unit: "ns".into(),
        n_runs: Some(12),
        t0: 1.5,
        t0_is_limit: true,
        median: 1.6,
        mean: 1.7,
        revision: Some("v1".into()),
        ..BenchmarkResult::default()
    };
    let surroundings = vec![("kernel".to_owned(), "6.1".to_owned())];
    let origin = RecordOrigin { file: "a.swell".into(), surroundings, ..RecordOrigin::default() };
    NewRecord { origin, results: vec![result], bytes: text.into(), is_revision_given: false }
}

#[test]
fn a_record_is_kept_once_and_comes_back_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.db");
    let mut store = HistoryStore::open(&path).unwrap();
    let new = record("bytes of a file");
    assert_eq!(store.add(&new).unwrap(), AddOutcome::New);
    assert_eq!(store.add(&new).unwrap(), AddOutcome::Known);
    drop(store);
    let store = HistoryStore::open_existing(&path).unwrap();
    let entries = store.entries(None);
    assert_eq!(entries.len(), 1);
    assert_eq!((&*entries[0].origin, &entries[0].result), (&new.origin, &new.results[0]));
    assert_eq!(store.bytes(entries[0].record).unwrap(), new.bytes);
    assert_eq!(store.entries(Some("zz")), []);
    assert_eq!(store.entries(Some("i")).len(), 1);
}

/// Older versions added a second result. The newest line wins there too.
#[test]
fn a_revision_that_is_given_later_replaces_the_first_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.jsonl");
    let mut store = HistoryStore::open(&path).unwrap();
    let of = |revision: &str, is_revision_given: bool| {
        let mut new = record("a");
        new.results[0].revision = Some(revision.into());
        NewRecord { is_revision_given, ..new }
    };
    assert_eq!(store.add(&of("v1", false)).unwrap(), AddOutcome::New);
    assert_eq!(store.add(&of("v2", true)).unwrap(), AddOutcome::Later);
    assert_eq!(store.add(&of("v2", true)).unwrap(), AddOutcome::Known);
    assert_eq!(store.add(&of("v1", false)).unwrap(), AddOutcome::Known);
    let revisions = |store: &HistoryStore| {
        let entries = store.entries(None).into_iter();
        entries.map(|it| (it.record, it.result.revision.unwrap())).collect::<Vec<_>>()
    };
    let stored = || revisions(&HistoryStore::open_existing(&path).unwrap());
    let expected = [(1, "v2".to_owned())];
    assert_eq!((&revisions(&store)[..], &stored()[..]), (&expected[..], &expected[..]));
    let again = HistoryLine::More { record: 1, results: of("v3", false).results };
    lines::append(&store.file, store.end, &again).unwrap();
    assert_eq!(stored(), [(1, "v3".to_owned())]);
}

/// As after Git's `core.autocrlf` or an editor of Windows.
#[test]
fn lines_may_end_with_crlf() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.jsonl");
    HistoryStore::open(&path).unwrap().add(&record("a")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace('\n', "\r\n")).unwrap();
    let mut store = HistoryStore::open(&path).unwrap();
    assert_eq!(store.add(&record("a")).unwrap(), AddOutcome::Known);
    assert_eq!(store.add(&record("b")).unwrap(), AddOutcome::New);
    assert_eq!(HistoryStore::open_existing(&path).unwrap().entries(None).len(), 2);
}

/// Several revisions of one program are results of their own.
#[test]
fn the_revisions_of_one_record_are_all_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = HistoryStore::open(&directory.path().join("h")).unwrap();
    let mut new = record("a");
    new.results.push(BenchmarkResult { revision: Some("v2".into()), ..new.results[0].clone() });
    assert_eq!(store.add(&new).unwrap(), AddOutcome::New);
    assert_eq!(store.add(&new).unwrap(), AddOutcome::Known);
    assert_eq!(store.entries(None).len(), 2);
}

/// Eight writers at once, and one that dies within a transaction.
#[test]
fn concurrent_writers_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.db");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let mut store = HistoryStore::open(path).unwrap();
                for i in 0..20 {
                    let added = store.add(&record(&format!("{writer} {i}"))).unwrap();
                    assert_eq!(added, AddOutcome::New);
                }
            });
        }
    });
    // As after kill -9.
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"record\":{\"number\":161").unwrap();
    assert_eq!(HistoryStore::open_existing(&path).unwrap().entries(None).len(), 160);
    let mut store = HistoryStore::open(&path).unwrap();
    assert!(store.is_cut());
    assert_eq!(store.add(&record("after it")).unwrap(), AddOutcome::New);
    assert!(!store.is_cut() && !HistoryStore::open(&path).unwrap().is_cut());
    assert_eq!(HistoryStore::open(&path).unwrap().entries(None).len(), 161);
}

/// A writer that holds the lock and reads nothing does not keep readers out.
#[test]
fn a_reader_does_not_wait_for_a_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.jsonl");
    let mut store = HistoryStore::open(&path).unwrap();
    store.add(&record("a")).unwrap();
    lines::lock(&store.file).unwrap();
    assert_eq!(HistoryStore::open_existing(&path).unwrap().entries(None).len(), 1);
}

#[test]
fn what_is_no_history_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other");
    for (text, words) in [
        ("hello, this is no history at all", "no history of stillwell"),
        ("SQLite format 3\0 and more", "a SQLite database"),
        ("{\"format\":\"stillwell-history\",\"version\":2}\n", "a newer stillwell"),
        (
            "{\"format\":\"stillwell-history\",\"version\":1}\n{\"more\":1}\n",
            "line 2 is damaged; restore a copy, or take the line out: character ",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        for open in [HistoryStore::open, HistoryStore::open_existing] {
            let error = format!("{:#}", open(&path).unwrap_err());
            assert!(error.contains(words) && !error.contains("line 1"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    let missing = HistoryStore::open_existing(&directory.path().join("none")).unwrap_err();
    assert!(missing.to_string().contains("there is no history at"), "{missing}");
    let ring = directory.path().join("ring");
    std::os::unix::fs::symlink("ring", &ring).unwrap();
    for open in [HistoryStore::open, HistoryStore::open_existing] {
        let error = format!("{:#}", open(&ring).unwrap_err());
        assert!(error.contains("levels of symbolic links"), "{error}");
    }
}

#[test]
fn a_value_that_is_no_number_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = HistoryStore::open(&directory.path().join("h")).unwrap();
    let mut new = record("a");
    new.results[0].mean = f64::INFINITY;
    let error = format!("{:#}", store.add(&new).unwrap_err());
    assert!(error.contains("no number"), "{error}");
}

#[test]
fn an_unknown_number_of_runs_is_null_and_was_0() {
    let mut result = record("a").results.remove(0);
    result.n_runs = None;
    let text = serde_json::to_string(&result).unwrap();
    let old = text.replace("\"n_runs\":null", "\"n_runs\":0");
    assert_ne!(text, old);
    for text in [text, old] {
        assert_eq!(serde_json::from_str::<BenchmarkResult>(&text).unwrap(), result);
    }
}

/// The history keeps the last state of a session, in any order of adding.
#[test]
fn a_session_is_one_record() {
    const END: &str = "{\"event\":\"end\",\"reason\":\"interrupted\"}\n";
    let header = "{\"format\":\"stillwell\",\"seed\":1}\n";
    let whole = format!("{header}[1]\n[2]\n{{\"event\":\"end\",\"reason\":\"complete\"}}\n");
    // `torn`: a killed session; `cut`: an interrupted one.
    let (torn, cut) = (format!("{header}[1]\n[2"), format!("{header}[1]\n{END}"));
    let parted = format!("{header}[1]\n[3]\n{END}");
    let check = |states: &[(&str, AddOutcome)], expect: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        let mut store = HistoryStore::open(&directory.path().join("h.db")).unwrap();
        for (state, added) in states {
            let n_runs = state.len();
            let mut new = record(state);
            new.results[0].n_runs = Some(n_runs);
            assert_eq!(store.add(&new).unwrap(), *added, "{state}");
        }
        let entries = store.entries(None);
        let found: Vec<(i64, usize)> =
            entries.iter().map(|entry| (entry.record, entry.result.n_runs.unwrap())).collect();
        let wanted: Vec<(i64, usize)> = (1..).zip(expect.iter().map(|text| text.len())).collect();
        assert_eq!(found, wanted);
        for (number, text) in (1..).zip(expect) {
            assert_eq!(store.bytes(number).unwrap(), text.as_bytes());
        }
    };
    use AddOutcome::{Known, Later, New};
    check(&[(&torn, New), (&cut, Later), (&whole, Later), (&whole, Known)], &[&whole]);
    check(&[(&whole, New), (&cut, Known), (&torn, Known)], &[&whole]);
    check(&[(&cut, New), (&torn, Known)], &[&cut]);
    check(&[(&cut, New), (&whole, Later), (&parted, New), (&cut, Known)], &[&whole, &parted]);
    let other = whole.replace("\"seed\":1", "\"seed\":2");
    check(&[(&cut, New), (&other, New)], &[&cut, &other]);
    // Converted records and files of other programs have no states.
    let imported = "{\"format\":\"stillwell\",\"imported\":{}}\n[1]\n";
    let longer = format!("{imported}[2]\n");
    check(&[(imported, New), (&longer, New)], &[imported, &longer]);
    check(&[("a\n", New), ("a\nb\n", New)], &["a\n", "a\nb\n"]);
}

#[test]
fn a_later_search_replaces_what_an_earlier_one_found() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = HistoryStore::open(&directory.path().join("h.db")).unwrap();
    let culprit = |head: &str, bad: &str, layout| StoredCulprit {
        benchmark: "b".into(),
        good: "old".into(),
        bad: bad.into(),
        head: head.into(),
        base: "parent".into(),
        subject: "it's \"slow\"".into(),
        n_commits: 1,
        ratio: 1.05,
        lo: Some(1.04),
        hi: None,
        layout,
        found_s: 7,
    };
    let first = [culprit("x", "new", None), culprit("y", "new", None)];
    store.add_culprits(&first).unwrap();
    assert_eq!(store.culprits(), first);
    let other = culprit("x", "newer", Some(LayoutVerdict::Layout));
    let again = culprit("z", "new", Some(LayoutVerdict::Source));
    store.add_culprits(&[other.clone(), again.clone()]).unwrap();
    assert_eq!(store.culprits(), [other, again]);
}
