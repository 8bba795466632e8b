//! The accuracy of an answer.

use super::truth::WindowTruth;
use flow::Estimate;
use hashbrown::{HashMap, HashSet};
use packet::FlowKey;
use task::{EstimatedFlow, Point, QuantileRow, TaskAnswer, TaskRows};

/// A measure, as `docs/accuracy.md` defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccuracyMetric {
    /// Precision: the share of the named flows that belong into the answer.
    Precision,
    /// Recall: the share of the flows that belong into the answer that is named.
    Recall,
    /// F1: the harmonic mean of precision and recall.
    F1,
    /// Mean relative error over the flows that belong into the answer; a flow that is not named has 1.
    Are,
    /// Mean absolute error over the flows that belong into the answer.
    Aae,
    /// Weighted mean relative difference of two size distributions (Kumar et al. 2004).
    Wmre,
    /// Relative error of one figure; of spreaders the mean over the true ones, which is [`AccuracyMetric::Are`].
    RelativeError,
    /// The largest distance between the requested share and one that the value has.
    RankError,
    /// The share of the rows with bounds whose bounds contain the truth.
    Coverage,
}

impl AccuracyMetric {
    /// The measures in the order of tables.
    pub(super) const ALL: [Self; 9] = [
        Self::Precision,
        Self::Recall,
        Self::F1,
        Self::RelativeError,
        Self::Are,
        Self::Aae,
        Self::Wmre,
        Self::RankError,
        Self::Coverage,
    ];

    /// The member of a line that has the median, and the one with the least and the most.
    pub(super) fn names(self) -> [&'static str; 2] {
        match self {
            Self::Precision => ["precision", "precision_spread"],
            Self::Recall => ["recall", "recall_spread"],
            Self::F1 => ["f1", "f1_spread"],
            Self::Are => ["are", "are_spread"],
            Self::Aae => ["aae", "aae_spread"],
            Self::Wmre => ["wmre", "wmre_spread"],
            Self::RelativeError => ["relative_error", "relative_error_spread"],
            Self::RankError => ["rank_error", "rank_error_spread"],
            Self::Coverage => ["coverage", "coverage_spread"],
        }
    }

    /// Returns the name of the measure in tables.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Precision => "precision",
            Self::Recall => "recall",
            Self::F1 => "F1",
            Self::Are => "ARE",
            Self::Aae => "AAE",
            Self::Wmre => "WMRE",
            Self::RelativeError => "relative error",
            Self::RankError => "rank error",
            Self::Coverage => "coverage",
        }
    }
}

/// The measures of one answer. A measure that means nothing there is missing, such as the recall where nothing belongs into the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnswerScore {
    values: Vec<(AccuracyMetric, f64)>,
    /// The least probability with which bounds were promised.
    pub(super) confidence: Option<f64>,
}

impl AnswerScore {
    /// Returns one measure; none if it is missing.
    pub(super) fn get(&self, metric: AccuracyMetric) -> Option<f64> {
        self.values.iter().find(|(of, _)| *of == metric).map(|(_, value)| *value)
    }

    #[cfg(test)]
    pub(super) fn from_values(values: Vec<(AccuracyMetric, f64)>) -> Self {
        Self { values, confidence: None }
    }

    fn set(&mut self, metric: AccuracyMetric, value: Option<f64>) {
        self.values.extend(value.map(|value| (metric, value)));
    }
}

/// Compares an answer with the truth of the same kind.
pub(super) fn score(truth: &WindowTruth, answer: &TaskAnswer) -> AnswerScore {
    let mut score = AnswerScore::default();
    match (truth, &answer.rows) {
        (WindowTruth::Flows { figures, least }, TaskRows::Flows { flows, .. }) => {
            score_flows(&mut score, figures, *least, flows);
            if answer.name == "super_spreaders" {
                score.values.retain(|(metric, _)| *metric != AccuracyMetric::Aae);
                score
                    .values
                    .iter_mut()
                    .filter(|(metric, _)| *metric == AccuracyMetric::Are)
                    .for_each(|(metric, _)| *metric = AccuracyMetric::RelativeError);
            }
        }
        (WindowTruth::Sizes(truth), TaskRows::Sizes { sizes, .. }) => {
            score.set(AccuracyMetric::Wmre, wmre(truth, sizes));
        }
        (WindowTruth::Entropy(bits), TaskRows::Entropy(Some(estimate))) => {
            let error = (estimate.value - bits).abs();
            let is_none = error == 0.0 && *bits == 0.0;
            score.set(AccuracyMetric::RelativeError, Some(if is_none { 0.0 } else { error / bits }));
            score_bounds(&mut score, std::iter::once((estimate, *bits)));
        }
        (WindowTruth::Distinct(figure), TaskRows::Distinct(estimate))
        | (WindowTruth::Inner(figure), TaskRows::Inner { product: estimate, .. }) => {
            score.set(AccuracyMetric::RelativeError, Some((estimate.value / figure - 1.0).abs()));
            score_bounds(&mut score, std::iter::once((estimate, *figure)));
        }
        (WindowTruth::Quantiles(values), TaskRows::Quantiles { quantiles, .. }) => {
            score_quantiles(&mut score, values, quantiles);
        }
        // Nothing was answered.
        _ => {}
    }
    score
}

fn score_flows(score: &mut AnswerScore, figures: &HashMap<FlowKey, f64>, least: f64, rows: &[EstimatedFlow]) {
    let belongs = |figure: f64| figure.abs() >= least;
    let figure = |key: &FlowKey| figures.get(key).copied().unwrap_or(0.0);
    let named: HashSet<FlowKey> = rows.iter().map(|row| row.key).collect();
    let right = named.iter().filter(|key| belongs(figure(key))).count() as f64;
    let true_flows: Vec<(&FlowKey, f64)> =
        figures.iter().map(|(key, figure)| (key, *figure)).filter(|(_, figure)| belongs(*figure)).collect();
    let share = |part: f64, whole: usize| (whole > 0).then(|| part / whole as f64);
    score.set(AccuracyMetric::Precision, share(right, named.len()));
    score.set(AccuracyMetric::Recall, share(right, true_flows.len()));
    score.set(AccuracyMetric::F1, f1(right as usize, named.len(), true_flows.len()));
    let estimates: HashMap<FlowKey, f64> = rows.iter().map(|row| (row.key, row.estimate.value)).collect();
    let errors: Vec<(f64, f64)> = true_flows
        .iter()
        .map(|(key, figure)| ((estimates.get(*key).copied().unwrap_or(0.0) - figure).abs(), figure.abs()))
        .collect();
    let relative: f64 = errors.iter().map(|(error, figure)| error / figure).sum();
    score.set(AccuracyMetric::Are, share(relative, errors.len()));
    score.set(AccuracyMetric::Aae, share(errors.iter().map(|(error, _)| error).sum(), errors.len()));
    score_bounds(score, rows.iter().map(|row| (&row.estimate, figure(&row.key))));
}

/// The harmonic mean of precision and recall, by the numbers of flows that are named rightly, that are named, and that belong into the answer;
/// `None` if there are none of both.
pub(super) fn f1(right: usize, named: usize, belonging: usize) -> Option<f64> {
    let all = named + belonging;
    (all > 0).then(|| 2.0 * right as f64 / all as f64)
}

/// Sets the coverage of estimates, each of which comes with the truth.
fn score_bounds<'a>(score: &mut AnswerScore, rows: impl Iterator<Item = (&'a Estimate, f64)>) {
    // What was added up in another order differs in the last bits.
    let near = |value: f64| 1e-9 * value.abs();
    let rows = rows.filter_map(|(estimate, truth)| {
        let bounds = estimate.bounds?;
        let holds = bounds.lower <= truth + near(truth) && truth - near(truth) <= bounds.upper;
        Some((holds, bounds.confidence))
    });
    covered(score, rows);
}

/// Sets the coverage of rows, each of which says whether its bounds hold and with which probability that is promised.
fn covered(score: &mut AnswerScore, rows: impl Iterator<Item = (bool, f64)>) {
    let rows: Vec<(bool, f64)> = rows.collect();
    let holding = rows.iter().filter(|(holds, _)| *holds).count() as f64;
    score.set(AccuracyMetric::Coverage, (!rows.is_empty()).then(|| holding / rows.len() as f64));
    score.confidence = rows.iter().map(|(_, confidence)| *confidence).reduce(f64::min);
}

/// Σ|n − n̂| / Σ(n + n̂)/2 over all sizes; `None` if there are no flows on either side.
fn wmre(sizes: &HashMap<u64, f64>, rows: &[(u64, f64)]) -> Option<f64> {
    let mut estimated: HashMap<u64, f64> = HashMap::new();
    rows.iter().for_each(|(size, flows)| *estimated.entry(*size).or_default() += flows);
    let all: HashSet<u64> = sizes.keys().chain(estimated.keys()).copied().collect();
    let pair = |size: &u64| {
        let of = |map: &HashMap<u64, f64>| map.get(size).copied().unwrap_or(0.0);
        (of(sizes), of(&estimated))
    };
    let difference: f64 = all.iter().map(pair).map(|(a, b)| (a - b).abs()).sum();
    let mean: f64 = all.iter().map(pair).map(|(a, b)| (a + b) / 2.0).sum();
    (mean > 0.0).then(|| difference / mean)
}

fn score_quantiles(score: &mut AnswerScore, values: &[Vec<Point>; 2], rows: &[QuantileRow]) {
    let family = |value: &Point| {
        let is_second = matches!(value, Point::Address(std::net::IpAddr::V6(_)));
        &values[usize::from(is_second)]
    };
    let errors = rows.iter().map(|row| rank_error(family(&row.value), row.share, row.value));
    score.set(AccuracyMetric::RankError, errors.reduce(f64::max));
    let bounds = rows.iter().filter_map(|row| {
        let (lower, upper, confidence) = row.bounds?;
        let truth = quantile(family(&row.value), row.share)?;
        Some(((lower..=upper).contains(&truth), confidence))
    });
    covered(score, bounds);
}

/// The least value such that this share of all is not above it.
fn quantile(values: &[Point], share: f64) -> Option<Point> {
    let rank = (share * values.len() as f64).ceil().max(1.0) as usize;
    values.get(rank.min(values.len()).checked_sub(1)?).copied()
}

/// Returns the distance of `share` from the share of values that do not lie above `value`. Any share between those below it and those up to it
/// is its own.
fn rank_error(values: &[Point], share: f64, value: Point) -> f64 {
    let all = values.len().max(1) as f64;
    let below = values.partition_point(|other| *other < value) as f64 / all;
    let up_to = values.partition_point(|other| *other <= value) as f64 / all;
    (below - share).max(share - up_to).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::Estimate;
    use model::TaskNote;
    use packet::KeySpec;
    use std::net::{IpAddr, Ipv4Addr};
    use task::SizeBins;

    fn answer(name: &'static str, rows: TaskRows) -> TaskAnswer {
        let note = TaskNote {
            text: String::new(),
            structure: String::new(),
            why: String::new(),
            memory_bytes: 0,
            total: 0,
            lost: Some(0),
            most_unlisted: None,
        };
        let (status, untold) = ("ok".to_owned(), Default::default());
        TaskAnswer { name, note, status, is_exact: true, rows, untold, shape: None }
    }

    fn key(number: u8) -> FlowKey {
        FlowKey { src_addr: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, number))), ..FlowKey::default() }
    }

    fn flows(name: &'static str, rows: &[(u8, Estimate)]) -> TaskAnswer {
        let flows = rows
            .iter()
            .map(|(number, estimate)| EstimatedFlow {
                key: key(*number),
                prefix: None,
                estimate: *estimate,
                own: None,
            })
            .collect();
        answer(
            name,
            TaskRows::Flows {
                key: KeySpec::FIVE_TUPLE,
                figure: "total_count",
                is_hierarchy: false,
                keys_are_certain: true,
                flows,
                more: 0,
                most_unlisted: None,
            },
        )
    }

    fn truth(figures: &[(u8, f64)], least: f64) -> WindowTruth {
        let figures = figures.iter().map(|(number, figure)| (key(*number), *figure)).collect();
        WindowTruth::Flows { figures, least }
    }

    fn near(value: Option<f64>, expected: f64) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-12), "{value:?}, not {expected}");
    }

    #[test]
    fn flows_found_missed_and_invented() {
        let truth = truth(&[(1, 100.0), (2, 50.0), (3, 40.0), (4, 39.0), (5, 1.0)], 40.0);
        let rows = [
            (1, Estimate::bounded(110.0, 90.0, 110.0, 0.9)),
            (2, Estimate::bounded(60.0, 51.0, 60.0, 0.8)),
            (4, Estimate::bounded(45.0, 39.0, 45.0, 0.99)),
            (9, Estimate::unbounded(41.0)),
        ];
        let score = score(&truth, &flows("heavy_hitters", &rows));
        near(score.get(AccuracyMetric::Precision), 2.0 / 4.0);
        near(score.get(AccuracyMetric::Recall), 2.0 / 3.0);
        near(score.get(AccuracyMetric::F1), 2.0 * 0.5 * (2.0 / 3.0) / (0.5 + 2.0 / 3.0));
        near(score.get(AccuracyMetric::Are), (0.1 + 0.2 + 1.0) / 3.0);
        near(score.get(AccuracyMetric::Aae), (10.0 + 10.0 + 40.0) / 3.0);
        near(score.get(AccuracyMetric::Coverage), 2.0 / 3.0);
        assert_eq!(score.confidence, Some(0.8));
        assert_eq!(score.get(AccuracyMetric::RelativeError), None);
    }

    #[test]
    fn spreaders_have_a_relative_error() {
        let rows = [(1, Estimate::unbounded(90.0))];
        let score = score(&truth(&[(1, 100.0), (2, 3.0)], 10.0), &flows("super_spreaders", &rows));
        near(score.get(AccuracyMetric::RelativeError), 0.1);
        assert_eq!(
            (
                score.get(AccuracyMetric::Are),
                score.get(AccuracyMetric::Aae),
                score.get(AccuracyMetric::Coverage)
            ),
            (None, None, None)
        );
    }

    #[test]
    fn changes_go_either_way() {
        let truth = truth(&[(1, -100.0), (2, 100.0), (3, -5.0)], 50.0);
        let rows = [(1, Estimate::exact(-100.0)), (2, Estimate::bounded(-80.0, -90.0, -70.0, 1.0))];
        let score = score(&truth, &flows("change", &rows));
        near(score.get(AccuracyMetric::F1), 1.0);
        near(score.get(AccuracyMetric::Are), (0.0 + 1.8) / 2.0);
        near(score.get(AccuracyMetric::Coverage), 0.5);
    }

    fn sizes(sizes: Vec<(u64, f64)>) -> TaskRows {
        TaskRows::Sizes { bins: SizeBins::Powers, sizes }
    }

    #[test]
    fn what_means_nothing_is_missing() {
        let none = score(&truth(&[(1, 1.0)], 10.0), &flows("heavy_hitters", &[]));
        assert_eq!(none, AnswerScore::default());
        let missed = score(&truth(&[(1, 11.0)], 10.0), &flows("heavy_hitters", &[]));
        assert_eq!(missed.get(AccuracyMetric::Precision), None);
        near(missed.get(AccuracyMetric::F1), 0.0);
        near(missed.get(AccuracyMetric::Are), 1.0);
        let empty = score(&WindowTruth::Entropy(0.0), &answer("entropy", TaskRows::Entropy(None)));
        assert_eq!(empty, AnswerScore::default());
        assert_eq!(score(&WindowTruth::Sizes(HashMap::new()), &answer("flow_sizes", sizes(vec![]))), empty);
    }

    #[test]
    fn distributions_of_sizes() {
        let truth = WindowTruth::Sizes([(1, 10.0), (2, 4.0), (7, 1.0)].into_iter().collect());
        let rows = |rows| score(&truth, &answer("flow_sizes", sizes(rows)));
        near(rows(vec![(1, 10.0), (2, 4.0), (7, 1.0)]).get(AccuracyMetric::Wmre), 0.0);
        // |10 − 8| + |4 − 5| + |1 − 0| + |0 − 1| of (18 + 9 + 1 + 1) / 2.
        near(rows(vec![(1, 8.0), (2, 5.0), (9, 1.0)]).get(AccuracyMetric::Wmre), 5.0 / 14.5);
        near(rows(vec![]).get(AccuracyMetric::Wmre), 2.0);
    }

    #[test]
    fn entropy_is_off_by_a_part_of_itself() {
        let of = |estimate| {
            score(&WindowTruth::Entropy(4.0), &answer("entropy", TaskRows::Entropy(Some(estimate))))
        };
        let off = of(Estimate::bounded(3.0, 2.0, 3.9, 0.95));
        near(off.get(AccuracyMetric::RelativeError), 0.25);
        near(off.get(AccuracyMetric::Coverage), 0.0);
        near(of(Estimate::exact(4.0)).get(AccuracyMetric::Coverage), 1.0);
    }

    #[test]
    fn ranks_of_values_that_come_often() {
        let numbers = [1, 2, 2, 2, 2, 2, 2, 3, 4, 10].map(Point::Number).to_vec();
        for (value, share, error) in [
            (2, 0.5, 0.0),
            (2, 0.1, 0.0),
            (2, 0.75, 0.05),
            (1, 0.5, 0.4),
            (0, 0.25, 0.25),
            (99, 0.9, 0.1),
            (10, 1.0, 0.0),
        ] {
            let found = rank_error(&numbers, share, Point::Number(value));
            assert!((found - error).abs() < 1e-12, "{value} at {share}: {found}, not {error}");
        }
        assert_eq!(quantile(&numbers, 0.71), Some(Point::Number(3)));
        assert_eq!(quantile(&numbers, 0.7), Some(Point::Number(2)));
        assert_eq!(quantile(&[], 0.5), None);
        let address = |last| Point::Address(IpAddr::V4(Ipv4Addr::new(0, 0, 0, last)));
        let values = [vec![address(1), address(5)], vec![]];
        let row = |share, value, bounds| QuantileRow { share, value, bounds };
        let rows = vec![
            row(0.5, address(1), Some((address(1), address(4), 0.9))),
            row(1.0, address(1), Some((address(1), address(4), 0.7))),
        ];
        let score = score(
            &WindowTruth::Quantiles(values),
            &answer("quantiles", TaskRows::Quantiles { of: "src_addr", quantiles: rows }),
        );
        near(score.get(AccuracyMetric::RankError), 0.5);
        near(score.get(AccuracyMetric::Coverage), 0.5);
        assert_eq!(score.confidence, Some(0.7));
    }
}
