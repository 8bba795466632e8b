//! The screen: draws at its pace, and at once when a key is pressed or its size changes.

use crate::draw::draw;
use crate::keys::KeyReader;
use crate::model::ViewModel;
use crate::tty::{KeyboardInput, Tty, has_keyboard, is_coloured, terminal_size};
use crate::ui::{Reaction, Ui};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which all of the screen is written again: another program may have written there.
const REPAIR: Duration = Duration::from_secs(10);

/// A frame begins and ends so: terminals that know mode 2026 show it at once.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
const CLEAR: &[u8] = b"\x1b[2J";

/// The wish of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The user looks on.
    Stay,
    /// The user leaves.
    Leave,
    /// The keyboard is closed: no more wishes come.
    Closed,
}

/// The terminal, and how the model is looked at there.
pub struct Screen {
    tty: Tty,
    terminal: Terminal<CrosstermBackend<ScreenBuffer>>,
    output: ScreenBuffer,
    size: (u16, u16),
    ui: Ui,
    keys: KeyReader,
    every: Duration,
    drawn: Option<Instant>,
    repaired: Instant,
}

/// Gives the terminal back, as [`Screen::leave`] does. Clones give back the same one.
#[derive(Clone)]
pub struct GiveBack(Tty);

impl GiveBack {
    /// Leaves the terminal as it was found, once. Nothing is drawn any more.
    pub fn leave(&self) {
        self.0.leave();
    }
}

impl fmt::Debug for GiveBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GiveBack")
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("size", &self.size).field("ui", &self.ui).finish_non_exhaustive()
    }
}

impl Screen {
    /// Takes the terminal at standard output, which is drawn so often where nothing is typed.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn enter(every: Duration) -> io::Result<Self> {
        let output = ScreenBuffer::default();
        let size = terminal_size();
        let terminal = open_with_size(size, &output)?;
        let tty = Tty::enter()?;
        let (ui, keys) = (Ui::new(is_coloured(), has_keyboard()), KeyReader::default());
        Ok(Self { tty, terminal, output, size, ui, keys, every, drawn: None, repaired: Instant::now() })
    }

    /// Returns a handle that gives the terminal back, from any thread.
    pub fn give_back(&self) -> GiveBack {
        GiveBack(self.tty.clone())
    }

    /// Takes what was typed, and draws where it is time to.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub fn refresh(&mut self, model: &ViewModel) -> io::Result<Wish> {
        let mut is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= self.every);
        let mut repairs = self.repaired.elapsed() >= REPAIR;
        match self.tty.read() {
            KeyboardInput::Nothing => {}
            KeyboardInput::Closed => return Ok(Wish::Closed),
            KeyboardInput::Bytes(bytes) => {
                for key in self.keys.read(&bytes) {
                    match self.ui.press(key, model) {
                        Reaction::Nothing => {}
                        Reaction::Redraw => is_due = true,
                        Reaction::Repair => (is_due, repairs) = (true, true),
                        Reaction::Leave => return Ok(Wish::Leave),
                    }
                }
            }
        }
        let size = terminal_size();
        if is_due || size != self.size {
            self.draw(model, size, repairs)?;
        }
        Ok(Wish::Stay)
    }

    fn draw(&mut self, model: &ViewModel, size: (u16, u16), repairs: bool) -> io::Result<()> {
        let mut frame = BEGIN.to_vec();
        if size != self.size {
            self.terminal = open_with_size(size, &self.output)?;
            self.output.take();
            self.size = size;
            frame.extend(CLEAR);
        } else if repairs {
            // All cells are other ones than those that follow, as far as the terminal's differences go.
            self.terminal.draw(|frame| {
                for cell in &mut frame.buffer_mut().content {
                    cell.set_symbol("\u{e000}");
                }
            })?;
            self.output.take();
        }
        if repairs {
            self.repaired = Instant::now();
        }
        let ui = &mut self.ui;
        self.terminal.draw(|frame| draw(ui, model, frame.buffer_mut()))?;
        self.drawn = Some(Instant::now());
        frame.extend(self.output.take());
        frame.extend(END);
        self.tty.write(&frame)
    }

    /// Gives the terminal back. Nothing is drawn any more.
    pub fn leave(&self) {
        self.tty.leave();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

fn open_with_size(
    (columns, rows): (u16, u16),
    output: &ScreenBuffer,
) -> io::Result<Terminal<CrosstermBackend<ScreenBuffer>>> {
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    Terminal::with_options(CrosstermBackend::new(output.clone()), TerminalOptions { viewport })
}

/// The bytes that are to be written, until the frame is whole.
#[derive(Clone, Debug, Default)]
struct ScreenBuffer(Arc<Mutex<Vec<u8>>>);

impl ScreenBuffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for ScreenBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
