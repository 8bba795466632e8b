//! `--answers`: the answers of windows and the events in a file, as the lines of `--json`.

use super::{Sink, SinkContext, screen};
use crate::exit::Failure;
use crate::verdict::ExitStatus;
use controller::ControllerOutput;
use model::{Answer, RunReport, Window};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The file. Each window is in it once it is answered.
pub(crate) struct AnswerFile {
    path: PathBuf,
    /// True if a capture is answered as a whole.
    is_of_run: bool,
    /// True if the user's queries take the place of those that the program asks by itself.
    is_asked: bool,
    state: Mutex<AnswerFileState>,
}

struct AnswerFileState {
    file: BufWriter<File>,
    /// True once the earlier content of the file is gone. A run that is refused leaves the file as it was.
    has_begun: bool,
    /// The path of a file that was not there before; it is removed if the run is refused.
    is_new: Option<PathBuf>,
    /// The reason why the file takes nothing more.
    error: Option<io::Error>,
    /// The number of lines that the file lacks, at the most.
    lost: u64,
}

impl AnswerFileState {
    fn begin(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) && self.file.get_ref().metadata()?.is_file() {
            self.file.get_ref().set_len(0)?;
        }
        Ok(())
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, value)?;
        self.file.write_all(b"\n")
    }
}

impl Drop for AnswerFileState {
    fn drop(&mut self) {
        if let Some(path) = self.is_new.take().filter(|_| !self.has_begun) {
            let _ = fs::remove_file(path);
        }
    }
}

impl AnswerFile {
    /// Creates the file where the options ask for it.
    pub(super) fn start(context: &SinkContext<'_>) -> Result<Option<Box<dyn Sink>>, Failure> {
        let Some(path) = &context.options.output.answers else { return Ok(None) };
        let is_new = (!path.exists()).then(|| path.clone());
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| Failure::usage(format!("--answers {}: {error}", path.display())))?;
        let file = BufWriter::new(file);
        let state = AnswerFileState { file, has_begun: false, is_new, error: None, lost: 0 };
        Ok(Some(Box::new(Self {
            path: path.clone(),
            is_of_run: !context.options.json_windows,
            is_asked: !context.asked.is_empty(),
            state: Mutex::new(state),
        })))
    }

    /// Writes a line for each, and has the file take them.
    fn write<'a, T: Serialize + 'a>(&self, lines: impl Iterator<Item = &'a T>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut number = 0;
        if state.error.is_none() {
            state.error = state.begin().err();
        }
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

    /// Returns what the file lacks.
    fn lost(&self) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let error = state.error.as_ref()?;
        Some(format!("--answers {} lacks {} lines at the most: {error}", self.path.display(), state.lost))
    }
}

impl Sink for AnswerFile {
    fn window(&self, window: &Window) {
        // Of a capture that is answered as a whole, windows that queries ask for have lines.
        self.write(screen::lines_of(window, self.is_asked || self.is_of_run));
    }

    fn cut(&self, answers: &[Answer]) {
        self.write(answers.iter());
    }

    fn take_output(&self, output: &ControllerOutput) {
        match output {
            ControllerOutput::Answer(answer)
                if screen::has_line(answer, answer.empty.is_some(), self.is_asked) =>
            {
                self.write([&**answer].into_iter());
            }
            ControllerOutput::Event(event) => self.write([&**event].into_iter()),
            _ => {}
        }
    }

    fn finish(&self, report: &RunReport, verdict: &mut ExitStatus) {
        let whole = if self.is_of_run { screen::whole(report, self.is_asked) } else { Vec::new() };
        // A run without answers has an empty file.
        self.write(whole.iter());
        verdict.lose(self.lost().into_iter().collect());
    }
}
