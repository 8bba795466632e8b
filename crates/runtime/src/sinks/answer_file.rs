//! `--answers`: the answers of windows and the events in a file, as the lines of `--json`.

use super::{Need, Sink, Telling, screen};
use crate::exit::Failure;
use crate::spec::Spec;
use crate::verdict::Verdict;
use controller::Output;
use model::{Answer, Window};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The file. Each window is in it once it is answered.
pub(crate) struct AnswerFile {
    path: PathBuf,
    /// The user's queries take the place of those that the program asks by itself.
    is_asked: bool,
    state: Mutex<State>,
}

struct State {
    file: BufWriter<File>,
    /// Why the file takes nothing more.
    error: Option<io::Error>,
    /// Lines that it lacks, at the most.
    lost: u64,
}

impl State {
    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, value)?;
        self.file.write_all(b"\n")
    }
}

impl AnswerFile {
    /// Returns what it needs of windows.
    pub(super) fn need(options: &Spec) -> Need {
        if options.output.answers.is_some() { Need::Windows } else { Need::Nothing }
    }

    /// Creates it where the options ask for it.
    pub(super) fn start(telling: &Telling<'_>) -> Result<Option<Box<dyn Sink>>, Failure> {
        let Some(path) = &telling.options.output.answers else { return Ok(None) };
        let file = File::create(path)
            .map_err(|error| Failure::usage(format!("--answers {}: {error}", path.display())))?;
        let state = Mutex::new(State { file: BufWriter::new(file), error: None, lost: 0 });
        Ok(Some(Box::new(Self { path: path.clone(), is_asked: !telling.asked.is_empty(), state })))
    }

    /// Writes a line for each, and has the file take them.
    fn write<'a, T: Serialize + 'a>(&self, lines: impl Iterator<Item = &'a T>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut number = 0;
        for line in lines {
            number += 1;
            // What follows a line that is not whole would be read as a part of it.
            if state.error.is_none() {
                state.error = state.line(line).err();
            }
        }
        if state.error.is_none() {
            state.error = state.file.flush().err();
        }
        if state.error.is_some() {
            state.lost += number;
        }
    }
}

impl Sink for AnswerFile {
    fn window(&self, window: &Window) {
        self.write(screen::lines_of(window, self.is_asked));
    }

    fn cut(&self, answers: &[Answer]) {
        self.write(answers.iter());
    }

    fn shown(&self, output: &Output) {
        match output {
            Output::Answer(answer) if screen::has_line(answer, answer.empty.is_some(), self.is_asked) => {
                self.write([&**answer].into_iter());
            }
            Output::Event(event) => self.write([&**event].into_iter()),
            _ => {}
        }
    }

    fn finish(&self, verdict: &mut Verdict) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path.display();
        let lost = state
            .error
            .iter()
            .map(|error| format!("--answers {path} lacks {} lines at the most: {error}", state.lost));
        verdict.lose(lost.collect());
    }
}
