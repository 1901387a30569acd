//! Which program answers at the address that a run connects to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::watch::memory::Memory;
use host::{Host, Process};

/// Longest `struct sockaddr`.
const ADDRESS_BYTES_MAX: u64 = 128;
const TABLE_BYTES_MAX: u64 = 16 << 20;
/// `SO_ACCEPTCON` in the flags of /proc/net/unix: the socket listens.
const LISTENS: u64 = 0x1_0000;
/// `TCP_LISTEN` in /proc/net/tcp.
const TCP_LISTEN: &str = "0A";
/// Servers of the C library, which resolve names and keep a log.
const OF_THE_LIBRARY: [&str; 4] =
    ["/run/nscd/socket", "/var/run/nscd/socket", "/dev/log", "/run/systemd/userdb"];

/// The address of a system call, in words, if a program outside this run answers there.
pub fn foreign_server(memory: &Memory, address: u64, length: u64) -> Option<String> {
    let bytes = memory.up_to(address, length.min(ADDRESS_BYTES_MAX) as usize)?;
    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    match family {
        libc::AF_UNIX => unix_server(bytes.get(2..)?),
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            network_server(IpAddr::V4(Ipv4Addr::from(address)), port()?)
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            network_server(IpAddr::V6(Ipv6Addr::from(address)).to_canonical(), port()?)
        }
        _ => None,
    }
}

fn unix_server(name: &[u8]) -> Option<String> {
    let name = match name {
        [0, abstract_name @ ..] => format!("@{}", String::from_utf8_lossy(abstract_name)),
        path => {
            let end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
            String::from_utf8_lossy(&path[..end]).into_owned()
        }
    };
    if OF_THE_LIBRARY.iter().any(|known| name.starts_with(known)) {
        return None;
    }
    let text = Host::new("/").read_long("proc/net/unix", TABLE_BYTES_MAX)?;
    let listener = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let flags = u64::from_str_radix(fields.nth(3)?, 16).ok()?;
        let inode: u64 = fields.nth(2)?.parse().ok()?;
        // A path may be relative to another directory.
        let is_it = fields.next().is_some_and(|path| path == name || name.ends_with(path));
        (is_it && flags & LISTENS != 0).then_some(inode)
    };
    let inodes: BTreeSet<u64> = text.lines().filter_map(listener).collect();
    (!inodes.is_empty() && !is_ours(&inodes)).then_some(name)
}

fn network_server(address: IpAddr, port: u16) -> Option<String> {
    let words = format!("{address} port {port}");
    if !address.is_loopback() && !address.is_unspecified() {
        return Some(words);
    }
    let inodes: BTreeSet<u64> = ["tcp", "tcp6", "udp", "udp6"]
        .into_iter()
        .flat_map(|table| listeners(table, port))
        .collect();
    (!inodes.is_empty() && !is_ours(&inodes)).then_some(words)
}

/// Inodes of sockets that listen at a port (proc_net(5)).
fn listeners(table: &str, port: u16) -> Vec<u64> {
    let path = format!("proc/net/{table}");
    let text = Host::new("/").read_long(path, TABLE_BYTES_MAX).unwrap_or_default();
    let listener = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, own_port) = fields.get(1)?.rsplit_once(':')?;
        let waits = table.starts_with("udp") || *fields.get(3)? == TCP_LISTEN;
        let is_it = waits && u16::from_str_radix(own_port, 16).ok()? == port;
        is_it.then(|| fields.get(9)?.parse().ok()).flatten()
    };
    text.lines().filter_map(listener).collect()
}

/// Whether a process of this run has one of these sockets open.
fn is_ours(inodes: &BTreeSet<u64>) -> bool {
    let host = Host::new("/");
    let parents: BTreeMap<u32, u32> =
        Process::all(&host).map(|(pid, process)| (pid, process.parent)).collect();
    let own = std::process::id();
    let is_descendant = |mut pid: u32| {
        for _ in 0..parents.len() {
            match parents.get(&pid) {
                Some(&parent) if parent == own => return true,
                Some(&parent) => pid = parent,
                None => return false,
            }
        }
        false
    };
    let has_one = |pid: u32| {
        host.list(format!("proc/{pid}/fd")).into_iter().any(|number| {
            let target = std::fs::read_link(format!("/proc/{pid}/fd/{number}")).ok();
            let target = target.as_ref().and_then(|target| target.to_str());
            let inode = target.and_then(|target| {
                target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
            });
            inode.is_some_and(|inode: u64| inodes.contains(&inode))
        })
    };
    parents.keys().copied().filter(|&pid| is_descendant(pid)).any(has_one)
}
