//! Questions about bytes on the wire where files of other programs do not have them.

use crate::facts::first_of;
use crate::files::FlowFiles;
use crate::question::{AnswerSetting, Question, QuestionError};
use crate::unknown::{Unknown, known};
use flow::RowValue;
use record::read::Contents;
use std::collections::BTreeSet;
use std::rc::Rc;
use task::Generation;
use task::query::Query;
use task::rows::{PlanContext, RowQueries};

impl FlowFiles {
    /// Returns the questions, without what they read of bytes on the wire where files of other programs do not have them: that is not known, and the rest is
    /// answered. Nodes that are not `lacking` are asked the whole question where the others are known.
    pub(super) fn without_wire_bytes(
        &self,
        questions: &[Question],
        lacking: &BTreeSet<String>,
        setting: &AnswerSetting,
    ) -> Vec<(Question, Option<(Unknown, String)>)> {
        let files = self.files_without_wire_bytes();
        let site = self.site(setting);
        let reads_none = |query: &Query| !reads_wire_bytes(query, &site);
        let nodes: BTreeSet<Option<&str>> =
            self.contents().map(|(_, contents)| contents.node.as_deref()).collect();
        let mut told = Vec::new();
        for question in questions {
            let is_whole = files.is_empty() || reads_none(&question.query);
            let Some((query, unknown)) = known(&question.query, &reads_none, &site).filter(|_| !is_whole)
            else {
                told.push((question.clone(), None));
                continue;
            };
            let unknown = Some((unknown, first_of(&files, ", ")));
            let less = Question { query, ..question.clone() };
            let asked = nodes.iter().copied().filter(|node| (question.runs_on)(*node));
            let (without, with): (Vec<_>, Vec<_>) = asked.partition(|node| is_among(lacking, *node));
            if !lacking.is_empty() && without.is_empty() {
                told.push((question.clone(), None));
            } else if with.is_empty() || lacking.is_empty() {
                told.push((less, unknown));
            } else {
                let on = |question: Question, is_lacking: bool| {
                    let (of_all, lacking) = (Rc::clone(&question.runs_on), lacking.clone());
                    let runs_on =
                        move |node: Option<&str>| is_among(&lacking, node) == is_lacking && of_all(node);
                    Question { runs_on: Rc::new(runs_on), ..question }
                };
                told.push((on(question.clone(), false), None));
                told.push((on(less, true), unknown));
            }
        }
        told
    }

    /// Returns the nodes of which a file has no bytes on the wire, if each such file is of one node, and others are of other nodes.
    pub(super) fn nodes_without_wire_bytes(&self) -> BTreeSet<String> {
        let lacking =
            self.contents().map(|(_, contents)| contents).filter(|contents| lacks_wire_bytes(contents));
        let nodes: Option<BTreeSet<String>> = lacking.map(|contents| contents.node.clone()).collect();
        let is_other = |nodes: &BTreeSet<String>| {
            let mut others = self.contents().filter(|(_, contents)| !contents.is_blank());
            others.any(|(_, contents)| contents.node.as_ref().is_none_or(|node| !nodes.contains(node)))
        };
        nodes.filter(|nodes| !nodes.is_empty() && is_other(nodes)).unwrap_or_default()
    }

    /// The files of other programs that do not have bytes on the wire.
    fn files_without_wire_bytes(&self) -> Vec<String> {
        let lacking = self.contents().filter(|(_, contents)| lacks_wire_bytes(contents));
        lacking.map(|(path, _)| path.display().to_string()).collect()
    }

    /// Refuses a question to another engine, which does not know that files without bytes on the wire leave them unknown.
    pub(crate) fn refuse_without_wire_bytes(
        &self,
        question: &Question,
        setting: &AnswerSetting,
    ) -> Result<(), QuestionError> {
        let files = self.files_without_wire_bytes();
        if files.is_empty() || !reads_wire_bytes(&question.query, &self.site(setting)) {
            return Ok(());
        }
        let name = &question.query.name;
        let files = first_of(&files, ", ");
        Err(QuestionError::Files(vec![format!(
            "{name}: another engine cannot tell wire_byte: {files} have no bytes on the wire; ask without --engine, or without wire_byte"
        )]))
    }
}

/// Returns whether a file has flows, and no bytes on the wire of them.
fn lacks_wire_bytes(contents: &Contents) -> bool {
    !contents.is_blank() && !contents.fields.contains("wire_byte")
}

/// Returns whether a node is known and one of these.
pub(super) fn is_among(nodes: &BTreeSet<String>, node: Option<&str>) -> bool {
    node.is_some_and(|node| nodes.contains(node))
}

/// Returns whether a query reads bytes on the wire, and true for a query that cannot be planned.
fn reads_wire_bytes(query: &Query, site: &PlanContext) -> bool {
    columns_of(query, site).is_none_or(|columns| columns.contains(&RowValue::WireBytes))
}

/// Returns the columns that a query reads of recorded rows; `None` for a query that cannot be planned.
fn columns_of(query: &Query, site: &PlanContext) -> Option<Vec<RowValue>> {
    let plan = RowQueries::plan(Generation::default(), std::slice::from_ref(query), site);
    plan.ok().map(|plan| plan.needs_of_recorded().columns)
}
