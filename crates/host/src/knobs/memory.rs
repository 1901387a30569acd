//! Background work on memory, and the address space layout of processes.

use crate::knobs::kernel::{number, switch};
use crate::knobs::{Confidence, Group, Knob, Machine, Reading};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "ksm",
        group: Group::Memory,
        noise: "a kernel thread merges equal pages, and writing to them faults",
        files: &[number("sys/kernel/mm/ksm/run")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: ksm,
    },
    Knob {
        name: "khugepaged",
        group: Group::Memory,
        noise: "khugepaged compacts memory to make huge pages",
        files: &[number("sys/kernel/mm/transparent_hugepage/khugepaged/defrag")],
        needs: "root",
        sure: Confidence::Documented,
        by_default: true,
        look: |knob, machine| {
            switch(knob, machine, "0", "this kernel has no transparent huge pages")
        },
    },
    Knob {
        name: "aslr",
        group: Group::Memory,
        noise: "each process has another layout; better per process (run --no-aslr), or many runs with it on",
        files: &[number("proc/sys/kernel/randomize_va_space")],
        needs: "root",
        sure: Confidence::Tested,
        by_default: false,
        look: |knob, machine| switch(knob, machine, "0", "this kernel cannot randomise layouts"),
    },
];

/// `0` keeps merged pages, and `2` would split them. Neither causes noise.
fn ksm(knob: &Knob, machine: &Machine<'_>) -> Reading {
    let is_off = machine.host.read(knob.files[0].path).as_deref() == Some("2");
    switch(knob, machine, if is_off { "2" } else { "0" }, "this kernel does not merge pages")
}
