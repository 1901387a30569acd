//! An additional entry in the boot loader's menu: a copy of the running kernel's entry with further parameters. It
//! never becomes the default.
#![expect(clippy::disallowed_methods, reason = "writes into the directory of the boot loader")]

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::Host;
use crate::boot::{BootAdvice, BootState};

/// The entry's name for the loaders, and its title.
pub const ENTRY_ID: &str = "stillwell-quiet";
const TITLE: &str = "Stillwell (quiet)";
const GRUB_CONFIGS: [&str; 2] = ["boot/grub/grub.cfg", "boot/grub2/grub.cfg"];
const LOADER_DIRECTORIES: [&str; 3] = ["boot/loader", "efi/loader", "boot/efi/loader"];
const BEGIN: &str = "### BEGIN stillwell-quiet ###";
const END: &str = "### END stillwell-quiet ###";
/// Limit on a configuration. With many kernels it has some ten kilobytes.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// The loader that has the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryLoader {
    Grub,
    SystemdBoot,
}

/// Loader and file of an entry, below the root.
pub type BootEntry = (EntryLoader, String);

/// Adds or replaces the entry. Errors: no loader is known here, the entry might become the default, or the file cannot
/// be written; a sentence.
pub fn add_entry(host: &Host, advice: &BootAdvice) -> Result<BootEntry, String> {
    if let Some(directory) = systemd_boot(host) {
        let path = format!("{directory}/entries/{ENTRY_ID}.conf");
        let text = systemd_boot_entry(host, directory, advice)?;
        write(host, &path, &text)?;
        return Ok((EntryLoader::SystemdBoot, path));
    }
    let config = GRUB_CONFIGS.iter().find(|path| host.exists(path)).ok_or(
        "neither GRUB nor systemd-boot is seen here; set the parameters in your boot loader by hand",
    )?;
    let text = host.read_long(config, CONFIG_BYTES_MAX).unwrap_or_default();
    let entry = grub_entry(host, config, &text, advice)?;
    let path = custom(config);
    let others = without_ours(&host.read_long(&path, CONFIG_BYTES_MAX).unwrap_or_default());
    write(host, &path, &format!("{others}{BEGIN}\n{entry}{END}\n"))?;
    Ok((EntryLoader::Grub, path))
}

/// Removes the entry. Returns its file; `None` if there is none. Errors: the file cannot be written; a sentence.
pub fn remove_entry(host: &Host) -> Result<Option<String>, String> {
    if let Some(directory) = systemd_boot(host) {
        let path = format!("{directory}/entries/{ENTRY_ID}.conf");
        if host.exists(&path) {
            remove(host, &path)?;
            return Ok(Some(path));
        }
    }
    for config in GRUB_CONFIGS {
        let path = custom(config);
        let Some(text) = host.read_long(&path, CONFIG_BYTES_MAX) else { continue };
        if !text.contains(BEGIN) {
            continue;
        }
        let others = without_ours(&text);
        if others.is_empty() { remove(host, &path) } else { write(host, &path, &others) }?;
        return Ok(Some(path));
    }
    Ok(None)
}

fn custom(config: &str) -> String {
    config.replace("grub.cfg", "custom.cfg")
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
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// The parameters of the running kernel's entry, without those that are set anew.
fn options(old: &str, advice: &BootAdvice) -> String {
    let ours: Vec<&str> = advice
        .parameters
        .iter()
        .filter(|it| !matches!(it.now, BootState::Implied { .. } | BootState::Unsupported))
        .map(|it| it.text.as_str())
        .collect();
    let name = |word: &str| word.split('=').next().unwrap_or(word).to_owned();
    let is_replaced = |word: &&str| {
        ours.contains(word)
            || (name(word) != "systemd.mask" && ours.iter().any(|it| name(it) == name(word)))
    };
    let kept = old.split_ascii_whitespace().filter(|word| !is_replaced(word));
    kept.chain(ours.iter().copied()).collect::<Vec<_>>().join(" ")
}

/// The running kernel's file, as the loader passes it, or by the release.
fn kernel_name(host: &Host) -> String {
    let line = host.read("proc/cmdline").unwrap_or_default();
    let image = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("BOOT_IMAGE="));
    match image.and_then(|image| image.rsplit(['/', ')']).next()) {
        Some(name) => name.to_owned(),
        None => format!("vmlinuz-{}", host.read("proc/sys/kernel/osrelease").unwrap_or_default()),
    }
}

/// A copy of the running kernel's menu entry for `custom.cfg`, which GRUB's script 41_custom reads.
fn grub_entry(
    host: &Host,
    config: &str,
    text: &str,
    advice: &BootAdvice,
) -> Result<String, String> {
    let (before, after) = text.split_once("custom.cfg").ok_or_else(|| {
        format!(
            "/{config} does not read custom.cfg, so no entry can be added without making it anew"
        )
    })?;
    let starts_entry = |line: &str| {
        let line = line.trim_start();
        line.starts_with("menuentry ") || line.starts_with("submenu ")
    };
    // A default may be the number of an entry.
    if after.lines().any(starts_entry) {
        return Err(format!(
            "/{config} has entries after those of custom.cfg, so a new one might change the default"
        ));
    }
    let kernel = kernel_name(host);
    let is_linux = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        matches!(words.next(), Some("linux" | "linuxefi" | "linux16"))
            && words.next().is_some_and(|image| image.rsplit('/').next() == Some(&kernel))
    };
    let mut body: Vec<&str> = Vec::new();
    for line in before.lines() {
        if line.trim_start().starts_with("menuentry ") {
            body.clear();
        } else if line.trim() == "}" && body.iter().any(|line| is_linux(line)) {
            // The first entry of a kernel is the usual one; recovery entries come later.
            let lines =
                body.iter().filter(|line| !changes_default(line)).map(|line| {
                    match is_linux(line) {
                        true => format!("\t{}", with_options(line, advice)),
                        false => format!("\t{}", line.trim()),
                    }
                });
            let lines: Vec<String> = lines.collect();
            let head = format!("menuentry '{TITLE}' --id {ENTRY_ID} {{");
            return Ok(format!("{head}\n{}\n}}\n", lines.join("\n")));
        } else {
            body.push(line);
        }
    }
    Err(format!(
        "/{config} has no entry of the running kernel {kernel}; boot from it, or name its parameters by hand"
    ))
}

/// Lines that write GRUB's environment would boot this entry again.
fn changes_default(line: &str) -> bool {
    matches!(line.trim(), "savedefault" | "recordfail")
}

/// A line `linux IMAGE OPTIONS` with further options.
fn with_options(line: &str, advice: &BootAdvice) -> String {
    let mut words = line.trim().splitn(3, |it: char| it.is_ascii_whitespace());
    let mut next = || words.next().unwrap_or_default();
    let (command, image) = (next(), next());
    format!("{command} {image} {}", options(next(), advice))
}

fn systemd_boot(host: &Host) -> Option<&'static str> {
    LOADER_DIRECTORIES.into_iter().find(|directory| {
        host.exists(format!("{directory}/loader.conf"))
            && host.exists(format!("{directory}/entries"))
    })
}

/// A copy of the running kernel's entry (the Boot Loader Specification).
fn systemd_boot_entry(host: &Host, directory: &str, advice: &BootAdvice) -> Result<String, String> {
    let release = host.read("proc/sys/kernel/osrelease").unwrap_or_default();
    let entries = host.list(format!("{directory}/entries")).into_iter();
    let texts = entries
        .filter(|name| name.ends_with(".conf") && *name != format!("{ENTRY_ID}.conf"))
        .filter_map(|name| host.read_long(format!("{directory}/entries/{name}"), CONFIG_BYTES_MAX));
    let key = |line: &str| line.split_ascii_whitespace().next().unwrap_or_default().to_owned();
    let is_of_kernel = |text: &String| {
        text.lines().any(|line| {
            matches!(key(line).as_str(), "linux" | "version") && line.contains(&release)
        })
    };
    let source = texts.into_iter().find(is_of_kernel).filter(|_| !release.is_empty());
    let source = source.ok_or_else(|| {
        format!("/{directory}/entries has no entry of the running kernel {release}")
    })?;
    let has_key = |text: &str, name: &str| text.lines().any(|line| key(line) == name);
    // Without a default, the first entry is the default: by sort-key, or else the highest version.
    let config = host.read(format!("{directory}/loader.conf")).unwrap_or_default();
    if !has_key(&source, "sort-key") && !has_key(&config, "default") {
        return Err(format!(
            "/{directory}/loader.conf names no default, so a new entry might become it; choose one with `bootctl set-default`"
        ));
    }
    let mut out = format!("title {TITLE}\n");
    let mut has_options = false;
    for line in source.lines() {
        let value = line.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
        match key(line).as_str() {
            "title" | "version" => {}
            "sort-key" => out.push_str("sort-key zz-stillwell\n"),
            "options" => {
                let more = if has_options { value.to_owned() } else { options(value, advice) };
                out.push_str(&format!("options {}\n", more.trim()));
                has_options = true;
            }
            _ => out.push_str(&format!("{line}\n")),
        }
    }
    if !has_options {
        out.push_str(&format!("options {}\n", options("", advice)));
    }
    Ok(out)
}

/// Replaces a whole file: a machine that stops in the middle has the old one or the new one.
fn write(host: &Host, path: &str, text: &str) -> Result<(), String> {
    let target = host.below_root(path.as_ref());
    let new = target.with_extension("stillwell-new");
    let attempt = || -> io::Result<()> {
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Root's configuration may have passwords.
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        crate::fault::changes(path)?;
        std::fs::rename(&new, &target)
    };
    attempt().map_err(|error| cannot("write", path, &error))
}

fn remove(host: &Host, path: &str) -> Result<(), String> {
    let target = host.below_root(path.as_ref());
    // A killed change may have left it.
    std::fs::remove_file(target.with_extension("stillwell-new")).ok();
    std::fs::remove_file(target).map_err(|error| cannot("remove", path, &error))
}

fn cannot(what: &str, path: &str, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root",
        io::ErrorKind::ReadOnlyFilesystem => "; mount it writable first",
        _ => "",
    };
    format!("cannot {what} /{path}: {error}{advice}")
}

#[cfg(test)]
mod tests;
