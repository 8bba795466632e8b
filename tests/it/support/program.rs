//! The program as a process that cannot outlive its test.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than anything here takes: a program that exceeds it hangs.
const DEADLINE: Duration = Duration::from_secs(300);

/// `edison`, without options from the environment of the tests.
pub(crate) fn edison() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_edison"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("EDISON_")) {
        command.env_remove(name);
    }
    command
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Fails the test where the code is another.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "signal {:?}, standard error:\n{}", self.signal, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Expects an end with this code, and one line on standard error that has all of `words`.
    #[track_caller]
    pub(crate) fn says(self, code: i32, words: &[&str]) -> Self {
        let ended = self.expect(code);
        let said = ended.stderr.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(said, "no line with {words:?} in:\n{}", ended.stderr);
        let prefixed = ended.stderr.lines().all(|line| line.starts_with("edison: "));
        assert!(prefixed, "a message of more than one line:\n{}", ended.stderr);
        ended
    }
}

/// Runs the program with these arguments.
pub(crate) fn call(arguments: &[&str]) -> Ended {
    run(edison().args(arguments))
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Ended {
    command.stdin(Stdio::null());
    Running::start(command).wait()
}

/// A process that runs. It is killed when this is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    said: Arc<Mutex<Vec<String>>>,
    readers: Option<(JoinHandle<()>, JoinHandle<()>)>,
}

/// Collects the lines of a stream as they come.
fn collect(stream: impl Read + Send + 'static) -> (Arc<Mutex<Vec<String>>>, JoinHandle<()>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let thread = std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            seen.lock().expect("no reader panics").push(line.expect("UTF-8"));
        }
    });
    (lines, thread)
}

/// Lines as a text.
fn text(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let (lines, out) = collect(child.stdout.take().expect("piped"));
        let (said, err) = collect(child.stderr.take().expect("piped"));
        Self { child, lines, said, readers: Some((out, err)) }
    }

    /// The lines on standard output so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("no reader panics").clone()
    }

    /// The lines on standard error so far.
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lock().expect("no reader panics").clone()
    }

    /// Waits until `fact` holds, however long that takes within reason. False if the process ended before.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str, mut fact: impl FnMut(&Self) -> bool) -> bool {
        let began = Instant::now();
        loop {
            let all_read = self.readers.as_ref().is_none_or(|(out, _)| out.is_finished());
            let has_ended = self.child.try_wait().expect("own child").is_some() && all_read;
            if fact(self) {
                return true;
            }
            if has_ended {
                return false;
            }
            assert!(began.elapsed() < DEADLINE, "waited in vain for {what}; {:?}", self.lines().last());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal, unless it has ended.
    pub(crate) fn signal(&mut self, signal: libc::c_int) {
        if self.child.try_wait().expect("own child").is_none() {
            // SAFETY: no pointers; the child was not waited for, so its number is still its own.
            assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
        }
    }

    /// Waits until it ends of itself.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Ended {
        self.wait_for("the end of the process", |_| false);
        let status = self.child.wait().expect("own child");
        let (out, err) = self.readers.take().expect("waited for once");
        out.join().expect("no reader panics");
        err.join().expect("no reader panics");
        let (stdout, stderr) = (text(self.lines()), text(self.said()));
        Ended { code: status.code(), signal: status.signal(), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
