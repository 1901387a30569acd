//! Facts of a session under pyperf's metadata names.

use jiff::SignedDuration;
use jiff::civil::DateTime;

use host::Facts;
use model::values::read_cpu_list;
use record::Header;

/// Converts RFC 3339 to pyperf's form: local time, without the offset.
pub(super) fn local(created: &str) -> String {
    let time = created.get(..19).unwrap_or(created);
    time.replace('T', " ")
}

/// The time `after_ns` after an RFC 3339 time, in pyperf's form with microseconds. `None` for other text.
pub(super) fn local_after(created: &str, after_ns: u64) -> Option<String> {
    let start: DateTime = created.get(..19)?.parse().ok()?;
    let after = SignedDuration::from_nanos(i64::try_from(after_ns).ok()?);
    let time = start.checked_add(after).ok()?;
    Some(time.strftime("%Y-%m-%d %H:%M:%S.%6f").to_string())
}

/// Time of the last boot, to the second.
pub(super) fn boot_time(header: &Header) -> Option<String> {
    let created: DateTime = header.created.get(..19)?.parse().ok()?;
    let uptime = SignedDuration::try_from_secs_f64(header.facts.uptime_s?).ok()?;
    let booted = created.checked_sub(uptime).ok()?;
    Some(booted.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// The frequencies at the start: `0=2900 MHz, 1=1200 MHz`.
pub(super) fn cpu_freq(facts: &Facts) -> Option<String> {
    let online = read_cpu_list(facts.cpus_online.as_deref()?)?;
    if facts.cpu_mhz.is_empty() || online.len() != facts.cpu_mhz.len() {
        return None;
    }
    let cpus = online.iter().zip(&facts.cpu_mhz);
    Some(cpus.map(|(cpu, mhz)| format!("{cpu}={mhz} MHz")).collect::<Vec<_>>().join(", "))
}

/// Driver and governors of all CPUs: `0-3=driver:intel_pstate, governor:performance`.
pub(super) fn cpu_config(facts: &Facts) -> Option<String> {
    let driver = facts.scaling_driver.iter().map(|driver| format!("driver:{driver}"));
    let governors = facts.governors.iter().map(|governor| format!("governor:{governor}"));
    let parts: Vec<String> = driver.chain(governors).collect();
    let online = facts.cpus_online.as_deref()?;
    (!parts.is_empty()).then(|| format!("{online}={}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::fixture::record;

    #[test]
    fn times_are_local_and_have_microseconds() {
        let created = "2026-11-23T23:59:59+01:00";
        assert_eq!(local(created), "2026-11-23 23:59:59");
        let after = local_after(created, 1_500_250_999);
        assert_eq!(after.as_deref(), Some("2026-11-24 00:00:00.500250"));
        assert_eq!(local_after("yesterday, at some time", 1), None);
    }

    #[test]
    fn the_machine_in_the_words_of_pyperf() {
        let mut header = record(&["a"]).header;
        header.created = "2026-11-23T12:00:10+00:00".into();
        header.facts = Facts {
            uptime_s: Some(10.0),
            cpus_online: Some("0,2".into()),
            cpu_mhz: vec![2900, 1200],
            scaling_driver: Some("acpi-cpufreq".into()),
            governors: vec!["performance".into()],
            ..Facts::default()
        };
        assert_eq!(boot_time(&header).as_deref(), Some("2026-11-23 12:00:00"));
        assert_eq!(cpu_freq(&header.facts).as_deref(), Some("0=2900 MHz, 2=1200 MHz"));
        let config = "0,2=driver:acpi-cpufreq, governor:performance";
        assert_eq!(cpu_config(&header.facts).as_deref(), Some(config));
        header.facts.cpu_mhz.pop();
        assert_eq!(cpu_freq(&header.facts), None, "a CPU came or went");
    }
}
