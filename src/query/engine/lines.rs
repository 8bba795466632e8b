//! The lines of an engine's answer, within a time and a size.

use runtime::exit::Failure;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// The largest answer that is read, bytes.
pub(super) const MOST_READ: u64 = 256 << 20;
/// Lines that wait to be taken.
const WAITING: usize = 256;
/// The interval at which it is seen whether the user has stopped.
const LOOK: Duration = Duration::from_millis(50);
/// The most characters of a reason; longer ones are cut.
const MOST_WORDS: usize = 400;

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The program or the address that the user asks for is not there.
    Usage(String),
    /// The question is one that no engine answers: why, with the engine's name.
    Question(String),
    /// The engine is away, refuses, or dies.
    Fault(String),
    /// The engine gives something that is no answer to the question.
    Wrong(String),
    /// The engine took longer than this.
    Late(Duration),
    /// The engine gives more than is read.
    TooLarge,
    /// The user has stopped.
    Stopped,
}

impl Trouble {
    /// Returns the trouble as one line about this engine.
    pub(super) fn into_failure(self, engine: &str) -> Failure {
        match self {
            Self::Usage(line) => Failure::usage(format!("{engine}: {line}")),
            Self::Question(line) => Failure::usage(line),
            Self::Fault(line) => Failure::fault(format!("{engine}: {line}")),
            Self::Wrong(line) => Failure::fault(format!(
                "{engine} does not answer what was asked: {line}; is it the engine that --engine names, and of a version that \
                 docs/store-queries.md lists?"
            )),
            Self::Late(time) => Failure::fault(format!(
                "{engine}: no answer within {}: --engine-time gives it longer, --from and --to ask for less",
                notation::time_text(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
            )),
            Self::TooLarge => Failure::fault(format!(
                "{engine}: the answer is larger than {} MiB: ask for fewer groups (limit), longer windows, or less time",
                MOST_READ >> 20
            )),
            Self::Stopped => Failure::fault(format!("{engine}: stopped before the end")),
        }
    }
}

/// A part of what an engine says.
pub(super) enum EngineMessage {
    Line(String),
    /// The engine is at its end, well or not.
    End(Result<(), Trouble>),
}

/// The lines of an engine. The engine's program, which has to end when nobody listens any more, is dropped with them.
pub(super) struct EngineOutput {
    pub(super) said: Receiver<EngineMessage>,
    /// Ends the engine's program when it is dropped.
    pub(super) _engine: Option<Box<dyn Send>>,
}

/// The sender of an engine's lines.
pub(super) type EngineSender = SyncSender<EngineMessage>;

/// A way for lines.
pub(super) fn way() -> (EngineSender, Receiver<EngineMessage>) {
    sync_channel(WAITING)
}

impl EngineOutput {
    /// Calls `take` with each line until the engine is at its end. `goes_on` is false once the user has stopped.
    pub(super) fn each(
        self,
        time: Duration,
        goes_on: &dyn Fn() -> bool,
        take: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<(), Trouble> {
        let began = Instant::now();
        loop {
            if !goes_on() {
                return Err(Trouble::Stopped);
            }
            let left = time.checked_sub(began.elapsed()).ok_or(Trouble::Late(time))?;
            match self.said.recv_timeout(left.min(LOOK)) {
                Ok(EngineMessage::Line(line)) if line.trim().is_empty() => {}
                Ok(EngineMessage::Line(line)) => take(&line).map_err(Trouble::Wrong)?,
                Ok(EngineMessage::End(result)) => return result,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Trouble::Fault("it went away in the middle of its answer".to_owned()));
                }
            }
        }
    }
}

/// Passes on the lines of a stream up to its end. An error means that nobody listens any more, or what is wrong.
pub(super) fn pass_on(stream: impl Read, told: &EngineSender) -> Result<(), Trouble> {
    let mut stream = BufReader::new(stream.take(MOST_READ + 1));
    let mut read = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = stream.read_until(b'\n', &mut line);
        let length = length.map_err(|error| {
            Trouble::Fault(format!("its answer ends early: {}", one_line(&error.to_string())))
        })?;
        if length == 0 {
            return Ok(());
        }
        read += length as u64;
        if read > MOST_READ {
            return Err(Trouble::TooLarge);
        }
        let text = String::from_utf8(line.clone());
        let text = text.map_err(|_| Trouble::Wrong("a line is not UTF-8".to_owned()))?;
        told.send(EngineMessage::Line(text)).map_err(|_| Trouble::Stopped)?;
    }
}

/// The line of an engine's words that says what is wrong, without what would break a line.
pub(super) fn reason(words: &str) -> String {
    let lines = || words.lines().map(str::trim).filter(|line| !line.is_empty());
    let says = |line: &&str| ["rror", "xception", "DB::"].iter().any(|word| line.contains(word));
    one_line(lines().find(says).or_else(|| lines().next_back()).unwrap_or("it does not say why"))
}

pub(super) fn one_line(text: &str) -> String {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.char_indices().nth(MOST_WORDS) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain,
    }
}
