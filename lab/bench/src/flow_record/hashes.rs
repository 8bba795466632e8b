//! Hash functions on 5-tuples, alone (figure 6a): how fast, and how many flows they confuse.

use super::BENCH;
use super::flows::{Arrival, PointTraffic};
use super::miscount::low;
use super::spooky::spooky;
use super::tables::MOST_PACKETS;
use crate::compare::{in_turn, ns};
use crate::line::to_digits;
use crate::murmur3::murmur3;
use crate::tuple::Tuple;
use crate::{BenchResult, Points};
use packet::{Key, KeyBurst, PacketFields, Seed, Toeplitz};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

/// Tuples that are hashed repeatedly: 52 KiB, which fit into L2.
const INPUTS: usize = 4096;
const PASSES: usize = 500;
const SEED: u32 = 1;

/// Runs it.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    for flows in points.flows.map_or(vec![64_000, 1_000_000], |flows| vec![flows]) {
        point(flows, points.seconds, out)?;
    }
    Ok(())
}

/// The hashes of one pass, folded in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Folded {
    sum: u32,
    xor: u32,
}

/// A pass over all inputs, compiled for one function.
type HashPass = dyn Fn(&[Tuple]) -> Folded;
/// The check that a pass gave the correct result, computed in a different way.
type HashCheck = dyn Fn(&[Tuple], Folded) -> bool;

/// A function under test.
struct Function {
    name: &'static str,
    /// Bytes that it reads of a tuple.
    bytes: usize,
    pass: Box<HashPass>,
    one: Box<dyn Fn(&Tuple) -> u32>,
    check: Box<HashCheck>,
}

impl Function {
    fn new(
        name: &'static str,
        bytes: usize,
        hash: impl Fn(&Tuple) -> u32 + Clone + 'static,
        check: impl Fn(&[Tuple], Folded) -> bool + 'static,
    ) -> Self {
        let one = Box::new(hash.clone());
        let pass = Box::new(move |tuples: &[Tuple]| {
            tuples.iter().fold(Folded::default(), |folded, tuple| {
                // One call per tuple: what a compiler makes of many at once is not how packets come.
                let hash = hash(black_box(tuple));
                Folded { sum: folded.sum.wrapping_add(hash), xor: folded.xor ^ hash }
            })
        });
        Self { name, bytes, pass, one, check: Box::new(check) }
    }

    /// Checked by hashing the data again in a slice, for which its tests have published vectors.
    fn from_slice_hash(
        name: &'static str,
        hash: fn(&[u8], u32) -> u32,
        fixed: impl Fn(&Tuple) -> u32 + Clone + 'static,
    ) -> Self {
        Self::new(name, 13, fixed, move |tuples, folded| {
            let hashes = tuples.iter().map(|tuple| black_box(hash)(&black_box(tuple.bytes().to_vec()), SEED));
            hashes.fold(0, u32::wrapping_add) == folded.sum
        })
    }
}

/// The Toeplitz hash without tables, as in DPDK's `rte_softrss`: for each bit that is set in a word of the
/// input, the 32 bits of the key from there on.
#[inline(always)]
fn toeplitz_by_bits(words: &[u32; 3], key: &[u32; 4]) -> u32 {
    let mut hash = 0;
    for (at, &word) in words.iter().enumerate() {
        let window = u64::from(key[at]) << 32 | u64::from(key[at + 1]);
        let mut left = word;
        while left != 0 {
            hash ^= (window >> (left.trailing_zeros() + 1)) as u32;
            left &= left - 1;
        }
    }
    hash
}

/// Addresses and ports as words in host order.
#[inline(always)]
fn words(tuple: &Tuple) -> [u32; 3] {
    let [src, dst, src_port, dst_port, _] = tuple.members();
    [src, dst, src_port << 16 | dst_port]
}

/// The hash is linear: all hashes added are the hash of all inputs added. The latter by the definition, bit by
/// bit.
fn is_toeplitz(key: &[u8; Toeplitz::KEY_BYTES], tuples: &[Tuple], folded: Folded) -> bool {
    let mut input = [0; 12];
    for tuple in tuples {
        input.iter_mut().zip(tuple.bytes()).for_each(|(sum, byte)| *sum ^= byte);
    }
    let bit = |bytes: &[u8], at: usize| u32::from(bytes[at / 8] >> (7 - at % 8) & 1);
    let window = |from: usize| (from..from + 32).fold(0, |window, at| window << 1 | bit(key, at));
    let hash = (0..96).filter(|&at| bit(&input, at) == 1).fold(0, |hash, at| hash ^ window(at));
    hash == folded.xor
}

fn functions() -> Vec<Function> {
    let toeplitz = |name, key: &'static [u8; Toeplitz::KEY_BYTES]| {
        let table = Toeplitz::new(key);
        let hash = move |tuple: &Tuple| table.ipv4_ports(tuple.addresses(), tuple.ports());
        Function::new(name, 12, hash, |tuples, folded| is_toeplitz(key, tuples, folded))
    };
    let bits = {
        let bytes = Toeplitz::MICROSOFT_KEY.as_chunks().0;
        let key = std::array::from_fn(|i| u32::from_be_bytes(bytes[i]));
        let hash = move |tuple: &Tuple| toeplitz_by_bits(&words(tuple), black_box(&key));
        Function::new("hash_toeplitz_bits", 12, hash, |tuples, folded| {
            is_toeplitz(&Toeplitz::MICROSOFT_KEY, tuples, folded)
        })
    };
    let seed = Seed::new(7);
    vec![
        Function::new(
            "hash_add",
            13,
            |tuple| tuple.members().into_iter().fold(0, u32::wrapping_add),
            // All hashes added are all members added, each for itself.
            |tuples, folded| {
                let member =
                    |at: usize| tuples.iter().map(|tuple| u64::from(tuple.members()[at])).sum::<u64>();
                (0..5).map(member).sum::<u64>() as u32 == folded.sum
            },
        ),
        Function::new(
            "hash_xor",
            13,
            |tuple| tuple.members().into_iter().fold(0, |hash, member| hash ^ member),
            |tuples, folded| {
                let member = |at: usize| tuples.iter().fold(0, |all, tuple| all ^ tuple.members()[at]);
                (0..5).fold(0, |all, at| all ^ member(at)) == folded.xor
            },
        ),
        Function::from_slice_hash("hash_murmur3", murmur3, |tuple| murmur3(tuple.bytes(), SEED)),
        Function::from_slice_hash("hash_spooky", spooky, |tuple| spooky(tuple.bytes(), SEED)),
        bits,
        toeplitz("hash_toeplitz_table", &Toeplitz::MICROSOFT_KEY),
        toeplitz("hash_toeplitz_symmetric", &Toeplitz::SYMMETRIC_KEY),
        Function::new(
            "hash_nh",
            13,
            move |tuple| tuple.key().hash(&seed) as u32,
            // What the engine's bursts hold.
            move |tuples, folded| {
                let mut burst = KeyBurst::with_capacity(INPUTS);
                tuples.iter().for_each(|tuple| burst.push(tuple.key(), PacketFields::default(), &seed));
                burst.packets().iter().fold(0, |sum: u32, packet| sum.wrapping_add(packet.hash as u32))
                    == folded.sum
            },
        ),
    ]
}

fn point(flows: u64, seconds: f64, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    // So that nearly all flows come.
    let traffic = PointTraffic::draw(flows.saturating_mul(4).min(MOST_PACKETS), flows, 0.0, Arrival::Drawn)?;
    let tuples: Vec<Tuple> = traffic.flows.iter().map(|flow| Tuple::from_v4(&flow.key)).collect();
    drop(traffic);
    let inputs: Vec<Tuple> = tuples.iter().copied().cycle().take(INPUTS).collect();
    let mut functions: Vec<(Function, bool)> =
        functions().into_iter().map(|function| (function, true)).collect();
    let times = in_turn(&mut functions, seconds, |(function, checked)| {
        let began = Instant::now();
        let mut passes = (0..PASSES).map(|_| (function.pass)(black_box(&inputs)));
        let first = passes.next().unwrap_or_default();
        let same = passes.all(|folded| folded == first);
        let time = ns(began.elapsed());
        *checked &= same && (function.check)(&inputs, first);
        time
    });
    for ((function, checked), rounds_ns) in functions.into_iter().zip(times) {
        let mut more = vec![("bytes_read", json!(function.bytes))];
        more.extend(collisions(tuples.iter().map(|tuple| (function.one)(tuple)).collect()));
        out(BenchResult {
            bench: BENCH,
            variant: function.name.to_owned(),
            params: vec![("flows", json!(flows)), ("cores", json!(1))],
            packets: (INPUTS * PASSES) as u64,
            rounds_ns,
            memory_bytes: None,
            checked,
            more,
        });
    }
    Ok(())
}

/// Counts the collisions among the hashes of distinct flows: how many are distinct, how many flows share theirs, and how many would find no
/// place in the double hash.
fn collisions(mut hashes: Vec<u32>) -> [(&'static str, Value); 4] {
    let flows = hashes.len();
    let percent = |part: usize| json!(to_digits(100.0 * part as f64 / flows.max(1) as f64, 5));
    hashes.sort_unstable();
    let shared: usize = hashes.chunk_by(|a, b| a == b).map(<[u32]>::len).filter(|&flows| flows > 1).sum();
    hashes.dedup();
    let counted = hashes.len();
    hashes.sort_unstable_by_key(|&hash| low(hash));
    let buckets = hashes.chunk_by(|&a, &b| low(a) == low(b));
    let without_place: usize = buckets.map(|bucket| bucket.len().saturating_sub(2)).sum();
    [
        ("flows_true", json!(flows)),
        ("flows_counted", json!(counted)),
        ("flows_lost_percent", percent(shared)),
        ("hashes_without_double_entry_percent", percent(without_place)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_passes_its_check_and_a_wrong_fold_does_not() {
        let traffic = PointTraffic::draw(4_000, 2_000, 0.0, Arrival::Drawn).unwrap();
        let tuples: Vec<Tuple> = traffic.flows.iter().map(|flow| Tuple::from_v4(&flow.key)).collect();
        for function in functions() {
            let folded = (function.pass)(&tuples);
            assert!((function.check)(&tuples, folded), "{}", function.name);
            let wrong = Folded { sum: folded.sum ^ 1, xor: folded.xor ^ 1 };
            assert!(!(function.check)(&tuples, wrong), "{}", function.name);
            let sum = tuples.iter().fold(0, |sum: u32, tuple| sum.wrapping_add((function.one)(tuple)));
            assert_eq!(sum, folded.sum, "{}", function.name);
        }
    }

    /// The first line of Microsoft's verification suite.
    #[test]
    fn toeplitz_by_bits_is_toeplitz() {
        let tuple = Tuple::new([66, 9, 149, 187, 161, 142, 100, 80], [10, 234, 6, 230], 6);
        let functions = functions();
        let hash =
            |name: &str| (functions.iter().find(|function| function.name == name).unwrap().one)(&tuple);
        assert_eq!(hash("hash_toeplitz_bits"), 0x51cc_c178);
        assert_eq!(hash("hash_toeplitz_table"), 0x51cc_c178);
        // The addresses as numbers, ports and protocol, with carries and without.
        assert_eq!(hash("hash_add"), 0x4209_95bb_u32.wrapping_add(0xa18e_6450).wrapping_add(2794 + 1766 + 6));
        assert_eq!(hash("hash_xor"), 0x4209_95bb ^ 0xa18e_6450 ^ 2794 ^ 1766 ^ 6);
    }

    #[test]
    fn collisions_are_counted() {
        // Two flows share a hash; three different hashes have one low half.
        let figures = collisions(vec![7, 7, 0x1_0007, 0x2_0007, 8]);
        assert_eq!(figures.map(|(_, value)| value), [json!(5), json!(4), json!(40.0), json!(20.0)]);
    }
}
