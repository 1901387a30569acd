//! The end of a process in words, and how much of its output a message quotes.

/// Columns of a line of what a program wrote: those of a traceback are long, those of what is no text have no end.
pub const LINE_MAX: usize = 500;

/// How a process ended: a status, or minus a signal.
pub fn exit_in_words(exit: i32) -> String {
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
    }
}
