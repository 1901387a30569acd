//! Adds the entry to the menus of captured loaders.
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::fixture::expand;
use crate::{fault, read_cpu_table};

const MACHINE: &str = "sys/devices/system/cpu/online = 0-3\n\
    sys/devices/system/cpu/possible = 0-3\n\
    sys/devices/system/cpu/nohz_full = \n\
    proc/cmdline = BOOT_IMAGE=/boot/vmlinuz-6.1.0-9 root=UUID=1 ro quiet isolcpus=3\n\
    proc/sys/kernel/osrelease = 6.1.0-9\n\
    proc/1/comm = systemd\n\
    sys/fs/cgroup/system.slice/cron.service/cgroup.procs = 7\n\
    sys/fs/cgroup/system.slice/ssh.service/cgroup.procs = 8\n";
const QUIET: &str = "systemd.unit=multi-user.target systemd.mask=timers.target systemd.mask=cron.service \
    consoleblank=0 vt.global_cursor_default=0";
const ISOLATED: &str = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1";
/// Shortened output of grub-mkconfig on Debian.
const GRUB: &str = r#"### BEGIN /etc/grub.d/10_linux ###
menuentry 'Debian GNU/Linux' --class debian {
	load_video
	savedefault
	insmod part_gpt
	if [ x$feature_platform_search_hint = xy ]; then
	  search --no-floppy --fs-uuid --set=root  1
	fi
	linux	/boot/vmlinuz-6.1.0-9 root=UUID=1 ro quiet isolcpus=3
	initrd	/boot/initrd.img-6.1.0-9
}
submenu 'Advanced options' {
	menuentry 'Debian, recovery' {
		linux	/boot/vmlinuz-6.1.0-9 root=UUID=1 ro single
	}
}
### BEGIN /etc/grub.d/41_custom ###
if [ -f  ${config_directory}/custom.cfg ]; then
  source ${config_directory}/custom.cfg
fi
### END /etc/grub.d/41_custom ###
"#;

fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
    let (directory, host) = expand(MACHINE);
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    (directory, host)
}

fn advice(host: &Host) -> BootAdvice {
    let table = read_cpu_table(host, None);
    BootAdvice::new(host, &table, Some(&[2, 3]), false, true).unwrap()
}

#[test]
fn a_quiet_boot_leaves_out_what_runs_and_makes_noise() {
    let (_directory, host) = machine(&[]);
    assert_eq!(advice(&host).line, format!("{ISOLATED} {QUIET}"));
    // After such a boot nothing is missing.
    let line = format!("root=UUID=1 {ISOLATED} {QUIET}");
    std::fs::write(host.root.join("proc/cmdline"), line).unwrap();
    std::fs::write(host.root.join("sys/devices/system/cpu/isolated"), "2-3").unwrap();
    std::fs::write(host.root.join("sys/devices/system/cpu/nohz_full"), "2-3").unwrap();
    assert_eq!(advice(&host).line, "");
}

#[test]
fn an_entry_of_grub_is_a_copy_that_is_never_the_default() {
    let mine = "menuentry 'mine' {\n}\n";
    let files = [("boot/grub/grub.cfg", GRUB), ("boot/grub/custom.cfg", mine)];
    let (_directory, host) = machine(&files);
    let path = "boot/grub/custom.cfg";
    for _ in 0..2 {
        let added = add_entry(&host, &advice(&host)).unwrap();
        assert_eq!(added, (EntryLoader::Grub, path.to_owned()));
        let expected = format!(
            "{mine}{BEGIN}\nmenuentry 'Stillwell (quiet)' --id stillwell-quiet {{\n\tload_video\n\tinsmod part_gpt\n\
             \tif [ x$feature_platform_search_hint = xy ]; then\n\tsearch --no-floppy --fs-uuid --set=root  1\n\tfi\n\
             \tlinux /boot/vmlinuz-6.1.0-9 root=UUID=1 ro quiet {ISOLATED} {QUIET}\n\
             \tinitrd\t/boot/initrd.img-6.1.0-9\n}}\n{END}\n"
        );
        assert_eq!(host.read_long(path, 9999).unwrap(), expected);
        assert_eq!(host.read_long("boot/grub/grub.cfg", 9999).unwrap(), GRUB);
    }
    assert_eq!(remove_entry(&host), Ok(Some(path.into())));
    assert_eq!(host.read_long(path, 9999).unwrap(), mine);
    assert_eq!(remove_entry(&host), Ok(None));
    // A file without other content is removed.
    std::fs::remove_file(host.root.join(path)).unwrap();
    add_entry(&host, &advice(&host)).unwrap();
    remove_entry(&host).unwrap();
    assert_eq!(host.list("boot/grub"), ["grub.cfg"]);
}

#[test]
fn where_an_entry_might_change_the_default_none_is_made() {
    let more = format!("{GRUB}menuentry 'other' {{\n}}\n");
    let without = GRUB.replace("custom.cfg", "x.cfg");
    let other = GRUB.replace("6.1.0-9", "5.10.0-1");
    for (text, expected) in [
        (more.as_str(), "has entries after those of custom.cfg"),
        (&without, "does not read custom.cfg"),
        (&other, "no entry of the running kernel vmlinuz-6.1.0-9"),
    ] {
        let (_directory, host) = machine(&[("boot/grub/grub.cfg", text)]);
        let why = add_entry(&host, &advice(&host)).unwrap_err();
        assert!(why.contains(expected), "{why}");
        assert!(!host.exists("boot/grub/custom.cfg"));
    }
    let (_directory, host) = machine(&[]);
    assert!(
        add_entry(&host, &advice(&host)).unwrap_err().contains("neither GRUB nor systemd-boot")
    );
}

#[test]
fn an_entry_of_systemd_boot_sorts_last() {
    let entry = "title Debian\nversion 6.1.0-9\nsort-key debian\noptions root=UUID=1 isolcpus=3\n\
                 linux /6.1.0-9/linux\ninitrd /6.1.0-9/initrd.img\n";
    let files = [("boot/loader/loader.conf", "timeout 3\n"), ("boot/loader/entries/a.conf", entry)];
    let (_directory, host) = machine(&files);
    let path = "boot/loader/entries/stillwell-quiet.conf";
    assert_eq!(add_entry(&host, &advice(&host)).unwrap(), (EntryLoader::SystemdBoot, path.into()));
    let expected = format!(
        "title Stillwell (quiet)\nsort-key zz-stillwell\noptions root=UUID=1 {ISOLATED} {QUIET}\n\
         linux /6.1.0-9/linux\ninitrd /6.1.0-9/initrd.img\n"
    );
    assert_eq!(host.read_long(path, 9999).unwrap(), expected);
    assert_eq!(remove_entry(&host), Ok(Some(path.into())));
    assert_eq!(host.list("boot/loader/entries"), ["a.conf"]);
    // Without a sort key the entry might be the first.
    let unsorted = entry.replace("sort-key debian\n", "");
    std::fs::write(host.root.join("boot/loader/entries/a.conf"), unsorted).unwrap();
    assert!(add_entry(&host, &advice(&host)).unwrap_err().contains("bootctl set-default"));
    std::fs::write(host.root.join("boot/loader/loader.conf"), "default a.conf\n").unwrap();
    add_entry(&host, &advice(&host)).unwrap();
}

#[test]
fn a_killed_change_leaves_a_whole_file() {
    let (_directory, host) = machine(&[("boot/grub/grub.cfg", GRUB)]);
    add_entry(&host, &advice(&host)).unwrap();
    let before = host.read_long("boot/grub/custom.cfg", 9999);
    fault::arm(fault::FaultPoints::Changes, 0, fault::Fault::Dies);
    let other = BootAdvice::new(&host, &read_cpu_table(&host, None), Some(&[3]), false, true);
    let ended = catch_unwind(AssertUnwindSafe(|| add_entry(&host, &other.unwrap())));
    fault::disarm();
    assert!(ended.is_err());
    assert_eq!(host.read_long("boot/grub/custom.cfg", 9999), before);
    remove_entry(&host).unwrap();
    add_entry(&host, &advice(&host)).unwrap();
    assert_eq!(host.read_long("boot/grub/custom.cfg", 9999), before);
}
