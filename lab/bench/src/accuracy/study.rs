//! Many structures on the same windows, over several seeds.

use super::BENCH;
use super::lab::LabStructure;
use super::metrics::{AccuracyMetric, AnswerScore, score};
use super::question::AccuracyQuestion;
use super::stream::StreamKind;
use super::trial::{self, TrialDesign, TrialResult, WorkerWindows};
use super::truth::{TruthContext, WindowTruth};
use crate::BenchResult;
use crate::compare;
use crate::line::to_digits;
use notation::size_text;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use task::{Structure, TaskKind};

/// Decimal places of a measure.
const DIGITS: i32 = 5;

/// The structure of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseStructure {
    /// The planner's choice.
    Planner,
    /// A structure that tasks have.
    Task(Structure),
    /// A structure of the lab.
    Lab(LabStructure),
}

impl CaseStructure {
    /// The name in tables.
    fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Task(structure) => structure.name(),
            Self::Lab(structure) => structure.name(),
        }
    }
}

/// A case that is tried: a question, a structure and its memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccuracyCase {
    /// Place in the study's questions.
    pub(super) question: usize,
    pub(super) structure: CaseStructure,
    pub(super) memory: usize,
}

impl AccuracyCase {
    /// Returns the cases of each structure of each of these questions, the lab's after those of tasks, and of the planner's choice, in this
    /// much memory.
    pub(super) fn all(questions: &[AccuracyQuestion], memory: usize) -> Vec<Self> {
        let of = |(question, asked): (usize, &AccuracyQuestion)| {
            // The questions have keys of more than the four bytes that the Reversible sketch reads off its counters; the one with sets of
            // bytes is not compared.
            let structures =
                task::catalog::structures(asked.kind).filter(|one| *one != Structure::Reversible);
            let lab = LabStructure::of_kind(asked.kind).map(CaseStructure::Lab);
            let structures = structures.map(CaseStructure::Task).chain(lab).chain([CaseStructure::Planner]);
            structures.map(move |structure| Self { question, structure, memory }).collect::<Vec<_>>()
        };
        questions.iter().enumerate().flat_map(of).collect()
    }
}

/// The result of a case: by seed, or why it cannot be run.
#[derive(Debug, Default)]
pub(super) struct Trials {
    pub(super) scores: Vec<AnswerScore>,
    /// Processor time of counting a window, nanoseconds.
    pub(super) times: Vec<f64>,
    pub(super) chosen: Option<Structure>,
    memory_bytes: Option<u64>,
    /// Answers that cover all packets of their window.
    complete: usize,
    /// The first answer's status that was not `ok`.
    status: Option<String>,
    pub(super) refused: Option<String>,
}

impl Trials {
    /// The result for a window of this many packets.
    fn add(&mut self, tried: Result<(AnswerScore, TrialResult), String>, packets: u64) {
        match tried {
            Ok((score, TrialResult { answer, structure, ns })) => {
                self.scores.push(score);
                self.times.push(ns);
                self.chosen = structure;
                self.memory_bytes = Some(answer.note.memory_bytes);
                self.complete += usize::from(answer.note.total == packets);
                self.status = self.status.take().or((answer.status != "ok").then_some(answer.status));
            }
            Err(why) => self.refused = Some(why),
        }
    }

    /// Every seed was answered, and each answer covers all packets of its window.
    fn is_checked(&self) -> bool {
        self.refused.is_none() && !self.scores.is_empty() && self.complete == self.scores.len()
    }
}

/// Calls `work` for each item, on this many threads; results in the items' order.
fn on_threads<I: Sync, T: Send>(threads: usize, items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let some = || {
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let items = numbers.map_while(|number| Some((number, items.get(number)?)));
        items.map(|(number, item)| (number, work(item))).collect::<Vec<_>>()
    };
    let mut results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(some)).collect();
        let mut results = some();
        for other in others {
            match other.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Cases on a stream.
pub(super) struct Study<'a> {
    /// The part of the bench that the study is.
    pub(super) part: &'static str,
    pub(super) stream: &'a StreamKind,
    pub(super) questions: &'a [AccuracyQuestion],
    pub(super) design: TrialDesign,
    pub(super) cases: Vec<AccuracyCase>,
    /// The fewest seeds.
    pub(super) seeds: u64,
    /// Cases that are tried at a time; more than one where times are not measured.
    pub(super) threads: usize,
}

impl Study<'_> {
    /// Tries every case with every seed.
    ///
    /// # Errors
    /// What is wrong with the stream.
    pub(super) fn run(&self) -> Result<Vec<Trials>, String> {
        let mut all: Vec<Trials> = self.cases.iter().map(|_| Trials::default()).collect();
        for seed in 1..=self.stream.samples(self.seeds) {
            let sample = self.stream.sample(seed)?;
            let counted = TruthContext::new(&sample.now, sample.before.as_ref());
            let truths: Vec<_> = self.questions.iter().map(|question| counted.truth(question)).collect();
            let packets = sample.now.packets;
            let share = |window| self.design.share(window, &sample.seed);
            let before = sample.before.map(share);
            let windows = WorkerWindows { seed: sample.seed, before, now: share(sample.now), packets };
            let is_open = |case: &usize| all[*case].refused.is_none();
            let open: Vec<usize> = (0..self.cases.len()).filter(is_open).collect();
            let tried = on_threads(self.threads, &open, |at| {
                let case = &self.cases[*at];
                self.attempt(case, truths[case.question].as_ref(), &windows)
            });
            open.into_iter().zip(tried).for_each(|(at, tried)| all[at].add(tried, windows.packets));
        }
        Ok(all)
    }

    fn attempt(
        &self,
        case: &AccuracyCase,
        truth: Option<&WindowTruth>,
        windows: &WorkerWindows,
    ) -> Result<(AnswerScore, TrialResult), String> {
        let truth = truth.ok_or_else(|| {
            format!("one window of {} packets, and none before it to compare with", windows.packets)
        })?;
        let question = &self.questions[case.question];
        let with_before = question.kind == TaskKind::Change;
        let of_task = |structure| {
            let spec = question.task(structure, case.memory)?;
            trial::run(&spec, self.design, windows, with_before)
        };
        let outcome = match case.structure {
            CaseStructure::Planner => of_task(None)?,
            CaseStructure::Task(structure) => of_task(Some(structure))?,
            CaseStructure::Lab(structure) => structure.run(question, case.memory, windows)?,
        };
        Ok((score(truth, &outcome.answer), outcome))
    }

    /// The line of a case.
    pub(super) fn line(&self, case: &AccuracyCase, trials: &Trials) -> BenchResult {
        let rounds_ns = trials.times.clone();
        let mut more = vec![("seeds", json!(trials.scores.len())), ("threads", json!(self.threads))];
        if case.structure == CaseStructure::Planner {
            more.extend(trials.chosen.map(|structure| ("chosen", json!(structure.name()))));
        }
        for metric in AccuracyMetric::ALL {
            if let Some([middle, least, most]) = spread(&trials.scores, metric) {
                let [name, spread] = metric.names();
                more.push((name, json!(middle)));
                more.push((spread, json!([least, most])));
            }
        }
        let promised = trials.scores.iter().filter_map(|score| score.confidence).reduce(f64::min);
        more.extend(promised.map(|promised| ("promised_coverage", json!(to_digits(promised, DIGITS)))));
        more.extend(trials.status.as_ref().map(|status| ("status", json!(status))));
        more.extend(trials.refused.as_ref().map(|why| ("refused", json!(why))));
        BenchResult {
            bench: BENCH,
            variant: case.structure.name().to_owned(),
            params: self.params(case),
            packets: self.stream.packets(),
            rounds_ns,
            memory_bytes: trials.memory_bytes,
            checked: trials.is_checked(),
            more,
        }
    }

    fn params(&self, case: &AccuracyCase) -> Vec<(&'static str, Value)> {
        vec![
            ("part", json!(self.part)),
            ("task", json!(self.questions[case.question].name)),
            ("stream", json!(self.stream.name())),
            ("zipf", self.stream.zipf()),
            ("memory", json!(size_text(case.memory))),
            ("design", json!(self.design.name)),
        ]
    }

    /// Emits a line for each case.
    ///
    /// # Errors
    /// As [`Study::run`].
    pub(super) fn report(&self, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
        let trials = self.run()?;
        self.cases.iter().zip(&trials).for_each(|(case, trials)| out(self.line(case, trials)));
        Ok(())
    }
}

/// Median, least and most of a measure; `None` if it never meant anything.
pub(super) fn spread(scores: &[AnswerScore], metric: AccuracyMetric) -> Option<[f64; 3]> {
    let values: Vec<f64> = scores.iter().filter_map(|score| score.get(metric)).collect();
    let [least, most] = compare::spread(&values);
    let middle = (!values.is_empty()).then(|| compare::median(&values))?;
    Some([middle, least, most].map(|value| to_digits(value, DIGITS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 20_000;

    fn studied(design: TrialDesign, memory: usize) -> Vec<(AccuracyQuestion, AccuracyCase, Trials)> {
        let stream = StreamKind::generated(PACKETS, Some(2_000));
        let questions = AccuracyQuestion::all(PACKETS);
        let cases = AccuracyCase::all(&questions, memory);
        let study = Study {
            part: "test",
            stream: &stream,
            questions: &questions,
            design,
            cases,
            seeds: 1,
            threads: 2,
        };
        let trials = study.run().expect("trials");
        let all = study.cases.iter().zip(trials);
        all.map(|(case, trials)| (questions[case.question].clone(), *case, trials)).collect()
    }

    fn is_perfect(score: &AnswerScore) -> bool {
        let is = |metric, value: f64| score.get(metric).is_none_or(|got| (got - value).abs() < 1e-9);
        [AccuracyMetric::Precision, AccuracyMetric::Recall, AccuracyMetric::F1, AccuracyMetric::Coverage]
            .iter()
            .all(|one| is(*one, 1.0))
            && [
                AccuracyMetric::Are,
                AccuracyMetric::Aae,
                AccuracyMetric::Wmre,
                AccuracyMetric::RelativeError,
                AccuracyMetric::RankError,
            ]
            .iter()
            .all(|none| is(*none, 0.0))
    }

    #[test]
    fn every_structure_is_measured_and_the_exact_one_is_right() {
        for (question, case, trials) in studied(TrialDesign::ONE, 2 << 20) {
            let of = format!("{question:?} {case:?} {trials:?}");
            if case.structure == CaseStructure::Task(Structure::DdSketch)
                && question.name != "quantiles of sizes"
            {
                assert!(trials.refused.is_some(), "{of}");
                continue;
            }
            assert_eq!((&trials.refused, trials.scores.len()), (&None, 1), "{of}");
            assert!(trials.is_checked(), "{of}");
            let score = &trials.scores[0];
            for share in [
                AccuracyMetric::Precision,
                AccuracyMetric::Recall,
                AccuracyMetric::F1,
                AccuracyMetric::Coverage,
                AccuracyMetric::RankError,
            ] {
                assert!(score.get(share).is_none_or(|share| (0.0..=1.0).contains(&share)), "{of}");
            }
            for error in [AccuracyMetric::Are, AccuracyMetric::Aae, AccuracyMetric::RelativeError] {
                assert!(score.get(error).is_none_or(|error| error.is_finite() && error >= 0.0), "{of}");
            }
            assert!(score.get(AccuracyMetric::Wmre).is_none_or(|wmre| (0.0..=2.0).contains(&wmre)), "{of}");
            if case.structure == CaseStructure::Task(Structure::Exact) {
                assert!(is_perfect(score), "{of}");
                let main = match question.kind {
                    TaskKind::HeavyHitters | TaskKind::SuperSpreaders | TaskKind::Change => {
                        AccuracyMetric::F1
                    }
                    TaskKind::FlowSizes => AccuracyMetric::Wmre,
                    TaskKind::Entropy | TaskKind::Distinct | TaskKind::Inner => AccuracyMetric::RelativeError,
                    TaskKind::Quantiles => AccuracyMetric::RankError,
                };
                assert!(score.get(main).is_some(), "nothing was asked: {of}");
            }
        }
    }

    /// Structures with certain bounds keep them in every design, and ranks are as near as their memory promises.
    #[test]
    fn summaries_of_ranks_keep_their_bounds_in_every_design() {
        for design in TrialDesign::SEVERAL.into_iter().chain([TrialDesign::ONE]) {
            let mut answered = 0;
            for (question, case, trials) in studied(design, 16 << 10) {
                let of = format!("{design:?} {question:?} {case:?} {trials:?}");
                let (CaseStructure::Lab(_), TaskKind::Quantiles) = (case.structure, question.kind) else {
                    continue;
                };
                let score = &trials.scores[0];
                assert!(trials.is_checked() && score.get(AccuracyMetric::Coverage) == Some(1.0), "{of}");
                assert!(score.get(AccuracyMetric::RankError).is_some_and(|error| error < 0.02), "{of}");
                answered += 1;
            }
            assert_eq!(answered, 4);
        }
    }

    #[test]
    fn merged_exact_tables_are_right_in_every_design() {
        for design in TrialDesign::SEVERAL {
            let exact = studied(design, 2 << 20);
            let exact =
                exact.iter().filter(|(_, case, _)| case.structure == CaseStructure::Task(Structure::Exact));
            let mut tasks = 0;
            for (question, _, trials) in exact {
                assert_eq!((&trials.refused, trials.is_checked()), (&None, true), "{question:?}");
                assert!(is_perfect(&trials.scores[0]), "{design:?} {question:?} {trials:?}");
                tasks += 1;
            }
            assert_eq!(tasks, AccuracyQuestion::all(PACKETS).len());
        }
    }

    #[test]
    fn checked_is_what_was_answered_for_all_packets_and_every_seed() {
        let of = |counted: &[u64], refused: Option<&str>| {
            let stream = StreamKind::generated(PACKETS, Some(2_000));
            let question = &AccuracyQuestion::all(PACKETS)[0];
            let sample = stream.sample(1).expect("a window");
            let spec = question.task(None, 1 << 20).expect("a task");
            let windows =
                WorkerWindows { seed: sample.seed, before: None, now: vec![sample.now], packets: PACKETS };
            let mut trials = Trials::default();
            for packets in counted {
                let outcome = trial::run(&spec, TrialDesign::ONE, &windows, false).expect("an answer");
                trials.add(Ok((AnswerScore::from_values(vec![]), outcome)), *packets);
            }
            refused.into_iter().for_each(|why| trials.add(Err(why.to_owned()), PACKETS));
            trials.is_checked()
        };
        assert!(of(&[PACKETS, PACKETS], None));
        assert!(!of(&[PACKETS, PACKETS + 1], None));
        assert!(!of(&[PACKETS], Some("it cannot")));
        assert!(!of(&[], None));
    }

    #[test]
    fn what_a_design_forbids_is_said() {
        let trials = studied(TrialDesign::SEVERAL[2], 1 << 20);
        let refused = |structure| {
            let of = trials.iter().find(|(_, case, _)| case.structure == CaseStructure::Task(structure));
            of.and_then(|(_, _, trials)| trials.refused.clone()).unwrap_or_default()
        };
        assert!(refused(Structure::Conservative).contains("one core"));
        assert!(refused(Structure::StreamSample).contains("one core"));
    }

    #[test]
    fn threads_share_the_work_and_keep_its_order() {
        let items: Vec<usize> = (0..1_000).collect();
        for threads in [1, 3] {
            assert_eq!(on_threads(threads, &items, |item| *item), items);
        }
        assert!(on_threads(2, &[] as &[u8], |item| *item).is_empty());
    }

    #[test]
    fn lines_have_the_median_and_its_spread() {
        let of = |f1: f64| AnswerScore::from_values(vec![(AccuracyMetric::F1, f1)]);
        assert_eq!(spread(&[of(0.5), of(1.0), of(0.75)], AccuracyMetric::F1), Some([0.75, 0.5, 1.0]));
        assert_eq!(spread(&[of(0.5), of(1.0)], AccuracyMetric::F1), Some([0.75, 0.5, 1.0]));
        assert_eq!(spread(&[of(0.5)], AccuracyMetric::Recall), None);
    }
}
