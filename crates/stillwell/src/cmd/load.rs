//! `load`: keeps the machine busy for a time, or while a command runs.

use anyhow::{Result, ensure};

use host::{Host, terminal};
use measure::interrupt::Interrupt;
use measure::load::{self, Load};
use measure::supervised;
use model::spec::LoadVerb;
use model::values::exit_code;
use record::plan::defaults;

/// Runs the load until its time, its command or ^C ends it.
pub fn load(verb: &LoadVerb) -> Result<u8> {
    let kinds = if verb.kind.is_empty() { vec![defaults::LOAD_KIND] } else { verb.kind.clone() };
    let n = kinds.len();
    ensure!(n <= verb.n as usize, "{n} kinds of load need as many processes; say `load {n}`");
    let cpus = verb.cpus.as_ref().map(|cpus| cpus.0.clone());
    if let (Some(cpus), Some(online)) =
        (&cpus, Host::new("/").read("sys/devices/system/cpu/online"))
    {
        load::check_cpus(cpus, &online, "online")?;
    }
    if !verb.command.is_empty() {
        supervised::check(&verb.command, !verb.rights.as_root)?;
    }
    let mut load = Load::start(verb.n, &kinds, cpus)?;
    if !verb.command.is_empty() {
        let status = load.around(&verb.command, !verb.rights.as_root)?;
        return Ok(supervised::exit_code(status));
    }
    let kinds: Vec<String> = kinds.iter().map(|kind| kind.name()).collect();
    let until = if verb.time.is_some() { "" } else { "; ^C ends it" };
    // ^C is caught before the message offers it.
    let interrupt = Interrupt::catch()?;
    terminal::say_bare(format!("busy: {} x {}{until}", verb.n, kinds.join(",")));
    let is_over = load.go_on(verb.time.map(|time| time.ns), &interrupt)?;
    Ok(if is_over || verb.time.is_none() { exit_code::SUCCESS } else { exit_code::INTERRUPTED })
}
