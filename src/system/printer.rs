//! Answers, events and stories on standard output.

use crate::cli::RunOptions;
use crate::exit::say;
use crate::resolver::Resolver;
use crate::standard_output::Reader;
use controller::Output;
use report::{Answer, terminal};
use std::io::{self, Write};
use std::sync::Arc;

/// Prints what a controller shows, until the reader of standard output leaves.
pub(super) struct Printer {
    /// Nothing goes to standard output.
    is_silent: bool,
    is_json: bool,
    /// Sentences are printed as they come; of a replay they are in the stories at the end.
    is_live: bool,
    /// The user's queries take the place of those that the program asks by itself.
    is_asked: bool,
    /// Tables say of which node they are.
    pub(super) has_several_nodes: bool,
    /// Queries whose answers are not shown as tables.
    steps: Vec<String>,
    reader: Reader,
    resolver: Option<Arc<Resolver>>,
    fault: Option<String>,
}

impl Printer {
    /// `steps`: the user's queries that start others; `None` if there are no queries of the user.
    pub(super) fn new(
        options: &RunOptions,
        has_tables: bool,
        is_replay: bool,
        reader: Reader,
        steps: Option<Vec<String>>,
    ) -> Self {
        Self {
            is_asked: steps.is_some(),
            steps: steps.unwrap_or_default(),
            is_silent: !has_tables,
            has_several_nodes: false,
            is_json: options.json,
            is_live: !is_replay,
            reader,
            resolver: options.enrich.resolver(),
            fault: None,
        }
    }

    pub(super) fn show(&mut self, output: Output) {
        let text = match output {
            Output::Warning(line) => return say(&line),
            Output::Sentence(sentence) if self.is_live && !self.is_json => format!("{sentence}\n"),
            Output::Event(event) if self.is_json => self.line(&event),
            Output::Answer(answer) => self.answer(*answer),
            Output::Sentence(_) | Output::Event(_) | Output::Captured(_) => return,
        };
        self.write(&text);
    }

    fn answer(&mut self, mut answer: Answer) -> String {
        let is_shown = match answer.query.as_str() {
            // Of windows without a packet, one answer of the program's own queries is that of all.
            "totals" => self.is_json && !self.is_asked,
            query => {
                (self.is_json || !self.steps.iter().any(|step| step == query))
                    && (self.is_asked || answer.empty.is_none())
            }
        };
        if !is_shown {
            return String::new();
        }
        if let Some(resolver) = &self.resolver {
            resolver.enrich(std::slice::from_mut(&mut answer));
        }
        if self.is_json {
            return self.line(&answer);
        }
        if let (true, Some(node)) = (self.has_several_nodes, &answer.node) {
            answer.query = format!("{} on {node}", answer.query);
        }
        terminal::answers([&answer])
    }

    fn line(&mut self, value: &impl serde::Serialize) -> String {
        match serde_json::to_string(value) {
            Ok(line) => line + "\n",
            Err(error) => {
                self.fault = Some(error.to_string());
                String::new()
            }
        }
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() || self.is_silent || self.reader.has_left() || self.fault.is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        drop(out);
        if let Err(error) = written
            && !self.reader.takes(&error)
        {
            self.fault = Some(format!("standard output: {error}"));
            self.reader.stop();
        }
    }

    /// Puts names into the answers of the report. Returns what the user should know: why standard output took nothing more.
    pub(super) fn finish(self, answers: &mut [Answer]) -> Option<String> {
        if let Some(resolver) = &self.resolver {
            resolver.enrich(answers);
        }
        let withheld = self.resolver.as_ref().and_then(|resolver| resolver.withheld());
        withheld.iter().for_each(|line| say(line));
        self.fault
    }
}
