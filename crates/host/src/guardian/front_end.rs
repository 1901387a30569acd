//! The front end's side of the guardian: starts it with root rights, sends requests and ends it.
#![expect(clippy::disallowed_methods, reason = "this module starts the guardian")]

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use rustix::fs::{Mode, OFlags, open};

use crate::Host;
use crate::guardian::{Answer, GuardianOrder, GuardianRequest, send};
use crate::processes::Process;
use crate::restore::Aftermath;
use crate::shield::Isolation;
use crate::{sys, terminal};
use model::prose::{Prose, prose};

/// Time after which the front end checks whether the guardian is stopped.
const PATIENCE: Duration = Duration::from_secs(2);
const OUT_OF_TURN: &str = "the guardian answered out of turn";

/// The front end's handle of a guardian. Dropping it makes the guardian restore the knobs.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    socket: UnixStream,
    reader: BufReader<UnixStream>,
    pub n_set: usize,
    pub notes: Vec<String>,
    /// The shield that the front end requested.
    pub isolation: Option<Isolation>,
}

impl Guardian {
    /// Starts a guardian and makes it turn the knobs.
    ///
    /// The guardian runs with our own rights if we are root or the machine is a directory, otherwise through a program that gives
    /// root rights without a password. Errors: no program gives root rights, or the guardian refuses.
    pub fn start(root: &Path, request: &GuardianRequest) -> Result<Self> {
        let program = sys::own_path().context("cannot find this program")?;
        let (socket, theirs) =
            UnixStream::pair().context("cannot make a socket for the guardian")?;
        let is_allowed = rustix::process::geteuid().is_root() || root != Path::new("/");
        let mut command = if is_allowed {
            Command::new(sys::own_program())
        } else {
            let Some(lender) = lender(&program) else { bail!(without_rights(&program)) };
            let mut command = Command::new(lender[0]);
            command.args(&lender[1..]).arg(&program);
            command
        };
        command.args(VERB).arg(root);
        sys::run_as_ourselves(&mut command);
        let null = open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .context("cannot open /dev/null for the guardian")?;
        command.stdin(OwnedFd::from(theirs)).stdout(null);
        let child = command.spawn().context("cannot start the guardian")?;
        // The command holds the guardian's side of the socket. While it is open here, the guardian's end would go
        // unnoticed.
        drop(command);
        let reader = BufReader::new(socket.try_clone()?);
        let mut guardian =
            Self { child, socket, reader, n_set: 0, notes: Vec::new(), isolation: None };
        send(&mut guardian.socket, request);
        match guardian.receive()? {
            Answer::Turned { n_set, notes, isolation } => {
                (guardian.n_set, guardian.notes) = (n_set, notes);
                guardian.isolation = isolation.map(|isolation| *isolation);
            }
            Answer::Failed { why, aftermath } => {
                let what = if request.tunes { "tune" } else { "isolate" };
                bail!("cannot {what}: {why}; {}", aftermath.sentence())
            }
            _ => bail!(OUT_OF_TURN),
        }
        Ok(guardian)
    }

    /// Whether a guardian would have root rights: we are root, or a program gives them without a password.
    pub fn has_rights(root: &Path) -> bool {
        if root != Path::new("/") {
            return true;
        }
        if rustix::process::geteuid().is_root() {
            // A kernel without user namespaces has no such file.
            return Host::new(root).read("proc/self/uid_map").is_none_or(|map| is_of_machine(&map));
        }
        sys::own_path().is_ok_and(|program| lender(&program).is_some())
    }

    /// Makes the guardian move one of our processes into the shield. Errors: the guardian cannot move it, with the
    /// reason.
    pub fn enter(&mut self, pid: u32) -> Result<()> {
        send(&mut self.socket, &GuardianOrder::Enter(i32::try_from(pid)?));
        match self.receive()? {
            Answer::Entered => Ok(()),
            Answer::Refused(why) => bail!("{why}"),
            _ => bail!(OUT_OF_TURN),
        }
    }

    /// Makes the guardian restore everything, and waits for it. Returns notes for the user, and an error about what
    /// could not be put back. Errors: the guardian died.
    pub fn end(mut self) -> Result<(Vec<String>, Result<()>)> {
        self.socket.shutdown(std::net::Shutdown::Write).ok();
        match self.receive()? {
            Answer::Restored { notes, left } if left.is_empty() => Ok((notes, Ok(()))),
            Answer::Restored { notes, left } => {
                Ok((notes, Err(anyhow!(Aftermath::Left(left).sentence()))))
            }
            _ => bail!(OUT_OF_TURN),
        }
    }

    fn receive(&mut self) -> Result<Answer> {
        self.socket.set_read_timeout(Some(PATIENCE)).ok();
        let (mut line, mut is_named) = (String::new(), false);
        while let Err(error) = self.reader.read_line(&mut line) {
            if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                break;
            }
            if let Some(pid) = stopped(self.child.id()).filter(|_| !is_named) {
                is_named = true;
                let text = "the guardian is stopped, and the machine stays tuned until it goes on";
                terminal::say(format_args!("{text}: `kill -CONT {pid}`"));
            }
        }
        if !line.ends_with('\n') {
            return Err(self.explain_end());
        }
        serde_json::from_str(&line).context("the answer of the guardian cannot be read")
    }

    /// The end of a guardian that has not answered.
    fn explain_end(&mut self) -> anyhow::Error {
        let how = match self.child.wait() {
            Ok(status) => format!(" ({status})"),
            Err(_) => String::new(),
        };
        anyhow!(
            "the guardian ended unexpectedly{how}; this process sets the machine's knobs and puts them back: \
             `stillwell system reset` puts back what it has changed"
        )
    }
}

/// The guardian, or a program that gave it rights, if it is stopped.
fn stopped(pid: u32) -> Option<u32> {
    let host = Host::new("/");
    if Process::read(&host, pid).is_some_and(|process| process.is_stopped) {
        return Some(pid);
    }
    Process::children(&host, &format!("proc/{pid}/task/{pid}"))?.into_iter().find_map(stopped)
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.socket.shutdown(std::net::Shutdown::Write).ok();
        self.child.wait().ok();
    }
}

/// Whether root is the machine's root. In another user namespace root has no rights outside it (user_namespaces(7)).
/// Only the first namespace maps every user to itself.
fn is_of_machine(uid_map: &str) -> bool {
    uid_map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

/// The words that make this program a guardian, before the root of the machine. A rule of sudo or doas may allow only
/// these (docs/security.md).
const VERB: [&str; 3] = ["system", "guard", "--host-root"];

/// A program that lets this program be a guardian without a password.
fn lender(program: &Path) -> Option<&'static [&'static str]> {
    const LENDERS: &[&[&str]] = &[&["sudo", "-n"], &["doas", "-n"]];
    LENDERS.iter().copied().find(|lender| {
        let mut command = Command::new(lender[0]);
        command.args(&lender[1..]).arg(program).args(VERB).args(["/", "--probe"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn without_rights(program: &Path) -> Prose {
    let program = program.display();
    prose![
        "only root may tune, and neither sudo nor doas gives the rights without a password; run `sudo {program} " RunTuned
        " …` (the commands still run as you), or `sudo {program} system tune` before and `sudo {program} system reset` after"
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_of_a_namespace_has_no_rights() {
        assert!(is_of_machine("         0          0 4294967295"));
        // The maps of `unshare -Ur` and of a user's container.
        assert!(!is_of_machine("         0       1000          1"));
        assert!(!is_of_machine("0 1000 1\n1 100000 65536"));
    }
}
