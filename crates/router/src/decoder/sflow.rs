//! Datagrams of sFlow: each sampled packet is a flow of one packet, which counts when it arrives.

use super::{DatagramFault, Decoder, DecoderState, Take};
use crate::exporter::{Exporter, ExporterId, Version};
use crate::rate::SamplingRate;
use crate::sequence::{Heading, Units};
use crate::sflow::{FlowSample, Header, Sample};
use record::read::{ExportTimes, Octets};
use std::net::IpAddr;

/// The most sources of samples of an exporter whose drops are compared.
const MOST_SOURCES: usize = 4096;

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
        self.count_drops(sample, state);
        let rate = SamplingRate::one_of(sample.rate.into());
        state.counts.sampling.wrong_sampling += u64::from(rate.is_none());
        if let Some(rate) = rate {
            let (kind, number) = sample.source;
            let source = u64::from(kind) << 32 | u64::from(number);
            self.samplers.set_interface_rate(source, rate, &mut state.counts.sampling);
        }
        self.give(record, rate.or(state.sampling), state, take);
        Some(())
    }

    /// Counts the samples that the agent dropped since the last sample of the source.
    fn count_drops(&mut self, sample: &FlowSample<'_>, state: &mut DecoderState) {
        let has_room = self.drops.len() < MOST_SOURCES;
        let Some(before) = self.drops.get_mut(&sample.source) else {
            if has_room {
                self.drops.insert(sample.source, sample.drops);
            }
            return;
        };
        // One that is less is of a datagram that was overtaken, or of an agent that began anew.
        let more = sample.drops.wrapping_sub(*before);
        if (more as i32) > 0 {
            state.counts.exporters.lost_records += u64::from(more);
            *before = sample.drops;
        }
    }
}
