//! The time that the clocks of this place show.
#![expect(clippy::disallowed_methods, reason = "reads TZ and the file of the time zone")]

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::user_files::read_limited;

pub fn now() -> Zoned {
    at(Timestamp::now())
}

pub fn at(time: Timestamp) -> Zoned {
    time.to_zoned(zone())
}

/// Without TZ, one file has all that is needed. jiff would first look for its name, in all directories of time zones. The
/// file that TZ names may be a device, which jiff would read without end.
fn zone() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let of_file = |bytes: io::Result<Vec<u8>>| TimeZone::tzif("", &bytes.ok()?).ok();
    let zone = ZONE.get_or_init(|| match std::env::var_os("TZ") {
        None => of_file(std::fs::read("/etc/localtime")).unwrap_or_else(TimeZone::system),
        // A path may have a colon before it (tzset(3)), and one that cannot be read is UTC.
        Some(name) => match name.to_string_lossy().trim_start_matches(':') {
            path if path.starts_with('/') => {
                of_file(read_limited(Path::new(path), 1)).unwrap_or(TimeZone::UTC)
            }
            _ => TimeZone::system(),
        },
    });
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
