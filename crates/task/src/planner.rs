//! Chooses the structure and its size: from the bounds that theory gives before anything is counted, and the
//! packets that a window is expected to have.
//!
//! What rows of windows tell needs none of that: they are few and exact, and tables of them grow as rows come
//! ([`is_from_rows`]). The rest of this module is about tasks that count packets.
//!
//! An exact table is taken where every packet could be of a flow of its own and there still is room. Otherwise the structure
//! with the smallest error that its theory promises in that memory, over all flows in the answer at once (confidence 95 %); where
//! theory promises nothing, the one that measurements favour (docs/accuracy.md). Errors are relative: to the smallest figure in the
//! answer; of quantiles, to all packets.

mod error_bound;
mod rows;

use crate::catalog;
use crate::spec::{Against, Limit, Size, TaskKind, TaskSpec, WHOLE_PPM, Weight};
use crate::{Quantity, Structure};
use error_bound::{capacity, error_bound};
use notation::{grouped, size_text};
use packet::{KeySpec, KeyV4, KeyV6, MaskedKey, Seed};
use sketch::{ByteKey, KeyBytes};

/// Memory for each address family if the user gives none.
const DEFAULT_BYTES: usize = 64 << 20;
/// The most that `error=` may take.
const MOST_BYTES: usize = 4 << 30;
/// The size at which the search for the least memory begins, bytes.
const LEAST_BYTES: usize = 1 << 10;
/// Bytes of a packet in bulk traffic: used to estimate a window's bytes.
const LONG_PACKET: f64 = 1_500.0;
/// Packets of a window if their number is unknown.
const DEFAULT_PACKETS: u64 = 10_000_000;

/// The properties of a run that matter to tasks.
#[derive(Clone, Copy, Debug)]
pub struct RunProperties {
    /// The run's keys.
    pub key: KeySpec,
    /// True if the hash of the keys is the same for both directions.
    pub is_paired: bool,
    /// Packets of a window, where that is known.
    pub packets: Option<u64>,
    /// Workers that count.
    pub workers: usize,
    /// A flow's packets go to several of them, or this is unknown.
    pub scatters: bool,
    /// True if all workers count in one structure of a task, wherever the updates of it commute.
    pub shares: bool,
    /// The seed of the keys' hash.
    pub seed: Seed,
}

/// The structure that was chosen for a task, and its size.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The structure.
    pub structure: Structure,
    /// The bytes that the structure may take for IPv4.
    pub bytes: usize,
    /// The bytes that the structure may take for IPv6, whose keys are longer.
    pub bytes_v6: usize,
    /// The sampling interval of IPv4: a sample takes one in this many.
    pub one_in: u32,
    /// The sampling interval of IPv6, of which fewer flows have room.
    pub one_in_v6: u32,
    /// The reason for the choice.
    pub why: String,
}

/// A task as the planner sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannerInput<'a> {
    pub(crate) spec: &'a TaskSpec,
    /// Flow keys; those of contacts for super-spreaders.
    pub(crate) key: KeySpec,
    /// Packets of a window.
    pub(crate) packets: u64,
    /// Workers that count.
    pub(crate) workers: usize,
}

impl PlannerInput<'_> {
    /// Flows, contacts or values that a window can have.
    pub(crate) fn most_entries(&self) -> u64 {
        let bits = match (self.spec.kind, self.spec.quantity) {
            (TaskKind::SuperSpreaders, _) => 64,
            (TaskKind::Quantiles, Quantity::SrcPort | Quantity::DstPort | Quantity::Size) => 16,
            (TaskKind::Quantiles, _) => 32,
            _ => self.key.bits(),
        };
        1_u64.checked_shl(bits).unwrap_or(u64::MAX).min(self.packets)
    }

    /// The smallest figure in the answer, as a share of the total.
    pub(crate) fn least_share(&self) -> f64 {
        let packets = self.packets as f64;
        match (self.spec.limit, self.spec.weight) {
            (Limit::SharePpm(ppm), _) => f64::from(ppm) / WHOLE_PPM,
            (Limit::Count(count), Weight::Packets) => (count as f64 / packets).min(1.0),
            (Limit::Count(count), Weight::Bytes) => (count as f64 / (packets * LONG_PACKET)).min(1.0),
            // This many flows that together have a tenth of the traffic.
            (Limit::Any, _) => 0.1 / self.spec.top as f64,
        }
    }
}

/// True where the rows of a window answer a task, exactly: where nothing is said of how it is to be counted, or an exact table is
/// asked for without a size. Sizes of single packets are in no row.
pub fn is_from_rows(spec: &TaskSpec) -> bool {
    let is_of_sizes = spec.kind == TaskKind::Quantiles && spec.quantity == Quantity::Size;
    spec.size == Size::Usual && matches!(spec.structure, None | Some(Structure::Exact)) && !is_of_sizes
}

/// A table that grows as rows come.
pub(crate) fn from_rows() -> Choice {
    Choice {
        structure: Structure::Exact,
        bytes: LEAST_BYTES,
        bytes_v6: LEAST_BYTES,
        one_in: 1,
        one_in_v6: 1,
        why: "exact: from the rows of the window's flows".to_owned(),
    }
}

/// Returns why a structure cannot serve this task in this run; `None` where it can.
fn why_not(structure: Structure, question: &PlannerInput<'_>, setting: &RunProperties) -> Option<String> {
    let spec = question.spec;
    if spec.weight == Weight::Bytes
        && let Some(why) = structure.why_not_bytes()
    {
        return Some(why.to_owned());
    }
    if let Some(why) = spec.bins.why_not(structure) {
        return Some(why.to_owned());
    }
    if structure == Structure::DdSketch && spec.quantity != Quantity::Size {
        return Some(
            "its error is relative to the value, which means nothing of addresses and ports".to_owned(),
        );
    }
    if structure == Structure::MvSketch && spec.kind == TaskKind::Change && spec.against != Against::Last {
        return Some("it compares two windows, no average of several and no forecast".to_owned());
    }
    if structure == Structure::Reversible && spec.kind == TaskKind::Change {
        let v6 = question.key.has_addresses().then(|| KeyBytes::new::<KeyV6>(&question.key).err()).flatten();
        let too_long = KeyBytes::new::<KeyV4>(&question.key).err().map(|bytes| (bytes, "IPv4"));
        if let Some((bytes, family)) = too_long.or(v6.map(|bytes| (bytes, "IPv6"))) {
            return Some(format!(
                "it finds changes of keys of four bytes at most, and this one has {bytes} of {family}; key=src_addr/32/32 takes as much of both families"
            ));
        }
    }
    let is_run_key = spec.key.is_none_or(|key| key == setting.key);
    let is_scattered = setting.workers > 1 && (setting.scatters || !is_run_key);
    (is_scattered && structure.needs_whole_flows())
        .then(|| "it needs all packets of a flow on one core, which this run does not promise".to_owned())
}

/// Chooses the structure and its size.
///
/// # Errors
/// Returns one line: why it is not possible, and what is.
pub(crate) fn choose(question: &PlannerInput<'_>, setting: &RunProperties) -> Result<Choice, String> {
    let spec = question.spec;
    let refused = |why: String| format!("{spec}: {why}");
    let candidates = match spec.structure {
        Some(structure) => {
            if let Some(why) = why_not(structure, question, setting) {
                return Err(refused(format!("structure={}: {why}", structure.name())));
            }
            vec![structure]
        }
        None => {
            // The same counters twice: packets are faster in a stream-summary, and only a heap is suited to
            // bytes.
            let other = match spec.weight {
                Weight::Packets => Structure::SpaceSavingHeap,
                Weight::Bytes => Structure::SpaceSaving,
            };
            let all = catalog::structures(spec.kind).filter(|structure| *structure != other);
            all.filter(|structure| why_not(*structure, question, setting).is_none()).collect()
        }
    };
    let assumed = match (spec.packets, setting.packets) {
        (None, None) => {
            format!(
                "; a window is taken to have {} packets, which packets= changes",
                grouped(question.packets)
            )
        }
        _ => String::new(),
    };
    if let Some(structure) = spec.structure {
        rows::check(structure, question).map_err(refused)?;
        if spec.rows.width.is_some() {
            return rows::by_width(question, structure).map_err(refused);
        }
    }
    let choice = match spec.size {
        Size::ErrorPpm(_) if !spec.prefixes.is_empty() => Err(
            "no error is promised of a hierarchy, where those of all lengths add up; give memory= instead"
                .to_owned(),
        ),
        Size::ErrorPpm(ppm) => by_error(question, &candidates, f64::from(ppm) / WHOLE_PPM),
        Size::Memory(bytes) => by_memory(question, &candidates, bytes),
        Size::Usual => by_memory(question, &candidates, DEFAULT_BYTES),
    };
    let mut choice = choice.map_err(refused)?;
    if spec.rows.depth.is_some()
        && let Some(Ok(rows)) = rows::rows::<KeyV4>(choice.structure, choice.bytes, question)
    {
        choice.why.push_str(&format!("; {}", rows.text(question)));
    }
    choice.why.push_str(&assumed);
    Ok(choice)
}

/// Packets that a window of this task is expected to have.
pub(crate) fn expected_packets(spec: &TaskSpec, setting: &RunProperties) -> u64 {
    spec.packets.or(setting.packets).unwrap_or(DEFAULT_PACKETS)
}

fn choice(structure: Structure, bytes: usize, question: &PlannerInput<'_>, why: String) -> Choice {
    // If IPv6 keys do not fit into this little memory, their least memory.
    let least_v6 = least_bytes(MOST_BYTES, |bytes| capacity::<KeyV6>(structure, bytes, question).is_some());
    let bytes_v6 = least_v6.unwrap_or(bytes).max(bytes);
    // Sample and hold draws for each byte if bytes are counted.
    let units = match (structure, question.spec.weight) {
        (Structure::SampleAndHold, Weight::Bytes) => question.packets as f64 * LONG_PACKET,
        _ => question.packets as f64,
    };
    // As many are taken as there is room for if each belongs to a different flow.
    let one_in = |room: Option<usize>| {
        (units / room.unwrap_or(1).max(1) as f64).ceil().clamp(1.0, f64::from(u32::MAX)) as u32
    };
    Choice {
        structure,
        bytes,
        bytes_v6,
        one_in: one_in(capacity::<KeyV4>(structure, bytes, question)),
        one_in_v6: one_in(capacity::<KeyV6>(structure, bytes_v6, question)),
        why,
    }
}

fn percent(part: f64) -> String {
    if part >= 0.0995 { format!("{:.0} %", part * 100.0) } else { format!("{:.2} %", part * 100.0) }
}

/// The smallest memory up to `most` for which `fits` holds, and then for all larger ones; `None` if there is
/// none.
fn least_bytes(most: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut below, mut above) = (0, LEAST_BYTES.min(most));
    while !fits(above) {
        if above >= most {
            return None;
        }
        (below, above) = (above, above.saturating_mul(2).min(most));
    }
    // Accurate to one part in a hundred, which is sufficient.
    while above - below > above / 128 + 1 {
        let middle = below + (above - below) / 2;
        if fits(middle) { above = middle } else { below = middle }
    }
    Some(above)
}

fn by_memory(question: &PlannerInput<'_>, candidates: &[Structure], bytes: usize) -> Result<Choice, String> {
    let entries = question.most_entries();
    let is_chosen = question.spec.structure.is_some();
    if candidates.contains(&Structure::Exact)
        && let Some(least) = least_bytes(bytes, |bytes| holds_all::<KeyV4>(bytes, question))
    {
        let is_for_both = question.spec.size == Size::Usual || holds_all::<KeyV6>(bytes, question);
        let of = if is_for_both { "" } else { " of IPv4" };
        let why = format!("exact: it has room for all {}{of} that a window can have", grouped(entries));
        if question.spec.size != Size::Usual {
            return Ok(choice(Structure::Exact, bytes, question, why));
        }
        let v6 = least_bytes(MOST_BYTES, |bytes| holds_all::<KeyV6>(bytes, question));
        let exact = choice(Structure::Exact, least, question, why);
        return Ok(Choice { bytes_v6: v6.unwrap_or(least), ..exact });
    }
    let fits = |structure: &Structure| capacity::<KeyV4>(*structure, bytes, question).is_some();
    if !candidates.iter().any(fits) {
        let least = |structure: &Structure| {
            Some((
                least_bytes(MOST_BYTES, |bytes| capacity::<KeyV4>(*structure, bytes, question).is_some())?,
                *structure,
            ))
        };
        let least = candidates.iter().filter_map(least).min_by_key(|(bytes, _)| *bytes);
        let what = least.map_or_else(String::new, |(bytes, structure)| {
            format!("; the least is about {bytes} bytes ({})", structure.name())
        });
        return Err(format!("memory={bytes} is too little{what}"));
    }
    let bounded = candidates
        .iter()
        .filter_map(|structure| Some((*structure, error_bound::<KeyV4>(*structure, bytes, question)?)));
    let mut bounded: Vec<(Structure, f64)> = bounded.collect();
    bounded.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let by_user = |structure: Structure| {
        if is_chosen { format!("{}, as asked", structure.name()) } else { structure.name().to_owned() }
    };
    match bounded[..] {
        [] => {
            let structure = candidates
                .iter()
                .copied()
                .find(|structure| *structure != Structure::Exact && fits(structure));
            let structure = structure.or(candidates.iter().copied().find(|structure| fits(structure)));
            let structure = structure.ok_or("no structure fits")?;
            let why = format!(
                "{}: {} hold no exact table of {}, and theory promises nothing of any other",
                by_user(structure),
                size_text(bytes),
                grouped(entries)
            );
            Ok(choice(structure, bytes, question, why))
        }
        [(structure, error), ref others @ ..] => {
            let others: Vec<String> = others
                .iter()
                .take(2)
                .map(|(other, error)| format!("{} {}", other.name(), percent(*error)))
                .collect();
            let than = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
            let why = format!(
                "{}: the smallest error that theory promises in {}, {} of {}{than}",
                by_user(structure),
                size_text(bytes),
                percent(error),
                whose(question)
            );
            Ok(choice(structure, bytes, question, why))
        }
    }
}

/// Names the figure that an error is relative to.
fn whose(question: &PlannerInput<'_>) -> &'static str {
    match question.spec.kind {
        TaskKind::Quantiles => "all packets",
        TaskKind::FlowSizes | TaskKind::Entropy | TaskKind::Distinct | TaskKind::Inner => "the answer",
        TaskKind::HeavyHitters | TaskKind::SuperSpreaders | TaskKind::Change => {
            "the smallest figure in the answer"
        }
    }
}

fn by_error(question: &PlannerInput<'_>, candidates: &[Structure], error: f64) -> Result<Choice, String> {
    let least = |structure: &Structure| {
        let fits =
            |bytes| promised::<KeyV4>(*structure, bytes, question).is_some_and(|promised| promised <= error);
        Some((least_bytes(MOST_BYTES, fits)?, *structure))
    };
    let best = candidates.iter().filter_map(least).min_by_key(|(bytes, _)| *bytes);
    let (bytes, structure) = best.ok_or_else(|| {
        format!("no structure promises an error of {} in up to 4 GiB; give memory= instead", percent(error))
    })?;
    let bytes = bytes.next_multiple_of(1 << 10);
    let fits_v6 =
        |bytes| promised::<KeyV6>(structure, bytes, question).is_some_and(|promised| promised <= error);
    let bytes_v6 = least_bytes(MOST_BYTES, fits_v6).unwrap_or(bytes).next_multiple_of(1 << 10);
    let why = format!(
        "{}: the least memory in which theory promises {} of {}",
        structure.name(),
        percent(error),
        whose(question)
    );
    Ok(Choice { bytes_v6, ..choice(structure, bytes, question, why) })
}

/// True if an exact table of this many bytes has room for all.
fn holds_all<K: ByteKey + MaskedKey>(bytes: usize, question: &PlannerInput<'_>) -> bool {
    let entries = question.most_entries();
    capacity::<K>(Structure::Exact, bytes, question).is_some_and(|room| room as u64 >= entries)
}

/// The error bound of a structure of this many bytes; of an exact table, if it has room for all.
fn promised<K: ByteKey + MaskedKey>(
    structure: Structure,
    bytes: usize,
    question: &PlannerInput<'_>,
) -> Option<f64> {
    match structure {
        Structure::Exact => holds_all::<K>(bytes, question).then_some(0.0),
        _ => error_bound::<K>(structure, bytes, question),
    }
}
