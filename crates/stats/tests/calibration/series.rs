//! Calibration of one series: warm-up, stability, tabulated limits.

use stillwell_stats::{SortedSample, Stream, series, warmup};

use crate::noise::*;

#[test]
fn a_decaying_start_is_cut_and_a_steady_one_is_not() {
    let mut stream = Stream::new(9);
    let (mut steady, mut caught) = (0, 0);
    for _ in 0..1000 {
        let quiet: Vec<f64> = iid(&mut stream, 60);
        steady += usize::from(warmup::prefix(&quiet).unwrap() >= 2);
        let decay = |(i, x): (usize, &f64)| x + 0.3 * (-(i as f64) / 2.0).exp();
        let warming: Vec<f64> = quiet.iter().enumerate().map(decay).collect();
        caught += usize::from(warmup::prefix(&warming).unwrap() >= 2);
    }
    at_most("steady", steady, 1000, 0.03);
    assert!(caught >= 990, "30 % decaying over two runs: {caught} of 1000");
}

#[test]
fn steady_series_are_called_stable() {
    for n_runs in [20, 60, 150] {
        let mut stream = Stream::new(n_runs as u64);
        let mut flagged = std::collections::HashMap::new();
        for _ in 0..1000 {
            let times: Vec<f64> = iid(&mut stream, n_runs).iter().map(|x| x.exp()).collect();
            let checks = series::stability(&times, stream.next_u64()).unwrap().checks();
            for check in checks.iter().filter(|check| check.raised) {
                *flagged.entry(check.flag).or_insert(0) += 1;
            }
        }
        for (flag, hits) in flagged {
            at_most(&format!("{flag:?}, {n_runs} runs"), hits, 1000, 0.01);
        }
    }
}

#[test]
fn tabulated_limits_are_exceeded_once_in_a_hundred() {
    for n_runs in [20, 45, 120] {
        let mut stream = Stream::new(n_runs as u64);
        let (mut scans, mut dips) = (0, 0);
        for _ in 0..2000 {
            let times: Vec<f64> = (0..n_runs).map(|_| 1.0 + stream.unit()).collect();
            let scan = series::rank_scan(&times).unwrap();
            let limits = series::limits(n_runs);
            scans += usize::from(scan.z > limits.scan);
            dips += usize::from(series::dip(&SortedSample::new(&times).unwrap()) > limits.dip);
        }
        at_most("scan", scans, 2000, 0.01);
        at_most("dip", dips, 2000, 0.01);
    }
}
