use super::*;
use model::values::CPUS_MAX;
use std::cell::Cell;

/// A clock that shows these times; before the last one the loop is asked to end.
fn spun(times: &[u64], room: usize) -> (SpinResult, Vec<(u64, u64)>) {
    let (at, stop) = (Cell::new(0), AtomicBool::new(false));
    let ticks = || {
        let now = times[at.get()];
        at.set(at.get() + 1);
        stop.store(at.get() + 1 >= times.len(), Ordering::Relaxed);
        now
    };
    let mut pauses = Vec::with_capacity(room);
    let seen = spin(ticks, &stop, 50, &mut pauses);
    (seen, pauses)
}

#[test]
fn long_turns_are_pauses() {
    let (seen, pauses) = spun(&[100, 110, 160, 300, 310, 1_000], 8);
    assert_eq!(pauses, [(160, 140), (310, 690)]);
    assert_eq!((seen.first, seen.last, seen.n_overflown), (100, 1_000, 0));
}

#[test]
fn what_does_not_fit_is_counted() {
    let (seen, pauses) = spun(&[0, 100, 200, 370, 430, 430], 1);
    assert_eq!(pauses, [(0, 100)]);
    assert_eq!((seen.n_overflown, seen.overflown, seen.longest_overflown), (3, 330, 170));
}

#[test]
fn what_cannot_be_watched_takes_no_room() {
    assert_eq!([room_of_each(0), room_of_each(1), room_of_each(16)], [PAUSES_MAX; 3]);
    assert_eq!(room_of_each(32), PAUSES_MAX / 2);
}

/// Run-queue delay before and after the loop is no loss of the loop.
#[test]
fn only_waiting_in_the_loop_counts() {
    let delay = |ns, began_ns, ended_ns| RunDelay { ns: Some(ns), began_ns, ended_ns };
    let ms = 1_000_000;
    let before = delay(5 * ms, ms, 2 * ms);
    let at_once = delay(9 * ms, 50 * ms + 9_000, 51 * ms);
    assert_eq!(delay_in_loop(before, at_once, 2 * ms + 9_000, 50 * ms), Some(4 * ms));
    // 3 ms until it began, 20 ms until it was read.
    let late = delay(29 * ms, 70 * ms, 71 * ms);
    assert_eq!(delay_in_loop(before, late, 5 * ms, 50 * ms), Some(ms));
    // At most the length of the loop.
    assert_eq!(delay_in_loop(before, delay(99 * ms, 7 * ms, 7 * ms), 2 * ms, 7 * ms), Some(5 * ms));
    let unknown = RunDelay { ns: None, ..late };
    assert_eq!(delay_in_loop(before, unknown, 5 * ms, 50 * ms), None);
}

#[test]
fn a_clock_that_goes_back_is_no_pause() {
    let (seen, pauses) = spun(&[1_000, 900, 1_010, 1_200], 8);
    assert_eq!((seen.n_jumps_back, pauses), (1, vec![(1_010, 190)]));
}

#[test]
fn each_cpu_is_watched_and_one_that_does_not_exist_is_named() {
    let cpu = sched_getcpu();
    let interrupt = Interrupt::by_hand().0;
    let (length_ns, clock) = (5_000_000, LoopClock::Monotonic);
    let mut threads = Vec::new();
    // No kernel has a CPU with the second number.
    let missing = [CPUS_MAX - 1, CPUS_MAX];
    let SamplerOutcome { watched: found, refused, was_interrupted } = watch(
        &[cpu, missing[0], missing[1]],
        length_ns,
        clock,
        &interrupt,
        |all| threads = all.to_vec(),
        || (),
    )
    .unwrap();
    assert!(!was_interrupted);
    assert_eq!((found.len(), found[0].cpu, threads[0].cpu), (1, cpu, cpu));
    // The time starts when the loop has begun, however late.
    assert!(found[0].length_ns >= 4_990_000 && !found[0].was_moved);
    let total: u64 = found[0].pauses.iter().map(|pause| pause.length_ns).sum();
    assert!(total <= found[0].length_ns);
    assert_eq!(refused.len(), 2);
    let error = watch(&missing, length_ns, clock, &interrupt, |_| (), || ()).unwrap_err();
    assert!(format!("{error:#}").contains("no CPU can be watched: it is offline"), "{error:#}");
}

/// ^C ends the loops early; the pauses until then are kept.
#[test]
fn it_can_be_ended() {
    let (interrupt, mut hand) = Interrupt::by_hand();
    let (cpus, clock) = ([sched_getcpu()], LoopClock::Monotonic);
    let press = |_: &[LoopThread]| {
        use std::io::Write as _;
        hand.write_all(b"c").unwrap();
    };
    let found = watch(&cpus, u64::MAX / 4, clock, &interrupt, press, || ()).unwrap();
    assert_eq!((found.watched.len(), found.was_interrupted), (1, true));
}
