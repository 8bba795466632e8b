//! The terminal's alternate screen, which is left as it was found: at the end, on an error and on a signal.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Enters the alternate screen and hides the cursor (xterm's private modes 1049 and 25).
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Columns and rows of a terminal that does not say.
const USUAL: (usize, usize) = (80, 24);

/// The screen. Clones are of the same one.
#[derive(Clone, Debug)]
pub(crate) struct AlternateScreen {
    /// Held while something is drawn, so that nothing is once it is left.
    is_open: Arc<Mutex<bool>>,
}

impl AlternateScreen {
    /// Enters it.
    pub(crate) fn enter() -> io::Result<Self> {
        write(ENTER)?;
        Ok(Self { is_open: Arc::new(Mutex::new(true)) })
    }

    /// Its columns and rows, which change with the window that it is in.
    pub(crate) fn size() -> (usize, usize) {
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col != 0 && size.ws_row != 0 => (size.ws_col.into(), size.ws_row.into()),
            _ => USUAL,
        }
    }

    /// Draws these lines over what is there; nothing once the screen is left. There are no more lines than rows.
    pub(crate) fn draw(&self, lines: &[String]) -> io::Result<()> {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_open {
            return Ok(());
        }
        // Each line is written over what stood there, so that nothing flickers.
        write(&format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")))
    }

    /// Leaves it, once.
    pub(crate) fn leave(&self) {
        let mut is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *is_open) {
            // The terminal may be gone.
            let _ = write(LEAVE);
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
