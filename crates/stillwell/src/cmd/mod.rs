//! The verbs. Each reads its options, calls the stages in order, and prints; only these modules print results.

mod advise;
mod assessment;
mod bench;
mod bisect;
mod calibrate;
mod campaign;
mod commits;
mod compare;
mod conclusion;
mod convert;
mod culprits;
pub mod defaults;
mod documents;
mod exports;
pub mod failure;
mod fair_play;
mod frameworks;
#[cfg(any(test, stillwell_fuzz))]
#[path = "../../tests/fuzz/mod.rs"]
pub mod fuzz;
mod gate;
mod git;
mod histograms;
mod history;
mod link_order;
mod load;
mod made_up;
mod manual;
mod mcp;
mod named_files;
mod noise;
mod open;
mod output_file;
mod parameter_files;
mod pool;
mod print;
mod program_sessions;
mod programs;
mod pyperf;
mod race;
mod records;
mod report;
mod revisions;
mod rights;
mod run;
mod run_session;
mod shield;
mod site;
mod step_directory;
mod suite_commands;
mod suites;
mod system;
mod timeit;
mod tuning;
mod unmeasured;
mod usage;
mod why;

use anyhow::Result;

pub use documents::print_answer;
pub use usage::{is_answer, mistake};

use model::spec::{Request, Verb};
use render::remedies::Audience;

/// The names that a request's errors use for options.
pub fn audience_of(request: &Request) -> Audience {
    let Request::Verb(cli) = request else { return Audience::Run };
    match &cli.verb {
        Verb::Timeit(_) => Audience::Workers,
        Verb::Bench(verb) if suites::is_suite(&verb.spec) => Audience::Suite,
        Verb::Bench(_) => Audience::Workers,
        Verb::Noise(_) | Verb::System(_) | Verb::Shield(_) => Audience::Machine,
        _ => Audience::Run,
    }
}

/// Answers a command line. Returns the exit code.
pub fn answer(request: Request) -> Result<u8> {
    let mut verb = match request {
        Request::Verb(cli) => cli.verb,
        Request::Schema(documents) => return documents::print_schema(documents),
        Request::ShortHelp(text) => {
            print::print(&text)?;
            return Ok(model::values::exit_code::SUCCESS);
        }
    };
    rights::settle(&verb)?;
    parameter_files::read(&mut verb)?;
    print::fit_terminal();
    execute(verb)
}

/// Executes a verb after the settings of the whole process are made.
fn execute(verb: Verb) -> Result<u8> {
    match verb {
        Verb::Run(verb) => run::run(&verb),
        Verb::Timeit(verb) => timeit::timeit(&verb),
        Verb::Bench(verb) => bench::bench(&verb),
        Verb::Gate(verb) => gate::gate(&verb),
        Verb::Bisect(verb) => bisect::bisect(&verb),
        Verb::Campaign(action) => campaign::campaign(*action),
        Verb::Race(verb) => race::race(&verb),
        Verb::Why(verb) => why::why(&verb),
        Verb::Show(verb) => records::show(&verb),
        Verb::Stats(verb) => records::stats(&verb),
        Verb::Hist(verb) => histograms::hist(&verb),
        Verb::Check(verb) => records::check(&verb),
        Verb::Dump(verb) => records::dump(&verb),
        Verb::Metadata(verb) => records::metadata(&verb.files, verb.json),
        Verb::Slowest(verb) => records::slowest(&verb.files, verb.n),
        Verb::Compare(verb) => compare::compare(&verb),
        Verb::Report(verb) => report::report(&verb),
        Verb::Convert(verb) => convert::convert(&verb),
        Verb::Calibrate(verb) => calibrate::calibrate(*verb),
        Verb::History(action) => history::history(&action),
        Verb::Pool(action) => pool::pool(&action),
        Verb::Noise(verb) => noise::noise(&verb),
        Verb::System(verb) => system::system(&verb),
        Verb::Shield(action) => shield::shield(&action),
        Verb::Load(verb) => load::load(&verb),
        Verb::LinkOrder(verb) => link_order::link_order(&verb),
        Verb::FairPlay(action) => fair_play::fair_play(&action),
        Verb::Mcp(_) => mcp::mcp(),
        Verb::Help(verb) => documents::help(&verb),
        Verb::Man(verb) => manual::man(&verb),
        Verb::Completions { shell } => documents::completions(shell),
    }
}
