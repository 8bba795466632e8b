//! Remarks of answers over files that are asked without a store: which time was watched, and which store knows more.

use crate::facts::{OVER_ALL, first_of, watched_of};
use crate::question::Question;
use model::{Answer, Span, Value, format_time};
use record::read::Contents;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use store::store_of_records;
use task::query::Over;

/// The times of each node that were not watched, in order.
pub(crate) type UnwatchedTimes = BTreeMap<Option<Arc<str>>, Vec<Span>>;

/// Returns the times between those that files watched. Of nodes that are not known there are none next to others, and none of a node with a file that does
/// not tell which time it watched.
pub(crate) fn unwatched<'a>(files: impl Iterator<Item = &'a Contents>) -> UnwatchedTimes {
    let mut watched: BTreeMap<Option<Arc<str>>, Option<Vec<Span>>> = BTreeMap::new();
    for contents in files {
        let span = watched_of(contents);
        if span.is_none() && contents.is_blank() {
            continue;
        }
        let of_node = watched.entry(contents.node.as_deref().map(Arc::from));
        let spans = of_node.or_insert_with(|| Some(Vec::new()));
        match span {
            Some(span) => spans.iter_mut().for_each(|spans| spans.push(span)),
            None => *spans = None,
        }
    }
    if watched.len() > 1 && watched.contains_key(&None) {
        return UnwatchedTimes::new();
    }
    watched.into_iter().filter_map(|(node, spans)| Some((node, between(spans?)))).collect()
}

/// Returns the times between others, in order.
fn between(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable_by_key(|span| span.start_ns);
    let mut gaps = Vec::new();
    let mut until = spans.first().map_or(0, |first| first.end_ns);
    for span in spans {
        if span.start_ns > until {
            gaps.push(Span { start_ns: until, end_ns: span.start_ns });
        }
        until = until.max(span.end_ns);
    }
    gaps
}

/// The times of files, and the queries whose answers depend on them.
#[derive(Debug, Default)]
pub(crate) struct FileTimes {
    unwatched: Arc<UnwatchedTimes>,
    /// Files that do not tell which time was watched, with their nodes; `None` stands for all nodes.
    untold: Vec<(Option<String>, String)>,
    /// The queries that have rates.
    rates: BTreeSet<String>,
    /// The queries over all rows.
    of_run: BTreeSet<String>,
    /// The stores of which files are.
    stores: Vec<String>,
}

impl FileTimes {
    /// Returns what answers to these questions over files have to say.
    pub(crate) fn from_files<'a>(
        files: impl Iterator<Item = (&'a Path, &'a Contents)>,
        unwatched: &Arc<UnwatchedTimes>,
        questions: &[Question],
    ) -> Self {
        let names = |is_it: fn(&Question) -> bool| {
            let all = questions.iter().filter(|question| is_it(question));
            all.map(|question| question.query.name.clone()).collect()
        };
        let (mut stores, mut untold) = (BTreeSet::new(), Vec::new());
        for (path, contents) in files {
            stores.extend(store_of_records(path));
            if !contents.is_blank() && watched_of(contents).is_none() {
                untold.push((contents.node.clone(), path.display().to_string()));
            }
        }
        Self {
            unwatched: Arc::clone(unwatched),
            untold,
            rates: names(|question| question.query.has_rates()),
            of_run: names(|question| question.query.over == Over::Run),
            stores: stores.into_iter().map(|store| store.display().to_string()).collect(),
        }
    }

    /// Says in an answer which of its time was not watched, and what its rates are over where that is not the time watched.
    pub(crate) fn describe(&self, answer: &mut Answer) {
        if !self.stores.is_empty() {
            let stores = first_of(&self.stores, ", ");
            answer
                .remark(&format!("what the records lack stands in the manifest: ask with --store {stores}"));
        }
        let Some(window) = answer.window else { return };
        let node: Option<Arc<str>> = answer.node.as_deref().map(Arc::from);
        let gaps = self.unwatched.get(&node).map_or(&[][..], Vec::as_slice);
        let within = |gap: &&Span| gap.start_ns < window.end_ns && window.start_ns < gap.end_ns;
        let told: Vec<String> = gaps
            .iter()
            .filter(within)
            .map(|gap| format!("{} to {}", format_time(gap.start_ns), format_time(gap.end_ns)))
            .collect();
        // Of what is not known there is nothing to say.
        let has_values = answer.rows.iter().flatten().any(|value| *value != Value::Null);
        let has_rates = self.rates.contains(&answer.query) && has_values;
        let is_of_run = self.of_run.contains(&answer.query);
        if !told.is_empty() && (has_rates || answer.empty.is_some()) {
            answer.remark(&format!("not watched, as far as the files tell: {}", first_of(&told, ", ")));
        }
        if !has_rates {
            return;
        }
        let time = answer.watched.unwrap_or(window);
        if time.without(gaps).is_none() && !time.is_within(gaps) {
            answer.remark(OVER_ALL);
        }
        let is_of = |node: &Option<String>| node.is_none() || *node == answer.node;
        let of_node = self.untold.iter().filter(|(node, _)| is_of(node));
        let untold: Vec<String> = of_node.map(|(_, path)| path.clone()).collect();
        // A window that is not cut is watched from its begin to its end.
        if !untold.is_empty() && (is_of_run || answer.watched.is_some()) {
            let files = first_of(&untold, ", ");
            answer.remark(&format!(
                "rates are over the time from the first packet to the last where files do not tell which time was watched: {files}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Shortfall;

    fn file(node: Option<&str>, watched: Option<[u64; 2]>) -> Contents {
        let shortfall = Shortfall { watched, ..Shortfall::default() };
        Contents { node: node.map(str::to_owned), shortfall, rows: Some(1), ..Contents::default() }
    }

    #[test]
    fn what_no_file_of_a_node_watched_is_between_its_files() {
        let gaps = |files: &[Contents]| -> Vec<(String, Vec<[u64; 2]>)> {
            let of_node = |(node, gaps): (Option<Arc<str>>, Vec<Span>)| {
                let gaps = gaps.iter().map(|gap| [gap.start_ns, gap.end_ns]).collect();
                (node.as_deref().unwrap_or_default().to_owned(), gaps)
            };
            unwatched(files.iter()).into_iter().map(of_node).collect()
        };
        let a = |watched| file(Some("a"), watched);
        // They come in any order, and one may be within another.
        let three = [a(Some([50, 60])), a(Some([0, 30])), a(Some([10, 20])), a(Some([60, 70]))];
        assert_eq!(gaps(&three), [("a".to_owned(), vec![[30, 50]])]);
        let other = [a(Some([0, 10])), a(Some([20, 30])), file(Some("b"), Some([5, 25]))];
        assert_eq!(gaps(&other), [("a".to_owned(), vec![[10, 20]]), ("b".to_owned(), vec![])]);
        // What a file watched that does not tell it may be between the others.
        assert_eq!(gaps(&[a(Some([0, 10])), a(None), a(Some([20, 30]))]), []);
        assert_eq!(gaps(&[a(Some([0, 10])), a(Some([20, 30])), file(None, Some([0, 5]))]), []);
    }
}
