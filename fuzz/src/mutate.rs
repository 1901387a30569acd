//! `mutate NAME SECONDS [FIRST]`: reads mutated seeds, from input FIRST on, until the time is over. `mutate --seeds
//! FOLDER`: writes the seeds of each target into a folder of its name.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use stillwell_fuzz::{Mutator, TARGETS, folder, target};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--seeds", to] => write_seeds(Path::new(to)),
        [name, seconds] => run(name, seconds, "0"),
        [name, seconds, first] => run(name, seconds, first),
        _ => panic!("mutate NAME SECONDS [FIRST], or mutate --seeds FOLDER"),
    }
}

fn write_seeds(to: &Path) {
    for target in TARGETS {
        let directory = to.join(target.name);
        std::fs::create_dir_all(&directory).expect("a folder for the seeds");
        for (number, seed) in target.seeds(&folder()).into_iter().enumerate() {
            std::fs::write(directory.join(format!("seed-{number:03}")), seed).expect("a seed");
        }
    }
}

/// The place of the last panic, and its message.
static LAST: Mutex<String> = Mutex::new(String::new());

/// Remembers each panic instead of printing it: one place often makes thousands.
fn remember_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let words = info.payload_as_str().unwrap_or_default();
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = format!("{place}: {words}");
    }));
}

fn run(name: &str, seconds: &str, first: &str) {
    let target = target(name).expect("the name of a target");
    let mutator = Mutator::new(target.seeds(&folder()));
    let (first, seconds): (u64, u64) =
        (first.parse().expect("a number"), seconds.parse().expect("a number"));
    let (start, mut number) = (Instant::now(), first);
    remember_panics();
    let (mut slowest, mut n_panics) = ((Duration::ZERO, 0), 0);
    let mut places = BTreeSet::new();
    while start.elapsed() < Duration::from_secs(seconds) {
        let input = mutator.input(number);
        let began = Instant::now();
        if std::panic::catch_unwind(|| (target.read)(&input)).is_err() {
            n_panics += 1;
            let panic = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let place = panic.split(": ").next().unwrap_or_default().to_owned();
            if places.insert(place) {
                let kept = format!("{name}-{number}");
                std::fs::write(&kept, &input).expect("a file for the input");
                println!("{name}: input {number} panics; it is in {kept}\n  {panic}");
            }
        }
        slowest = slowest.max((began.elapsed(), number));
        number += 1;
    }
    println!(
        "{name}: {} inputs from {first}, {n_panics} panics, the slowest ({}) took {:?}",
        number - first,
        slowest.1,
        slowest.0
    );
    assert!(n_panics == 0, "{n_panics} inputs make the reader panic");
}
