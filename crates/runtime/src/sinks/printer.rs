//! Answers, events and stories on standard output.

use crate::exit::say;
use crate::resolver::Resolver;
use crate::sinks::screen;
use crate::sinks::standard_output::OutputReader;
use controller::ControllerOutput;
use model::{Answer, Column, ColumnKind, Event, Value};
use std::io::{self, Write};
use std::sync::Arc;
use terminal::Series;

/// The style in which answers, events and stories are printed.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// True if nothing goes to standard output.
    pub is_silent: bool,
    /// True for a line of JSON for each answer and event.
    pub is_json: bool,
    /// True if sentences are printed as they come; of a replay they are in the stories at the end.
    pub is_live: bool,
    /// True if answers are not printed.
    pub leaves_out_answers: bool,
    /// True if the events are approximate, and say so.
    pub is_approximate: bool,
    /// True if tables say of which node they are.
    pub has_several_nodes: bool,
    /// True if the answers of intervals are rows of one table.
    pub has_rows: bool,
    /// The user's queries that start others, whose answers are not shown as tables; `None` if there are no queries of the user, and those
    /// that the program asks by itself are shown.
    pub steps: Option<Vec<String>>,
}

/// Prints what a controller shows, until the reader of standard output leaves.
pub struct ControllerPrinter {
    style: Style,
    reader: OutputReader,
    resolver: Option<Arc<Resolver>>,
    /// The table whose rows are the answers of intervals, where there is one.
    series: Option<Series>,
    fault: Option<String>,
}

/// An event of a dry run over flow records.
#[derive(serde::Serialize)]
struct Approximate<'a> {
    #[serde(flatten)]
    event: &'a Event,
    approximate: bool,
}

impl ControllerPrinter {
    /// A printer that nothing was printed by yet.
    pub fn new(style: Style, reader: OutputReader, resolver: Option<Arc<Resolver>>) -> Self {
        let series = style.has_rows.then(Series::default);
        Self { style, reader, resolver, series, fault: None }
    }

    /// Prints what is to be printed.
    pub fn show(&mut self, output: ControllerOutput) {
        let text = match output {
            ControllerOutput::Warning(line) => return say(&line),
            ControllerOutput::Sentence(sentence) if self.style.is_live && !self.style.is_json => {
                format!("{sentence}\n")
            }
            ControllerOutput::Event(event) if self.style.is_json => match self.style.is_approximate {
                true => self.line(&Approximate { event: &event, approximate: true }),
                false => self.line(&event),
            },
            ControllerOutput::Answer(answer) if !self.style.leaves_out_answers => self.answer(*answer),
            ControllerOutput::Sentence(_)
            | ControllerOutput::Event(_)
            | ControllerOutput::Answer(_)
            | ControllerOutput::Captured(_)
            | ControllerOutput::History(_) => return,
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
        let node = answer.node.clone().filter(|_| *has_several_nodes);
        if let Some(series) = &mut self.series {
            // A row says what it is of, where not all rows are of the same.
            let bound = std::mem::take(&mut answer.bound).into_iter().map(|item| (item.column, item.value));
            let node = node.map(|node| (Column::new("node", ColumnKind::Text, ""), Value::Text(node)));
            for (at, (column, value)) in node.into_iter().chain(bound).enumerate() {
                answer.columns.insert(at, column);
                answer.rows.iter_mut().for_each(|row| row.insert(at, value.clone()));
            }
            return series.rows(std::slice::from_ref(&answer));
        }
        if let Some(node) = node {
            answer.query = format!("{} on {node}", answer.query);
            answer.task.iter_mut().for_each(|task| task.text = format!("{} on {node}", task.text));
        }
        terminal::answers([&answer], top::paper())
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

    /// Returns why standard output took nothing more, if it did not.
    pub fn finish(self) -> Option<String> {
        self.fault
    }
}
