//! The entry that earlier versions of Stillwell could add to the menu of the boot loader.
#![expect(clippy::disallowed_methods, reason = "writes into the directory of the boot loader")]

use std::fs::Metadata;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::Path;

use crate::{Host, fault};

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

/// Removes the entry. Returns its file; `None` if there is none. Errors: the file cannot be read or written, is a link,
/// or our part of it has no end; a sentence.
pub fn remove_entry(host: &Host) -> Result<Option<&'static str>, String> {
    let target = |path: &str| host.below_root(path.as_ref());
    if let Some(path) = OWN_FILES.into_iter().find(|path| host.exists(path)) {
        let removed = fault::changes(path).and_then(|()| std::fs::remove_file(target(path)));
        return removed.map(|()| Some(path)).map_err(|error| cannot_change(path, &error));
    }
    for path in SHARED_FILES {
        if remove_part(path, &target(path)).map_err(|error| cannot_change(path, &error))? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn cannot_change(path: &str, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root",
        io::ErrorKind::ReadOnlyFilesystem => "; mount it writable first",
        _ => "",
    };
    format!("cannot change /{path}: {error}{advice}")
}

/// Removes our part of a file. `false` if it has none.
fn remove_part(path: &str, target: &Path) -> io::Result<bool> {
    if !target.is_file() {
        return Ok(false);
    }
    let Some(others) = without_ours(&std::fs::read(target)?)? else { return Ok(false) };
    let meta = target.symlink_metadata()?;
    if meta.is_symlink() {
        // Below another root, its target may be a file of this machine.
        return Err(by_hand("it is a link"));
    }
    fault::changes(path)?;
    let done = if others.is_empty() {
        std::fs::remove_file(target)
    } else {
        replace(target, &others, &meta)
    };
    done.map(|()| true)
}

fn by_hand(why: &str) -> io::Error {
    io::Error::other(format!("{why}; remove the lines from {BEGIN:?} to {END:?} by hand"))
}

/// The parts of others, byte for byte: they need not be UTF-8. `None` if no part is ours. Errors: ours has no end.
fn without_ours(text: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut out = Vec::new();
    let mut is_ours = false;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let mark = line.trim_ascii_end();
        if is_ours && mark == BEGIN.as_bytes() {
            break;
        }
        is_ours |= mark == BEGIN.as_bytes();
        if !is_ours {
            out.extend_from_slice(line);
        }
        is_ours &= mark != END.as_bytes();
    }
    if is_ours {
        return Err(by_hand("the entry has no end"));
    }
    Ok((out.len() < text.len()).then_some(out))
}

/// Replaces a file as a whole: a machine that stops in the middle has the old one or the new one.
fn replace(target: &Path, text: &[u8], old: &Metadata) -> io::Result<()> {
    let new = target.with_extension("stillwell-new");
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Root's configuration may have passwords.
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text)?;
    fchown(&file, Some(old.uid()), Some(old.gid()))?;
    file.set_permissions(old.permissions())?;
    file.sync_all()?;
    std::fs::rename(&new, target)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
mod tests {
    use super::*;
    use crate::fixture::expand;

    fn machine(path: &str, text: impl AsRef<[u8]>) -> (tempfile::TempDir, Host) {
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
        let (_directory, host) = machine(path, format!("{mine}{ours}{mine}"));
        assert_eq!(remove_entry(&host), Ok(Some(path)));
        assert_eq!(host.read_long(path, 9999).unwrap(), format!("{mine}{mine}"));
        assert_eq!(remove_entry(&host), Ok(None));
        // A file that has nothing else goes.
        let (_directory, host) = machine(path, &ours);
        assert_eq!(remove_entry(&host), Ok(Some(path)));
        assert!(!host.exists(path));
    }

    #[test]
    fn what_others_wrote_stays_as_it_was() {
        use std::os::unix::fs::PermissionsExt;
        let path = SHARED_FILES[0];
        let ours = format!("{BEGIN}\n{END}\n");
        // Latin-1, and longer than what is read of other files.
        let mine = [&b"# \xfcber\n"[..], &b"#".repeat(5 << 20)].concat();
        let (directory, host) = machine(path, [ours.as_bytes(), &mine].concat());
        let file = directory.path().join(path);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        assert_eq!(remove_entry(&host), Ok(Some(path)));
        assert!(std::fs::read(&file).unwrap() == mine);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        for text in [format!("{BEGIN}\nmine\n"), format!("{BEGIN}\nmine\n{ours}mine\n")] {
            let (directory, host) = machine(path, &text);
            let error = remove_entry(&host).unwrap_err();
            assert!(error.contains("the entry has no end; remove the lines from"), "{error}");
            assert_eq!(std::fs::read(directory.path().join(path)).unwrap(), text.as_bytes());
        }
        let (directory, host) = machine("boot/grub/real.cfg", &ours);
        let link = directory.path().join(path);
        std::os::unix::fs::symlink("real.cfg", &link).unwrap();
        let error = remove_entry(&host).unwrap_err();
        assert!(error.contains("it is a link; remove the lines from"), "{error}");
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }

    #[test]
    fn the_file_of_systemd_boot_goes() {
        let (_directory, host) = machine(OWN_FILES[1], "title Stillwell (quiet)\n");
        assert_eq!(remove_entry(&host), Ok(Some(OWN_FILES[1])));
        assert_eq!(remove_entry(&host), Ok(None));
    }
}
