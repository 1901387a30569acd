//! The mounts of this process: `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use crate::Host;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The directory of the file system at the root of this mount.
    pub(super) root: String,
    pub(super) point: String,
    /// `proc`, `cgroup2` and so on.
    pub(super) fs_type: String,
    pub(super) read_only: bool,
    /// Options of the file system. For cgroup v1 they name the controllers.
    pub(super) options: Vec<String>,
}

impl Mount {
    /// The mount point relative to the root of a [`Host`].
    pub(super) fn relative_point(&self) -> &str {
        match self.point.trim_start_matches('/') {
            // In a strange mount namespace, something is mounted on the root itself.
            "" => ".",
            point => point,
        }
    }

    /// The value of an option `name=value`.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// All mounts in the order of mounting, without invalid lines.
pub(super) fn read(host: &Host) -> Vec<Mount> {
    host.read("proc/self/mountinfo").unwrap_or_default().lines().filter_map(parse).collect()
}

/// Parses a line like `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`. The number of
/// optional fields before the dash varies.
fn parse(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let mut after = after.split(' ');
    Some(Mount {
        root: unescape(before.next()?),
        point: unescape(before.next()?),
        read_only: before.next()?.split(',').any(|option| option == "ro"),
        fs_type: after.next()?.to_owned(),
        options: after.nth(1)?.split(',').map(str::to_owned).collect(),
    })
}

/// Decodes three octal digits into spaces, tabs, newlines and backslashes (mangle() in fs/proc_namespace.c).
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<(&str, &str, &str, &[&str])>) {
        let expect = expect.map(|(root, point, fs_type, options)| Mount {
            root: root.to_owned(),
            point: point.to_owned(),
            fs_type: fs_type.to_owned(),
            read_only: false,
            options: options.iter().map(|&option| option.to_owned()).collect(),
        });
        assert_eq!(parse(line), expect, "{line:?}");
    }

    #[test]
    fn lines_of_mountinfo() {
        check(
            "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
            Some(("/mnt1", "/mnt2", "ext3", &["rw", "errors=continue"])),
        );
        check(
            "1 2 0:3 / /a\\040b\\134 rw - proc proc rw,hidepid=2",
            Some(("/", "/a b\\", "proc", &["rw", "hidepid=2"])),
        );
        check("36 35 98:0 / / rw", None);
        check("", None);
    }
}
