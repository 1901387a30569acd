//! The launcher: a small process that serves the front end until that hangs up.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use anyhow::Result;
use rustix::process::Signal;

use crate::destination::Destination;
use crate::job_mark::JobMarker;
use crate::launcher::LauncherLoop;
use crate::prepared::padding_variable;
use crate::wire::{self, LauncherReply, LauncherRequest};
use host::sys::{self, Environment};
use host::terminal;
use model::words::in_words;

/// `argv[0]` that makes this program a launcher.
pub const ARGV0: &str = "stillwell-launcher";

/// Serves the front end, whose socket is standard input, until it hangs up.
pub fn serve() {
    sys::install_launcher_signals();
    // The name in ps and top; the file is /proc/self/exe.
    rustix::thread::set_name(c"stillwell-run").ok();
    let front_end = sys::parent();
    sys::signal_me_when_my_parent_ends(Signal::TERM);
    // The front end sees an error as a closed socket.
    if let Ok(Some(mut session)) = begin(front_end) {
        answer_requests(&mut session).ok();
        session.end_survivors();
    }
}

struct OpenSession {
    socket: File,
    session: LauncherLoop,
    is_undercover: bool,
}

fn begin(front_end: i32) -> Result<Option<OpenSession>> {
    let stdin = io::stdin();
    let mut socket = File::from(stdin.as_fd().try_clone_to_owned()?);
    let mark = JobMarker::handed(std::env::args_os().nth(1).as_deref());
    let LauncherRequest::Open(open) = wire::receive(&mut socket)? else { return Ok(None) };
    let is_undercover = open.is_undercover;
    if is_undercover {
        rustix::thread::set_name(c"sh").ok();
    }
    match LauncherLoop::open(*open, front_end, mark) {
        Ok((session, opened)) => {
            wire::send(&mut socket, &LauncherReply::Opened(opened))?;
            Ok(Some(OpenSession { socket, session, is_undercover }))
        }
        Err(error) => {
            wire::send(&mut socket, &LauncherReply::Refused(in_words(&error)))?;
            Ok(None)
        }
    }
}

fn answer_requests(open: &mut OpenSession) -> Result<()> {
    let OpenSession { socket, session, is_undercover } = open;
    // Not a part of the session, because a run borrows both.
    let mut variables = Environment::new(padding_variable(*is_undercover));
    loop {
        let reply = match wire::receive(&mut *socket)? {
            LauncherRequest::Open(_) => LauncherReply::Refused("opened twice".into()),
            LauncherRequest::Keep(keep) => match Destination::open(&keep) {
                Ok(destination) => {
                    session.destination = Some(destination);
                    LauncherReply::Ready
                }
                Err(error) => LauncherReply::Refused(in_words(&error)),
            },
            LauncherRequest::Batch(batch) => {
                LauncherReply::Done(session.run(&batch, &mut variables))
            }
        };
        wire::send(&mut *socket, &reply)?;
    }
}

impl OpenSession {
    /// Ends what the runs left behind. If the front end is gone, nothing else can.
    fn end_survivors(self) {
        let Self { socket, session, .. } = self;
        sys::end_stop_requests();
        let ended = session.survivors.and_then(|mut watch| watch.end_all());
        if let Some((n, name)) = ended.filter(|_| sys::parent() != session.front_end) {
            terminal::say(format_args!(
                "the session was killed; ended {} that its runs had left behind ({name})",
                if n == 1 { "1 process".into() } else { format!("{n} processes") }
            ));
        }
        drop(socket);
    }
}
