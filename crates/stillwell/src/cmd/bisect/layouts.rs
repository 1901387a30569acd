//! A confirmed commit and its parent in several link orders.

use crate::cmd::bisect::measuring::BisectMeasurer;
use crate::cmd::bisect::state::{BisectState, ObservedLine};
use crate::cmd::step_directory::file_name;
use crate::cmd::unmeasured::Unmeasured;
use search::bisection::{BisectSearch, LayoutFinding, Observation};

/// Builds both in several link orders, and measures them in turns. Errors: ^C came, or the verb itself failed.
pub(super) fn observe(
    measurer: &mut BisectMeasurer<'_>,
    state: &BisectState,
    search: &BisectSearch,
    base: usize,
    head: usize,
    alpha: f64,
) -> Result<Vec<ObservedLine>, Unmeasured> {
    let commits = search.graph().commits();
    let found = search.outcome().culprits.iter().find(|it| it.head == head);
    let Some(size) = found.map(|it| it.size) else { return Ok(Vec::new()) };
    let told = |found, seconds, record| {
        let observation = Observation::Layouts { head, found, seconds };
        Ok(vec![ObservedLine { observation, record }])
    };
    // One build of each shows whether there are other orders at all.
    let n_layouts = measurer.n_layouts();
    for n in [1, n_layouts] {
        for commit in [base, head] {
            let why = match measurer.relink(&commits[commit], n) {
                Ok(true) => continue,
                Ok(false) => "no link of several object files by cc or ld was seen".to_owned(),
                Err(Unmeasured::Program(_, why)) => why,
                Err(why) => return Err(why),
            };
            return told(LayoutFinding::not_relinked(why), 0.0, None);
        }
    }
    let record = state.new_record();
    let file = Some(file_name(&record));
    measurer.reseed();
    let pair = [&commits[base], &commits[head]];
    match measurer.measure_layouts(pair, alpha, record) {
        Ok((over, seconds)) => {
            told(LayoutFinding::of(&size, over, n_layouts as usize), seconds, file)
        }
        Err(Unmeasured::Program(_, why)) => told(LayoutFinding::not_relinked(why), 0.0, file),
        Err(why) => Err(why),
    }
}
