//! The terminal: its alternate screen and its keys. It is left as it was found: at the end, on an error, on a signal and on a panic.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};
use std::io::{self, Write};
use std::panic;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, ThreadId};

/// Enters the alternate screen, clears it and hides the cursor (xterm's private modes 1049 and 25).
const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[?25l";
/// Ends a frame (mode 2026) and colours too, wherever drawing has stopped.
const LEAVE: &str = "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1049l";

/// Columns and rows of a terminal that does not say.
const DEFAULT_SIZE: (u16, u16) = (80, 24);
/// A larger one is not used as a whole: its cells are in memory.
const LARGEST: (u16, u16) = (1_000, 400);

/// The terminal. Clones are of the same one.
#[derive(Clone)]
pub(crate) struct Tty(Arc<Mutex<TtyState>>);

struct TtyState {
    is_open: bool,
    /// The settings of the keyboard before.
    before: Option<Termios>,
    /// The thread that draws.
    drawing: Option<ThreadId>,
}

/// Input from the keyboard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeyboardInput {
    Nothing,
    Bytes(Vec<u8>),
    /// The keyboard is closed.
    Closed,
}

impl Tty {
    /// Enters the alternate screen of standard output.
    pub(crate) fn enter() -> io::Result<Self> {
        write(ENTER.as_bytes())?;
        let tty = Self(Arc::new(Mutex::new(TtyState { is_open: true, before: None, drawing: None })));
        let (own, before) = (tty.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |info| {
            own.leave_on_panic();
            before(info);
        }));
        Ok(tty)
    }

    fn state(&self) -> MutexGuard<'_, TtyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a frame; nothing once the terminal is left.
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.drawing = Some(thread::current().id());
        if state.is_open { write(frame) } else { Ok(()) }
    }

    /// Reads what was typed. In the background nothing is: who reads there is stopped.
    pub(crate) fn read(&self) -> KeyboardInput {
        let stdin = io::stdin();
        let mut state = self.state();
        if !state.is_open {
            return KeyboardInput::Nothing;
        }
        if !isatty(&stdin) {
            // One that was a terminal was closed.
            return if state.before.is_some() { KeyboardInput::Closed } else { KeyboardInput::Nothing };
        }
        if tcgetpgrp(&stdin).is_ok_and(|group| group != rustix::process::getpgrp()) {
            return KeyboardInput::Nothing;
        }
        if state.before.is_none() {
            let Ok(before) = tcgetattr(&stdin) else { return KeyboardInput::Nothing };
            if tcsetattr(&stdin, OptionalActions::Now, &by_key(before.clone())).is_err() {
                return KeyboardInput::Nothing;
            }
            state.before = Some(before);
        }
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        if !poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0) {
            return KeyboardInput::Nothing;
        }
        let mut bytes = [0; 256];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(length @ 1..) => KeyboardInput::Bytes(bytes[..length].to_vec()),
            Err(Errno::INTR | Errno::AGAIN) => KeyboardInput::Nothing,
            Ok(0) | Err(_) => KeyboardInput::Closed,
        }
    }

    /// Leaves it as it was found, once.
    pub(crate) fn leave(&self) {
        leave(&mut self.state());
    }

    /// The message of a panic of the thread that draws stays readable.
    fn leave_on_panic(&self) {
        let mut state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if state.drawing == Some(thread::current().id()) {
            leave(&mut state);
        }
    }
}

/// Returns true if standard input is a terminal.
pub(crate) fn has_keyboard() -> bool {
    isatty(io::stdin())
}

/// Returns true if standard output is a terminal that moves its cursor: one of the type `dumb` does not (terminfo).
pub fn can_draw() -> bool {
    isatty(io::stdout()) && std::env::var_os("TERM").is_none_or(|name| name != "dumb")
}

/// The paper at standard output: a terminal has its width, and styles unless NO_COLOR is set; anything else is plain.
pub fn paper() -> terminal::Paper {
    match can_draw() {
        true => terminal::Paper::terminal(terminal_size().0.into(), is_coloured()),
        false => terminal::Paper::PLAIN,
    }
}

/// Returns true unless the user wants no colours (NO_COLOR, <https://no-color.org>).
pub(crate) fn is_coloured() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns and rows of the terminal at standard output, which change with the window that it is in; of none, those of a usual one.
pub(crate) fn terminal_size() -> (u16, u16) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col != 0 && size.ws_row != 0 => {
            (size.ws_col.min(LARGEST.0), size.ws_row.min(LARGEST.1))
        }
        _ => DEFAULT_SIZE,
    }
}

fn leave(state: &mut TtyState) {
    if !std::mem::take(&mut state.is_open) {
        return;
    }
    // The terminal may be gone.
    if let Some(before) = state.before.take() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
    let _ = write(LEAVE.as_bytes());
}

/// A keyboard that gives each key at once and does not show it. Ctrl-C still interrupts; Ctrl-Z, which would leave the alternate
/// screen to the shell, does nothing.
fn by_key(mut termios: Termios) -> Termios {
    termios.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    termios.special_codes[SpecialCodeIndex::VSUSP] = 0;
    termios.special_codes[SpecialCodeIndex::VMIN] = 1;
    termios.special_codes[SpecialCodeIndex::VTIME] = 0;
    termios
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
