//! Tunes the knobs: makes a plan, then for each knob journal → write → read back.

use std::collections::HashMap;
use std::io;

use anyhow::{Result, bail};

use crate::files::{Foreign, Unread, is_gone, reason_unread};
use crate::journal::{SavedFile, Store, asking_user};
use crate::knobs::{Knob, Machine, Reading, Setting, State, knob, knobs};
use crate::restore::{
    Extent, FileState, Restoration, explain, is_unmovable, restore, standing, undo,
};
use crate::{Host, is_offline};
use model::words::in_words;

/// A knob to tune, with its state.
#[derive(Debug)]
pub struct KnobPlan {
    pub knob: &'static Knob,
    /// The state, and the values to write.
    pub reading: Reading,
}

/// The outcome for a knob.
#[derive(Debug)]
pub struct KnobResult {
    pub knob: &'static Knob,
    /// The state before.
    pub state: State,
    /// Number of written files that hold the wanted value.
    pub n_set: usize,
    /// Number of files that the kernel refuses to change: interrupts and threads that cannot be moved.
    pub n_unmovable: usize,
    /// Files that another program has changed since an earlier tuning: the path, its value, and the value to be put
    /// back.
    pub foreign: Vec<Foreign>,
    /// Files that could not be set, and the reasons.
    pub failed: Vec<(Setting, String)>,
}

impl KnobResult {
    /// Whether the knob has the right value, as far as this machine allows.
    pub fn is_good(&self) -> bool {
        self.failed.is_empty() && !matches!(self.state, State::CannotSet { .. })
    }
}

/// The knobs in `only`, or the default ones, in order. Errors: a name is not a knob.
pub fn select(only: Option<&[String]>, skip: &[String]) -> Result<Vec<&'static Knob>, String> {
    for name in only.unwrap_or_default().iter().chain(skip) {
        match knob(name) {
            None => return Err(unknown(name)),
            Some(knob) if knob.files.is_empty() && !skip.contains(name) => {
                return Err(format!("{name} can only be shown: it {}", knob.needs));
            }
            Some(_) => {}
        }
    }
    let is_wanted = |knob: &&Knob| {
        let is_named = |names: &[String]| names.iter().any(|name| name == knob.name);
        only.map_or(knob.by_default, is_named) && !is_named(skip)
    };
    Ok(knobs().filter(is_wanted).collect())
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> =
        knobs().filter(|knob| !knob.files.is_empty()).map(|knob| knob.name).collect();
    let near = names.iter().map(|&known| (strsim::jaro_winkler(known, name), known));
    let best = near.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(likeness, _)| *likeness > 0.7);
    match best {
        Some((_, known)) => format!("there is no knob {name:?}; did you mean {known:?}?"),
        None => format!("there is no knob {name:?}; the knobs are {}", names.join(", ")),
    }
}

/// The outcome of [`apply`].
#[derive(Debug)]
pub struct Tuned {
    /// The leftovers of a killed earlier session.
    pub earlier: Option<Restoration>,
    pub turned: Vec<KnobResult>,
}

/// Turns the knobs until they are put back. First it puts back the changes of a killed session. Errors: the journal
/// cannot be written. The error says whether that has left anything.
pub fn apply(
    host: &Host,
    bench: Vec<usize>,
    knobs: &[&'static Knob],
    time_s: i64,
) -> Result<Tuned> {
    let mut store = Store::open(host)?;
    let earlier = store.journal.is_stale().then(|| restore(host, &mut store));
    let change = |store: &mut Store| {
        store.begin(host, false, asking_user(), time_s)?;
        let planned = plan(&Machine::new(host, bench), knobs);
        take_over(store, &planned)?;
        turn(host, store, planned)
    };
    let turned = match change(&mut store) {
        Ok(turned) => turned,
        Err(error) => {
            let aftermath = undo(host, &mut store, &Extent::All);
            bail!("cannot tune: {}; {}", in_words(&error), aftermath.sentence());
        }
    };
    if store.journal.is_untouched() {
        store.remove()?;
    }
    Ok(Tuned { earlier, turned })
}

/// Takes the tuned knobs from a shield that has turned them, so they stay when the shield goes.
fn take_over(store: &mut Store, planned: &[KnobPlan]) -> Result<()> {
    let Some(mut rest) = store.journal.shield.clone() else { return Ok(()) };
    let is_left = |state: &State| matches!(state, State::CannotSet { .. } | State::Reported { .. });
    let is_tuned = |it: &KnobPlan, name: &str| it.knob.name == name && !is_left(&it.reading.state);
    let n_knobs = rest.knobs.len();
    rest.knobs.retain(|name| !planned.iter().any(|it| is_tuned(it, name)));
    if rest.knobs.len() == n_knobs { Ok(()) } else { store.raise(&rest) }
}

/// Reads the knobs and plans the writes, in order.
///
/// A write may change other files, which must be noted before. If one of these could not be looked for, the knob is not
/// turned.
pub fn plan(machine: &Machine<'_>, knobs: &[&'static Knob]) -> Vec<KnobPlan> {
    let plan = |knob: &&'static Knob| {
        let (reading, unread) = machine.host.watched(|| knob.read(machine));
        let unread = unread.filter(|_| reading.has_companions).or_else(|| machine.unread.clone());
        let reading = match unread {
            Some((path, why)) if !reading.settings.is_empty() => {
                Reading::cannot(format!("/{path}: {why}"))
            }
            _ => reading,
        };
        KnobPlan { knob, reading }
    };
    knobs.iter().map(plan).collect()
}

/// Sets the knobs. If one fails, it reports the failure and continues. Errors: the journal cannot be written. Nothing
/// more is changed then, and the caller puts back what was.
pub fn turn(host: &Host, store: &mut Store, planned: Vec<KnobPlan>) -> Result<Vec<KnobResult>> {
    let before: HashMap<String, String> = store
        .journal
        .items
        .iter()
        .filter_map(|item| {
            let now = host.read_item(item).ok()?;
            Some((item.kept.path.clone(), now))
        })
        .collect();
    let mut all = Vec::new();
    for KnobPlan { knob, reading } in planned {
        let mut turned = KnobResult {
            knob,
            state: reading.state,
            n_set: 0,
            n_unmovable: 0,
            foreign: Vec::new(),
            failed: Vec::new(),
        };
        let noted = note_companions(host, store, knob, reading.companions)?;
        if let Err((path, why)) = noted {
            turned.state = State::CannotSet { why: format!("/{path}: {why}") };
            all.push(turned);
            continue;
        }
        let mut written = Vec::new();
        for setting in reading.settings {
            turned.foreign.extend(changed_since(host, store, &setting.path));
            match set(host, store, knob, &setting)? {
                Set::Written => written.push(setting),
                Set::Needless => {}
                Set::Unmovable => turned.n_unmovable += 1,
                Set::Failed(why) => turned.failed.push((setting, why)),
            }
        }
        read_back(host, written, &mut turned);
        if turned.n_set + turned.failed.len() > 0 || store.journal.is_pending() {
            note_changes(host, store, &before)?;
        }
        all.push(turned);
    }
    store.done()?;
    Ok(all)
}

/// Notes the files that change with the knob. The inner error is a file that could not be read.
fn note_companions(
    host: &Host,
    store: &mut Store,
    knob: &Knob,
    companions: Vec<String>,
) -> Result<Result<(), Unread>> {
    // Do not adopt a file that another program has changed since an earlier tuning.
    let is_foreign = |path: &String| {
        let item = store.journal.item(path);
        item.is_some_and(|item| matches!(standing(host, item), FileState::Foreign(_)))
    };
    let mut files = Vec::new();
    for path in companions.into_iter().filter(|path| !is_foreign(path)) {
        match kept(host, knob, &path) {
            Ok(file) => files.push(file),
            Err(error) if is_gone(&error) || is_offline(host, &path) => {}
            Err(error) => return Ok(Err((path, reason_unread(&error)))),
        }
    }
    store.keep(knob, files)?;
    Ok(Ok(()))
}

/// A change by another program since an earlier tuning.
fn changed_since(host: &Host, store: &Store, path: &str) -> Option<Foreign> {
    let item = store.journal.item(path)?;
    match standing(host, item) {
        FileState::Foreign(now) => {
            Some(Foreign { path: path.to_owned(), now, old: item.kept.old.trim_end().to_owned() })
        }
        _ => None,
    }
}

/// The current content of a file.
fn kept(host: &Host, knob: &Knob, path: &str) -> io::Result<SavedFile> {
    let file = knob.file(path).ok_or(io::ErrorKind::NotFound)?;
    let old = host.read_original(file.format, path)?;
    Ok(SavedFile { path: path.to_owned(), old, identity: host.identity(path)? })
}

/// The outcome for one file.
enum Set {
    Written,
    /// The file already has the value, or disappeared with a CPU.
    Needless,
    Unmovable,
    Failed(String),
}

fn set(host: &Host, store: &mut Store, knob: &Knob, setting: &Setting) -> Result<Set> {
    let Setting { path, wanted, .. } = setting;
    let kept = match kept(host, knob, path) {
        Ok(kept) => kept,
        Err(error) if is_gone(&error) || is_offline(host, path) => return Ok(Set::Needless),
        Err(error) => return Ok(Set::Failed(reason_unread(&error))),
    };
    let Some(file) = knob.file(path) else { return Ok(Set::Needless) };
    if file.format.same(&kept.old, wanted) {
        return Ok(Set::Needless);
    }
    store.change(knob, kept, wanted)?;
    if let Err(error) = host.write_knob(knob, path, wanted) {
        if is_unmovable(path, &error) {
            return Ok(Set::Unmovable);
        }
        return Ok(Set::Failed(explain(path, &error)));
    }
    Ok(Set::Written)
}

/// Checks that the files of a knob hold the written values.
fn read_back(host: &Host, written: Vec<Setting>, turned: &mut KnobResult) {
    let now = |setting: &Setting| {
        let format = turned.knob.file(&setting.path)?.format;
        let now = host.read_knob(format, &setting.path)?;
        Some((host.is_still(format, &setting.wanted, &now), now))
    };
    host.wait_until(|| written.iter().all(|setting| now(setting).is_some_and(|(holds, _)| holds)));
    for setting in written {
        match now(&setting) {
            Some((true, _)) => turned.n_set += 1,
            Some((false, now)) => {
                let why = format!("the kernel took it and made it {now:?}");
                turned.failed.push((setting, why));
            }
            None => {
                let why = "it was written and cannot be read any more".to_owned();
                turned.failed.push((setting, why));
            }
        }
    }
}

/// Records side effects. A knob may change other files, at once or through another knob; those changes belong to
/// Stillwell. Differences from before the start (`before`) belong to other programs.
fn note_changes(host: &Host, store: &mut Store, before: &HashMap<String, String>) -> Result<()> {
    let (mut seen, mut unread) = (Vec::new(), Vec::new());
    for item in &store.journal.items {
        let format = item.file.format;
        let now = match host.read_item(item) {
            Ok(now) => now,
            Err(error) if is_gone(&error) => continue,
            Err(_) => {
                unread.push((item.knob, item.kept.clone()));
                continue;
            }
        };
        if before.get(&item.kept.path) == Some(&now) {
            continue;
        }
        let known = item.ours.iter().chain([&item.kept.old]);
        if !known.into_iter().any(|known| format.same(known, &now)) {
            seen.push((item.kept.path.clone(), now));
        }
    }
    store.saw(seen)?;
    // The value is unknown now, so any value may be ours.
    for (knob, file) in unread {
        store.keep(knob, vec![file])?;
    }
    Ok(())
}
