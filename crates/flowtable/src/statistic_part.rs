//! Statistics of every flow (`--gap`, `--packet-size`, `--inter-arrival`): of its record, and of its packets in the open window.

use crate::cuckoo::NONE;
use crate::parts::{MeasuredParts, is_of_record};
use crate::statistic::{PercentileSample, StatisticBlock, StatisticSpec};
use arena::Limits;
use arena::{Arena, OutOfMemory};
use flow::{MAX_STATISTICS, Metric};
use packet::{KeyedPacket, Numbers};
use std::cell::Cell;

/// The statistics that are requested of one metric.
#[derive(Debug)]
struct MetricBlocks {
    metric: Metric,
    spec: StatisticSpec,
    /// Blocks of a flow; none if the record itself contains the value.
    blocks: usize,
}

/// Statistics of every flow.
#[derive(Debug)]
pub(crate) struct StatisticPart {
    /// The metrics of records, then those of windows.
    asked: Vec<MetricBlocks>,
    /// The number of metrics of records.
    of_records: usize,
    /// The first blocks of a flow, which are those of its record.
    record_blocks: usize,
    /// Blocks of all metrics of a flow.
    blocks_per_flow: usize,
    blocks: Arena<StatisticBlock>,
}

impl StatisticPart {
    /// Creates the statistics of every flow; `None` if nothing is requested.
    pub(crate) fn new(
        parts: &MeasuredParts,
        flows: usize,
        limits: &Limits,
    ) -> Result<Option<Self>, OutOfMemory> {
        let of_record = |&(metric, spec): &(Metric, StatisticSpec)| {
            let blocks = if is_of_record(metric, &spec) { 0 } else { spec.blocks() };
            MetricBlocks { metric, spec, blocks }
        };
        let of_window =
            |&(metric, spec): &(Metric, StatisticSpec)| MetricBlocks { metric, spec, blocks: spec.blocks() };
        let mut asked: Vec<_> = parts.statistics.iter().flatten().map(of_record).collect();
        let of_records = asked.len();
        let record_blocks = asked.iter().map(|asked| asked.blocks).sum();
        asked.extend(parts.window_statistics.iter().flatten().map(of_window));
        if asked.is_empty() {
            return Ok(None);
        }
        let blocks_per_flow = asked.iter().map(|asked| asked.blocks).sum();
        let most = flows
            .saturating_mul(blocks_per_flow)
            .min(limits.bytes_allowed() / size_of::<StatisticBlock>() + 1);
        let blocks = Arena::reserve(most, limits)?;
        Ok(Some(Self { asked, of_records, record_blocks, blocks_per_flow, blocks }))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.bytes()
    }

    /// Makes room for flows up to number `slots`.
    pub(crate) fn make_room(&mut self, slots: usize) -> bool {
        while self.blocks.len() < slots * self.blocks_per_flow {
            if !self.blocks.make_room() {
                return false;
            }
            self.blocks.push(StatisticBlock::EMPTY);
        }
        true
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: usize) {
        for block in 0..self.blocks_per_flow {
            self.blocks.prefetch(slot * self.blocks_per_flow + block);
        }
    }

    /// A new record begins in `slot`.
    pub(crate) fn clear(&mut self, slot: usize) {
        let first = slot * self.blocks_per_flow;
        self.blocks[first..first + self.record_blocks].fill(StatisticBlock::EMPTY);
    }

    /// True if records have statistics.
    #[inline]
    pub(crate) fn has_records(&self) -> bool {
        self.of_records != 0
    }

    /// True if windows have statistics of their own.
    #[inline]
    pub(crate) fn has_windows(&self) -> bool {
        self.of_records != self.asked.len()
    }

    /// Writes the values of the closing window's packets in `slot` to `values`, in the order in which they were requested, and begins the next
    /// window without a packet. Returns the number of values.
    pub(crate) fn seal(&mut self, slot: usize, values: &mut [f64; MAX_STATISTICS]) -> usize {
        let (first, end) =
            (slot * self.blocks_per_flow + self.record_blocks, (slot + 1) * self.blocks_per_flow);
        let (mut block, mut at) = (first, 0);
        for MetricBlocks { spec, blocks, .. } in &self.asked[self.of_records..] {
            let count = spec.statistics().len();
            values[at..at + count].copy_from_slice(&spec.values(&self.blocks[block..])[..count]);
            block += blocks;
            at += count;
        }
        self.blocks[first..end].fill(StatisticBlock::EMPTY);
        at
    }

    /// Counts packets whose flows are known, at most one batch of the table.
    pub(crate) fn update<K, const BATCH: usize>(
        &mut self,
        packets: &[KeyedPacket<K>],
        numbers: Numbers,
        slots: &[Cell<u32>],
    ) {
        let mut offset = 0;
        for MetricBlocks { metric, spec, blocks } in self.asked.iter().filter(|asked| asked.blocks != 0) {
            let state =
                MetricState { blocks: &mut self.blocks, per_flow: self.blocks_per_flow, offset, spec };
            // What is sampled, and for what, is determined once per batch, not per packet.
            match (spec.has_moments(), spec.has_percentiles()) {
                (true, false) => state.update::<K, true, false, BATCH>(*metric, packets, numbers, slots),
                (false, true) => state.update::<K, false, true, BATCH>(*metric, packets, numbers, slots),
                _ => state.update::<K, true, true, BATCH>(*metric, packets, numbers, slots),
            }
            offset += blocks;
        }
    }

    /// The values of the flow in `slot`, in the order in which they were requested. `mean`: that of a metric
    /// whose mean the record contains.
    pub(crate) fn values(&self, slot: usize, mean: impl Fn(Metric) -> f64) -> [f64; MAX_STATISTICS] {
        let mut values = [f64::NAN; MAX_STATISTICS];
        let mut block = slot * self.blocks_per_flow;
        let mut at = 0;
        for MetricBlocks { metric, spec, blocks } in &self.asked[..self.of_records] {
            let count = spec.statistics().len();
            match blocks {
                0 => values[at] = mean(*metric),
                _ => values[at..at + count].copy_from_slice(&spec.values(&self.blocks[block..])[..count]),
            }
            block += blocks;
            at += count;
        }
        values
    }

    pub(crate) fn forget_all(&mut self) {
        self.blocks.clear();
    }
}

/// The state of one metric, of all flows.
struct MetricState<'a> {
    blocks: &'a mut [StatisticBlock],
    /// Blocks of a flow, of all metrics together.
    per_flow: usize,
    /// Blocks of the metrics before this one.
    offset: usize,
    spec: &'a StatisticSpec,
}

impl MetricState<'_> {
    fn update<K, const MOMENTS: bool, const PERCENTILES: bool, const BATCH: usize>(
        self,
        metric: Metric,
        packets: &[KeyedPacket<K>],
        numbers: Numbers,
        slots: &[Cell<u32>],
    ) {
        let block_of = |slot: &Cell<u32>| match slot.get() {
            NONE => None,
            slot => Some(slot as usize * self.per_flow + self.offset),
        };
        let mut samples = [PercentileSample::default(); BATCH];
        let mut count = 0;
        // The moments at once, while their block is at hand; percentiles after all samples.
        let mut take = |block: &mut StatisticBlock, at, value| {
            if MOMENTS {
                block.add_to_moments(value);
            }
            if PERCENTILES && let Some(sample) = samples.get_mut(count) {
                *sample = PercentileSample { block: at, value };
                count += 1;
            }
        };
        match metric {
            Metric::Size => {
                for (packet, slot) in packets.iter().zip(slots) {
                    if let Some(at) = block_of(slot) {
                        take(&mut self.blocks[at], at, packet.fields.total_byte.into());
                    }
                }
            }
            Metric::Gap => {
                for (packet, slot) in packets.iter().zip(slots) {
                    let Some(at) = block_of(slot) else { continue };
                    let (number, block) = (numbers.number_of(&packet.fields), &mut self.blocks[at]);
                    if let Some(last) = block.replace_last(number) {
                        // Between two packets lie one frame less than their numbers differ by.
                        take(block, at, number.saturating_sub(last + 1));
                    }
                }
            }
            Metric::InterArrival => {
                for (packet, slot) in packets.iter().zip(slots) {
                    let Some(at) = block_of(slot) else { continue };
                    let (now, block) = (packet.fields.time_ns, &mut self.blocks[at]);
                    if let Some(last) = block.replace_last(now) {
                        take(block, at, now.saturating_sub(last));
                    }
                }
            }
        }
        if PERCENTILES {
            self.spec.add_to_percentiles(self.blocks, &samples[..count]);
        }
    }
}
