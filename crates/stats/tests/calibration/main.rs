//! The promises on noise that no textbook test survives: seeded, so the outcome is fixed.
//!
//! Rates must lie within two standard deviations of a binomial count on the bad side.

mod noise;
mod pairs;
mod series;
mod together;
