//! A directory that behaves like the kernel's resctrl, for tests. It checks writes as fs/resctrl/ctrlmondata.c and
//! fs/resctrl/rdtgroup.c do, and explains refusals in `last_cmd_status`.
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use std::io;

use crate::Host;
use crate::resctrl::choice::is_contiguous;
use crate::resctrl::layout::{
    LAST_STATUS, MaskTable, POINT, ROOT_SCHEMATA, Resource, groups, masks, resources,
};
use model::values::{format_cpu_list, parse_cpu_list};

const WAY_BYTES: u64 = 1 << 20;

fn put(host: &Host, path: &str, text: &str) {
    std::fs::write(host.root.join(path), format!("{text}\n")).unwrap();
}

fn refuse(host: &Host, number: i32, why: &str) -> io::Result<()> {
    put(host, LAST_STATUS, why);
    Err(io::Error::from_raw_os_error(number))
}

pub(super) fn write(host: &Host, path: &str, value: &str) -> io::Result<()> {
    let (group, file) = path.rsplit_once('/').unwrap();
    if !host.exists(path) {
        return Err(io::ErrorKind::NotFound.into());
    }
    match file {
        "schemata" => write_schemata(host, group, value)?,
        "cpus_list" => write_cpus(host, group, value)?,
        _ => unreachable!("{path}"),
    }
    put(host, LAST_STATUS, "ok");
    Ok(())
}

/// `rdtgroup_schemata_write()`: all lines are checked before any value is set.
fn write_schemata(host: &Host, group: &str, value: &str) -> io::Result<()> {
    // Valid input requires a trailing newline.
    let Some(lines) = value.strip_suffix('\n') else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    let path = format!("{group}/schemata");
    let mut table = masks(host, &path);
    let resources = resources(host);
    for line in lines.split('\n') {
        let Some((name, values)) = line.split_once(':') else {
            return refuse(host, libc::EINVAL, "Missing ':'");
        };
        let Some(resource) = resources.iter().find(|it| it.name == name.trim()) else {
            let why = format!("Unknown or unsupported resource name '{name}'");
            return refuse(host, libc::EINVAL, &why);
        };
        for value in values.split(';').filter(|value| !value.is_empty()) {
            let Some((id, mask)) = value.split_once('=') else {
                return refuse(host, libc::EINVAL, "Missing '=' or non-numeric domain");
            };
            let key = (resource.name.clone(), id.parse().unwrap());
            if !table.contains_key(&key) {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            let mask = check_mask(host, resource, mask)?;
            check_overlap(host, group, &key, mask)?;
            table.insert(key, mask);
        }
    }
    show(host, group, &table);
    Ok(())
}

/// `cbm_validate()`.
fn check_mask(host: &Host, resource: &Resource, text: &str) -> io::Result<u64> {
    let refused = |why: String| {
        refuse(host, libc::EINVAL, &why)?;
        unreachable!()
    };
    let Ok(mask) = u64::from_str_radix(text, 16) else {
        return refused(format!("Non-hex character in the mask {text}"));
    };
    if mask == 0 || mask > resource.full {
        return refused("Mask out of range".into());
    }
    if !resource.is_sparse && !is_contiguous(mask) {
        return refused(format!("The mask {mask:x} has non-consecutive 1-bits"));
    }
    if mask.count_ones() < resource.min_ways {
        return refused(format!("Need at least {} bits in the mask", resource.min_ways));
    }
    Ok(mask)
}

/// `parse_cbm()`: a group and an exclusive group cannot share ways.
fn check_overlap(host: &Host, group: &str, key: &(String, u32), mask: u64) -> io::Result<()> {
    let mode = |group: &str| host.read(format!("{group}/mode")).unwrap_or_default();
    for other in groups(host).iter().filter(|other| *other != group) {
        let theirs = masks(host, &format!("{other}/schemata")).get(key).copied().unwrap_or(0);
        if theirs & mask == 0 {
            continue;
        }
        if mode(other) == "exclusive" {
            return refuse(host, libc::EINVAL, "Overlaps with exclusive group");
        }
        if mode(group) == "exclusive" {
            return refuse(host, libc::EINVAL, "Overlaps with other group");
        }
    }
    Ok(())
}

/// Shows the masks and sizes of a group in the kernel's format.
fn show(host: &Host, group: &str, table: &MaskTable) {
    let old = host.read(format!("{group}/schemata")).unwrap_or_default();
    // Memory bandwidth is not ours to change.
    let bandwidth = old.lines().find(|line| line.trim().starts_with("MB:"));
    let mut names: Vec<&String> = table.keys().map(|(name, _)| name).collect();
    names.dedup();
    let line = |name: &String, value: &dyn Fn(u64) -> String| {
        let of_name = table.iter().filter(|((it, _), _)| it == name);
        let values: Vec<String> =
            of_name.map(|((_, id), mask)| format!("{id}={}", value(*mask))).collect();
        format!("{name:>6}:{}", values.join(";"))
    };
    let masks = names.iter().map(|name| line(name, &|mask| format!("{mask:x}")));
    let schemata: Vec<String> = masks.chain(bandwidth.map(str::to_owned)).collect();
    let bytes = |mask: u64| (u64::from(mask.count_ones()) * WAY_BYTES).to_string();
    let size: Vec<String> = names.iter().map(|name| line(name, &bytes)).collect();
    put(host, &format!("{group}/schemata"), &schemata.join("\n"));
    put(host, &format!("{group}/size"), &size.join("\n"));
}

/// `rdtgroup_cpus_write()`: a CPU is in one group, and what a group gives away goes to the default group.
fn write_cpus(host: &Host, group: &str, value: &str) -> io::Result<()> {
    let Ok(cpus) = parse_cpu_list(value.trim_end()) else {
        return refuse(host, libc::EINVAL, "Bad CPU list/mask");
    };
    let online = parse_cpu_list(&host.read("sys/devices/system/cpu/online").unwrap()).unwrap();
    if cpus.iter().any(|cpu| !online.contains(cpu)) {
        return refuse(host, libc::EINVAL, "Can only assign online CPUs");
    }
    let given_away: Vec<usize> =
        cpus_of(host, group).into_iter().filter(|cpu| !cpus.contains(cpu)).collect();
    for other in groups(host).iter().filter(|other| *other != group) {
        let mut theirs = cpus_of(host, other);
        theirs.retain(|cpu| !cpus.contains(cpu));
        if other == POINT {
            theirs.extend(&given_away);
            theirs.sort_unstable();
        }
        put_cpus(host, other, &theirs);
    }
    put_cpus(host, group, &cpus);
    Ok(())
}

fn cpus_of(host: &Host, group: &str) -> Vec<usize> {
    parse_cpu_list(&host.read(format!("{group}/cpus_list")).unwrap_or_default()).unwrap_or_default()
}

fn put_cpus(host: &Host, group: &str, cpus: &[usize]) {
    put(host, &format!("{group}/cpus_list"), &format_cpu_list(cpus));
}

/// `rdtgroup_mkdir_ctrl_mon()`: a new group may use all ways that no exclusive group has.
pub(super) fn make(host: &Host, group: &str) -> io::Result<()> {
    if host.exists(group) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let resources = resources(host);
    if groups(host).len() >= resources[0].n_classes {
        return refuse(host, libc::ENOSPC, "Out of CLOSIDs");
    }
    let others = groups(host);
    let mut table = masks(host, ROOT_SCHEMATA);
    for ((name, id), mask) in &mut table {
        *mask = resources.iter().find(|it| it.name == *name).unwrap().full;
        for other in &others {
            if host.read(format!("{other}/mode")).as_deref() == Some("exclusive") {
                *mask &= !masks(host, &format!("{other}/schemata"))[&(name.clone(), *id)];
            }
        }
    }
    for directory in ["mon_groups", "mon_data"] {
        std::fs::create_dir_all(host.root.join(format!("{group}/{directory}"))).unwrap();
    }
    for cache in host.list(format!("{POINT}/mon_data")) {
        let directory = format!("{group}/mon_data/{cache}");
        std::fs::create_dir_all(host.root.join(&directory)).unwrap();
        for file in ["llc_occupancy", "mbm_total_bytes"] {
            put(host, &format!("{directory}/{file}"), "0");
        }
    }
    put(host, &format!("{group}/mode"), "shareable");
    put(host, &format!("{group}/tasks"), "");
    put_cpus(host, group, &[]);
    show(host, group, &table);
    put(host, LAST_STATUS, "ok");
    Ok(())
}

/// `rdtgroup_rmdir()`.
pub(super) fn remove(host: &Host, group: &str) -> io::Result<()> {
    if !host.exists(group) {
        return Ok(());
    }
    let given_away = cpus_of(host, group);
    std::fs::remove_dir_all(host.root.join(group)).unwrap();
    let mut theirs = cpus_of(host, POINT);
    theirs.extend(given_away);
    theirs.sort_unstable();
    put_cpus(host, POINT, &theirs);
    Ok(())
}

/// resctrl just after mounting, on a machine with four CPUs, one L3 cache of 12 ways (devices use the upper two), and
/// divisible memory bandwidth.
pub(crate) const MOUNTED: &str = "\
    sys/fs/resctrl/info/last_cmd_status = ok\n\
    sys/fs/resctrl/info/L3/cbm_mask = fff\n\
    sys/fs/resctrl/info/L3/min_cbm_bits = 2\n\
    sys/fs/resctrl/info/L3/num_closids = 4\n\
    sys/fs/resctrl/info/L3/shareable_bits = c00\n\
    sys/fs/resctrl/info/L3/bit_usage = 0=XXSSSSSSSSSS\n\
    sys/fs/resctrl/info/L3/sparse_masks = 0\n\
    sys/fs/resctrl/info/L3_MON/mon_features = llc_occupancy\\nmbm_total_bytes\n\
    sys/fs/resctrl/info/MB/min_bandwidth = 10\n\
    sys/fs/resctrl/schemata =     L3:0=fff\\n    MB:0=100\n\
    sys/fs/resctrl/size =     L3:0=12582912\n\
    sys/fs/resctrl/mode = shareable\n\
    sys/fs/resctrl/tasks = 1\n\
    sys/fs/resctrl/cpus_list = 0-3\n\
    sys/fs/resctrl/mon_groups/\n\
    sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy = 4096\n\
    sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes = 77\n";
