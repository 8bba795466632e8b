//! Estimates of heavy hitters over all packets from a sample: scaled, with the bounds of the structure and of the sample.

use crate::spec::{TaskSpec, Weight};
use crate::task_answer::{TaskAnswer, TaskRows};
use flow::{Bounds, Estimate, Sampled};

/// Makes the answer one of all packets. Only answers that are heavy hitters of a share of the traffic are counted of a sample.
pub(crate) fn scale_to_all(answer: &mut TaskAnswer, spec: &TaskSpec, sampled: &Sampled) {
    answer.is_exact = false;
    if let TaskRows::Flows { flows, most_unlisted, .. } = &mut answer.rows {
        // A flow that the sample has nothing of may have had anything.
        *most_unlisted = None;
        for flow in flows {
            flow.estimate = scaled(flow.estimate, spec.weight, sampled);
            flow.own = flow.own.map(|own| scaled(own, spec.weight, sampled));
        }
    }
}

/// Scales an estimate to all packets. Its bounds fail if those of the structure or those of the sample fail.
fn scaled(seen: Estimate, weight: Weight, sampled: &Sampled) -> Estimate {
    let (lower, upper) = seen.bounds.map_or((seen.value, seen.value), |bounds| (bounds.lower, bounds.upper));
    let of_all = match weight {
        Weight::Packets => sampled.packets_between(seen.value, lower.max(0.0), upper),
        Weight::Bytes => sampled.bytes_between(seen.value, lower.max(0.0), upper),
    };
    let bounds = seen.bounds.zip(of_all.bounds).map(|(seen, of_all)| Bounds {
        confidence: (seen.confidence + of_all.confidence - 1.0).max(0.0),
        ..of_all
    });
    Estimate { bounds, ..of_all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::Share;

    #[test]
    fn both_bounds_widen_and_either_may_fail() {
        let sampled = Sampled::new(Share::from_ppm(500_000).expect("a share"), 100, 0, 1500);
        let exact = scaled(Estimate::exact(40.0), Weight::Packets, &sampled);
        assert_eq!(exact, sampled.packets(40.0));
        let seen = Estimate::bounded(40.0, 35.0, 40.0, 0.99);
        let both = scaled(seen, Weight::Packets, &sampled);
        let (of_exact, of_both) = (exact.bounds.expect("bounds"), both.bounds.expect("bounds"));
        assert!(of_both.lower < of_exact.lower && of_both.upper == of_exact.upper);
        assert!((of_both.confidence - 0.94).abs() < 1e-9);
        assert_eq!(scaled(Estimate::unbounded(3.0), Weight::Bytes, &sampled), Estimate::unbounded(6.0));
    }
}
