//! `calibrate`: measures one long series of a command, and tests thousands of experiments that are cut out of it.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use stats::sequential::{SAME_TAIL, hidden_tail_pairs};

use crate::cmd::print::{bar, print};
use crate::cmd::run_session;
use crate::session;
use analysis::calibrate::{
    CalibrationSettings, PowerCalibration, RATIOS, TAILS, calibrate as replay,
};
use host::terminal;
use model::spec::run::Style;
use model::spec::{CalibrateVerb, RunSpec, RunVerb};
use model::values::metric::Metric;
use model::values::{CALIBRATION_RUNS_MIN, Threads, exit_code};
use record::Record;
use record::plan::{DecisionRule, defaults};
use render::conclusion::{Conclusion, FinalVerdict};
use render::{calibrate as page, document};

pub fn calibrate(verb: CalibrateVerb) -> Result<u8> {
    let seed = verb.seed.map_or_else(session::drawn_seed, Ok)?;
    let path = match &verb.from {
        Some(path) => path.clone(),
        None => {
            let (path, code) = run_session::measure_only(&series(&verb))?;
            if code != exit_code::SUCCESS {
                say_how_to_go_on(&path);
                return Ok(code);
            }
            path
        }
    };
    let record = Record::read(&path)?;
    let plan = &record.header.plan;
    let (times_ns, pace_ns) = series_of(&record)?;
    let alpha = verb.alpha.map_or(Ok(plan.policy.alpha), defaults::alpha)?;
    let policy = DecisionRule { alpha, ..plan.policy };
    let n_replays = verb.replays.unwrap_or(defaults::N_REPLAYS);
    let settings = CalibrationSettings {
        policy,
        n_replays: n_replays as usize,
        n_pairs_max: hidden_tail_pairs(policy.alpha, SAME_TAIL).next_multiple_of(10),
        seed,
    };
    let n_experiments = u64::from(n_replays) * (RATIOS.len() + TAILS.len()) as u64;
    let template = "replaying experiments {bar:20} {percent} %  {eta} left";
    let bar = bar(Some(n_experiments), template, verb.json);
    let clock = session::LineClock::start();
    let is_logged = bar.is_hidden() && !verb.json;
    let calibration = replay(&times_ns, pace_ns, &settings, || {
        bar.inc(1);
        if is_logged && clock.is_due() {
            let share = 100 * bar.position() / bar.length().unwrap_or(1).max(1);
            terminal::say(format!("replaying experiments, {share} % done"));
        }
    });
    bar.finish_and_clear();
    let calibration =
        calibration.with_context(|| format!("{} cannot be replayed", path.display()))?;
    print_calibration(&calibration, plan.arms[plan.reference].label(), &path, verb.json)?;
    Ok(exit_code::SUCCESS)
}

/// Suggests `--from` if a series that was cut short has enough runs.
fn say_how_to_go_on(path: &Path) {
    let has_enough = Record::read(path).is_ok_and(|record| series_of(&record).is_ok());
    if has_enough {
        let shown = path.display();
        terminal::say(format!("`stillwell calibrate --from {shown}` replays the runs so far"));
    }
}

/// The options of the session that measures the series.
fn series(verb: &CalibrateVerb) -> RunVerb {
    let mut spec =
        RunSpec { commands: verb.command.iter().cloned().collect(), ..RunSpec::default() };
    spec.length.runs = verb.runs;
    if verb.runs.is_none() {
        spec.length.min_runs = Some(defaults::CALIBRATION_RUNS);
        spec.length.stop.budget = Some(verb.budget.unwrap_or(defaults::CALIBRATION_BUDGET));
    }
    spec.length.seed = verb.seed;
    spec.judgement.alpha = verb.alpha;
    spec.arms.shell.clone_from(&verb.shell);
    spec.process.affinity.clone_from(&verb.affinity);
    spec.process.rights = verb.rights;
    spec.process.placement.threads = Some(Threads::Off);
    spec.output.record.clone_from(&verb.record);
    spec.output.shared = verb.shared;
    spec.output.style = verb.json.then_some(Style::None);
    RunVerb { script: verb.script.clone(), ..RunVerb::of(spec, &verb.host_root) }
}

/// The times of the reference in order, ns, and the average time between their starts, ns.
fn series_of(record: &Record) -> Result<(Vec<f64>, f64)> {
    let rows = &record.rows;
    let timed: Vec<usize> = rows.measurements_of(&[record.header.plan.reference]).collect();
    let times: Vec<f64> = timed
        .iter()
        .filter_map(|&index| rows.get(index, Metric::WallNs).map(|ns| ns as f64))
        .collect();
    ensure!(
        times.len() >= CALIBRATION_RUNS_MIN,
        "{} has {} runs of its first command; calibration needs {CALIBRATION_RUNS_MIN}",
        record.path.display(),
        times.len()
    );
    let started = |at: Option<&usize>| at.map_or(0, |&index| rows.started_ns(index));
    let span_ns = started(timed.last()).saturating_sub(started(timed.first()));
    Ok((times, span_ns as f64 / (timed.len() - 1) as f64))
}

fn print_calibration(
    calibration: &PowerCalibration,
    label: &str,
    path: &Path,
    as_json: bool,
) -> Result<()> {
    if as_json {
        let conclusion = Conclusion::of(FinalVerdict::Measured);
        return Ok(document::write(&mut terminal::data(), calibration, conclusion, None)?);
    }
    print(&page::calibration(calibration, label, path))
}
