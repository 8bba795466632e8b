//! Groups of questions about one period, with the state of each node.

use crate::file_times::UnwatchedTimes;
use crate::files::FlowFiles;
use crate::prune::may_pass;
use crate::question::{Period, Question};
use flow::OpenFields;
use packet::KeySpec;
use record::read::FilePart;
use std::collections::BTreeMap;
use std::sync::Arc;
use task::Generation;
use task::query::{Over, Query};
use task::rows::{PlanContext, RecordedRows, RowQueries};

/// Questions about one period, for one node.
pub(super) struct Answered {
    pub(super) queries: RowQueries,
    pub(super) rows: RecordedRows,
}

/// Questions about one period.
pub(super) struct QuestionGroup<'a> {
    pub(super) period: Option<Period>,
    pub(super) questions: Vec<&'a Question>,
    /// The remarks on what all answers of the group lack.
    pub(super) lacks: Vec<String>,
    /// The answers of each node, once it has rows.
    pub(super) nodes: BTreeMap<Option<Arc<str>>, Answered>,
    /// The fields of keys that all questions of the group name: a row that leaves one open is in no group.
    pub(super) named: OpenFields,
    /// The number of rows without packets that leave one open.
    pub(super) keyless: u64,
    /// Times of nodes of which nothing is known.
    missing: Arc<UnwatchedTimes>,
}

impl QuestionGroup<'_> {
    /// The state of a node, which is made with its first rows.
    pub(super) fn node(&mut self, node: &Option<Arc<str>>, site: &PlanContext) -> Option<&mut Answered> {
        if !self.nodes.contains_key(node) {
            let name = node.as_deref();
            let of_node = self.questions.iter().filter(|question| (question.runs_on)(name));
            let queries: Vec<Query> = of_node.map(|question| question.query.clone()).collect();
            let site = PlanContext { node: name.unwrap_or_default().to_owned(), ..site.clone() };
            // The same queries were planned before anything was read.
            let queries = RowQueries::plan(Generation::default(), &queries, &site).ok()?;
            let mut rows = queries.recorded();
            rows.miss(self.missing.get(node).cloned().unwrap_or_default());
            self.nodes.insert(node.clone(), Answered { queries, rows });
        }
        self.nodes.get_mut(node)
    }

    /// Returns true if rows of a part, of this node if it is known, may be asked for.
    pub(super) fn asks_for(&self, part: &FilePart, clip: Option<Period>, node: Option<&str>) -> bool {
        let overlaps = |period: Option<Period>| match (period, part.times) {
            (Some(period), Some([first, last])) => first < period.to_ns && last >= period.from_ns,
            _ => true,
        };
        let is_in_period = overlaps(self.period) && overlaps(clip);
        let may_pass = |question: &&Question| {
            // Rows that do not pass show which windows and nodes there are.
            let is_of_all = node.is_none() || question.query.over != Over::Run;
            is_of_all || question.query.filter.as_ref().is_none_or(|filter| may_pass(filter, part))
        };
        is_in_period && self.questions.iter().any(may_pass)
    }
}

impl FlowFiles {
    /// Groups questions by their periods, and by the fields of keys that they name.
    pub(super) fn groups<'a>(&self, questions: &'a [Question], may_be_open: bool) -> Vec<QuestionGroup<'a>> {
        let mut groups: Vec<QuestionGroup<'a>> = Vec::new();
        for question in questions {
            let named =
                if may_be_open { named_members(&question.query, self.key()) } else { OpenFields::default() };
            let is_of =
                |group: &&mut QuestionGroup<'_>| (group.period, group.named) == (question.period, named);
            match groups.iter_mut().find(is_of) {
                Some(group) => group.questions.push(question),
                None => groups.push(QuestionGroup {
                    period: question.period,
                    questions: vec![question],
                    lacks: Vec::new(),
                    nodes: BTreeMap::new(),
                    named,
                    keyless: 0,
                    missing: Arc::clone(&self.missing),
                }),
            }
        }
        groups
    }
}

/// Returns the members of keys that a question names: a row that leaves one open is in no group.
fn named_members(query: &Query, key: &KeySpec) -> OpenFields {
    let fields = query.fields();
    let named: Vec<&str> = key.columns().filter(|member| fields.contains(*member)).collect();
    OpenFields::all(&named)
}
