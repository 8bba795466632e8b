//! The shares of a question: what all levels that it reads still have is answered whole, and of the time before it what a coarser level tells.

use super::exact::{fits, keeps, site};
use super::reading::ScanPlan;
use super::shelf::Shelf;
use crate::question::{AnswerSetting, Period, Question};
use crate::unknown::{Unknown, known};
use crate::whole::Cut;
use model::{Answer, AnswerStatus};
use packet::KeySpec;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use store::Level;
use task::query::{Over, Query};

/// A question, or a part of one: of some nodes and of some of its time.
#[derive(Clone)]
pub struct QuestionShare {
    /// The question that is read.
    pub question: Question,
    rest: Option<Rc<NotRead>>,
    /// The condition on which answers are given, of windows that overlap.
    windows: Option<WindowCondition>,
    /// The windows that the period of the whole question cuts, if it cuts any.
    cut: Option<Rc<Cut>>,
}

/// Windows by their begins.
#[derive(Clone, Copy)]
enum WindowCondition {
    Before(u64),
    From(u64),
}

/// The part of a question that is not read.
struct NotRead {
    unknown: Unknown,
    /// The reading as it would be without this part, of the levels that have it: what of it is kept no more.
    whole: ScanPlan,
    /// True if the question names the begin of its time, all of which is to be answered.
    is_asked: bool,
}

impl QuestionShare {
    fn whole(question: Question) -> Self {
        Self { question, rest: None, windows: None, cut: None }
    }

    /// Returns the time that the share's own windows add, each by the step that it has more than the one before.
    pub(super) fn steps(&self, every_ns: u64, over_ns: u64) -> Period {
        // The end of the last window that begins before a time.
        let end_before = |time_ns: u64| {
            let end_ns = time_ns.saturating_add(over_ns);
            end_ns.checked_next_multiple_of(every_ns).map_or(end_ns, |next| next.saturating_sub(every_ns))
        };
        match self.windows {
            None => Period::ALL,
            Some(WindowCondition::Before(time_ns)) => Period { to_ns: end_before(time_ns), ..Period::ALL },
            Some(WindowCondition::From(time_ns)) => Period { from_ns: end_before(time_ns), ..Period::ALL },
        }
    }

    /// Returns whether an answer belongs to this share, as answers about other windows belong to another one.
    pub fn gives(&self, answer: &Answer) -> bool {
        answer.window.is_none_or(|window| match self.windows {
            None => true,
            Some(WindowCondition::Before(time_ns)) => window.start_ns < time_ns,
            Some(WindowCondition::From(time_ns)) => window.start_ns >= time_ns,
        })
    }

    /// Puts into an answer what is not read: it is not known, and the answer says why. Says which windows the period cuts.
    pub fn restore(&self, answer: &mut Answer) {
        self.cut.iter().for_each(|cut| cut.describe(answer, &self.question.query.over));
        let Some(NotRead { unknown, whole, is_asked }) = self.rest.as_deref() else { return };
        unknown.restore(answer);
        let mut why = whole.lost_of(answer);
        why.dedup();
        let why = why.iter().fold(String::new(), |text, line| format!("{text}: {line}"));
        answer.remark(&format!("{}{why}", unknown.words()));
        if *is_asked {
            answer.status = AnswerStatus::Partial;
        }
    }

    /// Returns true if the share may be answered together with others: an answer tells by its query's name which of them it is of.
    pub(super) fn goes_with(&self, others: &[Self]) -> bool {
        let is_plain = |share: &Self| share.rest.is_none() && share.windows.is_none() && share.cut.is_none();
        let name = &self.question.query.name;
        others.iter().all(|other| is_plain(self) && is_plain(other) || other.question.query.name != *name)
    }

    /// The share that an answer is of, among those that were answered together.
    pub(super) fn find<'a>(shares: &'a [Self], answer: &Answer) -> Option<&'a Self> {
        shares.iter().find(|share| share.question.query.name == answer.query)
    }
}

impl Shelf {
    /// The shares of a question. Where a level that tells all of it has lost a part of the time, a coarser one is read for that time, and what
    /// this one cannot tell is not known. A question without a begin starts with what is kept. Of a period that cuts windows those are
    /// read that begin in it.
    pub fn shares(
        &self,
        mut question: Question,
        coarsest: Level,
        setting: &AnswerSetting,
    ) -> Vec<QuestionShare> {
        let cut = self.cut(&question).map(Rc::new);
        if let Some(cut) = &cut {
            question.period = Some(cut.told);
        }
        let shares = self.shares_of_whole(question, coarsest, setting).into_iter();
        shares.map(|share| QuestionShare { cut: cut.clone(), ..share }).collect()
    }

    /// The shares of a question whose period cuts no window.
    fn shares_of_whole(
        &self,
        question: Question,
        coarsest: Level,
        setting: &AnswerSetting,
    ) -> Vec<QuestionShare> {
        let period = question.period.unwrap_or(Period::ALL);
        let is_asked = period.from_ns > 0;
        // What is lost is seen where a begin is named.
        let question =
            Question { period: Some(Period { from_ns: period.from_ns.max(1), ..period }), ..question };
        let whole = self.choose(&question, coarsest, setting);
        if !whole.lacks_time() {
            let period = Some(period).filter(|period| *period != Period::ALL);
            return vec![QuestionShare::whole(Question { period, ..question })];
        }
        let rest = self.known(&question, &whole, coarsest, setting).map(|(query, unknown)| {
            let rest = NotRead { unknown, whole: whole.clone(), is_asked };
            (query, Rc::new(rest))
        });
        let mut nodes: BTreeMap<Option<u64>, BTreeSet<String>> = BTreeMap::new();
        for node in self.nodes().into_iter().filter(|node| (question.runs_on)(Some(node))) {
            nodes.entry(whole.lost_until(node)).or_default().insert(node.to_owned());
        }
        let mut shares = Vec::new();
        for (lost_until, nodes) in nodes {
            let of = |from_ns, to_ns| question.part(&nodes, Period { from_ns, to_ns });
            let Period { from_ns, to_ns } = period;
            match (lost_until, &rest) {
                (Some(until), Some((query, rest))) => {
                    let overlaps =
                        matches!(query.over, Over::Windows { every_ns, over_ns } if every_ns != over_ns);
                    let cut = whole_from(query, until).map_or(to_ns, |cut| cut.clamp(from_ns, to_ns));
                    let question = Question { query: query.clone(), ..of(from_ns, cut) };
                    let windows = overlaps.then_some(WindowCondition::Before(until));
                    shares.push(QuestionShare { question, rest: Some(Rc::clone(rest)), windows, cut: None });
                    // Windows that overlap are cut at its begin, and given by the other share.
                    let begin = if overlaps { until.clamp(from_ns, to_ns) } else { cut };
                    let windows = overlaps.then_some(WindowCondition::From(until));
                    let whole = QuestionShare { windows, ..QuestionShare::whole(of(begin, to_ns)) };
                    shares.extend((begin < to_ns).then_some(whole));
                }
                _ => shares.push(QuestionShare::whole(of(from_ns, to_ns))),
            }
        }
        shares
    }

    /// The part of a question that loses less of its time when a coarser level answers it.
    fn known(
        &self,
        question: &Question,
        whole: &ScanPlan,
        coarsest: Level,
        setting: &AnswerSetting,
    ) -> Option<(Query, Unknown)> {
        let levels = [Level::Hour, Level::Minute].into_iter().filter(|level| *level <= coarsest);
        let parts = levels.filter_map(|level| {
            let key: KeySpec = self.reading(question, level).1?;
            let is_told = |query: &Query| fits(query, level) && keeps(query, key, setting);
            let (query, unknown) = known(&question.query, &is_told, &site(key, setting))?;
            let lost =
                self.choose(&Question { query: query.clone(), ..question.clone() }, level, setting).lost_ns();
            (lost < whole.lost_ns()).then_some((lost, query, unknown))
        });
        // Of equal ones the first, which is the coarsest.
        parts.min_by_key(|(lost, ..)| *lost).map(|(_, query, unknown)| (query, unknown))
    }
}

/// Returns the time from which on windows have nothing of the time before; `None` where windows overlap, or are none.
fn whole_from(query: &Query, lost_until: u64) -> Option<u64> {
    match query.over {
        Over::Windows { every_ns, over_ns } if every_ns == over_ns => {
            lost_until.checked_next_multiple_of(every_ns)
        }
        _ => None,
    }
}
