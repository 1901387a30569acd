//! Workers that another program forks; here a Python program.

use super::*;

/// Forks workers that execute the code in its argument.
const FORK_SERVER: &str = "
import os, socket, sys
server = socket.socket(fileno=0)
while True:
    message, fds, flags, address = socket.recv_fds(server, 4096, 2)
    words = message.decode().split()
    if not words:
        break
    if words[0] == 'reap':
        status = os.waitpid(int(words[1]), 0)[1]
        server.send(b'status %d\\n' % os.waitstatus_to_exitcode(status))
    elif words[1] != 'fine':
        server.send(b'error no\\\\x20such\\\\x20arm\\n')
    else:
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.close(0)
            code, sys.argv[1] = sys.argv[1], '--stillwell-worker=%d,%d' % tuple(fds)
            exec(code)
            sys.exit(5)
        for fd in fds:
            os.close(fd)
        server.send(b'pid %d\\n' % pid)
";

/// Starts the program and its fork server. The program ends when the fork server is dropped.
fn fork_server(code: &str) -> (std::process::Child, Rc<ForkServer>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let child = std::process::Command::new("python3")
        .args(["-c", FORK_SERVER, &format!("{PYTHON}{code}")])
        .stdin(std::os::fd::OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    (child, ForkServer::new(ours.into()))
}

#[test]
fn forked_workers_are_workers() {
    let (mut child, server) = fork_server(SERVE);
    let mut workers = [0, 1].map(|_| server.fork("fine", &RequestLimits::default()).unwrap());
    for worker in &mut workers {
        assert!(worker.hello().unwrap().is("source"));
        assert_eq!(worker.run_loops(100, false).unwrap().counters[0].1, 100);
    }
    let failure = server.fork("other", &RequestLimits::default()).unwrap_err();
    assert_eq!(failure.what, FailureCause::ErrorAnswer("no such arm".into()));
    for worker in workers {
        let ended = worker.quit().unwrap();
        assert!(ended.exit == Some(5) && !ended.killed);
    }
    drop(server);
    assert!(child.wait().unwrap().success());
}

#[test]
fn forked_workers_that_die_or_hang() {
    let (mut child, server) = fork_server(
        "
import signal
say('stillwell 1')
if ask()[1] == '1': os.kill(os.getpid(), signal.SIGSEGV)
signal.pause()",
    );
    let request_limits = RequestLimits { timeout: Some(Duration::from_secs(2)), interrupt: None };
    let mut worker = server.fork("fine", &RequestLimits::default()).unwrap();
    worker.hello().unwrap();
    let failure = worker.run_loops(1, false).unwrap_err();
    assert_eq!(failure.what, FailureCause::Died { exit: Some(-libc::SIGSEGV) });
    drop(worker);
    let mut worker = server.fork("fine", &request_limits).unwrap();
    worker.hello().unwrap();
    let failure = worker.run_loops(2, false).unwrap_err();
    assert_eq!(failure.what, FailureCause::TimedOut(Duration::from_secs(2)));
    // A third one is dropped in the middle. The program reaps it, or could not end.
    server.fork("fine", &request_limits).unwrap().hello().unwrap();
    drop((worker, server));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_fork_server_that_is_gone() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    let server = ForkServer::new(ours.into());
    let ask = || server.fork("fine", &RequestLimits::default()).unwrap_err().what;
    assert_eq!(ask(), FailureCause::Died { exit: None });
    assert_eq!(ask(), FailureCause::Over);
}
