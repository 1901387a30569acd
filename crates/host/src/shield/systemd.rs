//! The systemd service that holds a partition. systemd keeps the cpuset controller switched on for the service, and
//! delegates its group to Stillwell (Delegate=, systemd.resource-control(5)).

use crate::Host;
use crate::invoker::system_command;
use crate::shield::{SERVICE, SLICE};
use model::words::reason;

impl Host {
    /// Starts the service, which only sleeps.
    pub(super) fn start_shield_service(&self, cpus: &str) -> Result<(), String> {
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
        )?
        .map_err(|said| format!("systemd-run: {said}"))
    }

    /// Stops the service. A missing service is no error.
    pub(super) fn stop_shield_service(&self) -> Result<(), String> {
        for unit in [SERVICE, SLICE] {
            if self.systemd("systemctl", &["is-active", "--quiet", unit])?.is_ok() {
                self.systemd("systemctl", &["--no-ask-password", "stop", unit])?
                    .map_err(|said| format!("systemctl stop {unit}: {said}"))?;
            }
        }
        Ok(())
    }

    /// Executes a program of systemd. The inner error is its output, the outer one why it could not be executed.
    fn systemd(&self, program: &str, arguments: &[&str]) -> Result<Result<(), String>, String> {
        let cannot = |error| format!("cannot execute {program}: {}", reason(error));
        #[cfg(test)]
        if !self.is_this_machine() {
            let said = || Ok(super::fake::fake_systemd(self, program, arguments));
            return crate::fault::by_kernel(program, said).map_err(cannot);
        }
        if !self.is_this_machine() {
            return Err("services belong to the machine that is running".into());
        }
        let output = system_command(program).args(arguments).output().map_err(cannot)?;
        if output.status.success() {
            return Ok(Ok(()));
        }
        Ok(Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}
