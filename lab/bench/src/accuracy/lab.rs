//! Structures that no task answers with, on the questions of tasks: counted by each worker, merged, and answered in the same form.

use super::question::AccuracyQuestion;
use super::trial::{TrialResult, WorkerWindows};
use super::truth::IPV6_BITS;
use super::window::BurstWindow;
use crate::compare::thread_time;
use flow::Estimate;
use model::TaskNote;
use packet::Bursts;
use packet::{Key, KeyV4};
use sketch::{
    ArrayConfig, Configuration, CountMin, CounterArray, Frequency, GridConfig, Merge, Quantiles, Update,
    UpdateBurst,
};
use std::collections::HashSet;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use structures::{AddressModulo, CompressedCounting, GreenwaldKhanna, MankuRajagopalanLindsay};
use task::{EstimatedFlow, Point, QuantileRow, TaskAnswer, TaskKind, TaskRows};

/// A structure of the lab that answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabStructure {
    /// Quantiles by ranks within bounds.
    GreenwaldKhanna,
    /// Quantiles by collapsing buffers.
    MankuRajagopalanLindsay,
    /// Entropy by skewed stable projections onto 512 counters, whatever the memory.
    CompressedCounting,
    /// Heavy pairs of IPv4 addresses by three rows, each with a secret hash function.
    CountMinRows,
    /// Heavy pairs of IPv4 addresses by three rows, each an address modulo its width.
    AddressModulo,
}

impl LabStructure {
    /// The structures that are tried in every memory, design and skew.
    const ALWAYS: [Self; 3] =
        [Self::GreenwaldKhanna, Self::MankuRajagopalanLindsay, Self::CompressedCounting];

    /// The name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::GreenwaldKhanna => "greenwald-khanna (lab)",
            Self::MankuRajagopalanLindsay => "manku-rajagopalan-lindsay (lab)",
            Self::CompressedCounting => "compressed-counting (lab)",
            Self::CountMinRows => "count-min, secret hashes (lab)",
            Self::AddressModulo => "count-min, addresses modulo width (lab)",
        }
    }

    /// The structures that answer this kind of question, of those that are tried everywhere.
    pub(super) fn of_kind(kind: TaskKind) -> impl Iterator<Item = Self> {
        Self::ALWAYS.into_iter().filter(move |structure| structure.kind() == kind)
    }

    /// The kind of question that it answers.
    fn kind(self) -> TaskKind {
        match self {
            Self::GreenwaldKhanna | Self::MankuRajagopalanLindsay => TaskKind::Quantiles,
            Self::CompressedCounting => TaskKind::Entropy,
            Self::CountMinRows | Self::AddressModulo => TaskKind::HeavyHitters,
        }
    }

    /// Counts a window in this much memory for each address family, and answers.
    ///
    /// # Errors
    /// One line: why the structure cannot do this.
    pub(super) fn run(
        self,
        question: &AccuracyQuestion,
        memory: usize,
        windows: &WorkerWindows,
    ) -> Result<TrialResult, String> {
        match self {
            Self::GreenwaldKhanna => quantiles::<GreenwaldKhanna>(question, memory, windows),
            Self::MankuRajagopalanLindsay => quantiles::<MankuRajagopalanLindsay>(question, memory, windows),
            Self::CompressedCounting => entropy(windows),
            Self::CountMinRows => {
                let width = memory / ROWS / size_of::<u32>();
                let config = ArrayConfig::new(ROWS, width, windows.seed).map_err(text)?;
                heavy_pairs::<CounterArray<CountMin>>(question, &config, windows)
            }
            Self::AddressModulo => {
                let config = GridConfig::with_bytes(memory, windows.seed).map_err(text)?;
                heavy_pairs::<AddressModulo>(question, &config, windows)
            }
        }
    }
}

/// Rows of Count-Min, with hash functions and without.
const ROWS: usize = 3;
/// Counters of compressed counting: each packet is added to all of them.
const COUNTERS: usize = 512;

fn text(error: impl Display) -> String {
    error.to_string()
}

/// An answer about all packets of the windows.
fn answer(name: &'static str, memory: usize, windows: &WorkerWindows, rows: TaskRows) -> TaskAnswer {
    let note = TaskNote {
        text: String::new(),
        structure: String::new(),
        why: String::new(),
        memory_bytes: memory as u64,
        total: windows.packets,
        lost: Some(0),
        most_unlisted: None,
    };
    let (status, untold) = ("ok".to_owned(), Default::default());
    TaskAnswer { name, note, status, is_exact: false, rows, untold, shape: None }
}

/// Puts the values of a burst that are asked for into `values`, by family; sizes are all in the first.
fn values_of(bursts: &Bursts, are_addresses: bool, values: &mut [Vec<Update<()>>; 2]) {
    values.iter_mut().for_each(Vec::clear);
    let value = |weight| Update { key: (), hash: 0, weight };
    for packet in bursts.v4.packets() {
        let [a, b, c, d, ..] = packet.key.to_bytes();
        let address = u32::from_be_bytes([a, b, c, d]).into();
        values[0].push(value(if are_addresses { address } else { packet.fields.total_byte.into() }));
    }
    for packet in bursts.v6.packets() {
        let bytes = packet.key.to_bytes();
        let address = u64::from_be_bytes(std::array::from_fn(|at| bytes[at])) >> (64 - IPV6_BITS);
        match are_addresses {
            true => values[1].push(value(address)),
            false => values[0].push(value(packet.fields.total_byte.into())),
        }
    }
}

/// The value as an address or a size again.
fn point(value: u64, family: usize, are_addresses: bool) -> Point {
    match (are_addresses, family) {
        (false, _) => Point::Number(value),
        (true, 0) => Point::Address(IpAddr::V4(Ipv4Addr::from_bits(value as u32))),
        (true, _) => {
            let bits = u128::from(value) << (128 - IPV6_BITS);
            Point::Address(IpAddr::V6(Ipv6Addr::from_bits(bits)))
        }
    }
}

/// Adds the values of a window to the summaries of its worker.
fn count_values<S: UpdateBurst<()>>(
    window: &BurstWindow,
    are_addresses: bool,
    families: &mut [S; 2],
    values: &mut [Vec<Update<()>>; 2],
) {
    for bursts in &window.bursts {
        values_of(bursts, are_addresses, values);
        families.iter_mut().zip(&*values).for_each(|(summary, values)| summary.update_burst(values));
    }
}

/// Quantiles of source addresses or sizes.
fn quantiles<S: UpdateBurst<()> + Merge + Quantiles>(
    question: &AccuracyQuestion,
    memory: usize,
    windows: &WorkerWindows,
) -> Result<TrialResult, String> {
    let are_addresses = question.key == "src_addr";
    let config = S::Configuration::with_bytes(memory, windows.seed).map_err(text)?;
    let new = || S::new(&config).map_err(text);
    let mut values = [Vec::new(), Vec::new()];
    let (mut all, mut totals, mut ns) = ([new()?, new()?], [0_u64; 2], 0.0);
    for window in &windows.now {
        let mut families = [new()?, new()?];
        let began = thread_time();
        count_values(window, are_addresses, &mut families, &mut values);
        ns += thread_time() - began;
        for (all, part) in all.iter_mut().zip(&families) {
            all.merge(part).map_err(text)?;
        }
        for bursts in &window.bursts {
            let (v4, v6) = (bursts.v4.packets().len() as u64, bursts.v6.packets().len() as u64);
            let of_families = if are_addresses { [v4, v6] } else { [v4 + v6, 0] };
            totals.iter_mut().zip(of_families).for_each(|(total, packets)| *total += packets);
        }
    }
    let shares = question.task(None, memory)?.at_ppm;
    let mut rows = Vec::new();
    for (family, (summary, total)) in all.iter().zip(totals).enumerate().filter(|(_, (_, total))| *total > 0)
    {
        for share in shares.iter().map(|ppm| f64::from(*ppm) / 1e6) {
            // A summary counts ranks from 0 to n − 1; here the value is of rank ⌈share·n⌉.
            let rank = (share * total as f64).ceil().max(1.0) - 1.0;
            let q = if total > 1 { ((rank + 0.5) / (total - 1) as f64).min(1.0) } else { 1.0 };
            let Some(Estimate { value, bounds }) = summary.quantile(q) else { continue };
            let point = |value: f64| point(value as u64, family, are_addresses);
            let bounds = bounds.map(|bounds| (point(bounds.lower), point(bounds.upper), bounds.confidence));
            rows.push(QuantileRow { share, value: point(value), bounds });
        }
    }
    let families = totals.iter().filter(|total| **total > 0).count();
    let rows = TaskRows::Quantiles { of: if are_addresses { question.key } else { "size" }, quantiles: rows };
    let answer = answer("quantiles", families * config.bytes(), windows, rows);
    Ok(TrialResult { answer, structure: None, ns })
}

/// Counts each worker's window by `count`, which a clock measures, and merges what all counted. Returns it with the processor time,
/// nanoseconds.
fn counted<S: Merge>(
    config: &S::Configuration,
    windows: &WorkerWindows,
    mut count: impl FnMut(&mut S, &Bursts),
) -> Result<(S, f64), String> {
    let (mut all, mut ns) = (S::new(config).map_err(text)?, 0.0);
    for window in &windows.now {
        let mut part = S::new(config).map_err(text)?;
        let began = thread_time();
        window.bursts.iter().for_each(|bursts| count(&mut part, bursts));
        ns += thread_time() - began;
        all.merge(&part).map_err(text)?;
    }
    Ok((all, ns))
}

/// The entropy of 5-tuples of both families.
fn entropy(windows: &WorkerWindows) -> Result<TrialResult, String> {
    let config = GridConfig::with_width(COUNTERS, windows.seed);
    let mut updates: Vec<Update<()>> = Vec::new();
    let (sketch, ns) = counted::<CompressedCounting>(&config, windows, |sketch, bursts| {
        let v4 = bursts.v4.packets().iter().map(|packet| packet.hash);
        let v6 = bursts.v6.packets().iter().map(|packet| packet.hash);
        updates.clear();
        updates.extend(v4.chain(v6).map(|hash| Update { key: (), hash, weight: 1 }));
        sketch.update_burst(&updates);
    })?;
    let answer = answer("entropy", config.bytes(), windows, TaskRows::Entropy(sketch.entropy()));
    Ok(TrialResult { answer, structure: None, ns })
}

/// The pairs of addresses of a burst's packets of IPv4.
fn pairs(bursts: &Bursts) -> impl Iterator<Item = KeyV4> + '_ {
    bursts.v4.packets().iter().map(|packet| {
        let bytes = packet.key.to_bytes();
        KeyV4::new(std::array::from_fn(|at| bytes[at]), [0; 4], 0)
    })
}

/// Heavy pairs of addresses, by a structure that keeps no keys: every pair of the window is asked for.
fn heavy_pairs<S: UpdateBurst<KeyV4> + Frequency<KeyV4> + Merge>(
    question: &AccuracyQuestion,
    config: &S::Configuration,
    windows: &WorkerWindows,
) -> Result<TrialResult, String> {
    let bursts = || windows.now.iter().flat_map(|window| &window.bursts);
    if bursts().any(|bursts| !bursts.v6.packets().is_empty()) {
        return Err("it counts pairs of IPv4 addresses alone".to_owned());
    }
    let mut updates = Vec::new();
    let (array, ns) = counted::<S>(config, windows, |array, bursts| {
        updates.clear();
        updates.extend(pairs(bursts).map(|key| Update::new(key, 1, config.seed())));
        array.update_burst(&updates);
    })?;
    let least = (question.least * windows.packets as f64).ceil();
    let all: HashSet<KeyV4> = bursts().flat_map(pairs).collect();
    let spec = question.key();
    let flow = |key: KeyV4| {
        let estimate = array.estimate(&key);
        let key = key.flow_key(&spec);
        (estimate.value >= least).then_some(EstimatedFlow { key, prefix: None, estimate, own: None })
    };
    let mut flows: Vec<EstimatedFlow> = all.into_iter().filter_map(flow).collect();
    flows.sort_by(|a, b| b.estimate.value.total_cmp(&a.estimate.value));
    let rows = TaskRows::Flows {
        key: spec,
        figure: "total_count",
        is_hierarchy: false,
        keys_are_certain: true,
        flows,
        more: 0,
        most_unlisted: None,
    };
    let answer = answer("heavy_hitters", array.bytes(), windows, rows);
    Ok(TrialResult { answer, structure: None, ns })
}
