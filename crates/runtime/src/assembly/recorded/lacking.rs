//! The gaps of windows that no measurement has: rows that could not be read, or of which nothing is known.

use model::{Answer, Span};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Windows that lack something, and why. Their answers are partial, as are those of longer windows that have them.
#[derive(Clone, Debug)]
pub(super) struct PartialWindows {
    /// The newest windows that lack something, by their ends.
    windows: Arc<Mutex<BTreeMap<u64, LackingWindow>>>,
    /// The time that the longest window of a query covers.
    longest_ns: u64,
}

/// A window that lacks something.
#[derive(Clone, Debug)]
struct LackingWindow {
    span: Span,
    reasons: Vec<String>,
}

impl PartialWindows {
    pub(super) fn new(longest_ns: u64) -> Self {
        Self { windows: Arc::default(), longest_ns }
    }

    /// A window lacks something. It is later than all before it.
    pub(super) fn add(&self, span: Span, reasons: Vec<String>) {
        if reasons.is_empty() {
            return;
        }
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        // Answers are up to the outputs' queue behind; those of a window cover no more than the longest before it.
        windows.insert(span.end_ns, LackingWindow { span, reasons });
    }

    /// Says in answers what their windows lack. Windows that end before `until_ns`, and are in no later answer, are forgotten.
    pub(super) fn say(&self, answers: &mut [Answer], until_ns: u64) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.is_empty() {
            return;
        }
        for answer in answers {
            let Some(own) = answer.window else { continue };
            let mut said: Vec<&String> = Vec::new();
            let ending = windows.range(own.start_ns.saturating_add(1)..).map(|(_, window)| window);
            let of_answer = ending.take_while(|window| window.span.start_ns < own.end_ns);
            for reason in of_answer.flat_map(|window| &window.reasons) {
                if !said.contains(&reason) {
                    said.push(reason);
                    answer.mark_partial(reason);
                }
            }
        }
        *windows = windows.split_off(&until_ns.saturating_sub(self.longest_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::AnswerStatus;

    fn span(start_ns: u64, end_ns: u64) -> Span {
        Span { start_ns, end_ns }
    }

    #[test]
    fn answers_lack_what_their_windows_lack() {
        let lacking = PartialWindows::new(20);
        lacking.add(span(0, 10), Vec::new());
        lacking.add(span(10, 20), vec!["a".to_owned()]);
        lacking.add(span(20, 30), vec!["a".to_owned(), "b".to_owned()]);
        let said = |start_ns, end_ns, until_ns| {
            let mut answers = [Answer::new("q", Some(span(start_ns, end_ns)), Vec::new(), Vec::new())];
            lacking.say(&mut answers, until_ns);
            let [answer] = answers;
            assert_eq!(answer.status == AnswerStatus::Partial, answer.reason.is_some());
            answer.reason
        };
        assert_eq!(said(0, 10, 10), None);
        assert_eq!(said(10, 20, 20).as_deref(), Some("a"));
        assert_eq!(said(10, 30, 30).as_deref(), Some("a; b"));
        assert_eq!(said(20, 40, 40).as_deref(), Some("a; b"));
        assert_eq!(said(30, 40, 40), None);
        // What ended before the longest window that may still end is forgotten.
        assert_eq!(said(30, 40, 60), None);
        assert_eq!(said(0, 20, 60), None);
        assert_eq!(said(20, 30, 60), None);
    }
}
