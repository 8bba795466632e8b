//! Records the window rows of a node.

use crate::group_key::KeyShape;
use crate::group_sums::BATCH;
use crate::history::{History, ReachMinute};
use crate::overview::Overview;
use crate::reach::ReachCounter;
use crate::setting::{MOST_STEPS, STEP_NS};
use crate::step::{REASONS, Step, Totals};
use crate::traffic::Traffic;
use arena::{Lease, Limits};
use flow::Rows;
use model::view::now::NowKind;
use model::{Counters, PacketCounts, Span};
use packet::{KeySpec, MaskedKey, Seed};
use std::net::IpAddr;

/// The most groups of a kind that are counted at a time.
const MOST_GROUPS: usize = 1 << 17;
/// The bytes of the memory of a run for each such group.
const BYTES_PER_GROUP: usize = 2_048;
/// The stream time after which the open step is shown again, nanoseconds.
const SHOW_NS: u64 = 5_000_000_000;

/// The properties of the rows of a node.
#[derive(Clone, Debug)]
pub struct NodeSetting {
    /// The definition of flows.
    pub key: KeySpec,
    /// The seed of hashes.
    pub seed: Seed,
    /// The memory of the run, out of which the sums of groups are taken.
    pub limits: Limits,
    /// True if TCP losses of all flows are tracked.
    pub tracks_loss: bool,
    /// The reason why no rows come, so that there are no rankings; `None` where they do.
    pub without_rows: Option<&'static str>,
}

/// Replaces an address in all that leaves a node.
pub type AddressMap = Box<dyn FnMut(IpAddr) -> IpAddr + Send>;

/// The facts about a window that is closed, besides its rows.
#[derive(Clone, Debug)]
pub struct WindowFacts {
    /// The time of the window.
    pub span: Span,
    /// The part of it that was watched.
    pub watched: Span,
    /// The number of windows of the same length, without a frame, immediately before it.
    pub empty_before: u64,
    /// The layer-3 bytes of all measured packets.
    pub bytes: u64,
    /// The measured packets.
    pub packets: u64,
    /// The flow keys with packets.
    pub flows: u64,
    /// The account of all frames.
    pub frames: PacketCounts,
    /// The frames lost before they were read; `None` if the source cannot count them.
    pub loss: Option<Counters>,
    /// The bytes of TCP that were lost, sent again or missed; `None` where losses are not tracked.
    pub tcp_lost: Option<u64>,
    /// The bytes and packets that the counted ones stand for, where these are a sample; `None` where all were counted.
    pub estimated: Option<[f64; 2]>,
    /// The reasons why the sums lack something.
    pub lacks: Vec<String>,
}

impl WindowFacts {
    /// Creates the facts of a window that was watched from begin to end, and in which nothing was received.
    pub fn new(span: Span) -> Self {
        Self {
            span,
            watched: span,
            empty_before: 0,
            bytes: 0,
            packets: 0,
            flows: 0,
            frames: PacketCounts::default(),
            loss: None,
            tcp_lost: None,
            estimated: None,
            lacks: Vec::new(),
        }
    }

    fn totals(&self) -> Totals {
        let [bytes, packets] = match self.estimated {
            Some(estimated) => estimated.map(|count| count.max(0.0).round() as u64),
            None => [self.bytes, self.packets],
        };
        let remarks = Counters::default();
        Totals {
            bytes,
            packets,
            flows: [self.flows; 2],
            frames: PacketCounts { remarks, ..self.frames.clone() },
            loss: self.loss.clone(),
            tcp_bytes: 0,
            tcp_lost: self.tcp_lost,
            watched_ns: self.watched.length_ns(),
            is_estimate: self.estimated.is_some(),
        }
    }
}

/// A step some windows of which have come.
#[derive(Debug)]
struct OpenStep {
    span: Span,
    totals: Option<Totals>,
    /// The bytes and packets that were counted.
    counted: [u64; 2],
    traffic: Option<Box<Traffic>>,
    lacks: Vec<String>,
}

impl Overview {
    /// Returns what records a node.
    pub fn recorder(&self, node: &str, setting: NodeSetting) -> Recorder {
        let shape = KeyShape { without_rows: setting.without_rows, ..KeyShape::from_spec(&setting.key) };
        let number = self.shared().node(node, shape, setting.tracks_loss);
        Recorder::new(self.clone(), number, shape, setting)
    }
}

/// Records the window rows of a node, in the steps of an [`Overview`].
pub struct Recorder {
    overview: Overview,
    node: usize,
    kind: NowKind,
    shape: KeyShape,
    setting: NodeSetting,
    most: usize,
    map: Option<AddressMap>,
    /// The steps that are not over, the oldest first.
    open: Vec<OpenStep>,
    spare: Option<Box<Traffic>>,
    reach: ReachCounter,
    /// The begin of the minute whose pairs are counted.
    minute_ns: Option<u64>,
    /// The stream time at which the open step was shown last.
    shown_ns: Option<u64>,
    /// The memory of the steps that are kept.
    _memory: Option<Lease>,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("node", &self.node).finish_non_exhaustive()
    }
}

impl Recorder {
    fn new(overview: Overview, node: usize, shape: KeyShape, setting: NodeSetting) -> Self {
        let kind = overview.shared().kind;
        let most = (setting.limits.bytes_allowed() / BYTES_PER_GROUP).clamp(2 * BATCH, MOST_GROUPS);
        let memory = setting.limits.lease(History::most_memory(MOST_STEPS));
        Self {
            reach: ReachCounter::new(2 * most, setting.seed, &setting.limits),
            overview,
            node,
            kind,
            shape,
            setting,
            most,
            map: None,
            open: Vec::new(),
            spare: None,
            minute_ns: None,
            shown_ns: None,
            _memory: memory,
        }
    }

    /// Lets addresses be replaced in all that is recorded.
    #[must_use]
    pub fn with_map(self, map: Option<AddressMap>) -> Self {
        Self { map, ..self }
    }

    /// Takes rows of the window that begins at `start_ns`.
    pub fn rows<K: MaskedKey>(&mut self, start_ns: u64, rows: &Rows<K>) {
        if rows.is_empty() {
            return;
        }
        let at = self.open_at(start_ns);
        let traffic = match self.open[at].traffic.take() {
            Some(traffic) => traffic,
            None => self.traffic(),
        };
        self.open[at].traffic.insert(traffic).add(rows);
    }

    /// Takes the facts about a window, all of whose rows have come.
    pub fn window(&mut self, facts: &WindowFacts) {
        let Span { start_ns, end_ns } = facts.span;
        self.pass_empty(facts);
        let at = self.open_at(start_ns);
        let step = &mut self.open[at];
        let totals = facts.totals();
        match &mut step.totals {
            Some(own) => own.add(&totals),
            own @ None => *own = Some(totals),
        }
        step.counted = [step.counted[0] + facts.bytes, step.counted[1] + facts.packets];
        for reason in &facts.lacks {
            if step.lacks.len() < REASONS && !step.lacks.contains(reason) {
                step.lacks.push(reason.clone());
            }
        }
        self.close_until(end_ns);
        let is_due = self.shown_ns.is_none_or(|shown| end_ns.saturating_sub(shown) >= SHOW_NS);
        if self.kind == NowKind::Live && is_due {
            self.show(end_ns);
        }
    }

    /// Takes note that nothing follows: steps that are not over are kept as they are.
    pub fn finish(&mut self) {
        self.close_until(u64::MAX);
        self.end_minute(false);
        let mut shared = self.overview.shared();
        let node = &mut shared.nodes[self.node];
        (node.history.has_ended, node.history.open) = (true, None);
        node.entries.end();
    }

    fn traffic(&mut self) -> Box<Traffic> {
        self.spare.take().unwrap_or_else(|| {
            Box::new(Traffic::new(self.shape, self.most, self.setting.seed, &self.setting.limits))
        })
    }

    /// Returns the place of the open step that has this time.
    fn open_at(&mut self, ns: u64) -> usize {
        let at = self.open.partition_point(|step| step.span.end_ns <= ns);
        if self.open.get(at).is_some_and(|step| step.span.start_ns <= ns) {
            return at;
        }
        let step_ns = self.overview.shared().step_ns;
        // Steps do not overlap, also where their length has just changed.
        let before = at.checked_sub(1).map_or(0, |before| self.open[before].span.end_ns);
        let start_ns = (ns - ns % step_ns).max(before);
        let end_ns = (ns - ns % step_ns).saturating_add(step_ns);
        let after = self.open.get(at).map_or(u64::MAX, |after| after.span.start_ns);
        let span = Span { start_ns, end_ns: end_ns.min(after) };
        let step = OpenStep { span, totals: None, counted: [0; 2], traffic: None, lacks: Vec::new() };
        self.open.insert(at, step);
        at
    }

    /// Takes note of windows without a frame before one that is closed.
    fn pass_empty(&mut self, facts: &WindowFacts) {
        let Span { start_ns: end_ns, .. } = facts.span;
        let passed_ns = facts.empty_before.saturating_mul(facts.span.length_ns());
        let mut start_ns = end_ns.saturating_sub(passed_ns);
        if start_ns >= end_ns {
            return;
        }
        let step_ns = {
            let mut shared = self.overview.shared();
            shared.make_room(Span { start_ns, end_ns });
            shared.step_ns
        };
        // Older steps would be forgotten at once.
        start_ns = start_ns.max(end_ns.saturating_sub(step_ns.saturating_mul(MOST_STEPS as u64)));
        while start_ns < end_ns {
            let at = self.open_at(start_ns);
            let step = &mut self.open[at];
            let until = step.span.end_ns.min(end_ns);
            let totals = Totals {
                watched_ns: until - start_ns,
                loss: facts.loss.as_ref().map(|_| Counters::default()),
                tcp_lost: facts.tcp_lost.map(|_| 0),
                ..Totals::default()
            };
            match &mut step.totals {
                Some(own) => own.add(&totals),
                own @ None => *own = Some(totals),
            }
            start_ns = until;
            self.close_until(until);
        }
    }

    /// Closes the steps that are over at this time.
    fn close_until(&mut self, ns: u64) {
        while self.open.first().is_some_and(|step| step.span.end_ns <= ns || ns == u64::MAX) {
            let mut open = self.open.remove(0);
            let span = open.span;
            let step = self.step(&open);
            self.begin_minute(span.start_ns);
            if let Some(mut traffic) = open.traffic.take() {
                self.reach.add(&traffic);
                traffic.clear();
                self.spare = Some(traffic);
            }
            // Rows of a window that nothing closed are no step.
            if let Some(step) = step {
                self.overview.shared().push(self.node, step);
            }
            if self.minute_ns.is_some_and(|minute| span.end_ns >= minute.saturating_add(STEP_NS)) {
                self.end_minute(false);
            }
        }
    }

    /// Shows what there is of the step that is not over.
    fn show(&mut self, end_ns: u64) {
        let Some(open) = self.open.first() else { return };
        let start_ns = open.span.start_ns;
        let Some(step) = self.step_of(0) else { return };
        self.shown_ns = Some(end_ns);
        self.begin_minute(start_ns);
        if let Some(traffic) = &self.open[0].traffic {
            self.reach.add(traffic);
        }
        self.overview.shared().open(self.node, step);
        self.end_minute(true);
    }

    fn step_of(&mut self, at: usize) -> Option<Step> {
        let open = self.open.remove(at);
        let step = self.step(&open);
        self.open.insert(at, open);
        step
    }

    /// Returns what there is of a step; `None` before its first window is closed.
    fn step(&mut self, open: &OpenStep) -> Option<Step> {
        let mut totals = open.totals.clone()?;
        let mut step =
            Step { start_ns: open.span.start_ns, length_ns: open.span.length_ns(), ..Step::default() };
        if let Some(traffic) = &open.traffic {
            let rows = traffic.rows();
            let not_in_rows = [0, 1].map(|at| open.counted[at].saturating_sub(rows[at]));
            step.rankings = traffic.rankings();
            step.losing = traffic.losing();
            totals.tcp_bytes = traffic.tcp_bytes();
            let scale = [(totals.bytes, open.counted[0]), (totals.packets, open.counted[1])];
            let scale = scale.map(|(all, counted)| all as f64 / counted.max(1) as f64);
            for ranking in &mut step.rankings {
                ranking.settle(open.counted, not_in_rows);
                if totals.is_estimate {
                    ranking.scale(scale);
                }
            }
            if let Some(map) = &mut self.map {
                let leaders = step.rankings.iter_mut().flat_map(|ranking| &mut ranking.leaders);
                leaders.for_each(|leader| leader.key = leader.key.map(map));
                step.losing.iter_mut().for_each(|flow| flow.key = flow.key.map(map));
            }
        } else if open.counted != [0; 2] {
            // No row has come of what was counted: any group may have all of it.
            step.rankings.iter_mut().for_each(|ranking| ranking.settle(open.counted, open.counted));
        }
        step.totals = totals;
        open.lacks.iter().for_each(|reason| step.lack(reason));
        Some(step)
    }

    /// Ends the minute whose pairs are counted where this time is not in it.
    fn begin_minute(&mut self, ns: u64) {
        if self.minute_ns.is_some_and(|minute| ns >= minute.saturating_add(STEP_NS)) {
            self.end_minute(false);
        }
        self.minute_ns.get_or_insert(ns - ns % STEP_NS);
    }

    /// Tells who reached whom in the minute, which goes on where it is open.
    fn end_minute(&mut self, is_open: bool) {
        let Some(start_ns) = self.minute_ns else { return };
        let mut reach = self.reach.counted();
        if let Some(map) = &mut self.map {
            reach.map(map);
        }
        let mut shared = self.overview.shared();
        let length_ns = if self.kind == NowKind::Live { shared.step_ns } else { STEP_NS };
        let span = Span { start_ns, end_ns: start_ns.saturating_add(length_ns) };
        shared.reached(self.node, ReachMinute { span, reach, is_open });
        drop(shared);
        if !is_open {
            self.reach.clear();
            self.minute_ns = None;
        }
    }
}
