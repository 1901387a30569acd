//! Catch2 2.9 and later. `--list-tests` lists test cases, not benchmarks, so a short run of everything makes the list.
//! A benchmark is run through its test case.

use regex_lite::Regex;

use crate::harness::{Adapter, HarnessOutput, with};

/// Separates a test case from its benchmark.
const WITHIN: &str = " / ";

pub(super) const ADAPTER: Adapter = Adapter {
    name: "Catch2",
    markers: &["benchmark-samples", "libCatch2"],
    programs: &[],
    answers: &[&["--benchmark-samples", "--benchmark-no-analysis"]],
    listing: |program| {
        let options = ["*,[!benchmark]", "-r", "xml", "--benchmark-samples", "1"];
        let quick = ["--benchmark-no-analysis", "--benchmark-warmup-time", "1"];
        with(program, &[&options[..], &quick].concat())
    },
    list: |text| results(text).into_iter().map(|(name, _)| name).collect(),
    command: |program, benchmark, _| {
        let case = benchmark.split_once(WITHIN).map_or(benchmark, |(case, _)| case);
        // Commas and brackets are syntax in a test specification.
        let case = case.replace('\\', "\\\\").replace(',', "\\,").replace('[', "\\[");
        let options = ["-r", "xml", "--benchmark-samples", "20", "--benchmark-resamples", "100"];
        let warmup = ["--benchmark-warmup-time", "20"];
        with(program, &[&[&*case], &options[..], &warmup].concat())
    },
    // Catch2 prints only the mean of the samples.
    samples_ns: |benchmark, text| {
        let of = results(text).into_iter().filter(|(name, _)| name == benchmark);
        of.filter_map(|(_, mean)| mean).take(1).collect()
    },
    output: HarnessOutput::Stdout,
};

/// Each benchmark of the XML with its mean, ns.
fn results(text: &str) -> Vec<(String, Option<f64>)> {
    let Ok(tag) =
        Regex::new(r#"<(TestCase|BenchmarkResults|mean)\b[^>]*?(?:name|value)="([^"]*)""#)
    else {
        return Vec::new();
    };
    let (mut case, mut found) = (String::new(), Vec::new());
    for tag in tag.captures_iter(text) {
        let value = unescaped(&tag[2]);
        match &tag[1] {
            "TestCase" => case = value,
            "BenchmarkResults" => found.push((format!("{case}{WITHIN}{value}"), None)),
            _ => {
                if let Some((_, mean)) = found.last_mut() {
                    *mean = value.parse().ok();
                }
            }
        }
    }
    found
}

fn unescaped(text: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    names.iter().fold(text.to_owned(), |text, (name, char)| text.replace(name, char))
}

#[cfg(test)]
mod tests {
    use crate::harness::Harness;
    use crate::harness::tests::check;

    #[test]
    fn a_benchmark_is_that_of_its_test_case() {
        let said = r#"<?xml version="1.0"?><Catch name="b">
<TestCase name="sums" tags="[!benchmark]" filename="b.cpp" line="4">
 <BenchmarkResults name="vector&lt;int&gt;" samples="20" resamples="100" iterations="99">
  <mean value="512.5" lowerBound="500" upperBound="520" ci="0.95"/>
  <standardDeviation value="3" lowerBound="2" upperBound="4" ci="0.95"/>
 </BenchmarkResults>
</TestCase></Catch>"#;
        check(Harness::Catch2, said, &["sums / vector<int>"], said, 512.5);
        let command = Harness::Catch2.command(&["./b".into()], "sums, all / x", None);
        assert_eq!(command[1], "sums\\, all");
    }
}
