//! Sampling of an exporter: rates of samplers, of interfaces, and of all packets.

use crate::counts::SamplingCounts;
use crate::rate::SamplingRate;
use crate::values;
use record::read::{NumericElement, RecordValues};
use std::collections::HashMap;

/// The most samplers of an exporter, the most sequences of selectors, and the most interfaces whose rates differ.
const MOST: [usize; 3] = [128, 128, 4096];
/// The most sources of samples of an exporter.
const MOST_SOURCES: usize = 4096;

/// The sampling of an exporter, as it told it. A rate is `None` where packets are left out and it is not known how many.
#[derive(Debug, Default)]
pub(crate) struct Samplers {
    /// The rates of samplers by their numbers, which are those of selectors, too.
    samplers: HashMap<u64, Option<SamplingRate>>,
    /// The sampler of a sequence of selectors.
    sequences: HashMap<u64, u64>,
    interfaces: HashMap<u64, OfInterface>,
    /// The sources of samples of sFlow, such as interfaces, by kind and number.
    sources: HashMap<(u32, u32), SampleSource>,
    /// The rate of records that name none of these.
    pub(crate) rate: Option<Option<SamplingRate>>,
}

/// A source of samples, as its last sample told it.
#[derive(Clone, Copy, Debug)]
struct SampleSource {
    rate: Option<SamplingRate>,
    /// The number of samples that the agent has dropped so far.
    drops: u32,
}

/// A change of a source of samples by a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceChange {
    /// The source was not known.
    New,
    /// The source was not known and found no room.
    NoRoom,
    /// The agent dropped this many samples since the last sample of the source.
    Dropped(u32),
}

/// The sampling of an interface, as the exporter told it.
#[derive(Clone, Copy, Debug)]
enum OfInterface {
    Rate(Option<SamplingRate>),
    Sampler(u64),
}

impl Samplers {
    /// Takes what a record of options says.
    pub(crate) fn option(&mut self, values: &RecordValues, counts: &mut SamplingCounts) {
        let told = values::sampling(values);
        counts.wrong_sampling += u64::from(told == Some(Err(())));
        // What is impossible is not known.
        let rate = told.map(|told| told.unwrap_or(None));
        let sampler = values.number(NumericElement::Sampler);
        let interfaces = [NumericElement::Ingress, NumericElement::Egress]
            .map(|of| values.number(of).filter(|number| *number != 0));
        let interface = interfaces[0].or(interfaces[1]);
        let [of_samplers, of_sequences, of_interfaces] = MOST;
        let mut has_room = true;
        match (sampler, rate) {
            (Some(sampler), Some(rate)) => has_room &= put(&mut self.samplers, sampler, rate, of_samplers),
            (None, Some(rate)) if interface.is_none() => self.rate = Some(rate),
            // A sampler is there, and its rate may follow.
            (Some(sampler), None) if sampler != 0 && values.number(NumericElement::Algorithm).is_none() => {
                has_room &= self.samplers.contains_key(&sampler)
                    || put(&mut self.samplers, sampler, None, of_samplers);
            }
            _ => {}
        }
        let of_interface = match (sampler, rate) {
            // Number 0 may be that of several interfaces, each with a rate of its own.
            (None | Some(0), Some(rate)) => Some(OfInterface::Rate(rate)),
            (sampler, _) => sampler.map(OfInterface::Sampler),
        };
        if let Some((interface, what)) = interface.zip(of_interface) {
            has_room &= put(&mut self.interfaces, interface, what, of_interfaces);
        }
        if let Some((sequence, sampler)) = values.number(NumericElement::Sequence).zip(sampler) {
            has_room &= put(&mut self.sequences, sequence, sampler, of_sequences);
        }
        counts.too_many_samplers += u64::from(!has_room);
    }

    /// Takes what a sample tells of its source: the rate, and the number of samples of the source that the agent has dropped so far. `has_room`: a
    /// source that is not known finds room.
    pub(crate) fn source(
        &mut self,
        source: (u32, u32),
        rate: Option<SamplingRate>,
        drops: u32,
        has_room: bool,
    ) -> SourceChange {
        let Some(known) = self.sources.get_mut(&source) else {
            if !has_room || self.sources.len() >= MOST_SOURCES {
                return SourceChange::NoRoom;
            }
            self.sources.insert(source, SampleSource { rate, drops });
            return SourceChange::New;
        };
        known.rate = rate;
        let more = drops.wrapping_sub(known.drops);
        // One that is less is of a datagram that was overtaken, or of an agent that began anew.
        if more as i32 <= 0 {
            return SourceChange::Dropped(0);
        }
        known.drops = drops;
        SourceChange::Dropped(more)
    }

    /// The number of sources of samples.
    pub(crate) fn sources(&self) -> usize {
        self.sources.len()
    }

    /// The rate of a record: its own, that of its sampler, of its interface, of the only sampler, or the exporter's. `usual` is that of exporters
    /// that tell none.
    pub(crate) fn rate_of(
        &self,
        values: &RecordValues,
        usual: Option<SamplingRate>,
        counts: &mut SamplingCounts,
    ) -> Option<SamplingRate> {
        self.told_of(values, counts).unwrap_or(usual.or(Some(SamplingRate::ALL))).or(usual)
    }

    /// Returns what was told of a record's rate; `None` where that is nothing.
    fn told_of(&self, values: &RecordValues, counts: &mut SamplingCounts) -> Option<Option<SamplingRate>> {
        match values::sampling(values) {
            Some(Ok(rate)) => return Some(rate),
            Some(Err(())) => counts.wrong_sampling += 1,
            None => {}
        }
        let of_sequence = || {
            values.number(NumericElement::Sequence).and_then(|number| self.sequences.get(&number).copied())
        };
        let named = values.number(NumericElement::Sampler).or_else(of_sequence);
        let known = named.and_then(|number| self.samplers.get(&number).copied());
        match (named, known) {
            // Number 0 is no sampler where none is known by it, and hides no rate of an interface.
            (Some(0), _) => return self.get_interface_rate(values).or(known).or(self.rate),
            (Some(_), Some(rate)) => return Some(rate),
            (Some(_), None) => {
                counts.unknown_sampler += 1;
                return self.rate.or(Some(None));
            }
            (None, _) => {}
        }
        if !self.interfaces.is_empty() {
            return self.get_interface_rate(values).or(self.rate).or(Some(None));
        }
        // An exporter with one sampler need not name it, nor one whose samplers are alike.
        let mut rates = self.samplers.values();
        let first = rates.next().copied();
        match first {
            Some(rate) if rates.all(|other| *other == rate) => Some(rate),
            Some(_) => self.rate.or(Some(None)),
            None => self.rate,
        }
    }

    fn get_interface_rate(&self, values: &RecordValues) -> Option<Option<SamplingRate>> {
        let mut interfaces = [NumericElement::Ingress, NumericElement::Egress].map(|of| values.number(of));
        if values.number(NumericElement::Direction) == Some(1) {
            interfaces.reverse();
        }
        let found = interfaces.into_iter().flatten().find_map(|interface| self.interfaces.get(&interface))?;
        match found {
            OfInterface::Rate(rate) => Some(*rate),
            OfInterface::Sampler(0) => self.samplers.get(&0).copied(),
            OfInterface::Sampler(number) => Some(self.samplers.get(number).copied().flatten()),
        }
    }

    /// All rates that were told.
    pub(crate) fn rates(&self) -> Vec<SamplingRate> {
        let of_interface = |of: &OfInterface| match of {
            OfInterface::Rate(rate) => *rate,
            OfInterface::Sampler(_) => None,
        };
        let interfaces = self.interfaces.values().filter_map(of_interface);
        let mut rates: Vec<SamplingRate> = self
            .samplers
            .values()
            .copied()
            .chain([self.rate.flatten()])
            .flatten()
            .chain(interfaces)
            .chain(self.sources.values().filter_map(|source| source.rate))
            .collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }
}

/// Keeps a value; false where there is no room.
fn put<T>(values: &mut HashMap<u64, T>, number: u64, value: T, most: usize) -> bool {
    let has_room = values.len() < most || values.contains_key(&number);
    if has_room {
        values.insert(number, value);
    }
    has_room
}
