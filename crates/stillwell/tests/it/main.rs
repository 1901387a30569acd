//! End to end: the real program on real, cheap commands, or on scripted times if a test needs thousands.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests are outside of the program: they make processes, read files and wait"
)]

mod advise;
mod bench;
mod bisect;
mod bisect_origins;
mod budget;
mod calibrate;
mod calibration;
mod campaign;
mod check;
mod clean_time;
mod compare;
mod compatibility;
mod contract;
mod disk;
mod escapes;
mod exit_codes;
mod exports;
mod failures;
mod fair_play;
mod files;
mod gate;
mod guardian;
mod harnesses;
mod history;
mod history_hostile;
mod history_sessions;
mod history_together;
mod hooks;
mod interrupts;
mod kill;
mod large;
mod link_order;
mod load;
mod looks;
mod manual;
mod mcp;
mod odd_places;
mod pool;
mod privacy;
mod privileges;
mod process;
mod processes;
mod race;
mod revisions;
mod schedule;
mod shield;
mod streams;
mod sudo;
mod suite_build_ends;
mod suite_builds;
mod suite_mistakes;
mod suites;
mod system;
mod tidy;
mod times;
mod tuning;
mod unpacked;
mod values;
mod why;
mod why_again;
mod words;
mod workers;
