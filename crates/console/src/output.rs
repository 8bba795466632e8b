//! Lines on standard error and answers on standard output.

use std::io::{self, ErrorKind, Write};

/// Writes a line to standard error, after the program's name. The line's reader may be gone.
pub fn say(program: &str, line: &str) {
    let _ = writeln!(io::stderr().lock(), "{program}: {}", printable(line));
}

/// Returns the line without characters that would steer a terminal or begin another line: some of it comes from strangers.
fn printable(line: &str) -> String {
    line.chars()
        .map(|letter| if letter.is_control() && letter != '\t' { '\u{fffd}' } else { letter })
        .collect()
}

/// Writes an answer to standard output. A reader that has seen enough (`| head`) is no fault.
///
/// # Errors
/// The answer cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(printable("a\tb\nc\u{1b}[31md"), "a\tb\u{fffd}c\u{fffd}[31md");
    }
}
