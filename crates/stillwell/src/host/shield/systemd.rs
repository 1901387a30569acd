//! The systemd service that holds a partition.
//!
//! systemd keeps the cpuset controller switched on for the service. It delegates the service's group to Stillwell
//! (Delegate=, systemd.resource-control(5)).

use std::process::Stdio;

use crate::host::Host;
use crate::host::invoker::system_command;
use crate::host::shield::version2::{SERVICE, SLICE};
use crate::words::reason;

impl Host {
    /// Starts the service, which only sleeps.
    pub(super) fn start_shield_service(&self, cpus: &str) -> Result<(), String> {
        crate::host::kill::kill_point();
        self.systemd(
            "systemd-run",
            &[
                "--quiet",
                "--collect",
                &format!("--unit={SERVICE}"),
                &format!("--slice={SLICE}"),
                "--property=Delegate=yes",
                "--property=KillMode=process",
                &format!("--property=AllowedCPUs={cpus}"),
                "sleep",
                "infinity",
            ],
        )
    }

    /// Stops the service. A missing service is no error.
    pub(super) fn stop_shield_service(&self) -> Result<(), String> {
        crate::host::kill::kill_point();
        let is_loaded = |unit: &str| {
            let state = self.systemd("systemctl", &["is-active", "--quiet", unit]);
            state.is_ok()
        };
        for unit in [SERVICE, SLICE] {
            if is_loaded(unit) {
                self.systemd("systemctl", &["--no-ask-password", "stop", unit])?;
            }
        }
        Ok(())
    }

    fn systemd(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        if self.root != std::path::Path::new("/") {
            return Err("services belong to the machine that is running".into());
        }
        let output = system_command(program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot execute {program}: {}", reason(error)))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{program} {}: {}", arguments.join(" "), said.trim()))
    }
}
