//! Checks of queries that read answers.

use super::CheckSession;
use crate::ast::{ExprNode, QueryText, Spanned};
use crate::checked::NotRun;
use crate::checker::{Outline, sources};
use crate::diagnostic::Diagnostics;
use crate::earlier::{self, EarlierReference};
use std::ops::Range;
use task::query::Over;

/// The length of windows where nothing says it, nanoseconds.
const DEFAULT_WINDOW_NS: u64 = 10_000_000_000;

impl CheckSession<'_> {
    /// Queries in `from` whose answers this version does not read.
    pub(super) fn sources_not_run(&self, text: &QueryText) -> Vec<NotRun> {
        let of = |name: &Spanned<String>| {
            let source = &self.texts[self.labels.iter().position(|label| *label == name.value)?];
            let reason = match source.trigger {
                Some(_) => "which is started by another one, are not always there",
                None => return None,
            };
            let reason = format!("answers of {}, {reason}", name.value);
            Some(NotRun { clause: "from".to_owned(), reason, span: name.span.clone() })
        };
        sources(text).iter().filter_map(of).collect()
    }

    /// The memory of the earlier windows that a query reads; a warning where that is more than there is.
    pub(super) fn past_bytes(
        &self,
        outline: &Outline,
        earlier: &[EarlierReference],
        flows: u64,
        diagnostics: &mut Diagnostics<'_>,
    ) -> u64 {
        let lengths = match (outline.plan.over, self.options.base_window_ns) {
            (Over::Windows { every_ns, over_ns }, _) => (every_ns, over_ns),
            (_, Some(base)) => (base, base),
            _ => (DEFAULT_WINDOW_NS, DEFAULT_WINDOW_NS),
        };
        let bytes = earlier::memory(&outline.plan, earlier, lengths, flows);
        let most = events::EventSettings::default().past_bytes;
        if let Some((_, span)) = outline.used.earlier.first().filter(|_| bytes > most) {
            let size = |bytes: u64| notation::scaled(bytes as f64, "B");
            let message = format!(
                "earlier windows may take {} where each has the most groups, and {} are kept of all queries",
                size(bytes),
                size(most)
            );
            let help = "values for which there is no room are null; group by fewer values, or read less time";
            diagnostics.warn("past_memory", span, message, help);
        }
        bytes
    }
}

/// Values of earlier windows have no instances.
pub(super) fn earlier_not_run(
    bindings: &[ExprNode],
    earlier: &[(EarlierReference, Range<usize>)],
) -> Option<NotRun> {
    let (found, span) = earlier.first().filter(|_| !bindings.is_empty())?;
    let reason = "earlier windows of what a firing pins were not measured".to_owned();
    Some(NotRun { clause: found.field.clone(), reason, span: span.clone() })
}
