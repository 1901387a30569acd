//! Every reader of foreign data, as a function of bytes. Tests replay mutated samples; `fuzz/` has the long run
//! (CONTRIBUTING.md).
#![expect(clippy::disallowed_methods, reason = "reads samples and makes files for the readers")]

mod mutate;
mod readers;
mod verbs;

use std::path::Path;

pub use mutate::Mutator;

/// Longest seed: longer ones are slow and reach the same code.
const SEED_BYTES_MAX: usize = 16 << 10;

/// A reader and its seeds.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    pub name: &'static str,
    /// Reads an input. Only a panic or a crash is a finding.
    pub read: fn(&[u8]),
    /// Directories or files in the crate's folder, with the ending of file names.
    seeds: &'static [(&'static str, &'static str)],
    /// Further seeds.
    texts: &'static [&'static str],
    /// Inputs of the short run.
    #[cfg_attr(not(test), expect(dead_code, reason = "of the test"))]
    n_inputs: u64,
}

/// Samples of other programs.
const OTHER_FILES: [(&str, &str); 3] =
    [("../formats/samples", ""), ("../formats/cases", ""), ("tests/samples", "")];

pub const TARGETS: [FuzzTarget; 12] = [
    FuzzTarget {
        name: "record",
        read: readers::record,
        seeds: &[("tests/cmd", ".swell"), ("tests/samples/found", ".swell")],
        texts: &[],
        n_inputs: 1_500,
    },
    FuzzTarget {
        name: "detected",
        read: readers::detected,
        seeds: &OTHER_FILES,
        texts: &[],
        n_inputs: 1_500,
    },
    FuzzTarget {
        name: "formats",
        read: readers::formats,
        seeds: &OTHER_FILES,
        texts: &[],
        n_inputs: 1_500,
    },
    FuzzTarget {
        name: "suite",
        read: readers::suite,
        seeds: &[("../../examples", ".toml"), ("tests/samples/found", ".toml")],
        texts: &[],
        n_inputs: 5_000,
    },
    FuzzTarget {
        name: "worker",
        read: readers::worker,
        seeds: &[],
        texts: &[
            "stillwell 1 language=python gc=1 note=\\x41",
            "benchmark a/b inner_loops=10 unit=s",
            "meta python_version 3.11.2\ntime 1048576 999999 misses=3 a\\x20b=0",
            "error no\\x20such\\x20benchmark\nmemory 123456\npid 77\nstatus -9",
        ],
        n_inputs: 20_000,
    },
    FuzzTarget {
        name: "history",
        read: readers::history,
        seeds: &[],
        texts: &[
            "{\"format\":\"stillwell-history\",\"version\":1}\n{\"record\":{\"number\":1,\"digest\":\"d\",\"session\":null,\"origin\":{\"file\":\"a.json\",\"machine\":\"box\",\"measured_s\":1,\"surroundings\":[[\"kernel\",\"6.1\"]]},\"results\":[{\"benchmark\":\"b\",\"arm\":\"\",\"unit\":\"ns\",\"n_runs\":9,\"t0\":1.0,\"t0_err\":null,\"t0_is_limit\":false,\"median\":1.0,\"mean\":1.0,\"revision\":null,\"committed_s\":null}],\"packed\":\"H4sIAAAAAAAA\"}}\n{\"more\":{\"record\":1,\"results\":[]}}\n{\"culprits\":[]}\n",
        ],
        n_inputs: 2_000,
    },
    FuzzTarget {
        name: "folder",
        read: readers::folder,
        seeds: &[],
        texts: &[
            r#"{"format":"stillwell-pool","version":1,"tool":"stillwell 0.1.0","created":"2026-01-01T00:00:00Z","name":"stillwell-1","suite":"/s.toml","suite_text":"","suite_name":"s","program":"/x","directory":"/","arms":null,"n_blocks":3,"seed":1,"tasks_per_job":1,"engine":{"command":"sh {script}"},"benchmarks":[{"name":"a","variants":["x","y"]}],"tasks":[{"benchmark":0,"repetition":0,"seed":7}]}"#,
            r#"{"id":"12_[0-3]","offset":0,"jobs":"0-3,7"}"#,
            r#"{"format":"stillwell-suite","version":1,"tool":"","created":"","command_line":[],"file":"s.toml","text":"","suite":{}}"#,
        ],
        n_inputs: 2_000,
    },
    FuzzTarget {
        name: "machine",
        read: readers::machine,
        seeds: &[("../host/tests/hosts", ".txt"), ("tests/samples/found", ".txt")],
        texts: &[],
        n_inputs: 200,
    },
    FuzzTarget {
        name: "journal",
        read: readers::journal,
        seeds: &[],
        texts: &[
            "{\"begin\":{\"version\":1,\"boot_id\":\"\",\"pid\":7,\"start_ticks\":9,\"scoped\":true,\"user_id\":0,\"time_s\":1}}\n{\"done\":null}\n\"lowered\"\n",
        ],
        n_inputs: 5_000,
    },
    FuzzTarget {
        name: "arguments",
        read: readers::arguments,
        seeds: &[],
        texts: &[
            "run\n-L\nn\n1,2\n-n\na {n}\n--budget\n30s\nsleep {n}",
            "run\n--metrics\nwall:ms,all\n--affinity\n0-3,6\n--sched\nfifo:5\ntrue",
            "bench\n--arms\nold=./a,new=./b\n-l\n2^10\ns.toml",
            "history\nadd\n--db\nx\nr.swell\n--fail-on\nslower:2%",
            "timeit\n--setup\nx = 1\nx + 1",
        ],
        n_inputs: 1_000,
    },
    FuzzTarget {
        name: "mcp",
        read: readers::mcp,
        seeds: &[],
        texts: &[
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"}}\n",
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"measure\",\"arguments\":\
             {\"command\":[\"a\",\"b c\"],\"runs\":3,\"budget\":\"5s\"}}}\n",
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"compare\",\"arguments\":\
             {\"commands\":[[\"a\"],[\"b\"]],\"same\":0.5}}}\n[]\n{}\n",
        ],
        n_inputs: 5_000,
    },
    FuzzTarget {
        name: "verbs",
        read: verbs::verbs,
        seeds: &[
            ("tests/cmd", ".swell"),
            ("tests/samples/found", ""),
            ("../formats/samples/results", ""),
        ],
        texts: &[
            "stats --json FILE\n1.5\ta\n1.25\ta\n2.5\tb\n2.25\tb\n",
            "hist --bins 40 --format times --unit ms FILE\n1.5\ta\n1.25\ta\n2.5\tb\n",
            "compare --distributions --benchmark a FILE\n1.5\ta\n1.25\ta\n2.5\tb\n2.0\tb\n",
            "hist --log FILE FILE\n1\ta\n0\ta\n-1\tb\n",
        ],
        n_inputs: 600,
    },
];

pub fn target(name: &str) -> Option<FuzzTarget> {
    TARGETS.into_iter().find(|target| target.name == name)
}

impl FuzzTarget {
    /// The seeds, in the same order on every machine. `folder` is the crate's.
    pub fn seeds(&self, folder: &Path) -> Vec<Vec<u8>> {
        let mut seeds: Vec<Vec<u8>> = Vec::new();
        for (place, ending) in self.seeds {
            collect(&folder.join(place), ending, &mut seeds);
        }
        seeds.iter_mut().for_each(|seed| seed.truncate(SEED_BYTES_MAX));
        seeds.extend(self.texts.iter().map(|text| text.as_bytes().to_vec()));
        seeds
    }
}

fn collect(path: &Path, ending: &str, seeds: &mut Vec<Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(path) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, ending, seeds);
        } else if path.to_string_lossy().ends_with(ending) {
            seeds.extend(std::fs::read(&path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic: a failure names the target and the number of the input. STILLWELL_FUZZ_TIMES=100 reads a hundred
    /// times as many inputs.
    #[track_caller]
    fn replay(name: &str) {
        let target = target(name).unwrap();
        let seeds = target.seeds(Path::new(env!("CARGO_MANIFEST_DIR")));
        assert!(!seeds.is_empty(), "{name} has no seed");
        let mutator = Mutator::new(seeds);
        let times = std::env::var("STILLWELL_FUZZ_TIMES").ok().and_then(|text| text.parse().ok());
        for number in 0..mutator.n_seeds() + times.unwrap_or(1) * target.n_inputs {
            let input = mutator.input(number);
            let read = std::panic::catch_unwind(|| (target.read)(&input));
            assert!(read.is_ok(), "{name}: input {number} makes the reader panic: {input:?}");
        }
    }

    #[test]
    fn mutated_records() {
        replay("record");
    }

    #[test]
    fn mutated_files_of_other_programs() {
        replay("detected");
        replay("formats");
    }

    #[test]
    fn mutated_suites() {
        replay("suite");
    }

    #[test]
    fn mutated_answers_of_workers() {
        replay("worker");
    }

    #[test]
    fn mutated_histories_and_folders() {
        replay("history");
        replay("folder");
    }

    #[test]
    fn mutated_machines_and_journals() {
        replay("machine");
        replay("journal");
    }

    #[test]
    fn mutated_arguments() {
        replay("arguments");
    }

    #[test]
    fn verbs_with_mutated_files() {
        replay("verbs");
    }

    /// `fuzz/` compiles these sources, so it needs the same dependencies, and one program for each target.
    #[test]
    fn the_crate_for_long_runs_is_complete() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
        let table = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        let shared = &table(&read("../../Cargo.toml"))["workspace"]["dependencies"];
        let mut own = table(&read("Cargo.toml"))["dependencies"].as_table().unwrap().clone();
        for (name, value) in &mut own {
            if value.get("workspace").is_some() {
                *value = shared[name].clone();
            }
        }
        let text = read("../../fuzz/Cargo.toml");
        let mut theirs = table(&text)["dependencies"].as_table().unwrap().clone();
        theirs.remove("libfuzzer-sys");
        // Paths and features of our own crates differ.
        for (name, value) in own.iter().filter(|(_, value)| value.get("path").is_some()) {
            assert!(theirs.insert(name.clone(), value.clone()).is_some(), "{name}");
        }
        assert_eq!(theirs, own);
        let sources = std::fs::read_to_string(folder.join("src/main.rs")).unwrap();
        let library = std::fs::read_to_string(folder.join("../../fuzz/src/lib.rs")).unwrap();
        for module in sources.lines().filter(|line| line.starts_with("mod ")) {
            assert!(library.contains(&format!("\n{module}")), "fuzz/src/lib.rs lacks {module}");
        }
        for target in TARGETS {
            assert!(text.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
        }
    }
}
