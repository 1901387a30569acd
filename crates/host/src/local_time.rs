//! The time that the clocks of this place show.
#![expect(clippy::disallowed_methods, reason = "reads TZ and the file of the time zone")]

use std::sync::OnceLock;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

pub fn now() -> Zoned {
    at(Timestamp::now())
}

pub fn at(time: Timestamp) -> Zoned {
    time.to_zoned(zone())
}

/// Without TZ, one file has all that is needed. jiff would first look for its name, in all directories of time zones.
fn zone() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let unnamed = || TimeZone::tzif("", &std::fs::read("/etc/localtime").ok()?).ok();
    let is_of_machine = std::env::var_os("TZ").is_none();
    let zone =
        ZONE.get_or_init(|| is_of_machine.then(unnamed).flatten().unwrap_or_else(TimeZone::system));
    zone.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_time_of_the_zone_with_a_name() {
        for half_year in 0..120 {
            let time = Timestamp::from_second(half_year * 182 * 86400).unwrap();
            let named = time.to_zoned(TimeZone::system());
            assert_eq!(at(time).datetime(), named.datetime());
        }
    }
}
