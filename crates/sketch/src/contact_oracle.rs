//! Streams of contacts with their exact counts, and checks of what structures answer about them, for the tests.

use super::draw::SketchRng;
use super::oracle::in_bursts;
use super::{Contact, ContactBurst, Estimate, HeavyKeys, Merge, Spreaders};
use packet::{KeyV4, Seed};
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use traffic::{KeyStream, TrafficSpec};

/// A stream of contacts: from which source to which destination.
pub(crate) struct ContactStream {
    pub(crate) contacts: Vec<Contact<KeyV4>>,
    /// Different destinations of each source.
    pub(crate) counts: HashMap<KeyV4, u64>,
}

impl ContactStream {
    /// Packets of flows drawn by Zipf's law, and among them sources with this many destinations each, to which they send one or two
    /// packets; the destinations of the first half follow each other as those of a scan do. By the seed of this number.
    pub(crate) fn zipf(packets: usize, flows: usize, spreaders: &[u32], number: u64) -> Self {
        let text = format!("packets={packets},flows={flows},zipf=1,seed={number}");
        let spec: TrafficSpec = text.parse().expect("a specification");
        let seed = Seed::new(number);
        let mut draw = SketchRng::new(&seed, 0xc0);
        let address = |key: &KeyV4| -> [u8; 8] { std::array::from_fn(|i| key.to_bytes()[i]) };
        let mut pairs: Vec<[u8; 8]> = KeyStream::ipv4(&spec).keys().iter().map(address).collect();
        for (i, destinations) in spreaders.iter().enumerate() {
            let [.., a, b] = (i as u32).to_be_bytes();
            let random = draw.word() as u32 | 1;
            for other in 0..*destinations {
                // An odd factor gives each number another one.
                let other = if 2 * i < spreaders.len() { other } else { other.wrapping_mul(random) };
                let [c, d, e, f] = other.to_be_bytes();
                let pair = [198, 18, a, b, c, d, e, f];
                pairs.extend(std::iter::repeat_n(pair, if draw.happens(1, 2) { 1 } else { 2 }));
            }
        }
        // In any order.
        (1..pairs.len()).for_each(|i| pairs.swap(i, draw.word() as usize % (i + 1)));
        let different: HashSet<[u8; 8]> = pairs.iter().copied().collect();
        let mut counts = HashMap::new();
        different.iter().for_each(|pair| *counts.entry(Self::source(*pair)).or_default() += 1);
        let contact = |pair: &[u8; 8]| Contact::new(Self::source(*pair), KeyV4::new(*pair, [0; 4], 0), &seed);
        Self { contacts: pairs.iter().map(contact).collect(), counts }
    }

    fn source(pair: [u8; 8]) -> KeyV4 {
        let [a, b, c, d, ..] = pair;
        KeyV4::new([a, b, c, d, 0, 0, 0, 0], [0; 4], 0)
    }

    /// The source that was planted at this place.
    pub(crate) fn spreader(i: u16) -> KeyV4 {
        let [a, b] = i.to_be_bytes();
        Self::source([198, 18, a, b, 0, 0, 0, 0])
    }
}

/// Returns a structure's answers: its list, and its estimates of up to 200 sources of `stream` and of one that is not in it.
pub(crate) fn all_contacts<S: Spreaders<KeyV4>>(
    summary: &S,
    stream: &ContactStream,
) -> (HeavyKeys<KeyV4>, Vec<Estimate>) {
    let mut keys: Vec<_> = stream.counts.keys().copied().collect();
    keys.sort();
    keys.truncate(200);
    keys.push(ContactStream::spreader(u16::MAX));
    (summary.spreaders(1), keys.iter().map(|key| summary.contacts(key)).collect())
}

/// A summary of contacts.
pub(crate) fn contacts_of<S: ContactBurst<K>, K>(config: &S::Configuration, contacts: &[Contact<K>]) -> S {
    let mut summary = S::new(config).expect("a structure");
    in_bursts(contacts, |burst| summary.contact_burst(burst));
    summary
}

/// Two summaries of contacts merged answer as one of both streams, and what was reset as what is new.
pub(crate) fn contacts_merge_and_reset<S, A>(
    config: &S::Configuration,
    stream: &ContactStream,
    answers: impl Fn(&S) -> A,
) where
    S: ContactBurst<KeyV4> + Merge + Spreaders<KeyV4>,
    A: PartialEq + Debug,
{
    let answers = |summary: &S| (all_contacts(summary, stream), answers(summary), summary.bytes());
    let one: S = contacts_of(config, &stream.contacts);
    for cut in [0, 100, stream.contacts.len() / 2, stream.contacts.len()] {
        let (first, rest) = stream.contacts.split_at(cut);
        let mut merged: S = contacts_of(config, first);
        merged.merge(&contacts_of(config, rest)).expect("equal configurations");
        assert_eq!(answers(&merged), answers(&one), "cut at {cut}");
    }
    let (mut used, mut new) = (one, S::new(config).expect("a structure"));
    used.reset();
    assert_eq!(answers(&used), answers(&new));
    let again = &stream.contacts[stream.contacts.len() / 3..];
    used.contact_burst(again);
    new.contact_burst(again);
    assert_eq!(answers(&used), answers(&new));
}
