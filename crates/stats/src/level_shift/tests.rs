use super::noise::{NoiseShape, Whitener};
use super::*;
use crate::prng::Stream;

const OPTIONS: ShiftOptions = ShiftOptions { alpha: 0.01, level_min: 3, n_orders: 199, seed: 7 };

/// Sessions with a skewed noise of about 1 %; one in twenty is disturbed.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed);
    (0..n)
        .map(|_| {
            let exponential = -0.01 * (1.0 - stream.unit()).ln();
            exponential + if stream.below(20) == 0 { 0.1 * stream.unit() } else { 0.0 }
        })
        .collect()
}

/// Weather: each session keeps `phi` of the deviation before it. Sums of three uniform numbers are
/// nearly normal.
fn weather(n: usize, phi: f64, sd: f64, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed ^ 0xa5a5);
    let mut state = 0.0;
    let step = if phi < 1.0 { sd * (1.0 - phi * phi).sqrt() } else { sd };
    (0..n)
        .map(|_| {
            let normal: f64 = (0..3).map(|_| stream.unit() - 0.5).sum::<f64>() * 2.0;
            state = phi * state + step * normal;
            state
        })
        .collect()
}

fn added(xs: &[f64], ys: &[f64]) -> Vec<f64> {
    xs.iter().zip(ys).map(|(x, y)| x + y).collect()
}

fn shapes(xs: &[f64]) -> Vec<Shape> {
    find(xs, OPTIONS).unwrap().shifts.iter().map(|shift| shift.shape).collect()
}

#[test]
fn a_still_history_is_called_changed_no_more_often_than_stated() {
    let is_drift = |shift: &Shift| matches!(shift.shape, Shape::Drift { .. });
    for (phi, sd) in [(0.0, 0.0), (0.9, 0.01), (1.0, 0.001)] {
        let n_called = (0..60u64).filter(|&seed| {
            let xs = added(&noise(60, 1000 + seed), &weather(60, phi, sd, seed));
            !find(&xs, ShiftOptions { seed, ..OPTIONS }).unwrap().shifts.iter().all(is_drift)
        });
        // 1 % of 60 is 0.6; three standard deviations more are 2.9.
        let n_called = n_called.count();
        assert!(n_called <= 3, "phi {phi}: {n_called} of 60");
    }
    // A test that never rejects would pass as well.
    let p = |seed| find(&noise(60, seed), OPTIONS).unwrap().p;
    assert!((0..40).any(|seed| p(seed) < 0.3));
}

#[test]
fn a_step_is_found_in_weather_and_its_interval_covers_its_size() {
    let mut n_covered = 0;
    for seed in 0..20 {
        let mut xs = added(&noise(150, seed), &weather(150, 0.9, 0.008, seed));
        xs[90..].iter_mut().for_each(|x| *x += 0.08);
        let found = find(&xs, OPTIONS).unwrap();
        let near = |it: &&Shift| matches!(it.shape, Shape::Step { at } if at.abs_diff(90) <= 5);
        let step = found.shifts.iter().find(near).unwrap_or_else(|| panic!("{seed}: {found:?}"));
        n_covered += usize::from(step.interval.lo <= 0.08 && 0.08 <= step.interval.hi);
    }
    // Nominal 95 %, less the selection of the place.
    assert!(n_covered >= 16, "{n_covered} of 20");
}

#[test]
fn a_level_that_comes_back_is_a_spell() {
    for (from, to) in [(140, 170), (60, 75)] {
        let mut xs = noise(300, 6);
        xs[from..to].iter_mut().for_each(|x| *x += 0.06);
        let [Shape::Spell { from: start, to: end }] = shapes(&xs)[..] else { panic!("{xs:?}") };
        assert!(start.abs_diff(from) <= 3 && end.abs_diff(to) <= 3, "{start} to {end}");
    }
    // A level between two others is not: the second step is smaller than the first.
    let mut xs = noise(300, 6);
    xs[100..].iter_mut().for_each(|x| *x += 0.06);
    xs[150..].iter_mut().for_each(|x| *x -= 0.03);
    assert_eq!(shapes(&xs), [Shape::Step { at: 100 }, Shape::Step { at: 150 }]);
}

#[test]
fn a_slow_movement_is_a_drift() {
    let line: Vec<f64> = (0..300).map(|t| 0.15 * f64::from(t) / 300.0).collect();
    let found = shapes(&added(&noise(300, 5), &line));
    assert!(matches!(found[..], [Shape::Drift { from: 0..30, to: 270..=300 }]), "{found:?}");
}

/// A drift through two steps is accepted more easily than one of them.
#[test]
fn two_steps_in_one_direction_are_no_drift() {
    let mut xs: Vec<f64> = noise(40, 2).iter().map(|x| 0.2 * x).collect();
    xs[20..].iter_mut().for_each(|x| *x += 0.04);
    xs[30..].iter_mut().for_each(|x| *x += 0.03);
    assert_eq!(shapes(&xs), [Shape::Step { at: 20 }, Shape::Step { at: 30 }]);
}

/// A change that is one or two sessions old may not last.
#[test]
fn a_level_has_as_many_values_as_it_must_have() {
    for (n_new, expect) in [(1, vec![]), (2, vec![]), (3, vec![57]), (4, vec![56])] {
        let mut xs = noise(60, 8);
        xs[60 - n_new..].iter_mut().for_each(|x| *x += 0.4);
        let steps = |places: &[usize]| -> Vec<Shape> {
            places.iter().map(|&at| Shape::Step { at }).collect()
        };
        assert_eq!(shapes(&xs), steps(&expect), "{n_new} at the end");
        xs.reverse();
        let mirrored: Vec<usize> = expect.iter().map(|at| 60 - at).collect();
        assert_eq!(shapes(&xs), steps(&mirrored), "{n_new} at the beginning");
    }
}

#[test]
fn several_changes_are_found() {
    let mut xs = noise(600, 4);
    xs[150..].iter_mut().for_each(|x| *x += 0.03);
    xs[300..].iter_mut().for_each(|x| *x -= 0.05);
    xs[500..].iter_mut().for_each(|x| *x += 0.04);
    let found = shapes(&xs);
    let places = found.iter().map(|shape| shape.start());
    assert!(places.zip([150, 300, 500]).all(|(at, place)| at.abs_diff(place) <= 2), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn more_orders_tell_smaller_probabilities() {
    let mut xs = noise(40, 9);
    xs[20..].iter_mut().for_each(|x| *x += 0.4);
    let p = |n_orders| p_of_no_shift(&xs, ShiftOptions { n_orders, ..OPTIONS }).unwrap();
    assert_eq!((p(199), p(999)), (1.0 / 200.0, 1.0 / 1000.0));
    assert_eq!(p(199), find(&xs, OPTIONS).unwrap().p);
}

/// Six values can be divided in 20 ways, so no division of them is rare.
#[test]
fn too_few_values_have_no_change_and_bad_ones_are_refused() {
    assert_eq!(find(&[], OPTIONS).unwrap().p, 1.0);
    assert_eq!(find(&[1.0, 1.0, 1.0, 9.0, 9.0], OPTIONS).unwrap().p, 1.0);
    assert_eq!(find(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0], OPTIONS).unwrap().p, 0.1);
    assert_eq!(shapes(&[1.0; 50]), []);
    assert_eq!(find(&[1.0, f64::NAN], OPTIONS), Err(Invalid::NotFinite { index: 1 }));
    let alpha = ShiftOptions { alpha: 0.0, ..OPTIONS };
    assert!(matches!(find(&[1.0], alpha), Err(Invalid::OutOfRange { .. })));
}

/// Exact counts have no noise: the step is then as exact.
#[test]
fn exact_values_have_exact_changes() {
    let xs: Vec<f64> = (0..30).map(|i| if i < 12 { 1.0 } else { 1.5 }).collect();
    let [shift] = find(&xs, OPTIONS).unwrap().shifts[..] else { panic!() };
    assert_eq!(shift.shape, Shape::Step { at: 12 });
    assert!((shift.size - 0.5).abs() < 1e-9 && shift.interval.half_width() < 1e-6, "{shift:?}");
}

/// The recursions, against the definitions.
#[test]
fn products_of_steps_are_those_of_whitened_steps() {
    let n = 23;
    let xs = noise(n, 5);
    for shape in [(0.0, 0.0), (0.6, 1.0), (0.98, 0.3), (1.0, 0.1)] {
        let whitener = Whitener::new(NoiseShape { phi: shape.0, wander: shape.1 }, n);
        let whitened = whitener.whiten(&xs);
        let close = |x: f64, y: f64| assert!((x - y).abs() < 1e-9, "{shape:?}: {x} {y}");
        whitener.colour(&whitened).iter().zip(&xs).for_each(|(x, y)| close(*x, *y));
        let steps: Vec<Vec<f64>> =
            (0..n).map(|at| whitener.whiten(&Shape::Step { at }.levels(n))).collect();
        let products = whitener.step_products(&whitened);
        let norms = whitener.step_norms();
        let mut innovations = norms.at_once();
        for (at, step) in steps.iter().enumerate() {
            close(products[at], fit::dot(step, &whitened));
            close(norms.squares()[at], fit::dot(step, step));
        }
        for lag in 0..n {
            for from in 0..n - lag {
                let to = from + lag;
                let expected = fit::dot(&steps[from], &steps[to]);
                close(norms.product(to, innovations[from]), expected);
            }
            norms.advance(&mut innovations, lag);
        }
    }
}
