//! Calibration: error rates on noise that breaks the assumptions of textbook tests. Seeds are
//! fixed, so the outcome is fixed.
//!
//! A rate may exceed its nominal value by two standard deviations of a binomial count.

/// A simulation in two sizes: one for every day, and one for a release, which `make test` leaves out by its
/// name.
macro_rules! in_two_sizes {
    ($simulation:ident: $few:expr, $many:expr) => {
        mod $simulation {
            #[test]
            fn few() {
                super::$simulation($few);
            }

            mod long {
                #[test]
                fn many() {
                    super::super::$simulation($many);
                }
            }
        }
    };
}

mod alone;
mod interruptions;
mod nodes;
mod noise;
mod pairs;
mod series;
mod suites;
mod together;
