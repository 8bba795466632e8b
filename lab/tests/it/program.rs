//! The program as a process.

use std::process::{Command, Stdio};

/// Returns a call of `edison-lab`.
pub(crate) fn lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_edison-lab"))
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Ended {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

impl Ended {
    /// Fails the test where the code is another.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "standard error:\n{}", self.stderr);
        self
    }

    /// Expects an end with this code, and one line on standard error that has all of `words`.
    #[track_caller]
    pub(crate) fn says(self, code: i32, words: &[&str]) {
        let ended = self.expect(code);
        let line = ended.stderr.strip_prefix("edison-lab: ").expect("the program's name");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(words.iter().all(|word| line.contains(word)), "no {words:?} in: {line}");
    }
}
