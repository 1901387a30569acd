//! Why a task is in the kernel (a system call, a page fault or an interrupt), from the kernel's functions.

/// Functions between the processor's entry and the system call itself.
const WAY: [&str; 12] = [
    "entry_SYSCALL_64_after_hwframe",
    "entry_SYSCALL_64",
    "entry_SYSCALL_64_safe_stack",
    "do_syscall_64",
    "x64_sys_call",
    "el0t_64_sync",
    "el0t_64_sync_handler",
    "el0_svc",
    "do_el0_svc",
    "el0_svc_common",
    "invoke_syscall",
    "__invoke_syscall",
];
/// Prefixes of system call names by the macros of `include/linux/syscalls.h` and
/// `arch/*/include/asm/syscall_wrapper.h`.
const CALLS: [&str; 7] = [
    "__x64_sys_",
    "__ia32_sys_",
    "__arm64_sys_",
    "__riscv_sys_",
    "__se_sys_",
    "__do_sys_",
    "ksys_",
];
const FAULTS: [&str; 6] = [
    "asm_exc_page_fault",
    "exc_page_fault",
    "do_user_addr_fault",
    "el0_da",
    "el0_ia",
    "do_mem_abort",
];
/// Prefixes of interrupt functions.
const INTERRUPTS: [&str; 6] = [
    "asm_sysvec_",
    "sysvec_",
    "asm_common_interrupt",
    "common_interrupt",
    "el0t_64_irq",
    "el0_irq",
];

/// The reason, from the kernel's functions of a call chain, the outermost first. `None` if they do not tell, as at the
/// start of a process.
pub fn entry<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut is_call = false;
    for name in names {
        if WAY.contains(&name) {
            is_call = true;
        } else if let Some(call) = CALLS.iter().find_map(|prefix| name.strip_prefix(prefix)) {
            // The call mmap() ends with a jump to ksys_mmap_pgoff().
            let call = call.strip_suffix("_pgoff").unwrap_or(call);
            return Some(format!("system call {call}"));
        } else if FAULTS.contains(&name) {
            return Some("page faults".into());
        } else if INTERRUPTS.iter().any(|prefix| name.starts_with(prefix)) {
            return Some("interrupts".into());
        } else {
            break;
        }
    }
    is_call.then(|| "entry of system calls".into())
}

/// Functions of the kernel that wait for a disk.
const DISK: [&str; 8] = [
    "io_schedule",
    "io_schedule_timeout",
    "folio_wait_bit_common",
    "bit_wait_io",
    "__wait_on_buffer",
    "submit_bio_wait",
    "wait_for_completion_io",
    "blk_mq_get_tag",
];

/// The reason of a task's wait, from the kernel's functions of its call chain, the outermost first.
pub fn wait<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let is_disk = names.clone().any(|name| DISK.contains(&name));
    let what = if is_disk { "waiting for a disk" } else { "asleep" };
    match entry(names) {
        Some(entry) => {
            format!("{what} in {}", entry.strip_prefix("system call ").unwrap_or(&entry))
        }
        None => what.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_functions_name_the_reason() {
        let found = |names: &str| entry(names.split(' '));
        let read = "entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_read ksys_read vfs_read";
        assert_eq!(found(read).as_deref(), Some("system call read"));
        assert_eq!(
            found("el0t_64_sync el0_svc __arm64_sys_futex").as_deref(),
            Some("system call futex")
        );
        assert_eq!(found("do_syscall_64 ksys_mmap_pgoff").as_deref(), Some("system call mmap"));
        // A fault within a system call belongs to the call.
        assert_eq!(
            found("do_syscall_64 ksys_write exc_page_fault").as_deref(),
            Some("system call write")
        );
        assert_eq!(found("asm_exc_page_fault exc_page_fault").as_deref(), Some("page faults"));
        assert_eq!(found("asm_sysvec_apic_timer_interrupt x").as_deref(), Some("interrupts"));
        assert_eq!(found("do_syscall_64").as_deref(), Some("entry of system calls"));
        assert_eq!(found("ret_from_fork_asm"), None);
        assert_eq!(found("[kernel]"), None);
    }

    #[test]
    fn a_wait_is_for_a_disk_or_a_sleep_in_a_system_call() {
        let found = |names: &str| wait(names.split(' '));
        let sleep = "do_syscall_64 __x64_sys_clock_nanosleep do_nanosleep schedule";
        assert_eq!(found(sleep), "asleep in clock_nanosleep");
        let read =
            "do_syscall_64 ksys_read filemap_read folio_wait_bit_common io_schedule schedule";
        assert_eq!(found(read), "waiting for a disk in read");
        assert_eq!(
            found("asm_exc_page_fault filemap_fault io_schedule"),
            "waiting for a disk in page faults"
        );
        assert_eq!(found("[kernel]"), "asleep");
    }
}
