//! `--exec`: a program for each event.

use super::environment;
use super::workers::{Outcome, ReceivedEvent};
use crate::commands::CommandWords;
use notation::how_long;
use runtime::exit::Failure;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time between two looks at whether a program has ended.
const LOOK: Duration = Duration::from_millis(20);
/// The time that a program has to end by itself once it is told to (SIGTERM).
const GRACE: Duration = Duration::from_secs(5);

/// A program that is run for each event.
#[derive(Debug)]
pub(super) struct EventProgram {
    words: CommandWords,
    /// The longest time that it may run.
    most: Duration,
    controller: String,
    /// The time that it has to end once it is told to.
    grace: Duration,
    stop: Arc<AtomicBool>,
    kill: Arc<AtomicBool>,
}

/// The reason for which a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    ByItself,
    TimedOut,
    Stopped,
    Killed,
}

impl EventProgram {
    /// Checks that there is such a program. With `stop` one that runs is ended, with `kill` at once.
    pub(super) fn find(
        words: CommandWords,
        most: Duration,
        controller: String,
        [stop, kill]: [Arc<AtomicBool>; 2],
    ) -> Result<Self, Failure> {
        if is_found(&words.program) {
            Ok(Self { words, most, controller, grace: GRACE, stop, kill })
        } else {
            Err(Failure::usage(format!("--exec {}: there is no such program", words.program)))
        }
    }

    /// Runs it for an event, until it ends or is ended.
    pub(super) fn run(&self, received: &ReceivedEvent) -> Outcome {
        let mut child = match self.start(received) {
            Ok(child) => child,
            Err(error) => return Outcome::failed("not_started", format!("it does not start: {error}")),
        };
        let began = Instant::now();
        let waited = self.wait(&mut child, began);
        let took = how_long(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        match waited {
            Ok((Ending::TimedOut, _)) => Outcome::failed("timeout", format!("ended after {took}")),
            Ok((Ending::Stopped, _)) => {
                Outcome::failed("ended", format!("ended after {took}: edison watch ends"))
            }
            Ok((Ending::Killed, _)) => {
                Outcome::failed("ended", format!("killed after {took}: edison watch ends at once"))
            }
            Ok((Ending::ByItself, status)) => of_status(status, &took),
            Err(error) => Outcome::failed("fault", format!("its end is not known: {error}")),
        }
    }

    fn start(&self, received: &ReceivedEvent) -> io::Result<Child> {
        let mut command = Command::new(&self.words.program);
        command.args(&self.words.arguments);
        environment::inherited().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(environment::variables(&received.event, &self.controller));
        command.stdin(input(&received.json)?);
        // Standard output is for events.
        command.stdout(io::stderr()).stderr(Stdio::inherit());
        // What it starts is ended with it, and Ctrl-C is for edison alone.
        command.process_group(0).spawn()
    }

    /// Waits until the program has ended.
    fn wait(&self, child: &mut Child, began: Instant) -> io::Result<(Ending, ExitStatus)> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok((Ending::ByItself, status));
            }
            let ending = match () {
                () if self.stop.load(Relaxed) => Ending::Stopped,
                () if began.elapsed() >= self.most => Ending::TimedOut,
                () => {
                    std::thread::sleep(LOOK);
                    continue;
                }
            };
            return Ok(match self.end(child)? {
                (status, true) if ending == Ending::Stopped => (Ending::Killed, status),
                (status, _) => (ending, status),
            });
        }
    }

    /// Ends a program that was not waited for, and all of its group. Returns whether it was not given the time to end by itself, too.
    fn end(&self, child: &mut Child) -> io::Result<(ExitStatus, bool)> {
        let group = Pid::from_child(child);
        signal(group, Signal::TERM)?;
        let told = Instant::now();
        // The number of the group stays its own until the child is waited for.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let mut is_killed = false;
        while waitid(WaitId::Pid(group), options)?.is_none() {
            is_killed = self.kill.load(Relaxed);
            if is_killed || told.elapsed() >= self.grace {
                break;
            }
            std::thread::sleep(LOOK);
        }
        signal(group, Signal::KILL)?;
        Ok((child.wait()?, is_killed))
    }
}

fn signal(group: Pid, signal: Signal) -> io::Result<()> {
    match kill_process_group(group, signal) {
        // None of it is left.
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A file in memory with the JSON: a program may read it or not, at its own pace.
fn input(json: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("event", MemfdFlags::CLOEXEC)?);
    file.write_all(json.as_bytes())?;
    file.write_all(b"\n")?;
    file.rewind()?;
    Ok(file)
}

fn of_status(status: ExitStatus, took: &str) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::well("succeeded", Some(format!("exit code 0 after {took}"))),
        (Some(code), _) => {
            Outcome::failed(format!("exit_code_{code}"), format!("exit code {code} after {took}"))
        }
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            Outcome::failed(format!("signal_{signal}"), format!("ended by signal {signal} after {took}"))
        }
    }
}

/// Returns whether there is a program of this name, which is looked up in PATH unless it has a slash.
fn is_found(program: &str) -> bool {
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return is_program(Path::new(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
}
