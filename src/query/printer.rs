//! Answers on standard output, as they become complete.

use crate::commands::QueryOptions;
use model::{Answer, AnswerStatus};
use runtime::resolver::Resolver;
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use terminal::Series;

/// Prints answers until the reader of standard output leaves.
pub(super) struct AnswerPrinter {
    is_json: bool,
    /// The resolver that gives names to addresses.
    resolver: Option<Arc<Resolver>>,
    /// The table whose rows are the answers of intervals, where they are asked for.
    series: Option<RefCell<Series>>,
    /// Answers of one window, which have one heading.
    window: RefCell<Vec<Answer>>,
    has_written: Cell<bool>,
    /// True if an answer lacks something.
    is_partial: Cell<bool>,
    is_over: Cell<bool>,
    fault: RefCell<Option<String>>,
}

impl AnswerPrinter {
    pub(super) fn new(options: &QueryOptions) -> Self {
        Self {
            is_json: options.json,
            resolver: options.enrich.resolver(),
            series: options.per.map(|_| RefCell::default()),
            window: RefCell::default(),
            has_written: Cell::new(false),
            is_partial: Cell::new(false),
            is_over: Cell::new(false),
            fault: RefCell::default(),
        }
    }

    /// True once nothing can be printed any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// True if an answer is partial: it says itself what it lacks.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial.get()
    }

    /// Returns the reason why standard output takes nothing more, unless its reader has seen enough.
    pub(super) fn fault(&self) -> Option<String> {
        self.fault.borrow().clone()
    }

    /// Returns the remark on names that the user should have at the end.
    pub(super) fn withheld(&self) -> Option<String> {
        self.resolver.as_ref().and_then(|resolver| resolver.withheld())
    }

    pub(super) fn print(&self, mut answer: Answer) {
        if answer.status == AnswerStatus::Partial {
            self.is_partial.set(true);
        }
        if let Some(resolver) = &self.resolver {
            resolver.enrich(std::slice::from_mut(&mut answer));
        }
        if self.is_json {
            match serde_json::to_string(&answer) {
                Ok(line) => self.write(&format!("{line}\n")),
                Err(error) => self.fail(format!("{}: {error}", answer.query)),
            }
            return;
        }
        if let Some(series) = &self.series {
            let text = series.borrow_mut().rows(std::slice::from_ref(&answer));
            return self.write(&text);
        }
        let is_new = self.window.borrow().first().is_some_and(|first| first.window != answer.window);
        if is_new {
            self.finish();
        }
        self.window.borrow_mut().push(answer);
    }

    /// Prints what waits for further answers of its window.
    pub(super) fn finish(&self) {
        let answers = std::mem::take(&mut *self.window.borrow_mut());
        if !answers.is_empty() {
            self.write(&terminal::answers(&answers, top::paper()));
        }
    }

    fn fail(&self, fault: String) {
        self.is_over.set(true);
        *self.fault.borrow_mut() = Some(fault);
    }

    fn write(&self, text: &str) {
        if self.is_over.get() {
            return;
        }
        // An empty line separates answers: none is before the first.
        let text = if self.has_written.replace(true) { text } else { text.trim_start_matches('\n') };
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.is_over.set(true),
            Err(error) => self.fail(format!("standard output: {error}")),
        }
    }
}
