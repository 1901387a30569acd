//! Stillwell times commands on Linux: the same, true answer on a busy machine as on an idle one, with an honest error
//! bar. ARCHITECTURE.md shows the way through the code.

mod cmd;
mod session;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use model::spec::JsonTarget;
use model::values::exit_code;
use render::remedies::Audience;

/// The smallest allocator in experiments/results/release.md: a child's peak memory starts at the launcher's.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    // Checked before anything else, so that the launcher stays small.
    if let Some(code) = measure::roles::serve_by_name() {
        return code;
    }
    if let Some(problem) = host::sys::stack_problem() {
        host::terminal::say(problem);
        return ExitCode::from(exit_code::ERROR);
    }
    host::sys::fail_at_file_size_limit();
    let words = model::spec::complete(std::env::args_os());
    let target = model::spec::json_target(&words);
    // Before any file is opened, even for a mistake in the command line. The verb decides about `--as-root`.
    if let Err(why) = host::check_invoker(words.iter().any(|word| word == "--as-root")) {
        let why = format!("{why}; --as-root runs the commands as root");
        let target = target.filter(|target| *target == JsonTarget::Stdout);
        let code = cmd::failure::report_mistake(&why, target.as_ref());
        return ExitCode::from(cmd::failure::for_git(&words, code));
    }
    let words = match cmd::defaults::filled_in(words) {
        Ok(words) => words,
        Err(why) => return ExitCode::from(cmd::failure::report_mistake(&why, target.as_ref())),
    };
    let target = model::spec::json_target(&words);
    let request = match model::spec::parse(&words) {
        Ok(request) => request,
        Err(error) if cmd::is_answer(&error) => {
            return ended(cmd::print_answer(&error), Audience::Run, &words, target.as_ref());
        }
        Err(error) => {
            let shown = words.iter().map(|word| word.to_string_lossy().into_owned());
            let text = cmd::mistake(&error, &shown.collect::<Vec<_>>());
            let code = cmd::failure::report_mistake(&text, target.as_ref());
            return ExitCode::from(cmd::failure::for_git(&words, code));
        }
    };
    host::sys::do_without_threads_if_refused();
    let audience = cmd::audience_of(&request);
    ended(cmd::answer(request), audience, &words, target.as_ref())
}

fn ended(
    outcome: Result<u8>,
    audience: Audience,
    words: &[OsString],
    target: Option<&JsonTarget>,
) -> ExitCode {
    match outcome {
        Ok(code) => {
            cmd::failure::ensure_document(code, target);
            ExitCode::from(code)
        }
        Err(error) => {
            let code = cmd::failure::report_error(&error, audience, target);
            ExitCode::from(cmd::failure::for_git(words, code))
        }
    }
}
