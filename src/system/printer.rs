//! Answers, events and stories on standard output.

use crate::exit::say;
use crate::resolver::Resolver;
use crate::screen;
use crate::standard_output::Reader;
use controller::Output;
use model::{Answer, Event};
use std::io::{self, Write};
use std::sync::Arc;

/// What is printed, and how.
#[derive(Clone, Debug, Default)]
pub(crate) struct Style {
    /// Nothing goes to standard output.
    pub(crate) is_silent: bool,
    /// A line of JSON for each answer and event.
    pub(crate) is_json: bool,
    /// Sentences are printed as they come; of a replay they are in the stories at the end.
    pub(crate) is_live: bool,
    /// Answers are not printed.
    pub(crate) leaves_out_answers: bool,
    /// The events are approximate, and say so.
    pub(crate) is_approximate: bool,
    /// Tables say of which node they are.
    pub(crate) has_several_nodes: bool,
    /// The user's queries that start others, whose answers are not shown as tables; `None` if there are no queries of the user, and those
    /// that the program asks by itself are shown.
    pub(crate) steps: Option<Vec<String>>,
}

/// Prints what a controller shows, until the reader of standard output leaves.
pub(crate) struct Printer {
    style: Style,
    reader: Reader,
    resolver: Option<Arc<Resolver>>,
    fault: Option<String>,
}

/// An event of a dry run over flow records.
#[derive(serde::Serialize)]
struct Approximate<'a> {
    #[serde(flatten)]
    event: &'a Event,
    approximate: bool,
}

impl Printer {
    /// A printer that nothing was printed by yet.
    pub(crate) fn new(style: Style, reader: Reader, resolver: Option<Arc<Resolver>>) -> Self {
        Self { style, reader, resolver, fault: None }
    }

    /// Prints what is to be printed.
    pub(crate) fn show(&mut self, output: Output) {
        let text = match output {
            Output::Warning(line) => return say(&line),
            Output::Sentence(sentence) if self.style.is_live && !self.style.is_json => {
                format!("{sentence}\n")
            }
            Output::Event(event) if self.style.is_json => match self.style.is_approximate {
                true => self.line(&Approximate { event: &event, approximate: true }),
                false => self.line(&event),
            },
            Output::Answer(answer) if !self.style.leaves_out_answers => self.answer(*answer),
            Output::Sentence(_)
            | Output::Event(_)
            | Output::Answer(_)
            | Output::Captured(_)
            | Output::History(_) => return,
        };
        self.write(&text);
    }

    fn answer(&mut self, mut answer: Answer) -> String {
        let Style { is_json, has_several_nodes, steps, .. } = &self.style;
        let is_shown = match (answer.query.as_str(), steps) {
            (_, steps) if *is_json => screen::has_line(&answer, answer.empty.is_some(), steps.is_some()),
            ("totals", _) => false,
            (_, None) => answer.empty.is_none(),
            (query, Some(steps)) => !steps.iter().any(|step| step == query),
        };
        if !is_shown {
            return String::new();
        }
        if let Some(resolver) = &self.resolver {
            resolver.enrich(std::slice::from_mut(&mut answer));
        }
        if *is_json {
            return self.line(&answer);
        }
        if let (true, Some(node)) = (has_several_nodes, &answer.node) {
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
        if text.is_empty() || self.style.is_silent || self.reader.has_left() || self.fault.is_some() {
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
    pub(crate) fn finish(self, answers: &mut [Answer]) -> Option<String> {
        if let Some(resolver) = &self.resolver {
            resolver.enrich(answers);
        }
        let withheld = self.resolver.as_ref().and_then(|resolver| resolver.withheld());
        withheld.iter().for_each(|line| say(line));
        self.fault
    }
}
