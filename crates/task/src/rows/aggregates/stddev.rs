//! `stddev(x)`: the standard deviation of the population.

use super::{AddedRows, KeptState, UpdatedByRows};
use crate::rows::owners::Owners;
use crate::rows::program::NodeId;
use crate::rows::scalar::Scalar;
use packet::MaskedKey;

/// The number of values, their mean, and the sum of squared distances from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MomentWords {
    node: NodeId,
}

impl MomentWords {
    pub(crate) fn new(node: NodeId) -> Self {
        Self { node }
    }
}

impl KeptState for MomentWords {
    fn initial(&self) -> &'static [u64] {
        &[0, 0, 0]
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    /// Merges the moments of two sets of values (Chan, Golub and LeVeque, COMPSTAT 1982).
    fn merge(&self, state: &mut [u64], other: &[u64]) {
        if other[0] == 0 {
            return;
        }
        let (ours, theirs) = (state[0] as f64, other[0] as f64);
        let all = ours + theirs;
        let distance = f64::from_bits(other[1]) - f64::from_bits(state[1]);
        let mean = f64::from_bits(state[1]) + distance * theirs / all;
        let squares =
            f64::from_bits(state[2]) + f64::from_bits(other[2]) + distance * distance * ours * theirs / all;
        state[0] += other[0];
        (state[1], state[2]) = (mean.to_bits(), squares.to_bits());
    }

    fn value(&self, state: &[u64]) -> Scalar {
        match state[0] {
            0 => Scalar::Null,
            count => Scalar::float((f64::from_bits(state[2]) / count as f64).max(0.0).sqrt()),
        }
    }

    fn is_flat(&self) -> bool {
        false
    }
}

impl UpdatedByRows for MomentWords {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        let Some(input) = &rows.inputs[0] else { return };
        rows.each_state_of(input.nulls(), |state, row| add_moment(state, input.float(row)));
    }
}

/// Adds a value to a number of values, their mean, and the sum of squared distances from it (Welford, Technometrics 1962).
#[inline(always)]
fn add_moment(state: &mut [u64], value: f64) {
    let (mean, squares) = (f64::from_bits(state[1]), f64::from_bits(state[2]));
    state[0] += 1;
    let distance = value - mean;
    let mean = mean + distance / state[0] as f64;
    state[1] = mean.to_bits();
    state[2] = (squares + distance * (value - mean)).to_bits();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_parts_are_those_of_the_whole() {
        let values: Vec<f64> = (0..200u32).map(|n| f64::from(n * n % 1009) + 1e6).collect();
        let mut whole = [0; 3];
        values.iter().for_each(|value| add_moment(&mut whole, *value));
        for cut in [0, 1, 77, 200] {
            let mut parts = [[0; 3]; 2];
            values[..cut].iter().for_each(|value| add_moment(&mut parts[0], *value));
            values[cut..].iter().for_each(|value| add_moment(&mut parts[1], *value));
            let [mut one, other] = parts;
            let kept = MomentWords::new(0);
            kept.merge(&mut one, &other);
            let [expected, merged] = [whole, one].map(|state| {
                let Scalar::Float(number) = kept.value(&state) else { panic!("no number") };
                number
            });
            let mean = values.iter().sum::<f64>() / 200.0;
            let direct = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 200.0).sqrt();
            assert!((merged / direct - 1.0).abs() < 1e-12 && (expected / direct - 1.0).abs() < 1e-12);
        }
    }
}
