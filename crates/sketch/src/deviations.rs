//! The largest error of the estimates of all flows, by what the counters hold: the bounds of a list, which names the flows with the largest
//! estimates, among which those are frequent that share their counters.
//!
//! The places of a flow are drawn independently of what the other flows have added. In a row it is therefore off by more than B
//! with a probability of no more than the share of counters that are off by more than B, and what that makes of all rows,
//! times the number of flows, bounds the probability that any flow is.

/// Classes of a number, eight in a power of two, so that one pass over the counters is enough: integers below 16 each have their own.
const CLASSES: usize = 64 * 8 + 2;
/// Bits of a `f64` below those that tell its class.
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - 3;
/// The class of 1; all below are 0.
const ONE: u64 = 1_f64.to_bits() >> SHIFT;

fn class_of(deviation: f64) -> usize {
    if deviation < 1.0 {
        0
    } else {
        ((deviation.to_bits() >> SHIFT) - ONE + 1).min(CLASSES as u64 - 1) as usize
    }
}

/// The least number of a class.
fn least_of(class: usize) -> f64 {
    if class == 0 { 0.0 } else { f64::from_bits((ONE + class as u64 - 1) << SHIFT) }
}

/// The deviations of the counters of a row from what is expected of them, by class.
#[derive(Clone, Debug)]
pub(crate) struct RowDeviations([usize; CLASSES]);

impl RowDeviations {
    /// Counts the deviations of the counters of a row. A deviation has no sign.
    pub(crate) fn new(deviations: impl Iterator<Item = f64>) -> Self {
        let mut classes = [0; CLASSES];
        deviations.for_each(|deviation| classes[class_of(deviation)] += 1);
        Self(classes)
    }
}

/// The number that no deviation reaches, except with a probability of `1 - confidence` for all of `flows` together. `hidden`: counters of
/// a row that may deviate less by the weight of a flow whose own they are. `failing`: the probability that a flow's estimate is off by more, from the
/// shares of the rows' counters that are. Beyond all counters where the rows are too short to tell ([`is_told`]).
pub(crate) fn least_not_reached(
    rows: &[RowDeviations],
    (width, hidden): (usize, f64),
    (flows, confidence): (f64, f64),
    failing: impl Fn(&[f64]) -> f64,
) -> f64 {
    let mut beyond = vec![0_usize; rows.len()];
    let mut shares = vec![0.0; rows.len()];
    // From the farthest inwards: all from `class` on are rare enough.
    let mut class = CLASSES;
    while class > 1 {
        for ((sum, share), row) in beyond.iter_mut().zip(&mut shares).zip(rows) {
            *sum += row.0[class - 1];
            *share = (*sum as f64 + hidden) / width as f64;
        }
        if flows * failing(&shares) > 1.0 - confidence {
            break;
        }
        class -= 1;
    }
    least_of(class)
}

/// True of a number of [`least_not_reached`] that the rows tell.
pub(crate) fn is_told(least: f64) -> bool {
    least < least_of(CLASSES)
}

/// A row of fewer empty counters than one in this many does not tell how many flows it has.
const LEAST_EMPTY: usize = 50;

/// A number that is not less than that of the flows in a row of `width` counters of which this many are empty: twice the estimate by linear
/// counting (Whang et al. 1990). `None` where too few are empty to tell.
pub(crate) fn most_flows_by_empty(empty: usize, width: usize) -> Option<f64> {
    let tells = empty * LEAST_EMPTY >= width && empty >= LEAST_EMPTY;
    tells.then(|| 1.0 + 2.0 * width as f64 * (width as f64 / empty as f64).ln())
}
