//! The error bounds of a structure that theory gives before anything is counted.

use super::PlannerInput;
use super::rows::rows;
use crate::spec::{Limit, TaskKind};
use crate::{Structure, Weight};
use packet::{Key, KeyV4, MaskedKey, Seed};
use sketch::{
    ByteKey, Configuration, ContactSample, DyadicConfig, EntropySample, ExactCounts, FlowSample, HyperLogLog,
    LinearBitmap, MultiResolutionBitmap, PacketSample, QuantileSketch, SampleAndHold, SizeArray,
    SpaceSavingHeap, SpaceSavingSummary, Summary, ValueReservoir,
};

/// The probability, at most, that not all of an answer's bounds hold together.
const FAILURE: f64 = 0.05;
/// Flows that are kept next to a Count-Min array where only its memory is given.
const CANDIDATES: f64 = 1024.0;
/// Contacts from which on a source is a spreader, if the user gives none.
const DEFAULT_SPREADER: f64 = 1_000.0;

/// The largest configuration of this many bytes.
fn sized<S: Summary>(bytes: usize) -> Option<S::Configuration> {
    S::Configuration::with_bytes(bytes, Seed::new(0)).ok()
}

/// Values of IPv6 have more bits, and its keys more bytes.
fn is_v6<K: Key>() -> bool {
    size_of::<K>() > size_of::<KeyV4>()
}

/// The capacity of a structure of this many bytes: flows that it keeps, or counters of a row if packets are
/// counted. `None` if it cannot be so small.
pub(super) fn capacity<K: ByteKey + MaskedKey>(
    structure: Structure,
    bytes: usize,
    question: &PlannerInput<'_>,
) -> Option<usize> {
    match structure {
        Structure::Exact => sized::<ExactCounts<K>>(bytes).map(|config| config.capacity),
        Structure::CountMin
        | Structure::Conservative
        | Structure::CountSketch
        | Structure::KAry
        | Structure::Reversible
        | Structure::Turnstile
        | Structure::SimpleHashTable
        | Structure::MvSketch
        | Structure::CocoSketch => rows::<K>(structure, bytes, question)?.ok().map(|rows| rows.width),
        Structure::SpreadSketch => rows::<K>(structure, bytes, question)?.ok().map(|_| 1),
        Structure::SpaceSaving => sized::<SpaceSavingSummary<K>>(bytes).map(|config| config.width),
        Structure::SpaceSavingHeap => sized::<SpaceSavingHeap<K>>(bytes).map(|config| config.width),
        Structure::PacketSample => sized::<PacketSample<K>>(bytes).map(|config| config.capacity),
        Structure::FlowSample => sized::<FlowSample<K>>(bytes).map(|config| config.capacity),
        Structure::SampleAndHold => sized::<SampleAndHold<K>>(bytes).map(|config| config.capacity),
        Structure::SizeArray => sized::<SizeArray>(bytes).map(|_| 1),
        Structure::StreamSample => sized::<EntropySample<K>>(bytes).map(|_| 1),
        Structure::ContactSample => sized::<ContactSample<K>>(bytes).map(|config| config.width),
        Structure::Dyadic => {
            let bits = question.spec.quantity.bits(is_v6::<K>());
            DyadicConfig::for_bits(bits, bytes, Seed::new(0)).ok().map(|config| config.width())
        }
        Structure::Reservoir => sized::<ValueReservoir>(bytes).map(|config| config.width),
        Structure::DdSketch => sized::<QuantileSketch>(bytes).map(|_| 1),
        Structure::HyperLogLog => sized::<HyperLogLog>(bytes).map(|config| config.width),
        Structure::Bitmap => sized::<LinearBitmap>(bytes).map(|config| config.width),
        Structure::MultiResolutionBitmap => sized::<MultiResolutionBitmap>(bytes).map(|config| config.width),
    }
}

/// Standard deviations that a normal variable exceeds with at most this probability (Chernoff).
fn deviations(failure: f64) -> f64 {
    (2.0 * (2.0 / failure).ln()).sqrt()
}

/// The relative error (see the planner's head) that a structure of this many bytes keeps; `None` if theory
/// gives none.
pub(super) fn error_bound<K: ByteKey + MaskedKey>(
    structure: Structure,
    bytes: usize,
    question: &PlannerInput<'_>,
) -> Option<f64> {
    let packets = question.packets as f64;
    let wide = if question.spec.weight == Weight::Bytes { 2.0 } else { 1.0 };
    let room = capacity::<K>(structure, bytes, question)? as f64;
    match question.spec.kind {
        TaskKind::HeavyHitters => {
            let share = question.least_share();
            // Of the flows that have the share there are 1/share at most: so all of them are within it at
            // once.
            let failure = FAILURE * share;
            match structure {
                // N / k, for certain (Metwally et al. 2005).
                Structure::SpaceSaving | Structure::SpaceSavingHeap => Some(1.0 / (room * share)),
                // A row is off by k·N/w with a probability of 1/k at most (Markov), all d of them with k⁻ᵈ. Any
                // flow may be taken for a heavy one, and more may be heavy than are kept next to the
                // counters.
                Structure::CountMin | Structure::Conservative if share * CANDIDATES >= 1.0 => {
                    let depth = rows::<K>(structure, bytes, question)?.ok()?.depth;
                    let k = (question.most_entries() as f64 / FAILURE).powf(1.0 / depth as f64);
                    Some(k * wide / (room * share))
                }
                // What is taken of the smallest flow is Poisson's; of bytes it depends on their spread too.
                Structure::PacketSample if question.spec.weight == Weight::Packets => {
                    Some(deviations(failure) / (room.min(packets) * share).sqrt())
                }
                // What passed before a flow was held is geometric (Estan, Varghese 2002).
                Structure::SampleAndHold => Some(-failure.ln() / (room.min(packets) * share)),
                _ => None,
            }
        }
        TaskKind::SuperSpreaders => {
            let contacts = match question.spec.limit {
                Limit::Count(count) => count as f64,
                Limit::SharePpm(_) | Limit::Any => DEFAULT_SPREADER,
            };
            // Half of the contacts are dropped whenever there is no room.
            let one_in = 2_f64.powf((packets / room).log2().ceil().max(0.0));
            match structure {
                Structure::ContactSample if one_in > 1.0 => {
                    let failure = (FAILURE * contacts / packets).min(FAILURE);
                    Some(deviations(failure) * (one_in / contacts).sqrt())
                }
                Structure::ContactSample => Some(0.0),
                _ => None,
            }
        }
        TaskKind::Quantiles => match structure {
            Structure::Dyadic => {
                let levels =
                    f64::from(question.spec.quantity.bits(is_v6::<K>())) - (3.0 * room).log2().floor();
                // Each estimated level on the way down may be too large (as in `DyadicArray::quantile`), in each answer.
                let failure = FAILURE / question.spec.at_ppm.len() as f64;
                Some(if levels > 0.0 { levels * (levels / failure).cbrt() / room } else { 0.0 })
            }
            // Dvoretzky, Kiefer, Wolfowitz, with Massart's constant.
            Structure::Reservoir if room >= packets => Some(0.0),
            Structure::Reservoir => {
                // Samples of several cores that draw alike are a sample of half of that.
                let alike = if question.workers > 1 { 2.0 } else { 1.0 };
                Some((alike * (2.0 / FAILURE).ln() / (2.0 * room)).sqrt())
            }
            _ => None,
        },
        TaskKind::Distinct => distinct_error(structure, bytes, question.most_entries() as f64),
        TaskKind::FlowSizes | TaskKind::Change | TaskKind::Entropy | TaskKind::Inner => None,
    }
}

/// The relative error of a number of distinct values, where a window has all that it can have; `None` if they are too many.
fn distinct_error(structure: Structure, bytes: usize, values: f64) -> Option<f64> {
    let error = match structure {
        Structure::HyperLogLog => HyperLogLog::relative_error(&sized::<HyperLogLog>(bytes)?),
        Structure::Bitmap => LinearBitmap::relative_error(&sized::<LinearBitmap>(bytes)?, values),
        Structure::MultiResolutionBitmap => {
            MultiResolutionBitmap::relative_error(&sized::<MultiResolutionBitmap>(bytes)?, values)
        }
        _ => return None,
    };
    error.is_finite().then_some(error)
}
