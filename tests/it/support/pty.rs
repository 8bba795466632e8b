//! A program on a terminal of its own: what it draws, keys, another size, and a terminal that is closed.

use super::program::Ended;
use super::terminal::Terminal;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than anything here takes: a program that exceeds it hangs.
const DEADLINE: Duration = Duration::from_secs(300);

/// A program on a terminal. It is killed when this is dropped.
pub(crate) struct Pty {
    child: Child,
    /// `None` once the terminal is closed.
    master: Option<File>,
    written: Arc<Mutex<Vec<u8>>>,
    /// Set where the terminal is to be closed.
    closes: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    /// How much was written before each size.
    sizes: Vec<(usize, (usize, usize))>,
}

fn window_size((columns, rows): (usize, usize)) -> libc::winsize {
    let number = |size: usize| u16::try_from(size).expect("a small terminal");
    libc::winsize { ws_row: number(rows), ws_col: number(columns), ws_xpixel: 0, ws_ypixel: 0 }
}

impl Pty {
    /// Starts the command on a terminal of this size, which is its standard input, output and error.
    pub(crate) fn start(mut command: Command, columns: usize, rows: usize) -> Self {
        let (mut master, mut slave) = (0, 0);
        let size = window_size((columns, rows));
        // SAFETY: both numbers and the size are valid for the call; no name and no settings are asked for.
        let opened =
            unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
        assert_eq!(opened, 0, "a pseudo-terminal: {}", std::io::Error::last_os_error());
        // SAFETY: `openpty` has just opened both, and nothing else owns them.
        let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let clone = || slave.try_clone().expect("a descriptor");
        command.stdin(clone()).stdout(clone()).stderr(clone());
        // Whatever the type of the terminal that the tests have.
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm");
        }
        // SAFETY: between fork and exec both calls are allowed.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        // The master is the test's alone.
        // SAFETY: the descriptor is open.
        assert_eq!(unsafe { libc::fcntl(master.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) }, 0);
        let child = command.spawn().expect("the program starts");
        // The terminal is closed where the program has ended.
        drop((command, slave));
        let master = File::from(master);
        let mut reading = master.try_clone().expect("a descriptor");
        let (written, closes) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (own, is_closed) = (Arc::clone(&written), Arc::clone(&closes));
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while !is_closed.load(Relaxed) {
                let mut ready = libc::pollfd { fd: reading.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: one valid entry, which the call fills in.
                if unsafe { libc::poll(&mut ready, 1, 20) } == 0 {
                    continue;
                }
                let Ok(length @ 1..) = reading.read(&mut bytes) else { break };
                own.lock().expect("no reader panics").extend_from_slice(&bytes[..length]);
            }
        });
        let sizes = vec![(0, (columns, rows))];
        Self { child, master: Some(master), written, closes, reader: Some(reader), sizes }
    }

    /// What was written so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().expect("no reader panics")).into_owned()
    }

    /// What the terminal shows now.
    pub(crate) fn shown(&self) -> Terminal {
        Terminal::of(&self.written.lock().expect("no reader panics"), &self.sizes)
    }

    /// The last whole frame of the alternate screen, its lines joined.
    pub(crate) fn frame(&self) -> String {
        self.shown().frames.last().map(|lines| lines.join("\n")).unwrap_or_default()
    }

    fn master(&self) -> &File {
        self.master.as_ref().expect("the terminal is open")
    }

    /// Closes the terminal under the program.
    pub(crate) fn close(&mut self) {
        self.closes.store(true, Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no reader panics");
        }
        self.master = None;
    }

    /// Types.
    pub(crate) fn send(&mut self, keys: &str) {
        self.master().write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        self.sizes.push((self.written.lock().expect("no reader panics").len(), (columns, rows)));
        let size = window_size((columns, rows));
        // SAFETY: the descriptor is open and the size valid for the call.
        assert_eq!(unsafe { libc::ioctl(self.master().as_raw_fd(), libc::TIOCSWINSZ, &size) }, 0);
    }

    /// Whether the terminal shows what is typed, line by line, as it did at first.
    pub(crate) fn is_as_before(&self) -> bool {
        // SAFETY: all-zero bytes are a `termios`, which the call fills in.
        let termios = unsafe {
            let mut termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(self.master().as_raw_fd(), &mut termios), 0);
            termios
        };
        let both = libc::ICANON | libc::ECHO;
        termios.c_lflag & both == both && termios.c_cc[libc::VSUSP] != 0
    }

    pub(crate) fn signal(&mut self, signal: libc::c_int) {
        if self.child.try_wait().expect("own child").is_none() {
            // SAFETY: no pointers; the child was not waited for, so its number is still its own.
            assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
        }
    }

    /// Waits until `fact` holds, however long that takes within reason. Fails where the program ended before.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str, mut fact: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        loop {
            let has_ended = self.child.try_wait().expect("own child").is_some()
                && self.reader.as_ref().is_none_or(JoinHandle::is_finished);
            if fact(self) {
                return;
            }
            assert!(!has_ended, "it ended without {what}:\n{}", self.text());
            assert!(began.elapsed() < DEADLINE, "waited in vain for {what}:\n{}", self.frame());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until it ends of itself. What was written stays.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Ended {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("own child") {
                break status;
            }
            assert!(began.elapsed() < DEADLINE, "it does not end:\n{}", self.frame());
            std::thread::sleep(Duration::from_millis(10));
        };
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no reader panics");
        }
        let (stdout, stderr) = (self.text(), String::new());
        Ended { code: status.code(), signal: status.signal(), stdout, stderr }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
