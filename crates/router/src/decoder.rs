//! The decoder, which takes datagrams and gives flows.

mod sflow;

use crate::counts::DecoderCounts;
use crate::exporter::{Exporter, ExporterId, ExporterState, ExporterTemplate, SharedRoom, Version};
use crate::foreign::{ForeignSender, Foreigners, Protocol};
use crate::network::ExporterNetwork;
use crate::rate::SamplingRate;
use crate::sequence::{DatagramOrder, Heading, SequenceUnit, Units};
use crate::values::{self, TimeFacts};
use crate::version5::{self, Header, MOST_RECORDS};
use crate::waiting;
use flow::{FlowRecord, NULL};
use record::read::{
    COUNTERS, ExportProtocol, ExportTimes, FieldPlan, NumericElement, Octets, RecordOf, RecordValues,
    RunningTotals, Template, TemplateRecord,
};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The most exporters that are known at a time, and those of one address: strangers can send from any of its ports.
const MOST_EXPORTERS: [usize; 2] = [4096, 1024];
/// The most fields of all templates of all exporters, each template counting as one more; and of those of one.
const MOST_FIELDS: [usize; 2] = [1 << 17, 1 << 14];
/// An exporter that was silent for so long may give its place to another one; the second time is where its address has no place left.
const SILENT_NS: [u64; 2] = [30 * 60 * SECOND, 60 * SECOND];
const SECOND: u64 = 1_000_000_000;
/// The most packets or bytes of a record: 400 Gbit/s for an hour and a half. One that has more would make sums overflow.
const MOST_COUNT: u64 = 1 << 48;
/// Octets of the header of a message of IPFIX.
const HEADER: usize = 16;
/// Octets of the header of a set.
const SET_HEADER: usize = 4;

/// The settings of a decoder.
#[derive(Clone, Debug, Default)]
pub struct DecoderSettings {
    /// The networks whose addresses may export; all addresses where it is empty.
    pub from: Vec<ExporterNetwork>,
    /// The rate of exporters that tell none.
    pub sampling: Option<SamplingRate>,
}

/// A flow as a router told it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedFlow {
    /// The record, with packets and bytes as sampling stands for them, as far as that is known.
    pub record: FlowRecord,
    /// The sampling rate; `None` where some packets were left out, and it is not known how many.
    pub rate: Option<SamplingRate>,
    /// The number of packets that were counted.
    pub counted: u64,
}

/// Takes the flows of a datagram.
type Take<'a> = dyn FnMut(ExportedFlow) + 'a;

/// The reason why a datagram was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatagramFault {
    Damaged,
    TooManyExporters,
}

/// Decodes datagrams of any number of exporters, within limits.
#[derive(Debug, Default)]
pub struct Decoder {
    settings: DecoderSettings,
    exporters: HashMap<ExporterId, Exporter>,
    /// The number of exporters of each address.
    of_address: HashMap<IpAddr, usize>,
    /// The states of exporters whose sessions are over.
    earlier: HashMap<ExporterId, ExporterState>,
    /// The time at which room was last made for other exporters, nanoseconds since the epoch.
    swept_ns: u64,
    foreigners: Foreigners,
    state: DecoderState,
}

/// The state that exporters have in common.
#[derive(Debug, Default)]
struct DecoderState {
    counts: DecoderCounts,
    /// The octets of data that wait for templates.
    waiting_bytes: usize,
    /// The fields of all templates, and all sources of samples.
    room: SharedRoom,
    /// The rate of exporters that tell none.
    sampling: Option<SamplingRate>,
    totals: RunningTotals,
    /// The number of sessions of exporters so far.
    sessions: u64,
    now_ns: u64,
}

impl DecoderState {
    /// The number of a session that begins.
    fn session(&mut self) -> u64 {
        self.sessions += 1;
        self.sessions
    }

    /// Returns true if little room is left of what exporters share.
    fn is_crowded(&self) -> bool {
        self.waiting_bytes > waiting::MOST_BYTES / 2
            || self.room.fields > MOST_FIELDS[0] / 2
            || self.room.sources > sflow::MOST_SOURCES / 2
    }
}

impl Decoder {
    /// A decoder that knows no exporter yet.
    pub fn new(settings: DecoderSettings) -> Self {
        let state = DecoderState { sampling: settings.sampling, ..DecoderState::default() };
        Self { settings, state, ..Self::default() }
    }

    /// Returns the counts of what came, and of what became of it.
    pub fn counts(&self) -> &DecoderCounts {
        &self.state.counts
    }

    /// The exporters that are known, by their addresses: those whose sessions are over stand before the others.
    pub fn exporters(&self) -> Vec<ExporterState> {
        let known = self.exporters.iter().map(|(name, exporter)| exporter.state(name));
        let mut states: Vec<_> = known.chain(self.earlier.values().cloned()).collect();
        states.sort_by_key(|state| (state.address, state.version, state.agent, state.domain, state.port));
        states
    }

    /// Senders of what is not read, each once, and some of them where they are many.
    pub fn foreigners(&mut self) -> &[ForeignSender] {
        self.foreigners.take()
    }

    /// Octets of data that wait for templates.
    pub fn waiting_bytes(&self) -> usize {
        self.state.waiting_bytes
    }

    /// Gives up the data that wait for templates: no datagram follows.
    pub fn finish(&mut self) {
        let DecoderState { counts, waiting_bytes, .. } = &mut self.state;
        for exporter in self.exporters.values_mut() {
            counts.templates.without_template += exporter.waiting.give_up(None, waiting_bytes);
        }
    }

    /// Takes a datagram of this address and port, which came now, and gives its flows.
    pub fn datagram(&mut self, from: SocketAddr, octets: &[u8], now_ns: u64, take: &mut Take<'_>) {
        self.state.counts.datagrams.received += 1;
        self.state.now_ns = now_ns;
        let socket = SocketAddr::new(from.ip().to_canonical(), from.port());
        let from = (socket.ip(), socket.port());
        let networks = &self.settings.from;
        if !networks.is_empty() && !networks.iter().any(|network| network.contains(from.0)) {
            self.state.counts.datagrams.refused_exporter += 1;
            return;
        }
        let mut rest = Octets(octets);
        let read = match rest.u16() {
            Some(5) => self.version5(from, rest, take),
            Some(9) => self.version9(from, rest, take),
            Some(10) => self.ipfix(from, rest, take),
            Some(0) if rest.u16() == Some(crate::sflow::VERSION) => self.sflow(from, rest, take),
            _ => {
                let protocol = Protocol::detect(octets);
                let counts = &mut self.state.counts;
                counts.datagrams.unknown_version += 1;
                if let Some(protocol) = protocol {
                    counts.datagrams.foreign[protocol as usize] += 1;
                }
                self.foreigners.add(ForeignSender { protocol, from: socket });
                return;
            }
        };
        let counts = &mut self.state.counts;
        *match read {
            Ok(()) => &mut counts.datagrams.decoded,
            Err(DatagramFault::Damaged) => &mut counts.datagrams.damaged,
            Err(DatagramFault::TooManyExporters) => &mut counts.datagrams.too_many_exporters,
        } += 1;
    }

    fn version5(
        &mut self,
        from: (IpAddr, u16),
        mut rest: Octets<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), DatagramFault> {
        let header = Header::read(&mut rest).ok_or(DatagramFault::Damaged)?;
        let records = rest.0.chunks_exact(version5::RECORD);
        let is_whole =
            (1..=MOST_RECORDS).contains(&header.count) && records.len() >= usize::from(header.count);
        if !is_whole {
            return Err(DatagramFault::Damaged);
        }
        let name = ExporterId::new(from, Version::V5, header.engine.into());
        let (exporter, state) = self.exporter(name)?;
        let heading = Heading { number: header.sequence, facts: header.facts, now_ns: state.now_ns };
        let order = exporter.begin_message(heading, state);
        exporter.samplers.rate = match SamplingRate::one_of(header.sampling.into()) {
            None if header.mode != 0 => Some(None),
            rate => rate.map(Some),
        };
        let read = usize::from(header.count) * version5::RECORD;
        state.counts.datagrams.trailing_octets += rest.0.len().saturating_sub(read) as u64;
        let times = TimeFacts { facts: header.facts, start_ms: None };
        for values in records.take(header.count.into()).filter_map(version5::values) {
            let rate = exporter.samplers.rate_of(&values, state.sampling, &mut state.counts.sampling);
            exporter.flow(&values, values.plain_counts(), times, rate, state, take);
        }
        let units = Units { records: Some(header.count.into()), flows: None };
        exporter.finish_message(heading, order, units, state);
        Ok(())
    }

    fn version9(
        &mut self,
        from: (IpAddr, u16),
        mut rest: Octets<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), DatagramFault> {
        let mut header = || {
            let (count, uptime, seconds) = (rest.u16()?, rest.u32()?, rest.u32()?);
            Some((count, uptime, seconds, rest.u32()?, rest.u32()?))
        };
        let (count, uptime, seconds, sequence, domain) = header().ok_or(DatagramFault::Damaged)?;
        let facts = ExportTimes { export_ns: u64::from(seconds) * SECOND, uptime_ms: Some(uptime) };
        let name = ExporterId::new(from, Version::V9, domain);
        let (exporter, state) = self.exporter(name)?;
        let heading = Heading { number: sequence, facts, now_ns: state.now_ns };
        let order = exporter.begin_message(heading, state);
        let (units, read) = exporter.sets(rest, facts, Some(count.into()), state, take);
        exporter.finish_message(heading, order, units, state);
        read
    }

    fn ipfix(
        &mut self,
        from: (IpAddr, u16),
        mut rest: Octets<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), DatagramFault> {
        let mut header = || Some((rest.u16()?, rest.u32()?, rest.u32()?, rest.u32()?));
        let (length, seconds, sequence, domain) = header().ok_or(DatagramFault::Damaged)?;
        let content = usize::from(length).checked_sub(HEADER).and_then(|length| rest.take(length));
        // What stands behind the message is none of it.
        let behind = std::mem::replace(&mut rest, Octets(content.ok_or(DatagramFault::Damaged)?));
        let facts = ExportTimes { export_ns: u64::from(seconds) * SECOND, uptime_ms: None };
        let name = ExporterId::new(from, Version::Ipfix, domain);
        let (exporter, state) = self.exporter(name)?;
        let heading = Heading { number: sequence, facts, now_ns: state.now_ns };
        let order = exporter.begin_message(heading, state);
        state.counts.datagrams.trailing_octets += behind.0.len() as u64;
        let (units, read) = exporter.sets(rest, facts, None, state, take);
        exporter.finish_message(heading, order, units, state);
        read
    }

    /// The exporter of this name, new if it is not known.
    fn exporter(&mut self, name: ExporterId) -> Result<(&mut Exporter, &mut DecoderState), DatagramFault> {
        let [of_all, of_address] = MOST_EXPORTERS;
        let is_new = !self.exporters.contains_key(&name);
        let is_full = |own: &Self| own.of_address.get(&name.address).is_some_and(|of| *of >= of_address);
        // Who is silent keeps what others need. Sessions that are over are told together once another one begins.
        if is_new || self.exporters.len() >= of_all || self.state.is_crowded() {
            self.sweep(is_full(self).then_some(name.address));
        }
        if is_new {
            if self.exporters.len() >= of_all || is_full(self) {
                return Err(DatagramFault::TooManyExporters);
            }
            *self.of_address.entry(name.address).or_default() += 1;
        }
        let state = &mut self.state;
        let new = || Exporter::new(name.version, state.session());
        let exporter = self.exporters.entry(name).or_insert_with(new);
        exporter.datagrams += 1;
        exporter.seen_ns = self.state.now_ns;
        Ok((exporter, &mut self.state))
    }

    /// Forgets exporters that are silent, and what has waited too long, once a second at the most. `full`: an address that has no place
    /// left.
    fn sweep(&mut self, full: Option<IpAddr>) {
        let DecoderState { counts, waiting_bytes, room, now_ns, .. } = &mut self.state;
        if now_ns.saturating_sub(self.swept_ns) < SECOND {
            return;
        }
        self.swept_ns = *now_ns;
        let Self { exporters, of_address, earlier, .. } = self;
        let mut over = Vec::new();
        exporters.retain(|name, exporter| {
            let longest = SILENT_NS[usize::from(full == Some(name.address))];
            let stays = now_ns.saturating_sub(exporter.seen_ns) < longest;
            counts.templates.without_template +=
                exporter.waiting.give_up(stays.then_some(*now_ns), waiting_bytes);
            if !stays {
                if let Some(others) = of_address.get_mut(&name.address) {
                    *others -= 1;
                }
                over.push((exporter.seen_ns, *name, exporter.state_over(name)));
                room.give_back(exporter.restart());
            }
            stays
        });
        of_address.retain(|_, exporters| *exporters != 0);
        // Whose last datagram came first takes the room that is left.
        over.sort_unstable_by_key(|(seen_ns, name, _)| (*seen_ns, *name));
        for (_, name, state) in over {
            let of_same = ExporterId { port: 0, ..name };
            if let Some(known) = earlier.get_mut(&of_same) {
                known.add(state);
            } else if earlier.len() < MOST_EXPORTERS[0] {
                earlier.insert(of_same, state);
            } else {
                counts.exporters.forgotten += 1;
            }
        }
    }
}

impl Exporter {
    /// Begins a message: an exporter that began anew is recognised before the contents are read. Returns what the heading says of the message's
    /// place.
    fn begin_message(&mut self, heading: Heading, state: &mut DecoderState) -> DatagramOrder {
        let order = self.sequence.order(heading);
        if order == DatagramOrder::Restart {
            state.counts.exporters.restarts += 1;
            state.room.give_back(self.restart());
            self.session = state.session();
            // What waited is of templates that are told no more.
            state.counts.templates.without_template += self.waiting.give_up(None, &mut state.waiting_bytes);
            self.sequence.restart();
        }
        state.counts.templates.without_template +=
            self.waiting.give_up(Some(state.now_ns), &mut state.waiting_bytes);
        order
    }

    /// Takes note of a message that was read, with its place and what it has.
    fn finish_message(
        &mut self,
        heading: Heading,
        order: DatagramOrder,
        units: Units,
        state: &mut DecoderState,
    ) {
        let before = self.sequence.lost;
        state.counts.exporters.repeated += u64::from(self.sequence.take(heading, order, units));
        let lost = match self.sequence.counts() {
            SequenceUnit::Messages => &mut state.counts.exporters.lost_messages,
            SequenceUnit::Records | SequenceUnit::Flows | SequenceUnit::OwnFlows => {
                &mut state.counts.exporters.lost_records
            }
        };
        *lost = (*lost + self.sequence.lost).saturating_sub(before);
    }

    /// Reads the sets of a message; `count` is how many records one of NetFlow v9 says it has. Returns how many records they have, as far
    /// as that is known, and whether all could be read.
    fn sets(
        &mut self,
        mut rest: Octets<'_>,
        facts: ExportTimes,
        count: Option<u32>,
        state: &mut DecoderState,
        take: &mut Take<'_>,
    ) -> (Units, Result<(), DatagramFault>) {
        let (dialect, [templates, options]) = match count {
            Some(_) => (ExportProtocol::NetFlow9, [0, 1]),
            None => (ExportProtocol::Ipfix, [2, 3]),
        };
        let mut read_records = 0u32;
        let mut told: Vec<u16> = Vec::new();
        let mut units = Units { records: Some(0), flows: Some(0) };
        let mut is_damaged = false;
        while rest.0.len() >= SET_HEADER {
            let behind = rest;
            let (Some(id), Some(length)) = (rest.u16(), rest.u16()) else { break };
            let content = usize::from(length).checked_sub(SET_HEADER).and_then(|length| rest.take(length));
            let Some(set) = content else {
                // What is no set behind all records, or is zero, is none of the message.
                rest = behind;
                let is_whole = count.is_some_and(|count| count != 0 && read_records >= count);
                is_damaged = !is_whole && rest.0.iter().any(|octet| *octet != 0);
                break;
            };
            let read = match id {
                _ if id == templates => {
                    self.learn(set, false, dialect, state, &mut told).map(|more| read_records += more)
                }
                _ if id == options => {
                    self.learn(set, true, dialect, state, &mut told).map(|more| read_records += more)
                }
                256.. => match self.templates.get(&id).cloned() {
                    Some(known) => self.data(&known, set, facts, state, take).map(|more| {
                        read_records = read_records.saturating_add(more);
                        let add =
                            |number: Option<u32>, more| number.map(|number| number.saturating_add(more));
                        let flows = if known.template.is_options { 0 } else { more };
                        units = Units { records: add(units.records, more), flows: add(units.flows, flows) };
                    }),
                    None => {
                        units = Units::default();
                        let DecoderState { waiting_bytes, now_ns, .. } = state;
                        if !self.waiting.keep(id, set, facts, *now_ns, waiting_bytes) {
                            state.counts.templates.without_template += 1;
                        }
                        Ok(())
                    }
                },
                // A number that is reserved.
                _ => Ok(()),
            };
            if read.is_err() {
                is_damaged = true;
                break;
            }
        }
        // Options of the message may tell how data are sampled that waited for its templates.
        told.into_iter().for_each(|id| self.read_late(id, state, take));
        if is_damaged {
            return (Units::default(), Err(DatagramFault::Damaged));
        }
        state.counts.datagrams.trailing_octets += rest.0.len() as u64;
        (units, Ok(()))
    }

    /// Takes templates, and adds those for which data may wait to `told_ids`. Returns how many there were.
    fn learn(
        &mut self,
        set: &[u8],
        is_options: bool,
        dialect: ExportProtocol,
        state: &mut DecoderState,
        told_ids: &mut Vec<u16>,
    ) -> Result<u32, DatagramFault> {
        let mut number = 0;
        let mut octets = Octets(set);
        while let Some(told) =
            Template::read(&mut octets, is_options, dialect).map_err(|_| DatagramFault::Damaged)?
        {
            number += 1;
            match told {
                TemplateRecord::Definition(id, template) => {
                    // Over UDP templates are told again and again.
                    if self.templates.get(&id).is_none_or(|known| known.template != template) {
                        self.define(id, template, state);
                    }
                    told_ids.push(id);
                }
                TemplateRecord::Withdrawal(id) => {
                    let is_of = |known: &ExporterTemplate| known.template.is_options == is_options;
                    if !matches!(id, 2 | 3) {
                        if self.templates.get(&id).is_some_and(|known| is_of(known)) {
                            self.forget(id, state);
                        }
                        continue;
                    }
                    let all = self.templates.iter().filter(|(_, known)| is_of(known));
                    let ids: Vec<u16> = all.map(|(of, _)| *of).collect();
                    ids.into_iter().for_each(|id| self.forget(id, state));
                }
            }
        }
        Ok(number)
    }

    fn define(&mut self, id: u16, template: Template, state: &mut DecoderState) {
        if self.templates.contains_key(&id) {
            state.counts.templates.changed_templates += 1;
            self.forget(id, state);
        }
        let fields = 1 + template.len();
        let [of_all, of_one] = MOST_FIELDS;
        if state.room.fields + fields > of_all || self.fields + fields > of_one {
            state.counts.templates.too_many_templates += 1;
            return;
        }
        state.room.fields += fields;
        self.fields += fields;
        let plan = FieldPlan::from_template(&template);
        self.templates.insert(id, Arc::new(ExporterTemplate { template, plan }));
    }

    fn forget(&mut self, id: u16, state: &mut DecoderState) {
        if let Some(known) = self.templates.remove(&id) {
            let fields = 1 + known.template.len();
            self.fields -= fields;
            state.room.fields -= fields;
        }
    }

    /// Reads the data that waited for a template. What is wrong with them is nothing of the message that brings it.
    fn read_late(&mut self, id: u16, state: &mut DecoderState, take: &mut Take<'_>) {
        let Some(known) = self.templates.get(&id).cloned() else { return };
        for set in self.waiting.take(id, &mut state.waiting_bytes) {
            match self.data(&known, &set.octets, set.facts, state, take) {
                Ok(_) => state.counts.templates.late_template += 1,
                Err(_) => state.counts.templates.damaged_sets += 1,
            }
        }
    }

    /// Reads the records of a set; returns how many there were.
    fn data(
        &mut self,
        known: &ExporterTemplate,
        set: &[u8],
        facts: ExportTimes,
        state: &mut DecoderState,
        take: &mut Take<'_>,
    ) -> Result<u32, DatagramFault> {
        if known.template.is_empty() {
            state.counts.templates.damaged_sets += 1;
            return Ok(0);
        }
        let (mut fields, mut at, mut records) = (Vec::new(), 0, 0);
        while known.template.split(set, &mut at, &mut fields).map_err(|_| DatagramFault::Damaged)? {
            records += 1;
            let values = RecordValues::read(&known.plan, set, &fields);
            state.counts.records.unfit_fields += u64::from(values.unfit().is_some());
            if known.template.is_options {
                self.option(&values, state);
                continue;
            }
            let rate = self.samplers.rate_of(&values, state.sampling, &mut state.counts.sampling);
            let times = TimeFacts { facts, start_ms: self.start_ms };
            let export_ns = facts.export_ns;
            let of = RecordOf { plan: &known.plan, set, fields: &fields, session: self.session, export_ns };
            let counted = values.counts(&mut state.totals, &of);
            self.flow(&values, counted, times, rate, state, take);
        }
        state.counts.records.forgotten_totals = state.totals.forgotten();
        Ok(records)
    }

    /// Takes what a record of options says.
    fn option(&mut self, values: &RecordValues, state: &mut DecoderState) {
        state.counts.records.option_records += 1;
        self.start_ms = values.number(NumericElement::SystemStart).or(self.start_ms);
        self.samplers.option(values, &mut state.counts.sampling);
    }

    /// Gives the flows of a record.
    fn flow(
        &mut self,
        values: &RecordValues,
        counted: [[u64; COUNTERS]; 2],
        times: TimeFacts,
        rate: Option<SamplingRate>,
        state: &mut DecoderState,
        take: &mut Take<'_>,
    ) {
        let records = values::records(values, counted, times, &mut state.counts.records);
        records.into_iter().flatten().for_each(|record| self.give(record, rate, state, take));
    }

    /// Gives a flow whose packets and bytes are as they were counted, with what they stand for.
    fn give(
        &mut self,
        mut record: FlowRecord,
        rate: Option<SamplingRate>,
        state: &mut DecoderState,
        take: &mut Take<'_>,
    ) {
        let counted = record.total_count;
        record.sampling_rate = rate.map_or(0, SamplingRate::rounded);
        let counts = [&mut record.total_count, &mut record.total_byte, &mut record.wire_byte];
        let mut is_plausible = true;
        for count in counts.into_iter().filter(|count| **count != NULL) {
            *count = rate.map_or(*count, |rate| rate.scale(*count));
            is_plausible &= *count <= MOST_COUNT;
        }
        if !is_plausible {
            state.counts.records.implausible += 1;
            return;
        }
        self.records += 1;
        self.sampled += u64::from(rate.is_none_or(SamplingRate::is_sampled));
        self.unknown_rate += u64::from(rate.is_none());
        state.counts.sampling.unknown_rate += u64::from(rate.is_none());
        state.counts.records.given += 1;
        take(ExportedFlow { record, rate, counted });
    }
}
