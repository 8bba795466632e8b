//! Answers what the traffic of the last hour is.

use crate::bounded::Bounded;
use crate::error::OverviewError;
use crate::group_key::{GroupKey, KeyShape};
use crate::history::History;
use crate::joined_ranking::JoinedRanking;
use crate::overview::Overview;
use crate::ranking::{GROUPS, Leader, Ranking};
use crate::setting::MOST_STEPS;
use crate::snapshot::{NodeSteps, Snapshot};
use crate::step::{Step, Totals};
use model::view::now::{
    FigureSeries, Figures, MissingOfNode, Now, NowAccount, NowKind, NowRanking, NowRow, NowSums, PartialStep,
    RankingBy, StepFigures,
};
use model::{Counters, Missing, MissingReason, Span, Value, coverage};

/// The longest time that a question is about, nanoseconds.
const HOUR_NS: u64 = 3_600_000_000_000;
/// The number of rows of a ranking, where a question does not say it.
const TOP: usize = 10;
/// The number of steps that lack something that are listed.
const PARTIAL: usize = 1_000;

/// A question about the last hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NowAsked {
    /// The time that is asked about, nanoseconds: an hour at the most. Of captures it is their whole time.
    pub last_ns: u64,
    /// The only ranking that is asked for; `None` for all.
    pub by: Option<RankingBy>,
    /// The only node that is asked about; `None` for all.
    pub node: Option<String>,
    /// The number of rows of a ranking.
    pub top: usize,
}

impl Default for NowAsked {
    fn default() -> Self {
        Self { last_ns: HOUR_NS, by: None, node: None, top: TOP }
    }
}

/// The slots of a time: one for each step.
#[derive(Clone, Copy, Debug)]
struct Slots {
    start_ns: u64,
    step_ns: u64,
    count: usize,
}

impl Slots {
    fn span(&self) -> Span {
        Span { start_ns: self.start_ns, end_ns: self.start_ns + self.step_ns * self.count as u64 }
    }

    fn starts(self) -> impl Iterator<Item = u64> {
        (0..self.count as u64).map(move |at| self.start_ns + at * self.step_ns)
    }
}

/// The steps of all nodes in the slots of a time.
struct Period<'a> {
    slots: Slots,
    /// The steps of each slot.
    steps: Vec<Vec<&'a Step>>,
}

impl<'a> Period<'a> {
    fn new(histories: &[&'a History], slots: Slots) -> Self {
        let of =
            |start_ns| histories.iter().filter_map(|own| own.step(start_ns)).map(|step| &**step).collect();
        Self { slots, steps: slots.starts().map(of).collect() }
    }

    fn is_known(&self) -> bool {
        self.steps.iter().any(|steps| !steps.is_empty())
    }

    /// Returns the sums of each slot.
    fn totals(&self) -> Vec<Option<Totals>> {
        let sum = |steps: &Vec<&Step>| {
            let mut totals = steps.iter().map(|step| &step.totals);
            let mut sum = totals.next()?.clone();
            totals.for_each(|more| sum.add_node(more));
            Some(sum)
        };
        self.steps.iter().map(sum).collect()
    }

    /// Returns the ranking over all of the time.
    fn ranking(&self, by: usize, most: usize) -> Ranking {
        JoinedRanking::of_all(self.steps.iter().flatten().map(|step| &step.rankings[by]), most)
    }

    /// Returns the bytes of a group in each slot.
    fn series(&self, by: usize, key: &GroupKey) -> Vec<Option<Bounded>> {
        let sum = |steps: &Vec<&Step>| {
            let of = |step: &&Step| step.rankings[by].bytes(key).estimate_if(step.totals.is_estimate);
            steps.iter().map(of).reduce(Bounded::plus)
        };
        self.steps.iter().map(sum).collect()
    }
}

impl Overview {
    /// Answers what the traffic of the last hour is, or of a capture.
    ///
    /// # Errors
    /// If there is no node of the name that is asked about.
    pub fn now(&self, asked: &NowAsked) -> Result<Now, OverviewError> {
        // Steps are joined while nothing is locked.
        let snapshot = Snapshot::take(&mut self.shared(), asked.node.as_deref())?;
        let Snapshot { nodes, .. } = &snapshot;
        let mut now = Now {
            step_ns: snapshot.step_ns,
            kind: snapshot.kind,
            ended: !nodes.is_empty() && nodes.iter().all(|node| node.history.has_ended),
            nodes: nodes.iter().map(|node| node.name.clone()).collect(),
            kept: snapshot.kept(),
            ..Now::default()
        };
        if let Some((slots, before)) = slots(&snapshot, asked.last_ns) {
            let histories = snapshot.histories();
            let before = before.map(|slots| Period::new(&histories, slots)).filter(Period::is_known);
            fill(&mut now, &snapshot, &Period::new(&histories, slots), before.as_ref(), asked);
        }
        Ok(now)
    }
}

/// Returns the slots of the time that is asked about, and those of the hour before.
fn slots(snapshot: &Snapshot, last_ns: u64) -> Option<(Slots, Option<Slots>)> {
    let step_ns = snapshot.step_ns;
    let histories = snapshot.histories();
    let begin = histories.iter().filter_map(|history| history.begin()).min()?;
    let end = histories.iter().filter_map(|history| history.end()).max()?;
    let (first, last) = (begin / step_ns, end.div_ceil(step_ns));
    let all = usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX).max(1);
    if snapshot.kind == NowKind::Capture {
        let count = all.min(MOST_STEPS + 1);
        return Some((Slots { start_ns: (last - count as u64) * step_ns, step_ns, count }, None));
    }
    let asked = usize::try_from(last_ns.min(HOUR_NS) / step_ns).unwrap_or(usize::MAX).max(1);
    let count = asked.min(all);
    let start_ns = (last - count as u64) * step_ns;
    let hour = usize::try_from(HOUR_NS.div_ceil(step_ns)).unwrap_or(1);
    // Of the hour before there is as much as was asked about, an hour earlier.
    let before = start_ns.checked_sub(hour as u64 * step_ns);
    let before = before.map(|start_ns| Slots { start_ns, step_ns, count });
    Some((Slots { start_ns, step_ns, count }, before))
}

/// Fills in what the steps tell.
fn fill(
    now: &mut Now,
    snapshot: &Snapshot,
    period: &Period<'_>,
    before: Option<&Period<'_>>,
    asked: &NowAsked,
) {
    let nodes = &snapshot.nodes;
    let totals = period.totals();
    let before_totals = before.map(Period::totals);
    now.period = Some(period.slots.span());
    now.before = before.map(|before| before.slots.span());
    now.steps = u32::try_from(period.slots.count).unwrap_or(u32::MAX);
    let last = period.slots.span().end_ns - period.slots.step_ns;
    now.open = snapshot.is_open(last);
    let sum = sum_of(&totals);
    now.figures = figures(sum.as_ref(), totals.len() > 1);
    now.figures_before =
        before_totals.as_ref().map(|totals| figures(sum_of(totals).as_ref(), totals.len() > 1));
    let over = if now.open && totals.len() > 1 { totals.len() - 2 } else { totals.len().saturating_sub(1) };
    now.latest = step_figures(period.slots, &totals, over);
    now.latest_before = before
        .zip(before_totals.as_ref())
        .and_then(|(before, totals)| step_figures(before.slots, totals, over));
    now.series = series(&totals);
    now.series_before = before_totals.as_ref().map(|totals| series(totals));
    // Of a node that told nothing yet it is not known.
    let shapes = nodes.iter().filter(|node| node.history.begin().is_some()).map(|node| node.shape).collect();
    let ranker = Ranker { period, before, totals: &totals, before_totals: before_totals.as_deref(), shapes };
    let kinds =
        RankingBy::ALL.into_iter().enumerate().filter(|(_, by)| asked.by.is_none_or(|only| only == *by));
    now.rankings = kinds.map(|(at, by)| ranker.rank(at, by, asked.top)).collect();
    now.account = account(sum.as_ref());
    lacking(now, nodes, period.slots);
}

fn sum_of(totals: &[Option<Totals>]) -> Option<Totals> {
    let mut known = totals.iter().flatten();
    let mut sum = known.next()?.clone();
    known.for_each(|more| sum.add(more));
    Some(sum)
}

fn count(count: u64, totals: &Totals) -> Value {
    Bounded::exact(count).estimate_if(totals.is_estimate).value()
}

/// Returns the sums of a time. `of_several`: it has several steps, so that flows are not known.
fn figures(totals: Option<&Totals>, of_several: bool) -> Figures {
    let Some(totals) = totals else { return Figures::default() };
    Figures {
        bytes: count(totals.bytes, totals),
        packets: count(totals.packets, totals),
        flows: match of_several {
            true => Value::Null,
            false => {
                Bounded::between(totals.flows[0], totals.flows[1]).estimate_if(totals.is_estimate).value()
            }
        },
        lost: totals.lost().into(),
        coverage: totals.lost().map(|lost| coverage(totals.frames.received, lost)),
        tcp_bytes: totals.tcp_lost.map(|_| totals.tcp_bytes).into(),
        tcp_lost_bytes: totals.tcp_lost.into(),
        watched_ns: totals.watched_ns,
    }
}

fn step_figures(slots: Slots, totals: &[Option<Totals>], at: usize) -> Option<StepFigures> {
    let totals = totals.get(at)?.as_ref()?;
    let start_ns = slots.start_ns + slots.step_ns * at as u64;
    let window = Some(Span { start_ns, end_ns: start_ns + slots.step_ns });
    Some(StepFigures { window, figures: figures(Some(totals), false) })
}

fn series(totals: &[Option<Totals>]) -> FigureSeries {
    let mut series = FigureSeries::default();
    for totals in totals {
        let figures = figures(totals.as_ref(), false);
        series.bytes.push(figures.bytes);
        series.packets.push(figures.packets);
        series.flows.push(figures.flows);
        series.lost.push(figures.lost);
        series.coverage.push(figures.coverage);
        series.tcp_bytes.push(figures.tcp_bytes);
        series.tcp_lost_bytes.push(figures.tcp_lost_bytes);
        series.watched_ns.push(figures.watched_ns.into());
    }
    series
}

/// Ranks groups over a time, and compares with the hour before.
struct Ranker<'a> {
    period: &'a Period<'a>,
    before: Option<&'a Period<'a>>,
    totals: &'a [Option<Totals>],
    before_totals: Option<&'a [Option<Totals>]>,
    /// The shapes of the keys of the nodes.
    shapes: Vec<KeyShape>,
}

impl Ranker<'_> {
    fn rank(&self, at: usize, by: RankingBy, top: usize) -> NowRanking {
        let key = KeyShape::members(by).iter().map(|name| (*name).to_owned()).collect();
        let ranking = NowRanking { by, key, ..NowRanking::default() };
        let refused = self.shapes.iter().find_map(|shape| shape.refuses(by));
        let differ = self.shapes.windows(2).any(|both| both[0] != both[1]);
        let differ = differ.then_some("the nodes define flows differently: ask for one of them");
        if let Some(reason) = refused.or(differ) {
            return NowRanking { refused: Some(reason.to_owned()), ..ranking };
        }
        let Some(shape) = self.shapes.first() else { return ranking };
        let (all, is_estimate) = whole(self.totals);
        let before_all = self.before_totals.map(|totals| whole(totals).0);
        let joined = self.period.ranking(at, top.min(GROUPS));
        let before = self.before.map(|before| before.ranking(at, usize::MAX));
        let mut rest = Others::new(self.totals, all, before_all);
        let mut rows = Vec::new();
        for leader in &joined.leaders {
            let series = self.period.series(at, &leader.key);
            let earlier = before.as_ref().map(|before| before.bytes(&leader.key));
            let sums = Sums {
                bytes: leader.bounded().estimate_if(is_estimate),
                packets: leader.bounded_packets().estimate_if(is_estimate),
                earlier,
            };
            rest.subtract(leader, &series, earlier);
            rows.push(NowRow { key: shape.items(by, leader.key), sums: sums.written(all, &series) });
        }
        NowRanking { rows, rest: Some(rest.written(all, is_estimate)), ..ranking }
    }
}

/// Returns the bytes and packets of a time, and whether they are estimates.
fn whole(totals: &[Option<Totals>]) -> ([u64; 2], bool) {
    let known = totals.iter().flatten();
    known.fold(([0; 2], false), |([bytes, packets], is_estimate): ([u64; 2], bool), totals| {
        let sums = [bytes.saturating_add(totals.bytes), packets.saturating_add(totals.packets)];
        (sums, is_estimate || totals.is_estimate)
    })
}

/// The sums of a group.
struct Sums {
    bytes: Bounded,
    packets: Bounded,
    earlier: Option<Bounded>,
}

impl Sums {
    fn written(&self, all: [u64; 2], series: &[Option<Bounded>]) -> NowSums {
        let now = self.bytes.lower as f64;
        // Growth that bounds leave open is not said.
        let earlier = self.earlier.filter(|earlier| earlier.lower == earlier.upper && earlier.lower != 0);
        NowSums {
            bytes: self.bytes.value(),
            packets: self.packets.value(),
            share: (all[0] != 0).then(|| (now / all[0] as f64).min(1.0)),
            bytes_before: self.earlier.map(Bounded::value).into(),
            change: earlier.map(|earlier| now / earlier.lower as f64 - 1.0),
            series: series.iter().map(|bytes| bytes.map(Bounded::value).into()).collect(),
        }
    }
}

/// All groups that are not listed.
struct Others {
    bytes: Bounded,
    packets: Bounded,
    earlier: Option<Bounded>,
    series: Vec<Option<Bounded>>,
}

impl Others {
    fn new(totals: &[Option<Totals>], all: [u64; 2], before: Option<[u64; 2]>) -> Self {
        let of = |totals: &Totals| Bounded::exact(totals.bytes).estimate_if(totals.is_estimate);
        Self {
            bytes: Bounded::exact(all[0]),
            packets: Bounded::exact(all[1]),
            earlier: before.map(|[bytes, _]| Bounded::exact(bytes)),
            series: totals.iter().map(|totals| totals.as_ref().map(of)).collect(),
        }
    }

    fn subtract(&mut self, leader: &Leader, series: &[Option<Bounded>], earlier: Option<Bounded>) {
        self.bytes = leader.bounded().rest_of(self.bytes);
        self.packets = leader.bounded_packets().rest_of(self.packets);
        self.earlier = self.earlier.zip(earlier).map(|(all, part)| part.rest_of(all));
        for (own, part) in self.series.iter_mut().zip(series) {
            *own = own.zip(*part).map(|(all, part)| part.rest_of(all));
        }
    }

    fn written(&self, all: [u64; 2], is_estimate: bool) -> NowSums {
        let sums = Sums {
            bytes: self.bytes.estimate_if(is_estimate),
            packets: self.packets.estimate_if(is_estimate),
            earlier: self.earlier,
        };
        sums.written(all, &self.series)
    }
}

fn account(totals: Option<&Totals>) -> NowAccount {
    let Some(totals) = totals else { return NowAccount::default() };
    NowAccount {
        received: totals.frames.received,
        measured: totals.frames.measured,
        not_measured: totals.frames.not_measured.clone(),
        lost: totals.loss.clone(),
        coverage: totals.loss.as_ref().map(|loss| coverage(totals.frames.received, Counters::total(loss))),
    }
}

/// Fills in the times of which nothing is known, and the steps that lack something: the newest ones, of many.
fn lacking(now: &mut Now, nodes: &[NodeSteps], slots: Slots) {
    for node in nodes {
        let history = &node.history;
        let mut of_node: Vec<Missing> = Vec::new();
        for start_ns in slots.starts() {
            let span = Span { start_ns, end_ns: start_ns + slots.step_ns };
            match history.step(start_ns) {
                None => of_node.extend(reason(node, span, slots).map(|reason| Missing { span, reason })),
                Some(step) => now.partial.extend(step.reasons.iter().map(|reason| PartialStep {
                    start_ns,
                    end_ns: span.end_ns,
                    reason: reason.clone(),
                    node: node.name.clone(),
                })),
            }
        }
        let mut joined = Vec::new();
        of_node.into_iter().for_each(|more| Missing::push(&mut joined, more));
        let joined = joined.into_iter().map(|missing| MissingOfNode { missing, node: node.name.clone() });
        now.missing.extend(joined);
    }
    if now.partial.len() > PARTIAL {
        now.partial.sort_by_key(|partial| std::cmp::Reverse(partial.start_ns));
        now.partial_unlisted = (now.partial.len() - PARTIAL) as u64;
        now.partial.truncate(PARTIAL);
    }
}

/// Returns why a node has no step at a time; `None` where it is not late yet.
fn reason(node: &NodeSteps, span: Span, slots: Slots) -> Option<MissingReason> {
    let history = &node.history;
    let (Some(begin), Some(end)) = (history.begin(), history.end()) else {
        // One that tells of itself may measure, and tell nothing.
        return Some(if node.tells { MissingReason::NotSent } else { MissingReason::NotBegun });
    };
    if span.end_ns <= begin {
        return Some(MissingReason::NotBegun);
    }
    let is_newest = span.end_ns == slots.span().end_ns;
    match (span.start_ns >= end, history.has_ended) {
        (true, true) => Some(MissingReason::Stopped),
        (true, false) if span.start_ns < end + span.length_ns() && is_newest => None,
        _ => Some(MissingReason::NotSent),
    }
}
