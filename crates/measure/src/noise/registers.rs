//! Registers of x86 CPUs that perf counts (arch/x86/events/msr.c): cycles at the actual and at the nominal clock (aperf
//! and mperf), and system management interrupts (smi). Virtual machines rarely have them.

use perf_event::events::Dynamic;
use perf_event::{Builder, Counter};

use crate::noise::sampler::LoopThread;
use host::{Gap, Host};

const PLACE: &str = "sys/bus/event_source/devices/msr/events";

#[derive(Debug, Default)]
pub struct Registers {
    cpus: Vec<CpuCounters>,
}

#[derive(Debug)]
struct CpuCounters {
    cpu: usize,
    aperf: Option<Counter>,
    mperf: Option<Counter>,
    smi: Option<Counter>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RegisterCounts {
    pub cpu: usize,
    /// Clock, as a multiple of the nominal one.
    pub clock_ratio: Option<f64>,
    pub n_firmware: Option<u64>,
}

impl Registers {
    /// Starts to count. A counter that does not open is a gap.
    pub fn open(host: &Host, threads: &[LoopThread]) -> (Self, Option<Gap>) {
        let open_all = |thread: &LoopThread| {
            let open = |name| open(host, name, thread).ok();
            CpuCounters {
                cpu: thread.cpu,
                aperf: open("aperf"),
                mperf: open("mperf"),
                smi: open("smi"),
            }
        };
        let registers = Self { cpus: threads.iter().map(open_all).collect() };
        let has_clock = registers.cpus.iter().all(|of| of.aperf.is_some() && of.mperf.is_some());
        (registers, gap(host, has_clock))
    }

    pub fn read(&mut self) -> Vec<RegisterCounts> {
        let count = |counter: &mut Option<Counter>| {
            counter.as_mut().and_then(|counter| counter.read().ok())
        };
        let counted = self.cpus.iter_mut().map(|of| RegisterCounts {
            cpu: of.cpu,
            clock_ratio: ratio(count(&mut of.aperf), count(&mut of.mperf)),
            n_firmware: count(&mut of.smi),
        });
        counted.collect()
    }
}

/// Counts while the thread runs.
fn open(host: &Host, name: &str, thread: &LoopThread) -> std::io::Result<Counter> {
    if !host.exists(format!("{PLACE}/{name}")) {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    let mut event = Dynamic::builder("msr")?;
    let event = event.event(name)?.build().map_err(std::io::Error::other)?;
    let mut builder = Builder::new(event);
    // The registers do not tell user, kernel and hypervisor time apart, so none can be excluded.
    builder.observe_pid(thread.thread).any_cpu().include_kernel().include_hv().enabled(true);
    builder.build()
}

fn ratio(aperf: Option<u64>, mperf: Option<u64>) -> Option<f64> {
    let mperf = mperf.filter(|&mperf| mperf > 0)?;
    Some(aperf? as f64 / mperf as f64)
}

fn gap(host: &Host, has_clock: bool) -> Option<Gap> {
    let (why, fix) = if has_clock {
        return None;
    } else if host.exists(format!("{PLACE}/aperf")) {
        (
            "the kernel lets this user not read the registers of a CPU (kernel.perf_event_paranoid)",
            "run it as root, or set kernel.perf_event_paranoid to 1 or lower",
        )
    } else {
        (
            "perf has no aperf and mperf here (a virtual machine, or a CPU without them)",
            "measure on bare metal",
        )
    };
    Some(Gap { what: "clock of the CPUs".into(), why: why.into(), fix: fix.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::expand;

    #[test]
    fn what_is_missing_is_a_gap() {
        let thread = LoopThread { cpu: 0, thread: 0 };
        let (_directory, host) = expand("proc/uptime = 1 1\n");
        let (mut registers, gap) = Registers::open(&host, &[thread]);
        assert!(gap.unwrap().why.contains("aperf"));
        assert_eq!(registers.read(), [RegisterCounts::default()]);
        let (_directory, host) = expand(&format!("{PLACE}/aperf = event=0x01\n"));
        assert!(super::gap(&host, false).unwrap().fix.to_string().contains("as root"));
        assert_eq!(super::gap(&host, true), None);
    }

    #[test]
    fn a_clock_is_a_ratio() {
        assert_eq!(ratio(Some(300), Some(200)), Some(1.5));
        assert_eq!(ratio(Some(300), Some(0)), None);
        assert_eq!(ratio(None, Some(200)), None);
    }

    /// The code path of aperf, with the one register that virtual machines have.
    #[test]
    fn a_register_is_read() {
        let host = Host::new("/");
        let own = LoopThread { cpu: 0, thread: rustix::thread::gettid().as_raw_nonzero().get() };
        match open(&host, "tsc", &own) {
            Ok(mut counter) => assert!(counter.read().unwrap() > 0),
            Err(error) => {
                assert!(
                    !(host.exists(format!("{PLACE}/tsc")) && rustix::process::geteuid().is_root())
                        || error.raw_os_error() == Some(libc::EPERM),
                    "{error}"
                );
            }
        }
    }
}
