//! Describes the end of a process, and limits the quoted output.

/// Maximum columns of a quoted line. Lines of a traceback are long, and binary output has no line ends.
pub const LINE_MAX: usize = 500;

/// Describes an exit status. A negative value is a signal.
pub fn exit_in_words(exit: i32) -> String {
    if matches!(-exit, libc::SIGTTIN | libc::SIGTTOU) {
        let name = signal_hook::low_level::signal_name(-exit).unwrap_or_default();
        let what = if -exit == libc::SIGTTIN { "read from" } else { "write to or change" };
        // The command's own process group is in the background of the terminal.
        return format!(
            "wanted to {what} the terminal, for which the kernel stopped it ({name}), so it was ended"
        );
    }
    if exit < 0 {
        let name = signal_hook::low_level::signal_name(-exit).unwrap_or("unknown signal");
        format!("was ended by signal {} ({name})", -exit)
    } else {
        format!("exited with {exit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_in_words() {
        assert_eq!(exit_in_words(3), "exited with 3");
        assert_eq!(exit_in_words(-9), "was ended by signal 9 (SIGKILL)");
        let expected = "wanted to read from the terminal, for which the kernel stopped it (SIGTTIN), so it was ended";
        assert_eq!(exit_in_words(-21), expected);
    }
}
