use super::*;
use crate::fixture::{analysis, compare, judgements, paired};
use analysis::Evidence;
use model::spec::RunSpec;
use model::spec::groups::JudgementOptions;
use model::values::DecideOn;
use record::Record;
use record::fixture::{from_spec, record, run};

const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror='alert(2)'>{{ 1000003*7 }}&amp;\u{202e}";

fn page(names: &[&str], title: Option<&str>) -> String {
    let mut record = record(&["a", "b"]);
    for (arm, name) in record.header.plan.arms.iter_mut().zip(names) {
        arm.name = Some((*name).into());
        arm.command = (*name).into();
    }
    page_of(record, title)
}

fn page_of(mut record: Record, title: Option<&str>) -> String {
    record.path = format!("/tmp/{HOSTILE}.swell").into();
    let n_arms = record.header.plan.arms.len();
    for block in 0..20 {
        for arm in (0..).take(n_arms) {
            run(&mut record, arm, Some(block), 1_000_000 + u64::from(arm * 50_000 + block * 7 % 5));
        }
    }
    let t0s = [vec![1e6], vec![1.05e6; n_arms - 1]].concat();
    let mut analysis = analysis(&record, &t0s);
    for arm in 1..n_arms {
        compare(&mut analysis, arm, Evidence::Paired(paired(1.05, 1.04, 1.06)));
    }
    let judgements = judgements(&record, &analysis);
    let judged = Judged { record: &record, analysis: &analysis, judgements: &judgements };
    let mut out = Vec::new();
    write(&mut out, &[judged], title).unwrap();
    String::from_utf8(out).unwrap()
}

/// The page without its scripts and style.
fn content(html: &str) -> String {
    SCRIPTS.iter().fold(html.replace(STYLE, ""), |html, script| html.replace(script, ""))
}

#[test]
fn the_verdict_comes_first_in_words_and_in_numbers() {
    let html = page(&["old", "new"], None);
    let sentence = html.find("new is 5.0 % slower than old (4.0 to 6.0 %)").unwrap();
    let numbers = html.find("1.050 [1.040, 1.060] at 99 %, floor, p = 0.0005");
    assert!(sentence < numbers.unwrap());
    assert!(numbers.unwrap() < html.find("<h2>Details</h2>").unwrap());
    assert!(html.contains("<title>old vs new</title>"));
    assert!(
        page(&["old", "new"], Some("A <b> title")).contains("<title>A &lt;b&gt; title</title>")
    );
}

/// Only times have a t0, and only they are slower.
#[test]
fn a_page_on_memory_has_no_word_of_times() {
    let judgement = JudgementOptions { decide_on: Some(DecideOn::Maxrss), ..Default::default() };
    let commands = vec!["old".into(), "new".into()];
    let html = page_of(from_spec(RunSpec { commands, judgement, ..RunSpec::default() }), None);
    assert!(html.contains("memory × ratio [MiB]") && html.contains("median [MiB]"), "{html}");
    let html = content(&html);
    for word in ["own t0", "t0 ×", "noise-free", "slowed", "fastest", "took longer", "less time"] {
        assert!(!html.contains(word), "{word} in {html}");
    }
    // So many that they are counted.
    let judgement = JudgementOptions { decide_on: Some(DecideOn::Maxrss), ..Default::default() };
    let commands = ["a", "b", "c", "d", "e"].map(String::from).into();
    let html = page_of(from_spec(RunSpec { commands, judgement, ..RunSpec::default() }), None);
    assert!(html.contains("4 worse") && !html.contains("4 slower"), "{html}");
}

#[test]
fn options_stay_in_one_piece() {
    let marked = options("(--budget 3s) a -r <b>").to_string();
    let expected =
        r#"<span class="option">(--budget</span> 3s) a <span class="option">-r</span> &lt;b&gt;"#;
    assert_eq!(marked, expected);
}

#[test]
fn commands_and_files_never_become_markup() {
    let html = content(&page(&[&format!("./a {HOSTILE}"), "./b"], None));
    assert!(!html.contains("<img") && !html.contains("alert(1)</script>"), "{html}");
    assert_eq!(html.matches("<script").count(), 1 + SCRIPTS.len());
    assert_eq!(html.matches("</script>").count(), 1 + SCRIPTS.len());
    assert!(html.contains("{{ 1000003*7 }}") && !html.contains("7000021"));
    assert!(html.contains("&lt;script&gt;alert(1)"));
    assert!(!html.contains('\u{202e}'), "what turns the text around");
    let (_, data) = html.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    assert!(!data.contains(['<', '>', '&']));
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(data["data"]["groups"][0]["arms"][0]["label"].as_str().unwrap().contains(HOSTILE));
}

#[test]
fn the_policy_allows_what_is_in_the_page_and_nothing_else() {
    let html = page(&["old", "new"], None);
    let (_, policy) = html.split_once("Content-Security-Policy\" content=\"").unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    let policy = policy.replace("&#x27;", "'").replace("&#x2f;", "/").replace("&#x3d;", "=");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert_eq!(policy.matches("'sha256-").count(), SCRIPTS.len() + 1);
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    // Without addresses of other files the page loads nothing.
    let content = content(&html);
    for attribute in ["src=", "href=\"http", "url(", "@import"] {
        let own = content.replace(&HOSTILE.replace('\'', "&#x27;"), "");
        assert!(!own.contains(attribute) || attribute == "src=", "{attribute}");
    }
}

#[test]
fn scripts_end_where_they_end() {
    for script in SCRIPTS.iter().chain([&STYLE]) {
        let lower = script.to_lowercase();
        assert!(
            !lower.contains("</script") && !lower.contains("<!--") && !lower.contains("</style")
        );
    }
}

#[test]
fn what_others_wrote_is_what_they_published() {
    let sums = include_str!("../../assets/vendor/SHA256SUMS");
    let files: [(&str, &[u8]); 4] = [
        ("d3-7.9.0.min.js", SCRIPTS[0].as_bytes()),
        ("plot-0.6.17.min.js", SCRIPTS[1].as_bytes()),
        ("d3.LICENSE", include_bytes!("../../assets/vendor/d3.LICENSE")),
        ("plot.LICENSE", include_bytes!("../../assets/vendor/plot.LICENSE")),
    ];
    assert_eq!(sums.lines().count(), files.len());
    for (name, bytes) in files {
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(sums.lines().any(|line| line == format!("{sum}  {name}")), "{name} is {sum}");
    }
}
