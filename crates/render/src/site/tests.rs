use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use model::values::Better;
use search::history::commits::CommitRange;
use search::history::detection::{detect, nearest};
use search::history::fixture::{self, SETTINGS};
use search::history::series::ChangeKind;
use search::history::{BenchmarkResult, RecordOrigin, StoredResult};

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>{{ 1000003*7 }}&amp;\u{202e}../../x";

/// Forty results; from index `change` on they are 5 % slower.
fn entries(benchmark: &str, machine: &str, change: i64) -> Vec<StoredResult> {
    let entry = |i: i64| StoredResult {
        record: i + 1,
        origin: Arc::new(RecordOrigin {
            machine: machine.into(),
            measured_s: 86_400 * i,
            surroundings: vec![("kernel".into(), if i < change { HOSTILE } else { "6.1" }.into())],
            ..RecordOrigin::default()
        }),
        result: BenchmarkResult {
            revision: Some(format!("{i:02}{HOSTILE}")),
            ..fixture::result(
                benchmark,
                (if i < change { 1e6 } else { 1.05e6 }) + (i * 7 % 11) as f64,
                Some(3.0),
            )
        },
    };
    (0..40).map(entry).collect()
}

fn written(entries: Vec<StoredResult>, title: Option<&str>) -> Vec<SiteFile> {
    pages_of(&detect(entries, SETTINGS), title)
}

fn pages_of(all: &[Series], title: Option<&str>) -> Vec<SiteFile> {
    let estimate = SETTINGS.estimate;
    let between = CommitRange { n: 12, newest: vec![format!("abc {HOSTILE}")], n_undone: 3 };
    let changes = all.iter().flat_map(|series| {
        let commits = Some(between.clone());
        series.changes.iter().map(move |change| SeriesChange {
            series,
            change,
            commits: commits.clone(),
            culprits: Vec::new(),
        })
    });
    let changes: Vec<SeriesChange<'_>> = changes.collect();
    let nearest = nearest(all, SETTINGS);
    let site =
        HistorySite { series: all, changes: &changes, nearest: nearest.as_ref(), estimate, title };
    let files: Vec<SiteFile> = pages(site).map(Result::unwrap).collect();
    let announced: Vec<String> = site.pages().collect();
    assert_eq!(announced, files.iter().map(|file| file.path.clone()).collect::<Vec<_>>());
    files
}

/// The values of an attribute.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    html.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn changes_are_listed_newest_first_and_every_link_leads_somewhere() {
    let mut all = entries("json", "a", 10);
    all.extend(entries("json", "b", 30));
    all.extend(entries("fib/n=2", "a", 20));
    all.extend(entries("still", "a", 90));
    let files = written(all, None);
    assert_eq!(files.len(), 4, "a page for each benchmark, and the index");
    let index = &files[3];
    assert_eq!(index.path, INDEX);
    let days: Vec<usize> = ["1970-01-31 <code>30", "1970-01-21 <code>20", "1970-01-11 <code>10"]
        .iter()
        .map(|day| index.text.find(day).unwrap_or_else(|| panic!("{day}")))
        .collect();
    assert!(days.is_sorted(), "{days:?}");
    assert!(index.text.contains("3 benchmarks · 160 results · 2 machines · 3 changes"));
    assert!(index.text.contains("+5.0 %"));
    let known: BTreeSet<String> = files
        .iter()
        .map(|file| file.path.clone())
        .chain(assets().into_iter().map(|it| it.path))
        .collect();
    let plain = |text: &str| text.replace("&#x2f;", "/");
    for file in &files {
        let targets =
            attributes(&file.text, "href").into_iter().chain(attributes(&file.text, "src"));
        for target in targets.map(plain) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if path.is_empty() {
                file.path.clone()
            } else if let Some(above) = path.strip_prefix("../") {
                assert_ne!(file.path, INDEX);
                above.to_owned()
            } else {
                assert_eq!(file.path, INDEX, "{target}");
                path.to_owned()
            };
            assert!(known.contains(&path), "{target} in {}", file.path);
            let section = anchor.split("-record-").next().unwrap_or_default();
            let page = files.iter().find(|file| file.path == path);
            let has = |page: &SiteFile| page.text.contains(&format!(" id=\"{section}\""));
            assert!(section.is_empty() || page.is_some_and(has), "{target}");
        }
    }
}

/// The script hides the rows whose box is not checked.
#[test]
fn every_row_of_the_index_has_a_box() {
    let mut all = ["drift", "level", "spell", "still"].map(|name| {
        let change = if name == "still" { 90 } else { 20 };
        detect(entries(name, "a", change), SETTINGS).remove(0)
    });
    for (at, kind) in [(0, ChangeKind::Drift), (2, ChangeKind::Spell)] {
        all[at].changes[0].kind = kind;
    }
    let index = pages_of(&all, None).pop().unwrap().text;
    let (rows, boxes) = (attributes(&index, "data-verdict"), attributes(&index, "value"));
    assert_eq!(rows, ["undecided", "slower", "undecided", "none"]);
    assert!(rows.iter().all(|class| boxes.contains(class)), "{boxes:?}");
    assert!(index.contains("value=\"undecided\" checked> spell or drift"), "{index}");
}

#[test]
fn a_higher_throughput_is_better_and_no_time() {
    let mut all = entries("rate", "a", 20);
    for entry in &mut all {
        let result = &mut entry.result;
        (result.better, result.unit, result.median) =
            (Some(Better::Higher), String::from("ops/s"), result.t0);
    }
    let files = written(all, None);
    let [page, index] = &files[..] else { panic!("two pages") };
    for SiteFile { text, .. } in [page, index] {
        assert!(text.contains("badge faster\">BETTER<") && !text.contains("SLOWER"), "{text}");
    }
    assert!(page.text.contains("\"is_worse\":[false]"), "{}", page.text);
    assert!(index.text.contains("newest median"), "{}", index.text);
}

#[test]
fn names_and_commits_never_become_markup() {
    let files = written(entries(HOSTILE, HOSTILE, 20), Some(HOSTILE));
    assert_eq!(files.len(), 2);
    for SiteFile { path, text } in &files {
        assert!(!text.contains("<img") && !text.contains("alert(1)</script>"), "{text}");
        assert_eq!(text.matches("<script").count(), 1 + SCRIPTS.len());
        assert!(text.contains("{{ 1000003*7 }}") && !text.contains("7000021"));
        assert!(!text.contains('\u{202e}'), "what turns the text around");
        let (_, data) = text.split_once("id=\"data\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        assert!(!data.contains(['<', '>', '&']));
        serde_json::from_str::<serde_json::Value>(data).unwrap();
        let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.');
        assert!(path.strip_prefix("b/").unwrap_or(path).chars().all(is_plain), "{path}");
    }
}

#[test]
fn each_benchmark_has_a_file_of_its_own_with_a_plain_name() {
    let long = "x".repeat(5000);
    let names =
        ["a/b", "a-b", "A/B", "a b", "../../etc/passwd", "", ".", "日本", "ベンチ", "con\0", &long];
    let paths: BTreeSet<String> = names.iter().map(|name| page_of(name).to_lowercase()).collect();
    assert_eq!(paths.len(), names.len());
    for path in &paths {
        let name = path.strip_prefix("b/").unwrap();
        assert!(name.len() < 100 && !name.starts_with('.') && !name.contains('/'), "{name}");
    }
    assert!(page_of("json_loads").starts_with("b/json-loads-"));
}

#[test]
fn an_empty_history_and_one_result_have_a_site() {
    let files = written(Vec::new(), None);
    assert_eq!(files.len(), 1);
    assert!(files[0].text.contains("There are no results yet"));
    let mut one = entries("fib", "a", 90);
    one.truncate(1);
    let files = written(one, None);
    assert!(files[0].text.contains("1 result in all"), "{}", files[0].text);
    assert!(files[1].text.contains("No change found"));
}
