//! Stops chosen system calls of other processes until the listener lets them go on, by a filter (seccomp_unotify(2)).
//! The filter needs no rights, and follows every descendant.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use libc::{c_long, c_ulong, sock_filter, sock_fprog};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::checked;

/// Number of this architecture in `struct seccomp_data` (linux/audit.h); `None` where this program has not been tried.
pub const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};
/// Numbers from here on are x32's (asm/unistd.h, `__X32_SYSCALL_BIT`). No other architecture has so many.
const X32_BIT: u32 = 0x4000_0000;
/// Offsets in `struct seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// A system call that waits for the listener.
#[derive(Clone, Copy, Debug)]
pub struct StoppedCall {
    /// Number by which the call is let go on.
    id: u64,
    pub thread: u32,
    pub number: c_long,
    /// Whether the call belongs to this architecture. Otherwise nothing else is known.
    pub is_native: bool,
    pub arguments: [u64; 6],
}

/// Makes a command stop at these system calls from exec on, and send the listener over the socket. It gets no rights by
/// exec (`PR_SET_NO_NEW_PRIVS`), as the kernel demands.
pub fn stop_at(command: &mut Command, calls: &[c_long], socket: OwnedFd) {
    let filter = filter(calls);
    let install = move || {
        let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let program = sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
        // SAFETY: the filter is as long as the program says, and both outlive the calls. The others take integers.
        let listener = unsafe {
            checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as c_ulong, 0, 0, 0))?;
            let mode = c_ulong::from(libc::SECCOMP_SET_MODE_FILTER);
            let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
            libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program)
        };
        let listener = i32::try_from(listener).unwrap_or(-1);
        checked(listener)?;
        // SAFETY: the kernel has just made the descriptor, and no other code owns it.
        let listener = unsafe { OwnedFd::from_raw_fd(listener) };
        send_descriptor(&socket, listener.as_fd())
    };
    // SAFETY: between fork and exec it makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(install) };
}

fn filter(calls: &[c_long]) -> Vec<sock_filter> {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let jump_if = |test: u32| (libc::BPF_JMP | test | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let statement = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    let stop = statement(answer, libc::SECCOMP_RET_USER_NOTIF);
    let mut filter = vec![
        statement(load, ARCHITECTURE_AT),
        sock_filter { code: jump_if(libc::BPF_JEQ), jt: 1, jf: 0, k: ARCHITECTURE.unwrap_or(0) },
        stop,
        statement(load, NUMBER_AT),
        sock_filter { code: jump_if(libc::BPF_JGE), jt: 0, jf: 1, k: X32_BIT },
        stop,
    ];
    for &call in calls {
        let number = u32::try_from(call).unwrap_or(u32::MAX);
        filter.push(sock_filter { code: jump_if(libc::BPF_JEQ), jt: 0, jf: 1, k: number });
        filter.push(stop);
    }
    filter.push(statement(answer, libc::SECCOMP_RET_ALLOW));
    filter
}

fn send_descriptor(socket: &OwnedFd, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&[0])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// The end at which system calls are seen. When it is closed, the stopped ones fail with ENOSYS.
#[derive(Debug)]
pub struct CallListener(OwnedFd);

impl AsFd for CallListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl CallListener {
    /// The listener that a command sends; `None` if it could not install the filter.
    pub fn receive(socket: &UnixStream) -> io::Result<Option<Self>> {
        let (mut byte, flags) = ([0], RecvFlags::CMSG_CLOEXEC);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
        let listener = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        Ok(listener.map(Self))
    }

    /// Waits for the next call; `None` if the process that made it has ended meanwhile, or a signal came.
    pub fn next(&self) -> io::Result<Option<StoppedCall>> {
        let mut call = MaybeUninit::<libc::seccomp_notif>::zeroed();
        // SAFETY: the kernel fills in a struct of this type, which it wants zeroed (seccomp_unotify(2)).
        let call = unsafe {
            if libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, call.as_mut_ptr())
                < 0
            {
                let error = io::Error::last_os_error();
                return match error.raw_os_error() {
                    Some(libc::ENOENT | libc::EINTR) => Ok(None),
                    _ => Err(error),
                };
            }
            call.assume_init()
        };
        let number = call.data.nr;
        let is_x32 = number.cast_unsigned() >= X32_BIT;
        Ok(Some(StoppedCall {
            id: call.id,
            thread: call.pid,
            number: c_long::from(number),
            is_native: Some(call.data.arch) == ARCHITECTURE && !is_x32,
            arguments: call.data.args,
        }))
    }

    /// Lets a call go on, as if nothing had stopped it. If its process has ended meanwhile, nothing happens.
    pub fn let_go_on(&self, call: StoppedCall) {
        // SAFETY: zeros are a valid answer, and the kernel reads a struct of this type.
        unsafe {
            let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
            answer.id = call.id;
            answer.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer);
        }
    }

    /// Ends a call with this result in the place of the kernel, after these bytes are written to an address of its
    /// process. Errors: the process has ended meanwhile, or its memory may not be written.
    pub fn answer(
        &self,
        call: StoppedCall,
        address: u64,
        bytes: &[u8],
        result: i64,
    ) -> io::Result<()> {
        // SAFETY: the kernel reads `bytes`, checks the other address, and reads a struct of this type, for which zeros are valid.
        unsafe {
            let from =
                libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            let to = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
            let thread = call.thread.cast_signed();
            if libc::process_vm_writev(thread, &raw const from, 1, &raw const to, 1, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
            answer.id = call.id;
            answer.val = result;
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer);
        }
        Ok(())
    }
}
