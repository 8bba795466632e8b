//! The columns that questions read, and files that lack them.

use super::group::QuestionGroup;
use super::wire_bytes::is_among;
use crate::files::FlowFiles;
use crate::question::QuestionError;
use flow::{FIELDS, Field, RowValue};
use record::read::{Contents, ReadProjection};
use std::collections::BTreeSet;
use std::path::Path;
use task::Generation;
use task::query::Query;
use task::rows::{PlanContext, RecordedNeeds, RowQueries};

impl FlowFiles {
    /// Returns what is read for all questions.
    ///
    /// # Errors
    /// Queries that the rows cannot answer, or files that lack columns which they read.
    pub(super) fn wanted(
        &self,
        groups: &[QuestionGroup<'_>],
        site: &PlanContext,
        lacking: &BTreeSet<String>,
        may_be_open: bool,
        reads_span: bool,
    ) -> Result<ReadProjection, QuestionError> {
        let mut needs = needs(groups, site)?;
        if !needs.columns.contains(&RowValue::Time) && self.reads_times(groups) {
            needs.columns.push(RowValue::Time);
        }
        self.refuse_lacking_columns(&needs, lacking)?;
        let mut wanted = ReadProjection {
            open_fields: may_be_open,
            samples: may_be_open,
            keeps_open: may_be_open,
            needs_time: needs.columns.contains(&RowValue::Time),
            ..wanted(needs, site, reads_span)
        };
        if may_be_open {
            self.want_keys(&mut wanted);
        }
        Ok(wanted)
    }

    /// Adds what tells of each row whether it is of a flow, and which fields it leaves open, whatever else is wanted.
    fn want_keys(&self, wanted: &mut ReadProjection) {
        // A packet of UDP has no TCP flags, and leaves none open.
        wanted.members.push("protocol");
        if !self.contents().all(|(_, contents)| contents.have_all_keys()) {
            let all = self.contents().flat_map(|(_, contents)| contents.key.columns());
            // Rows of other keys have these two as fields.
            let is_of_keys = |member: &&str| {
                !["vlan", "ip_tos"].contains(member) || self.key().columns().any(|of| of == *member)
            };
            wanted.members.extend(all.filter(is_of_keys));
            wanted.columns.push(RowValue::Packets);
        }
        if wanted.columns.contains(&RowValue::First) {
            // It counts in the place of a begin that a row does not tell.
            wanted.columns.push(RowValue::Last);
        }
        wanted.members.sort_unstable();
        wanted.members.dedup();
        wanted.columns.sort_unstable();
        wanted.columns.dedup();
    }

    /// Refuses to read files without columns that queries read. Nodes that are `lacking` bytes on the wire are not asked for these.
    fn refuse_lacking_columns(
        &self,
        needs: &RecordedNeeds,
        lacking: &BTreeSet<String>,
    ) -> Result<(), QuestionError> {
        let statistics = self.statistics();
        let mut without = needs.clone();
        without.columns.retain(|column| *column != RowValue::WireBytes);
        let lines = self.contents().filter_map(|(path, contents)| {
            let is_lacking = is_among(lacking, contents.node.as_deref());
            lacking_columns(path, contents, if is_lacking { &without } else { needs }, &statistics)
        });
        let lines: Vec<_> = lines.collect();
        if lines.is_empty() { Ok(()) } else { Err(QuestionError::Files(lines)) }
    }
}

/// A line about the columns that a file lacks and queries read, if there are any.
pub(crate) fn lacking_columns(
    path: &Path,
    contents: &Contents,
    needs: &RecordedNeeds,
    statistics: &[String],
) -> Option<String> {
    if contents.is_blank() {
        return None;
    }
    let columns = needs.columns.iter().filter_map(|column| lacking(*column, contents, statistics));
    let columns: Vec<String> = columns.collect();
    let unread: Vec<_> = contents.unread.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
    let hint = match unread.is_empty() {
        true => String::new(),
        false => format!("; columns that are not read: {}", unread.join(", ")),
    };
    let columns = (!columns.is_empty()).then(|| columns.join(", "))?;
    Some(format!("{}: no column {columns}, which the queries read{hint}", path.display()))
}

/// The field of a column that a file lacks.
fn lacking(column: RowValue, contents: &Contents, statistics: &[String]) -> Option<String> {
    let has =
        |name: &str| contents.fields.contains(name) || contents.key.columns().any(|member| member == name);
    let name = match column {
        RowValue::Time if contents.has_windows => return None,
        RowValue::Time => "ltime",
        RowValue::Statistic(at) => {
            let name = statistics.get(usize::from(at))?;
            return (!contents.statistics.contains(name)).then(|| name.clone());
        }
        // Files have their mean alone.
        RowValue::RttSum | RowValue::RttCount => return Some("rtt_sum".to_owned()),
        column => FIELDS.iter().find(|field| field.row == column).map(|field: &Field| field.name)?,
    };
    (!has(name)).then(|| name.to_owned())
}

/// Returns what all questions need together.
fn needs(groups: &[QuestionGroup<'_>], site: &PlanContext) -> Result<RecordedNeeds, QuestionError> {
    let mut all = RecordedNeeds::default();
    let mut refused = Vec::new();
    for group in groups {
        let queries: Vec<Query> = group.questions.iter().map(|question| question.query.clone()).collect();
        match RowQueries::plan(Generation::default(), &queries, site) {
            Ok(queries) => {
                let needs = queries.needs_of_recorded();
                all.members.extend(needs.members);
                all.columns.extend(needs.columns);
                all.order.extend(needs.order);
            }
            Err(refusals) => {
                refused.extend(refusals.into_iter().map(|(query, refusal)| (query, refusal.to_string())));
            }
        }
    }
    if !refused.is_empty() {
        return Err(QuestionError::Queries(refused));
    }
    all.members.sort_unstable();
    all.members.dedup();
    all.columns.sort_unstable();
    all.columns.dedup();
    Ok(all)
}

/// Returns what is read: what is needed, and what rows without a key and the time that rows cover are told by.
fn wanted(needs: RecordedNeeds, site: &PlanContext, reads_span: bool) -> ReadProjection {
    let RecordedNeeds { members, mut columns, order } = needs;
    columns.extend(order);
    if !members.is_empty() {
        columns.push(RowValue::Packets);
    }
    if reads_span {
        columns.extend([RowValue::First, RowValue::Last, RowValue::Time]);
    }
    columns.sort_unstable();
    columns.dedup();
    ReadProjection { members, columns, statistics: site.statistics.clone(), ..ReadProjection::default() }
}
