//! The kernel's command line (/proc/cmdline). Quotes work as in `next_arg` in lib/cmdline.c. The parameters that
//! isolate CPUs are in kernel/sched/isolation.c.

use crate::Host;
use model::values::parse_boot_cpu_list;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine(Vec<(String, Option<String>)>);

/// `isolcpus=`, as the kernel reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolatedCpus {
    /// The scheduler places no tasks on the CPUs.
    pub domain: bool,
    /// Managed interrupts of device queues avoid the CPUs.
    pub managed_irq: bool,
    /// The effect of `nohz_full=`.
    pub nohz: bool,
    pub list: String,
}

impl CommandLine {
    /// Reads the running kernel's command line. Empty if the file cannot be read.
    pub fn read(host: &Host) -> Self {
        Self::parse(&host.read("proc/cmdline").unwrap_or_default())
    }

    /// Splits the text at white space outside of double quotes, and removes quotes around a parameter or its value.
    /// Parameters after `--` are for the first process, not for the kernel.
    pub fn parse(text: &str) -> Self {
        let mut parameters = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let mut is_quoted = false;
            let end = rest.find(|char: char| {
                is_quoted ^= char == '"';
                !is_quoted && char.is_ascii_whitespace()
            });
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after.trim_start();
            if word == "--" {
                break;
            }
            let word = unquote(word);
            parameters.push(match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(unquote(value).to_owned())),
                None => (word.to_owned(), None),
            });
        }
        Self(parameters)
    }

    /// The last value of a parameter: empty without a value, `None` if the parameter is absent.
    pub fn value(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(known, _)| is_same_name(known, name))?;
        Some(found.1.as_deref().unwrap_or_default())
    }

    /// Whether the line has this parameter with this value, among others of its name.
    pub fn has(&self, name: &str, value: &str) -> bool {
        let is_it = |(known, of_known): &(String, Option<String>)| {
            is_same_name(known, name) && of_known.as_deref().unwrap_or_default() == value
        };
        self.0.iter().any(is_it)
    }

    /// Parses `isolcpus=`: flags, then the list. Without a flag, `domain` applies. Unknown flags are skipped, as in the
    /// kernel.
    pub fn isolated(&self) -> Option<IsolatedCpus> {
        let mut rest = self.value("isolcpus")?;
        let mut found =
            IsolatedCpus { domain: false, managed_irq: false, nohz: false, list: String::new() };
        while rest.starts_with(|char: char| char.is_ascii_alphabetic()) {
            let (flag, after) = rest.split_once(',').unwrap_or((rest, ""));
            match flag {
                "domain" => found.domain = true,
                "managed_irq" => found.managed_irq = true,
                "nohz" => found.nohz = true,
                // A flag with an invalid character makes the kernel ignore the whole parameter.
                _ if !flag.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') => {
                    return None;
                }
                _ => {}
            }
            rest = after;
        }
        found.domain |= !found.managed_irq && !found.nohz;
        found.list = rest.to_owned();
        Some(found)
    }

    /// The CPUs of a list parameter. Empty if it is absent or the kernel ignores it.
    pub fn cpus(&self, name: &str, cpu_last: usize) -> Vec<usize> {
        let list = self.value(name).unwrap_or_default();
        parse_boot_cpu_list(list, cpu_last).unwrap_or_default()
    }

    /// Formats the parameters that `keeps` accepts.
    pub fn filtered(&self, keeps: impl Fn(&str) -> bool) -> String {
        let kept = self.0.iter().filter(|(name, _)| keeps(name));
        let words = kept.map(|(name, value)| match value {
            Some(value) if value.contains(|char: char| char.is_ascii_whitespace()) => {
                format!("{name}=\"{value}\"")
            }
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Removes the quotes at the start and at the end. The kernel does not require both.
fn unquote(text: &str) -> &str {
    match text.strip_prefix('"') {
        Some(inside) => inside.strip_suffix('"').unwrap_or(inside),
        None => text,
    }
}

/// Compares names; dashes and underscores are equal (kernel/params.c `parameq`).
fn is_same_name(a: &str, b: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte };
    a.bytes().map(plain).eq(b.bytes().map(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes() {
        let line = CommandLine::parse(
            "BOOT_IMAGE=/vmlinuz ro  dyndbg=\"file a.c +p\" \"note=two words\" quiet a=1 a=2 rcu-nocbs=3 open=\"x y",
        );
        assert_eq!(line.value("dyndbg"), Some("file a.c +p"));
        assert_eq!(line.value("note"), Some("two words"));
        assert_eq!((line.value("quiet"), line.value("absent")), (Some(""), None));
        assert_eq!(line.value("a"), Some("2"));
        assert_eq!(line.value("rcu_nocbs"), Some("3"));
        assert_eq!(line.value("open"), Some("x y"));
        assert_eq!((line.value("ro"), line.value("r")), (Some(""), None));
        assert_eq!(line.filtered(|name| name == "note" || name == "ro"), "ro note=\"two words\"");
    }

    #[test]
    fn what_is_for_init_is_not_for_the_kernel() {
        let line = CommandLine::parse("quiet -- nosmt isolcpus=1\n");
        assert_eq!((line.value("quiet"), line.value("nosmt")), (Some(""), None));
        assert_eq!(line.isolated(), None);
    }

    /// Other tools stop at `isolcpus=managed_irq,2-3` and the like.
    #[test]
    fn isolcpus_with_flags() {
        let check = |value: &str, flags: [bool; 3], list: &str| {
            let found = CommandLine::parse(&format!("isolcpus={value}")).isolated().unwrap();
            assert_eq!([found.domain, found.managed_irq, found.nohz], flags, "{value}");
            assert_eq!(found.list, list, "{value}");
        };
        check("2-3", [true, false, false], "2-3");
        check("domain,managed_irq,2-3", [true, true, false], "2-3");
        check("managed_irq,2,3", [false, true, false], "2,3");
        check("nohz,managed_irq,0-7:1/2", [false, true, true], "0-7:1/2");
        check("later_flag,1-N", [true, false, false], "1-N");
        check("", [true, false, false], "");
        assert_eq!(CommandLine::parse("isolcpus=no+flag,2").isolated(), None);
        assert_eq!(CommandLine::parse("quiet").isolated(), None);
    }

    #[test]
    fn lists_of_cpus() {
        let line = CommandLine::parse("rcu_nocbs=all nohz_full=4-N irqaffinity=0-7:1/2 bad=0-9");
        assert_eq!(line.cpus("rcu_nocbs", 3), [0, 1, 2, 3]);
        assert_eq!(line.cpus("nohz_full", 7), [4, 5, 6, 7]);
        assert_eq!(line.cpus("irqaffinity", 7), [0, 2, 4, 6]);
        assert_eq!(line.cpus("bad", 7), [0; 0]);
        assert_eq!(line.cpus("absent", 7), [0; 0]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(?s).{0,60}", like in "(isolcpus=|nohz|,|\"| |-|[a-z0-9:/]){0,20}") {
            for text in [&text, &like] {
                let line = CommandLine::parse(text);
                let _ = (line.isolated(), line.cpus("isolcpus", 7), line.filtered(|_| true));
            }
        }

        #[test]
        fn parameters_round_trip(
            parameters in proptest::collection::vec(("[a-z][a-z_.]{0,8}", "[a-z0-9,:/ -]{0,8}"), 0..8),
        ) {
            let line = CommandLine(
                parameters.into_iter().map(|(name, value)| (name, Some(value))).collect(),
            );
            proptest::prop_assert_eq!(CommandLine::parse(&line.filtered(|_| true)), line);
        }
    }
}
