//! The promises of the planner's choice on a million packets of Zipf(1), and the results of every structure in the same memory.

use super::metrics::AccuracyMetric;
use super::question::AccuracyQuestion;
use super::stream::StreamKind;
use super::study::{AccuracyCase, Study, spread};
use super::trial::TrialDesign;
use crate::BenchResult;
use serde_json::json;

/// Seeds with which promises are checked.
const SEEDS: u64 = 10;

/// A measure, and how good it has to be by the median.
struct AccuracyTarget {
    /// Name of the question.
    question: &'static str,
    memory: usize,
    metric: AccuracyMetric,
    limit: f64,
}

const fn promise(
    question: &'static str,
    memory: usize,
    metric: AccuracyMetric,
    limit: f64,
) -> AccuracyTarget {
    AccuracyTarget { question, memory, metric, limit }
}

const PROMISES: [AccuracyTarget; 6] = [
    promise("heavy hitters", 128 << 10, AccuracyMetric::F1, 0.99),
    promise("super-spreaders", 1 << 20, AccuracyMetric::RelativeError, 0.05),
    promise("flow sizes", 1 << 20, AccuracyMetric::Wmre, 0.1),
    promise("entropy", 256 << 10, AccuracyMetric::RelativeError, 0.01),
    promise("quantiles of source addresses", 256 << 10, AccuracyMetric::RankError, 0.01),
    promise("quantiles of sizes", 256 << 10, AccuracyMetric::RankError, 0.01),
];

impl AccuracyTarget {
    /// True if the measure is as good as was promised.
    fn holds(&self, value: f64) -> bool {
        if self.metric == AccuracyMetric::F1 { value >= self.limit } else { value <= self.limit }
    }
}

/// The memory of a question of which nothing is promised, such as changes, bytes.
const DEFAULT_MEMORY: usize = 1 << 20;

/// The memory in which something is promised of a question.
pub(super) fn memory_of(question: &AccuracyQuestion) -> usize {
    let promise = PROMISES.iter().find(|promise| promise.question == question.name);
    promise.map_or(DEFAULT_MEMORY, |promise| promise.memory)
}

/// Measures all of them.
///
/// # Errors
/// What is wrong with the stream.
pub(super) fn run(
    stream: &StreamKind,
    questions: &[AccuracyQuestion],
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let promise_of = |case: &AccuracyCase| {
        let name = questions[case.question].name;
        PROMISES.iter().find(|promise| promise.question == name && promise.memory == case.memory)
    };
    let mut sizes: Vec<usize> = PROMISES.iter().map(|promise| promise.memory).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let cases = sizes.into_iter().flat_map(|memory| AccuracyCase::all(questions, memory));
    let cases: Vec<AccuracyCase> = cases.filter(|case| promise_of(case).is_some()).collect();
    let study = Study {
        part: "promise",
        stream,
        questions,
        design: TrialDesign::ONE,
        cases,
        seeds: SEEDS,
        threads: 1,
    };
    for (case, trials) in study.cases.iter().zip(study.run()?) {
        let mut line = study.line(case, &trials);
        if let Some(promise) = promise_of(case) {
            let holds =
                spread(&trials.scores, promise.metric).is_some_and(|[median, ..]| promise.holds(median));
            line.more.push(("of", json!(promise.metric.names()[0])));
            line.more.push(("asked", json!(promise.limit)));
            line.more.push(("holds", json!(holds)));
        }
        out(line);
    }
    Ok(())
}
