//! Caveats of answers: what files do not tell, and windows that are not whole in a period.

use super::wire_bytes::is_among;
use crate::file_times::FileTimes;
use crate::question::Question;
use crate::unknown::Unknown;
use crate::whole::Cut;
use model::Answer;
use std::collections::BTreeSet;

/// The caveats of the answers to some questions.
pub(super) struct Caveats<'a> {
    pub(super) questions: &'a [Question],
    /// The values of each question that are unknown, and the files that do not tell them.
    pub(super) unknown: Vec<Option<(Unknown, String)>>,
    /// The windows that the period of each question cuts.
    pub(super) cuts: Vec<Option<Cut>>,
    /// The nodes without bytes on the wire, where others have them.
    pub(super) lacking: &'a BTreeSet<String>,
    /// The remark on keys that differ from file to file.
    pub(super) common_key: Option<String>,
    /// The queries that have this remark.
    pub(super) of_flows: BTreeSet<String>,
    pub(super) times: FileTimes,
}

impl Caveats<'_> {
    /// Adds the caveats of an answer to it.
    pub(super) fn describe(&self, answer: &mut Answer) {
        self.times.describe(answer);
        self.describe_unknown(answer);
        let of_query =
            self.questions.iter().zip(&self.cuts).find(|(question, _)| question.query.name == answer.query);
        if let Some((question, Some(cut))) = of_query {
            cut.describe(answer, &question.query.over);
        }
        if self.of_flows.contains(&answer.query) {
            self.common_key.iter().for_each(|remark| answer.remark(remark));
        }
    }

    /// Puts back the columns that are unknown.
    fn describe_unknown(&self, answer: &mut Answer) {
        let Self { questions, unknown, lacking, .. } = self;
        let of_query =
            questions.iter().zip(unknown).filter(|(question, _)| question.query.name == answer.query);
        let mut unknown = of_query.filter_map(|(_, unknown)| unknown.as_ref());
        // Nodes that tell bytes on the wire were asked the whole query.
        let is_asked_less = lacking.is_empty() || is_among(lacking, answer.node.as_deref());
        let is_of = |unknown: &Unknown| is_asked_less && unknown.is_of(answer);
        if let Some((unknown, files)) = unknown.find(|(unknown, _)| is_of(unknown)) {
            unknown.restore(answer);
            answer.remark(&format!("{}: {files} have no bytes on the wire", unknown.words()));
        }
    }
}
