//! The stock of a dry run: the answers that are known of each query that nodes are asked, up to a time, and what is to be asked next.

use crate::inquiry::{HistoryQuery, HistoryResult};
use model::{Answer, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use task::query::{OutputColumn, Over, Query};

/// Questions in a row that tell nothing new, each of which is about twice the time of the one before.
const MOST_IN_VAIN: u32 = 64;

/// The place of the query that tells in which windows a node has packets.
const WINDOWS: usize = 0;

/// The answers that are known, and the questions that are to be asked.
#[derive(Debug)]
pub(super) struct Stock {
    key: Vec<String>,
    names: Vec<String>,
    period: Span,
    window_ns: u64,
    wanted: Vec<WantedQuery>,
    /// The places by query as JSON, and whether it is asked of windows that are over.
    places: HashMap<(String, bool), usize>,
    /// The time that is asked at once, nanoseconds.
    at_once_ns: u64,
    /// Nodes that are asked one query at a time, to learn which of them is refused.
    singly: BTreeSet<usize>,
    /// Nodes that are not asked any more.
    gone: BTreeSet<usize>,
    /// The queries and nodes that keep a node from going on.
    lacking: BTreeSet<(usize, usize)>,
    /// The questions that are being answered.
    asked: Vec<ActiveQuestion>,
    remarks: BTreeMap<usize, BTreeSet<String>>,
}

/// A query that nodes are asked.
#[derive(Debug)]
struct WantedQuery {
    /// The query; its windows are its own.
    query: Query,
    every_ns: u64,
    over_ns: u64,
    known: BTreeMap<usize, AnswerStock>,
}

/// The known answers of a node.
#[derive(Debug)]
struct AnswerStock {
    /// The end up to which all windows are known.
    until_ns: u64,
    /// The end after which no window is needed so far.
    needed_ns: u64,
    /// The least time after what is known that is asked next: what is needed may become longer window by window.
    ahead_ns: u64,
    /// The end of the last window that was answered.
    last_ns: Option<u64>,
    /// The number of questions in a row that told nothing new.
    in_vain: u32,
    /// True if the last question told nothing: a longer time may be asked at once.
    is_quiet: bool,
    /// The answers by the ends of their windows. A window without an answer had no packets.
    answers: BTreeMap<u64, Answer>,
    /// True if the node does not answer the query.
    is_refused: bool,
}

/// A question that is being answered.
#[derive(Debug)]
struct ActiveQuestion {
    /// The name under which it is asked.
    name: String,
    place: usize,
    nodes: Vec<usize>,
    /// The ends of windows that it tells: later than the first, up to the second.
    ends: (u64, u64),
}

/// The next window in which a node has packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextWindow {
    /// The next window is not known yet.
    Unknown,
    /// The begin of the next window.
    Window(u64),
    /// The node has no further window.
    End,
}

impl Stock {
    /// Creates the stock of nodes of these names, of whole windows of this time.
    pub(super) fn new(key: Vec<String>, names: Vec<String>, period: Span, window_ns: u64) -> Self {
        let nodes = names.len();
        let mut stock = Self {
            key,
            names,
            period,
            window_ns,
            wanted: Vec::new(),
            places: HashMap::new(),
            at_once_ns: period.length_ns(),
            singly: BTreeSet::new(),
            gone: BTreeSet::new(),
            lacking: BTreeSet::new(),
            asked: Vec::new(),
            remarks: BTreeMap::new(),
        };
        let windows = Query::new("windows", [], [OutputColumn::count("rows")]);
        let all = || AnswerStock::new(period.start_ns, period.end_ns);
        let known = (0..nodes).map(|node| (node, all())).collect();
        stock.wanted.push(WantedQuery { query: windows, every_ns: window_ns, over_ns: window_ns, known });
        stock.wanted[WINDOWS].query.over = Over::Windows { every_ns: window_ns, over_ns: window_ns };
        stock.lacking.extend((0..nodes).map(|node| (WINDOWS, node)));
        stock
    }

    /// The end of the last window.
    pub(super) fn end_ns(&self) -> u64 {
        self.period.end_ns
    }

    /// The place of a query that a node is to answer in windows of this time; of all without one. `is_look_back`: it is asked of windows
    /// that are over; these go forward too, but by themselves.
    ///
    /// # Errors
    /// A line, if it cannot be asked.
    pub(super) fn place(
        &mut self,
        node: usize,
        mut query: Query,
        time: Option<Span>,
        is_look_back: bool,
    ) -> Result<usize, String> {
        let (every_ns, over_ns) = match query.over {
            Over::Windows { every_ns, over_ns } => (every_ns, over_ns),
            Over::Window | Over::Run => (self.window_ns, self.window_ns),
        };
        query.over = Over::Windows { every_ns, over_ns };
        let text = serde_json::to_string(&query).map_err(|error| format!("{}: {error}", query.name))?;
        let next = self.wanted.len();
        let place = *self.places.entry((text, is_look_back)).or_insert(next);
        if place == next {
            self.wanted.push(WantedQuery { query, every_ns, over_ns, known: BTreeMap::new() });
        }
        let Span { start_ns, end_ns } = time.unwrap_or(self.period);
        let (since_ns, needed_ns) = (start_ns.max(self.period.start_ns), end_ns.min(self.period.end_ns));
        let is_gone = self.gone.contains(&node);
        let known = self.wanted[place].known.entry(node).or_insert_with(|| {
            if !is_gone {
                self.lacking.insert((place, node));
            }
            AnswerStock { is_refused: is_gone, ..AnswerStock::new(since_ns, needed_ns) }
        });
        if known.until_ns >= known.needed_ns {
            // Nothing of the time between is needed.
            known.until_ns = known.until_ns.max(since_ns);
        }
        known.needed_ns = known.needed_ns.max(needed_ns);
        Ok(place)
    }

    /// Forgets what is known of a node's answers to all other queries than these.
    pub(super) fn keep_only(&mut self, node: usize, places: &BTreeSet<usize>) {
        let others = self.wanted.iter_mut().enumerate().skip(1).filter(|(place, _)| !places.contains(place));
        others.for_each(|(_, wanted)| drop(wanted.known.remove(&node)));
    }

    /// The first window with packets that begins then or later. Earlier ones are forgotten.
    pub(super) fn next_window(&mut self, node: usize, since_ns: u64) -> NextWindow {
        let Some(known) = self.wanted[WINDOWS].known.get_mut(&node) else { return NextWindow::End };
        known.forget_until(since_ns);
        match known.answers.keys().next() {
            Some(end_ns) => NextWindow::Window(end_ns - self.window_ns),
            None if known.is_refused || known.until_ns >= self.period.end_ns => NextWindow::End,
            None => {
                self.lacking.insert((WINDOWS, node));
                NextWindow::Unknown
            }
        }
    }

    /// Returns true if all windows of a query are known that end up to this time. What is not is asked next.
    pub(super) fn knows(&mut self, node: usize, place: usize, until_ns: u64) -> bool {
        let WantedQuery { every_ns, known, .. } = &self.wanted[place];
        let is_known = known.get(&node).is_none_or(|known| {
            let until_ns = until_ns.min(known.needed_ns);
            known.is_refused || first_end(known.until_ns, *every_ns) > until_ns
        });
        if !is_known {
            self.lacking.insert((place, node));
        }
        is_known
    }

    /// The answers of windows that end later than the first time, up to the second. Earlier ones are forgotten.
    pub(super) fn answers(
        &mut self,
        node: usize,
        place: usize,
        (after_ns, until_ns): (u64, u64),
    ) -> Vec<Answer> {
        let Some(known) = self.wanted[place].known.get_mut(&node) else { return Vec::new() };
        known.forget_until(after_ns);
        known.answers.range(..=until_ns).map(|(_, answer)| answer.clone()).collect()
    }

    /// The answer of a window, if there is one. Those of earlier windows are forgotten.
    pub(super) fn answer(&mut self, node: usize, place: usize, window: Span) -> Option<Answer> {
        let known = self.wanted[place].known.get_mut(&node)?;
        known.forget_until(window.end_ns.saturating_sub(1));
        known.answers.get(&window.end_ns).cloned()
    }

    /// Returns what is to be asked, so that all can go on.
    ///
    /// # Errors
    /// A line, if a query cannot be asked.
    pub(super) fn next_questions(&mut self) -> Result<Vec<HistoryQuery>, String> {
        let mut questions: Vec<ActiveQuestion> = Vec::new();
        let mut is_asked = BTreeSet::new();
        for (place, node) in std::mem::take(&mut self.lacking) {
            let WantedQuery { every_ns, known, .. } = &mut self.wanted[place];
            let Some(known) = known.get_mut(&node).filter(|known| !known.is_refused) else { continue };
            let since_ns = known.until_ns;
            let first_end_ns = first_end(since_ns, *every_ns);
            let has_turn = !self.singly.contains(&node) || !is_asked.contains(&node);
            if first_end_ns > known.needed_ns || !has_turn {
                continue;
            }
            is_asked.insert(node);
            let needed_ns = known.needed_ns.saturating_sub(since_ns).max(known.ahead_ns);
            let length_ns = if known.is_quiet { known.ahead_ns } else { needed_ns.min(self.at_once_ns) };
            known.ahead_ns = length_ns.saturating_mul(2);
            let end_ns = since_ns.saturating_add(length_ns).max(first_end_ns).min(self.period.end_ns);
            let ends = (since_ns, end_ns);
            let is_same = |question: &&mut ActiveQuestion| question.place == place && question.ends == ends;
            match questions.iter_mut().find(is_same) {
                Some(question) => question.nodes.push(node),
                None => {
                    let label = &self.wanted[place].query.name;
                    let is_taken = |name: &str| questions.iter().any(|question| question.name == name);
                    let names = (1_u64..).map(|number| match number {
                        1 => label.clone(),
                        number => format!("{label} #{number}"),
                    });
                    let Some(name) = names.into_iter().find(|name| !is_taken(name)) else { continue };
                    questions.push(ActiveQuestion { name, place, nodes: vec![node], ends });
                }
            }
        }
        let asked = questions.iter().map(|question| self.question(question)).collect::<Result<_, _>>();
        self.asked = questions;
        asked
    }

    fn question(&self, question: &ActiveQuestion) -> Result<HistoryQuery, String> {
        let WantedQuery { query, every_ns, over_ns, .. } = &self.wanted[question.place];
        let (after_ns, end_ns) = question.ends;
        let period = Span { start_ns: first_end(after_ns, *every_ns).saturating_sub(*over_ns), end_ns };
        let asked = Query { name: question.name.clone(), ..query.clone() };
        HistoryQuery::new(asked, None, Some(period), question.nodes.clone(), &self.key)
            .map_err(|reasons| format!("{}: {}", query.name, reasons.join("; ")))
    }

    /// Takes what was answered to all that was asked.
    pub(super) fn take(&mut self, history: HistoryResult) {
        let missing: HashMap<String, Option<String>> =
            history.nodes.into_iter().map(|node| (node.name, node.missing)).collect();
        let mut came: HashMap<(String, String), Vec<Answer>> = HashMap::new();
        for answer in history.answers {
            let node = answer.node.clone().unwrap_or_default();
            came.entry((answer.query.clone(), node)).or_default().push(answer);
        }
        let asked = std::mem::take(&mut self.asked);
        let mut is_too_much = false;
        for ActiveQuestion { name, place, nodes, ends } in &asked {
            for &node in nodes {
                let own = &self.names[node];
                let reason =
                    missing.get(own).cloned().unwrap_or(Some("no_answer: it was not asked".to_owned()));
                match reason.as_deref().map(kind) {
                    None | Some(NodeReason::Whole) => {
                        let answers = came.remove(&(name.clone(), own.clone())).unwrap_or_default();
                        self.know(*place, node, *ends, answers);
                        self.remarks.entry(node).or_default().extend(reason);
                    }
                    // Behind a quiet time more was asked at once.
                    Some(NodeReason::TooMuch) if ends.1 - ends.0 > self.at_once_ns => {
                        self.ask_less(*place, node);
                    }
                    Some(NodeReason::TooMuch) if self.at_once_ns > self.window_ns => {
                        self.ask_less(*place, node);
                        is_too_much = true;
                    }
                    Some(NodeReason::TooMuch | NodeReason::Refused) => {
                        let others = asked.iter().filter(|question| question.nodes.contains(&node)).count();
                        if others == 1 {
                            self.refuse(*place, node, reason);
                        } else {
                            self.singly.insert(node);
                        }
                    }
                    Some(NodeReason::Gone) => self.leave(node, reason),
                }
            }
        }
        if is_too_much {
            let longest_ns =
                asked.iter().map(|question| question.ends.1 - question.ends.0).max().unwrap_or(0);
            self.at_once_ns = (longest_ns / 2).max(self.window_ns);
        }
    }

    fn know(&mut self, place: usize, node: usize, (after_ns, until_ns): (u64, u64), answers: Vec<Answer>) {
        let is_whole = self.at_once_ns >= self.period.length_ns();
        let WantedQuery { query, known, every_ns, over_ns } = &mut self.wanted[place];
        let Some(known) = known.get_mut(&node) else { return };
        known.until_ns = until_ns;
        let before_ns = known.last_ns;
        for answer in answers.into_iter().filter(|answer| answer.empty.is_none()) {
            let end_ns = answer.window.map_or(0, |window| window.end_ns);
            if after_ns < end_ns && end_ns <= until_ns {
                // Events have the share of packets that were received. A store tells the share of time.
                known.answers.insert(end_ns, Answer { query: query.name.clone(), coverage: None, ..answer });
                known.last_ns = known.last_ns.max(Some(end_ns));
            }
        }
        known.is_quiet = known.last_ns == before_ns;
        // Windows that overlap may have rows of the time before and none of their own end. A store answers them if it reads any row behind
        // them: so more is asked, up to where one is. Where stores can give only parts at once, it is asked once: what does not come then is missing.
        let Some(last_ns) = known.last_ns else { return };
        let trailing_ns = last_ns.saturating_add(*over_ns).saturating_sub(*every_ns);
        let is_open = last_ns < until_ns && after_ns < trailing_ns && until_ns < self.period.end_ns;
        known.in_vain = if known.is_quiet { known.in_vain + 1 } else { 0 };
        let goes_on = if is_whole { known.in_vain < MOST_IN_VAIN } else { !known.is_quiet };
        if is_open && goes_on {
            known.until_ns = last_ns.max(after_ns);
        } else {
            known.in_vain = 0;
        }
    }

    /// A node is asked no longer time at once than others.
    fn ask_less(&mut self, place: usize, node: usize) {
        if let Some(known) = self.wanted[place].known.get_mut(&node) {
            (known.is_quiet, known.ahead_ns, known.in_vain) = (false, 0, 0);
        }
    }

    /// A node does not answer a query.
    fn refuse(&mut self, place: usize, node: usize, reason: Option<String>) {
        if let Some(known) = self.wanted[place].known.get_mut(&node) {
            known.is_refused = true;
        }
        self.remarks.entry(node).or_default().extend(reason);
    }

    /// A node is not asked any more: its windows end with what is known of all queries.
    fn leave(&mut self, node: usize, reason: Option<String>) {
        self.gone.insert(node);
        self.remarks.entry(node).or_default().extend(reason);
        for wanted in &mut self.wanted {
            if let Some(known) = wanted.known.get_mut(&node) {
                known.is_refused = true;
            }
        }
    }

    /// Returns, by node, what keeps its answers from being there or complete.
    pub(super) fn remarks(&self) -> BTreeMap<usize, String> {
        let line = |lines: &BTreeSet<String>| lines.iter().cloned().collect::<Vec<_>>().join("; ");
        let said = self.remarks.iter().filter(|(_, lines)| !lines.is_empty());
        said.map(|(node, lines)| (*node, line(lines))).collect()
    }
}

impl AnswerStock {
    /// Creates an entry of which nothing is known yet, and windows are needed that end in this time.
    fn new(since_ns: u64, needed_ns: u64) -> Self {
        let (ahead_ns, last_ns, in_vain, is_quiet) = Default::default();
        let answers = BTreeMap::new();
        Self {
            until_ns: since_ns,
            needed_ns,
            ahead_ns,
            last_ns,
            in_vain,
            is_quiet,
            answers,
            is_refused: false,
        }
    }

    fn forget_until(&mut self, end_ns: u64) {
        while self.answers.first_key_value().is_some_and(|(end, _)| *end <= end_ns) {
            self.answers.pop_first();
        }
    }
}

/// The end of the first window that ends later.
fn first_end(after_ns: u64, every_ns: u64) -> u64 {
    let every_ns = every_ns.max(1);
    (after_ns / every_ns).saturating_add(1).saturating_mul(every_ns)
}

/// The meaning of a node's reason for the next question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeReason {
    /// The node's answers are there: what is damaged, or was not asked, is not in them.
    Whole,
    /// A shorter time may be answered.
    TooMuch,
    /// One of the queries cannot be answered there.
    Refused,
    /// The node does not answer.
    Gone,
}

/// The names are those of [`protocol::HistoryAnswer::missing`].
fn kind(reason: &str) -> NodeReason {
    let is = |name: &str| reason.starts_with(name);
    if is("damaged:") || is("unasked:") {
        NodeReason::Whole
    } else if is("too_large:") || is("too_late:") {
        NodeReason::TooMuch
    } else if is("refused:") {
        NodeReason::Refused
    } else {
        NodeReason::Gone
    }
}
