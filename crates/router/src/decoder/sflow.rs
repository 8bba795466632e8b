//! Datagrams of sFlow: each sampled packet is a flow of one packet, which counts when it arrives.

use super::{DatagramFault, Decoder, DecoderState, Take};
use crate::exporter::{Exporter, ExporterId, Version};
use crate::rate::SamplingRate;
use crate::samplers::SourceChange;
use crate::sequence::{Heading, Units};
use crate::sflow::{FlowSample, Header, Sample};
use record::read::{ExportTimes, Octets};
use std::net::IpAddr;

/// The most sources of samples of all exporters.
pub(super) const MOST_SOURCES: usize = 1 << 16;

impl Decoder {
    /// Takes a datagram behind its version.
    pub(super) fn sflow(
        &mut self,
        from: (IpAddr, u16),
        mut rest: Octets<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), DatagramFault> {
        let header = Header::read(&mut rest).ok_or(DatagramFault::Damaged)?;
        let name = ExporterId::new(from, Version::SFlow, header.sub_agent);
        let (exporter, state) = self.exporter(ExporterId { agent: Some(header.agent), ..name })?;
        // The agent tells no time of day. A sample is on its way for a second at the most.
        let facts = ExportTimes { export_ns: state.now_ns, uptime_ms: Some(header.uptime_ms) };
        let heading = Heading { number: header.sequence, facts, now_ns: state.now_ns };
        let order = exporter.begin_message(heading, state);
        let mut read = Ok(());
        for _ in 0..header.samples {
            let taken = Sample::read(&mut rest).and_then(|sample| match sample {
                Sample::Flow(sample) => exporter.sample(&sample, state, take),
                Sample::Other => {
                    state.counts.records.other_samples += 1;
                    Some(())
                }
            });
            if taken.is_none() {
                read = Err(DatagramFault::Damaged);
                break;
            }
        }
        if read.is_ok() {
            state.counts.datagrams.trailing_octets += rest.0.len() as u64;
        }
        exporter.finish_message(heading, order, Units::default(), state);
        read
    }
}

impl Exporter {
    /// Gives the flow of a sample; `None` if the sample is cut off.
    fn sample(
        &mut self,
        sample: &FlowSample<'_>,
        state: &mut DecoderState,
        take: &mut Take<'_>,
    ) -> Option<()> {
        let record = sample.record(state.now_ns, &mut state.counts.records)?;
        let rate = SamplingRate::one_of(sample.rate.into());
        state.counts.sampling.wrong_sampling += u64::from(rate.is_none());
        let has_room = state.room.sources < MOST_SOURCES;
        match self.samplers.source(sample.source, rate, sample.drops, has_room) {
            SourceChange::New => state.room.sources += 1,
            SourceChange::NoRoom => state.counts.sampling.too_many_samplers += 1,
            SourceChange::Dropped(samples) => state.counts.exporters.lost_records += u64::from(samples),
        }
        self.give(record, rate.or(state.sampling), state, take);
        Some(())
    }
}
