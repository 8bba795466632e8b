//! Quantiles of values.

use super::{AnswerInput, OK, QualifiedRows};
use crate::Quantity;
use crate::spec::{IPV6_LEFT_OUT, WHOLE_PPM};
use crate::state::{FamilyState, StateKind};
use crate::task_answer::{Point, QuantileRow, TaskRows};
use flow::Estimate;
use sketch::ByteKey;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) fn rows(asked: &AnswerInput<'_>) -> QualifiedRows {
    let (state, spec) = (asked.state(), &asked.task.spec);
    let v4 = |value: f64| match spec.quantity.is_address() {
        true => Point::Address(IpAddr::V4(Ipv4Addr::from_bits(value as u32))),
        false => Point::Number(value as u64),
    };
    let (mut quantiles, mut not_kept) = quantiles_of_part(asked, &state.v4, v4);
    if let Some(part) = &state.v6 {
        let v6 = |value: f64| {
            let bits = u128::from((value as u64) << IPV6_LEFT_OUT) << 64;
            Point::Address(IpAddr::V6(Ipv6Addr::from_bits(bits)))
        };
        let (more, more_not_kept) = quantiles_of_part(asked, part, v6);
        quantiles.extend(more);
        not_kept += more_not_kept;
    }
    let status = match not_kept {
        0 => OK.to_owned(),
        packets => format!("incomplete: {packets} packets with values for which there was no room"),
    };
    (TaskRows::Quantiles { of: Quantity::name(spec.quantity), quantiles }, status)
}

/// Quantiles of one family, and the packets whose value found no room.
fn quantiles_of_part<K: ByteKey>(
    asked: &AnswerInput<'_>,
    part: &FamilyState<K>,
    point: impl Fn(f64) -> Point,
) -> (Vec<QuantileRow>, u64) {
    let StateKind::Values(values) = &part.of else { return (Vec::new(), 0) };
    let shares: Vec<f64> = asked.task.spec.at_ppm.iter().map(|ppm| f64::from(*ppm) / WHOLE_PPM).collect();
    let row = |(share, estimate): (&f64, Option<Estimate>)| {
        let Estimate { value, bounds } = estimate?;
        let bounds = bounds.filter(|bounds| bounds.upper.is_finite());
        let bounds =
            bounds.map(|bounds| (point(bounds.lower.ceil()), point(bounds.upper.floor()), bounds.confidence));
        Some(QuantileRow { share: *share, value: point(value.round()), bounds })
    };
    (shares.iter().zip(values.quantiles(&shares, part.total)).filter_map(row).collect(), values.not_kept())
}
