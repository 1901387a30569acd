//! Folded stacks: a line for each call chain, for other programs' flame graphs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::profile::saved::Profile;

/// Lines `main;work;deflate 1234 1300`: the chain, then its time per run in each arm, ns.
pub fn folded(profile: &Profile) -> String {
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let n_runs: Vec<usize> = (0..profile.arms.len() as u32)
        .map(|arm| {
            profile.runs.iter().filter(|run| run.arm == arm && run.period_ns > 0).count().max(1)
        })
        .collect();
    for run in &profile.runs {
        for &(stack, n) in &run.samples {
            let names = profile.stacks[stack as usize].iter();
            // Semicolons and line ends would be read as the end of a name.
            let clean = |&it: &u32| profile.functions[it as usize].name.replace([';', '\n'], ":");
            let chain = names.map(clean).collect::<Vec<_>>().join(";");
            let of_arms = times.entry(chain).or_insert_with(|| vec![0.0; profile.arms.len()]);
            let arm = run.arm as usize;
            of_arms[arm] += f64::from(n) * run.period_ns as f64 / n_runs[arm] as f64;
        }
    }
    let mut out = String::new();
    for (chain, times) in times {
        let numbers: Vec<String> = times.iter().map(|ns| format!("{ns:.0}")).collect();
        writeln!(out, "{chain} {}", numbers.join(" ")).ok();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::breakdown::fixture::made_up;

    #[test]
    fn each_chain_has_its_time_in_both_programs() {
        let mut profile = made_up(1, 0.0);
        profile.functions[1].name = "a;b".into();
        let text = folded(&profile);
        let chains: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(chains, ["main;a:b", "main;clear_page", "main;rest"]);
        let run = &profile.runs[1];
        assert!(text.lines().next().unwrap().ends_with(&format!(" {}", run.samples[0].1 * 100)));
    }
}
