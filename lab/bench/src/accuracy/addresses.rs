//! Count-Min with addresses modulo its width in place of hash functions (Makwana, design, step 2): on addresses that are drawn, those of a
//! plan, and those that senders choose.

use super::lab::LabStructure;
use super::question::AccuracyQuestion;
use super::stream::StreamKind;
use super::study::{AccuracyCase, CaseStructure, Study};
use super::trial::TrialDesign;
use crate::BenchResult;
use packet::{KeyV4, PacketKey};

/// The width of the report's rows, and their memory.
const WIDTH: u32 = 1_024;
const BYTES: usize = 3 * WIDTH as usize * size_of::<u32>();
/// Numbers of hosts in each network of a plan: so many that send, and the one that is sent to. The router has the first address.
const CLIENTS: u32 = 4;
const SERVER: u32 = 10;
/// The share of the flows, the lightest, whose addresses are chosen.
const CHOSEN: f64 = 0.1;

/// The addresses of a flow by its rank, the heaviest first, of so many flows; `None` where it keeps those that were drawn.
type AddressPlan = fn(rank: u32, flows: u32) -> Option<[u32; 2]>;

/// The kinds of addresses.
const PLANS: [(&str, AddressPlan); 3] =
    [("drawn addresses", |_, _| None), ("an address plan", planned), ("chosen addresses", chosen)];

/// Hosts that have the same numbers in each network of 1,024 addresses: a few that send, one that is sent to.
fn planned(rank: u32, _: u32) -> Option<[u32; 2]> {
    let source = network(10, rank / CLIENTS) + 2 + rank % CLIENTS;
    Some([source, network(172, rank) + SERVER])
}

/// Senders of a packet each who want to be taken for heavy choose addresses that are alike modulo 1,024.
fn chosen(rank: u32, flows: u32) -> Option<[u32; 2]> {
    let first = flows - (CHOSEN * f64::from(flows)) as u32;
    let number = rank.checked_sub(first)?;
    Some([network(198, number) + 77, network(203, number) + 511])
}

/// The first address of a network of 1,024, of those that begin with this byte.
fn network(first: u32, number: u32) -> u32 {
    (first << 24) + (number % (1 << 14)) * WIDTH
}

/// Measures both on each kind of addresses.
///
/// # Errors
/// One line: the stream is wrong.
pub(super) fn run(stream: &StreamKind, seeds: u64, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let questions: Vec<_> = AccuracyQuestion::all(stream.packets())
        .into_iter()
        .filter(|question| question.name == "heavy hitters, address pairs")
        .collect();
    for (name, plan) in PLANS {
        let stream = &stream.with_keys(name, 1.0, |rank, flows, key| match (plan(rank, flows), key) {
            (Some([source, destination]), PacketKey::V4(key)) => {
                let mut bytes = key.to_bytes();
                bytes[..4].copy_from_slice(&source.to_be_bytes());
                bytes[4..8].copy_from_slice(&destination.to_be_bytes());
                PacketKey::V4(KeyV4::from_bytes(bytes))
            }
            (_, key) => key,
        })?;
        let case =
            |structure| AccuracyCase { question: 0, structure: CaseStructure::Lab(structure), memory: BYTES };
        let cases = [LabStructure::CountMinRows, LabStructure::AddressModulo].map(case).to_vec();
        let questions = &questions[..];
        let design = TrialDesign::ONE;
        Study { part: "addresses", stream, questions, design, cases, seeds, threads: 1 }.report(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// F1 and mean relative error of both structures, by stream.
    fn measured() -> HashMap<(String, String), [f64; 2]> {
        let mut lines = Vec::new();
        let stream = StreamKind::generated(100_000, Some(30_000));
        run(&stream, 1, &mut |line| lines.push(line)).expect("lines");
        assert!(lines.iter().all(|line| line.checked && line.memory_bytes == Some(BYTES as u64)));
        let of = |line: &BenchResult| {
            let json = line.json();
            let value = |name: &str| json[name].as_f64().unwrap_or(f64::NAN);
            let stream = json["params"]["stream"].as_str().unwrap_or_default().to_owned();
            ((line.variant.clone(), stream), [value("f1"), value("are")])
        };
        lines.iter().map(of).collect()
    }

    #[test]
    fn secret_hashes_bear_all_addresses_and_numbers_modulo_the_width_none_but_drawn_ones() {
        let measured = measured();
        let of = |structure: LabStructure, stream: &str| {
            measured[&(structure.name().to_owned(), stream.to_owned())]
        };
        for (stream, _) in PLANS {
            let [f1, error] = of(LabStructure::CountMinRows, stream);
            assert!(f1 > 0.9 && error < 0.3, "{stream}: {f1} {error}");
        }
        let [f1, _] = of(LabStructure::AddressModulo, "drawn addresses");
        assert!(f1 > 0.6, "drawn: {f1}");
        // Each pair has a quarter of all packets, as it seems.
        let [f1, error] = of(LabStructure::AddressModulo, "an address plan");
        assert!(f1 < 0.1 && error > 3.0, "planned: {f1} {error}");
        // The heavy ones are as right as before, among many that seem so.
        let [f1, _] = of(LabStructure::AddressModulo, "chosen addresses");
        assert!(f1 < 0.3, "chosen: {f1}");
    }

    #[test]
    fn plans_give_different_flows_different_addresses_that_are_alike() {
        for (name, plan) in &PLANS[1..] {
            let addresses: Vec<_> = (0..40_000).filter_map(|rank| plan(rank, 40_000)).collect();
            let mut different = addresses.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), addresses.len().min(4 << 14), "{name}");
            let mut alike: Vec<_> =
                addresses.iter().map(|pair| pair.map(|address| address % WIDTH)).collect();
            alike.sort_unstable();
            alike.dedup();
            assert!(alike.len() <= CLIENTS as usize, "{name}: {alike:?}");
        }
    }
}
