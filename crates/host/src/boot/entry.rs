//! The entry that earlier versions of Stillwell could add to the menu of the boot loader.
#![expect(clippy::disallowed_methods, reason = "writes into the directory of the boot loader")]

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::Host;

/// The file of systemd-boot.
const OWN_FILES: [&str; 3] = [
    "boot/loader/entries/stillwell-quiet.conf",
    "efi/loader/entries/stillwell-quiet.conf",
    "boot/efi/loader/entries/stillwell-quiet.conf",
];
/// Files of GRUB that have a part of ours, and parts of others.
const SHARED_FILES: [&str; 2] = ["boot/grub/custom.cfg", "boot/grub2/custom.cfg"];
const BEGIN: &str = "### BEGIN stillwell-quiet ###";
const END: &str = "### END stillwell-quiet ###";
/// Limit on the size of a configuration. A machine with many kernels has one of some ten kilobytes.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// Removes the entry. Returns its file; `None` if there is none. Errors: the file cannot be written; a sentence.
pub fn remove_entry(host: &Host) -> Result<Option<&'static str>, String> {
    let (path, others) = match OWN_FILES.into_iter().find(|path| host.exists(path)) {
        Some(path) => (path, String::new()),
        None => {
            let text = |path| host.read_long(path, CONFIG_BYTES_MAX).unwrap_or_default();
            let shared = SHARED_FILES.into_iter().map(|path| (path, text(path)));
            let Some((path, text)) = { shared }.find(|(_, text)| text.contains(BEGIN)) else {
                return Ok(None);
            };
            (path, without_ours(&text))
        }
    };
    let target = host.below_root(path.as_ref());
    let removed = crate::fault::changes(path).and_then(|()| match others.is_empty() {
        true => std::fs::remove_file(target),
        false => replace(&target, &others),
    });
    removed.map(|()| Some(path)).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::PermissionDenied => "; run as root",
            io::ErrorKind::ReadOnlyFilesystem => "; mount it writable first",
            _ => "",
        };
        format!("cannot change /{path}: {error}{advice}")
    })
}

fn without_ours(text: &str) -> String {
    let mut out = String::new();
    let mut is_ours = false;
    for line in text.split_inclusive('\n') {
        is_ours |= line.trim_end() == BEGIN;
        if !is_ours {
            out.push_str(line);
        }
        is_ours &= line.trim_end() != END;
    }
    out
}

/// Replaces a file as a whole: a machine that stops in the middle has the old one or the new one.
fn replace(target: &Path, text: &str) -> io::Result<()> {
    let new = target.with_extension("stillwell-new");
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Root's configuration may have passwords.
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, target)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
mod tests {
    use super::*;
    use crate::fixture::expand;

    fn machine(path: &str, text: &str) -> (tempfile::TempDir, Host) {
        let (directory, host) = expand("proc/1/comm = systemd\n");
        let file = directory.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        (directory, host)
    }

    #[test]
    fn only_our_part_of_a_file_of_grub_goes() {
        let (path, mine) = ("boot/grub/custom.cfg", "menuentry 'mine' {\n}\n");
        let ours = format!("{BEGIN}\nmenuentry 'Stillwell (quiet)' {{\n}}\n{END}\n");
        let (_directory, host) = machine(path, &format!("{mine}{ours}{mine}"));
        assert_eq!(remove_entry(&host), Ok(Some(path)));
        assert_eq!(host.read_long(path, 9999).unwrap(), format!("{mine}{mine}"));
        assert_eq!(remove_entry(&host), Ok(None));
        // A file that has nothing else goes.
        let (_directory, host) = machine(path, &ours);
        assert_eq!(remove_entry(&host), Ok(Some(path)));
        assert!(!host.exists(path));
    }

    #[test]
    fn the_file_of_systemd_boot_goes() {
        let (_directory, host) = machine(OWN_FILES[1], "title Stillwell (quiet)\n");
        assert_eq!(remove_entry(&host), Ok(Some(OWN_FILES[1])));
        assert_eq!(remove_entry(&host), Ok(None));
    }
}
