//! Questions about history: they go to the nodes in their lists, and end when all have answered or the time is over.

use crate::controller::{Actions, Controller, ControllerOutput};
use crate::health::{Health, UNASKED, short};
use crate::inquiry::{HistoryQuery, HistoryRequest, HistoryResult, Inquiry, NodeReply, NotAsked};
use model::Answer;
use protocol::{HistoryAnswer, HistoryLimits, HistoryQuestion, HistoryTask};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use task::query::Over;

/// Questions that are answered at once.
const MOST_INQUIRIES: usize = 4;
/// The size of the answers of all nodes to one question, bytes, and the most and the least of one node.
const MOST_BYTES: u64 = 64 << 20;
const MOST_NODE_BYTES: u64 = 8 << 20;
const LEAST_NODE_BYTES: u64 = 64 << 10;

/// Returns whether an answer is about windows that have no rows and of which something is missing.
pub(crate) fn is_missing(answer: &Answer) -> bool {
    answer.rows.is_empty() && answer.empty.is_none() && !answer.missing.is_empty()
}

impl HistoryQuery {
    /// Returns the question that a node is asked.
    pub(crate) fn question(&self) -> HistoryQuestion {
        let query = self.merging.as_ref().map_or(&self.query, |merging| merging.parts());
        HistoryQuestion { query: query.clone(), period: self.period }
    }

    /// Returns true if this can be an answer of a node.
    fn fits(&self, answer: &Answer) -> bool {
        let columns = || self.columns.iter().map(|column| (&column.name, column.kind));
        let has_columns = match &self.merging {
            Some(merging) => merging.fits(answer),
            None => columns().eq(answer.columns.iter().map(|column| (&column.name, column.kind))),
        };
        let has_rows = answer.rows.iter().all(|row| row.len() == answer.columns.len());
        answer.query == self.query.name && self.is_of_time(answer) && has_columns && has_rows
    }

    /// Returns true if the answer's window can be one of the query's.
    fn is_of_time(&self, answer: &Answer) -> bool {
        let Over::Windows { every_ns, over_ns } = self.query.over else { return answer.empty.is_none() };
        let Some(window) = answer.window else { return false };
        let more_ns = window.length_ns().checked_sub(over_ns);
        let is_long = match answer.empty {
            // Windows in a row of which the node has nothing are one answer.
            None if is_missing(answer) => more_ns.is_some_and(|more_ns| more_ns.is_multiple_of(every_ns)),
            windows => more_ns == Some(windows.unwrap_or(1).saturating_sub(1).saturating_mul(every_ns)),
        };
        // The first windows there are begin with the epoch.
        window.end_ns.is_multiple_of(every_ns) && (is_long || window.start_ns == 0)
    }
}

impl HistoryRequest {
    /// Returns what stores in this process answer. `names`: those of all nodes. `answer` is given what each node is asked, with its number.
    pub fn query_stores(
        self,
        names: &[String],
        answer: &mut dyn FnMut(usize, HistoryTask) -> HistoryAnswer,
    ) -> HistoryResult {
        let mut inquiry = self.inquiry((0, 0), |_| None);
        let nodes: Vec<usize> = inquiry.said.keys().copied().collect();
        for node in nodes {
            let HistoryAnswer { answers, missing, .. } = answer(node, inquiry.task(node));
            let (said, _) = checked(&inquiry, node, &names[node], answers, missing.as_deref().map(line));
            inquiry.said.insert(node, Some(said));
        }
        inquiry.history(names)
    }

    /// The nodes that are asked.
    fn nodes(&self) -> BTreeSet<usize> {
        self.queries.iter().flat_map(|query| &query.nodes).copied().collect()
    }

    /// Creates the inquiry that asks the nodes. `said`: what is known of a node before it is asked.
    fn inquiry(self, key: (u64, u64), said: impl Fn(usize) -> Option<NodeReply>) -> Inquiry {
        let nodes = self.nodes();
        let share = MOST_BYTES / nodes.len().max(1) as u64;
        Inquiry {
            key,
            limits: HistoryLimits {
                memory_bytes: self.memory_bytes,
                time_ms: self.time_ms,
                answer_bytes: share.clamp(LEAST_NODE_BYTES, MOST_NODE_BYTES),
            },
            queries: self.queries,
            said: nodes.into_iter().map(|node| (node, said(node))).collect(),
        }
    }
}

impl Controller {
    /// Asks the stores of nodes. What they answer is an [`ControllerOutput::History`] with this number, in these actions if no node can answer.
    ///
    /// # Errors
    /// If nothing is asked: too many questions are being answered, or no node is asked.
    pub fn ask_history(&mut self, asked: HistoryRequest) -> Result<(u64, Actions), NotAsked> {
        if self.inquiries.len() >= MOST_INQUIRIES {
            let line =
                format!("{MOST_INQUIRIES} questions about history are being answered: ask again later");
            return Err(NotAsked::Busy(line));
        }
        if asked.nodes().is_empty() {
            return Err(NotAsked::NoNode("the question runs on no node of this controller".to_owned()));
        }
        self.last_inquiry += 1;
        let id = self.last_inquiry;
        let inquiry = asked.inquiry((self.list.epoch, id), |node| self.absence(node));
        self.forget_lists(&inquiry);
        self.inquiries.push(inquiry);
        let mut actions = Actions::default();
        self.end_inquiries(&mut actions);
        self.send_tasks(&mut actions);
        Ok((id, actions))
    }

    /// The time of a question is over, or nobody waits for its answer: it is answered without the nodes that have said nothing.
    pub fn end_history(&mut self, id: u64) -> Actions {
        let mut actions = Actions::default();
        for inquiry in self.inquiries.iter_mut().filter(|inquiry| inquiry.key.1 == id) {
            let seconds = inquiry.limits.time_ms.div_ceil(1_000);
            let late = || NodeReply {
                missing: Some(format!("late: it did not answer within {seconds} s")),
                ..NodeReply::default()
            };
            inquiry.said.values_mut().for_each(|said| *said = said.take().or_else(|| Some(late())));
        }
        self.end_inquiries(&mut actions);
        self.send_tasks(&mut actions);
        actions
    }

    /// Returns the reason why a node is not asked, if it is not.
    fn absence(&self, node: usize) -> Option<NodeReply> {
        let Health { has_ended, heard_ns, .. } = self.nodes[node].health;
        let missing = match (self.clock, heard_ns) {
            _ if has_ended => "ended: the probe has ended".to_owned(),
            (Some(clock), Some(heard_ns)) => {
                let silent_ns = clock.now_ns.saturating_sub(heard_ns);
                if silent_ns < Health::DOWN_NS {
                    return None;
                }
                format!("away: nothing was heard of it for {} s", silent_ns / 1_000_000_000)
            }
            (Some(_), None) => "never_seen: nothing was ever heard of it".to_owned(),
            (None, _) => return None,
        };
        Some(NodeReply { missing: Some(missing), ..NodeReply::default() })
    }

    /// The lists of the nodes of a question are made again.
    fn forget_lists(&mut self, inquiry: &Inquiry) {
        inquiry.said.keys().for_each(|node| self.nodes[*node].listed = None);
    }

    /// Returns what a node's store is asked and has not answered.
    pub(crate) fn history(&self, node: usize) -> Vec<HistoryTask> {
        let asked = self.inquiries.iter().filter(|inquiry| inquiry.awaits(node));
        asked.map(|inquiry| inquiry.task(node)).collect()
    }

    /// Takes what a node's store has answered.
    pub(crate) fn take_history(&mut self, node: usize, answer: HistoryAnswer, actions: &mut Actions) {
        let HistoryAnswer { epoch, id, answers, missing } = answer;
        let is_it = |inquiry: &&mut Inquiry| inquiry.key == (epoch, id) && inquiry.awaits(node);
        let Some(inquiry) = self.inquiries.iter_mut().find(is_it) else {
            // Of an earlier start, doubled, too late, or never asked.
            self.nodes[node].health.count_rejected(UNASKED, answers.len().max(1));
            return;
        };
        let name = &self.chain.graph.nodes[node];
        let (said, refused) = checked(inquiry, node, name, answers, missing.as_deref().map(line));
        inquiry.said.insert(node, Some(said));
        self.nodes[node].health.count_rejected(UNASKED, refused);
        self.nodes[node].listed = None;
        self.end_inquiries(actions);
    }

    /// A node that has ended answers nothing more.
    pub(crate) fn leave_history(&mut self, node: usize, actions: &mut Actions) {
        for inquiry in self.inquiries.iter_mut().filter(|inquiry| inquiry.awaits(node)) {
            let missing = Some("ended: the probe has ended".to_owned());
            inquiry.said.insert(node, Some(NodeReply { missing, ..NodeReply::default() }));
        }
        self.end_inquiries(actions);
    }

    /// Shows what has been answered by all.
    fn end_inquiries(&mut self, actions: &mut Actions) {
        let done: Vec<Inquiry> = self.inquiries.extract_if(.., |inquiry| inquiry.is_done()).collect();
        for inquiry in done {
            self.forget_lists(&inquiry);
            actions.show.push(ControllerOutput::History(Box::new(inquiry.history(&self.chain.graph.nodes))));
        }
    }
}

/// Returns what a node has said, as its own; and how many of its answers are none to what it was asked.
fn checked(
    inquiry: &Inquiry,
    node: usize,
    name: &str,
    answers: Vec<Answer>,
    missing: Option<String>,
) -> (NodeReply, usize) {
    let came = answers.len();
    let own: BTreeMap<&str, &HistoryQuery> = inquiry
        .queries
        .iter()
        .filter(|query| query.nodes.contains(&node))
        .map(|query| (query.query.name.as_str(), query))
        .collect();
    // One for each window; over all rows one.
    let mut seen = HashSet::new();
    let is_asked = |answer: &Answer| {
        let Some(query) = own.get(answer.query.as_str()) else { return false };
        let end_ns = answer.window.filter(|_| query.query.over != Over::Run).map(|window| window.end_ns);
        query.fits(answer) && seen.insert((answer.query.clone(), end_ns))
    };
    let mut taken = answers;
    taken.retain(is_asked);
    let refused = came - taken.len();
    let bytes = taken.iter().map(HistoryLimits::size_of).fold(0, u64::saturating_add);
    if bytes > inquiry.limits.answer_bytes {
        let missing = Some("too_large: its answer is larger than was allowed".to_owned());
        return (NodeReply { missing, ..NodeReply::default() }, came);
    }
    let taken = taken.into_iter().map(|answer| Answer {
        node: Some(name.to_owned()),
        late: false,
        revision: 0,
        reason: answer.reason.as_deref().map(line),
        ..answer
    });
    let wrong = (refused != 0).then(|| format!("unasked: {refused} of its answers are not to the question"));
    let missing = match (missing, wrong) {
        (Some(missing), Some(wrong)) => Some(format!("{missing}; {wrong}")),
        (missing, wrong) => missing.or(wrong),
    };
    (NodeReply { answers: taken.collect(), missing }, refused)
}

/// Returns what a probe says, as one line of a length that is shown.
fn line(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    short(text).chars().map(plain).collect()
}
