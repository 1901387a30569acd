//! Calibration: error rates on noise that breaks the assumptions of textbook tests. Seeds are
//! fixed, so the outcome is fixed.
//!
//! A rate may exceed its nominal value by two standard deviations of a binomial count.

mod alone;
mod interruptions;
mod nodes;
mod noise;
mod pairs;
mod series;
mod suites;
mod together;
