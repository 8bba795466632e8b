//! `edison-lab bench port`: what each step costs from mbufs in memory, handed over by net_ring, to the updated record.

use crate::compare::{in_turn, ns};
use crate::{BenchResult, Points};
use arena::Limits;
use flow::{FlowRecord, WindowRow};
use flowtable::{FlowSink, FlowTable, TableConfig, Timeouts};
use packet::{BurstParser, Key, PacketFields, Seed, Tunnel};
use port::dpdk::{Eal, EalConfig, RingPort};
use port::{PacketSource, Poll};
use serde_json::json;
use std::time::Instant;
use tcp::LossCounts;
use traffic::{Generator, TrafficSpec};

const BURST: u16 = 64;

/// The last step of a packet; each step includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum PortStep {
    Count,
    Parse,
    Record,
}

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = points.flows.unwrap_or(1_000_000);
    let zipf = points.zipf.unwrap_or(1.0);
    let rings = points.packets.map_or(vec![1_000, 50_000], |packets| vec![packets]);
    let most = rings.iter().copied().max().unwrap_or(0);
    let config = EalConfig { memory_bytes: RingPort::memory_bytes(most), ..EalConfig::default() };
    let eal = Eal::init(&config).map_err(|error| error.to_string())?;
    for mbufs in rings {
        point(&eal, mbufs, flows, zipf, points.seconds, out)?;
    }
    Ok(())
}

fn point(
    eal: &std::sync::Arc<Eal>,
    mbufs: u64,
    flows: u64,
    zipf: f64,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let spec: TrafficSpec = format!("packets={mbufs},flows={flows},zipf={zipf},size=64,seed=1")
        .parse()
        .map_err(|e| format!("{e}"))?;
    let mut generator = Generator::with_truth(spec);
    let mut buffer = vec![0; generator.longest_capture()];
    let mut frames = Vec::new();
    while let Some(made) = generator.next_frame(&mut buffer) {
        frames.push(buffer[..made.captured as usize].to_vec());
    }
    let truth = generator.truth().ok_or("the generator kept no truth")?;
    let mut ring = RingPort::new(eal, &frames, BURST).map_err(|error| error.to_string())?;
    drop(frames);
    // The same mbufs are reused until enough packets have passed to be timed.
    let passes = (2_000_000 / mbufs).max(1);
    let mut steps = [(PortStep::Count, true), (PortStep::Parse, true), (PortStep::Record, true)];
    let mut fault = None;
    let times = in_turn(&mut steps, seconds, |(step, checked)| {
        let mut path = BurstPipeline::new();
        let mut total = 0.0;
        for _ in 0..=passes {
            if let Err(error) = ring.refill() {
                fault = Some(error.to_string());
                return f64::NAN;
            }
            let began = Instant::now();
            if let Err(error) = path.receive_all(ring.source(), *step) {
                fault = Some(error);
                return f64::NAN;
            }
            // The first pass inserts: it is not the one that counts.
            total += if path.passes == 1 { 0.0 } else { ns(began.elapsed()) };
        }
        *checked &= path.agrees(*step, &truth);
        total
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    let packets = mbufs * passes;
    let mut before = 0.0;
    for ((step, checked), rounds_ns) in steps.into_iter().zip(times) {
        let line = BenchResult {
            bench: "port",
            variant: format!("{step:?}").to_lowercase(),
            params: vec![
                ("mbufs", json!(mbufs)),
                ("flows", json!(flows)),
                ("zipf", json!(zipf)),
                ("cores", json!(1)),
            ],
            packets,
            rounds_ns,
            memory_bytes: None,
            checked,
            more: Vec::new(),
        };
        let own = line.ns_per_packet() - before;
        before = line.ns_per_packet();
        out(BenchResult { more: vec![("step_ns", json!((own * 10.0).round() / 10.0))], ..line });
    }
    Ok(())
}

/// The path of a burst in the engine, up to a step.
struct BurstPipeline {
    parser: BurstParser,
    v4: FlowTable<packet::KeyV4>,
    sink: StepSink,
    passes: u64,
    received: u64,
    wire_byte: u64,
    parsed_byte: u64,
}

#[derive(Default)]
struct StepSink {
    flows: u64,
    packets: u64,
    bytes: u64,
}

impl FlowSink for StepSink {
    fn window_sealed<K: Key>(&mut self, _: u16, _: WindowRow<K>, _: Option<&LossCounts>) {}
    fn flow_ended(&mut self, record: FlowRecord) {
        self.flows += 1;
        self.packets += record.total_count;
        self.bytes += record.total_byte;
    }
    fn table_full<K: Key>(&mut self, _: &K, _: &PacketFields) {}
}

impl BurstPipeline {
    fn new() -> Self {
        let seed = Seed::new(5);
        let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
        let limits = Limits::new(usize::MAX >> 1, 1 << 28);
        Self {
            parser: BurstParser::new(seed, Tunnel::Outer, BURST.into()),
            v4: FlowTable::new(TableConfig::plain(seed, timeouts), &limits)
                .expect("address space for a table"),
            sink: StepSink::default(),
            passes: 0,
            received: 0,
            wire_byte: 0,
            parsed_byte: 0,
        }
    }

    fn receive_all(&mut self, source: &mut dyn PacketSource, step: PortStep) -> Result<(), String> {
        self.passes += 1;
        while let Poll::Burst(burst) = source.rx_burst().map_err(|error| error.to_string())? {
            self.received += burst.len() as u64;
            if step == PortStep::Count {
                self.wire_byte += burst.frames().map(|frame| u64::from(frame.wire_len)).sum::<u64>();
                continue;
            }
            for frame in burst.frames() {
                self.parser.push::<true>(&frame, 0);
            }
            if step == PortStep::Parse {
                let bytes =
                    self.parser.bursts.v4.packets().iter().map(|packet| u64::from(packet.fields.total_byte));
                self.parsed_byte += bytes.sum::<u64>();
            } else {
                self.v4.prefetch_index(self.parser.bursts.v4.packets());
                self.v4.update_burst(&self.parser.bursts.v4, &mut self.sink);
            }
            self.parser.clear();
        }
        Ok(())
    }

    /// Compares each pass with what was generated.
    fn agrees(&mut self, step: PortStep, truth: &traffic::Truth) -> bool {
        self.v4.end_all(&mut self.sink);
        let totals = &truth.totals;
        self.received == self.passes * totals.count.packets
            && match step {
                PortStep::Count => self.wire_byte == self.passes * totals.count.wire_byte,
                PortStep::Parse => self.parsed_byte == self.passes * totals.count.total_byte,
                PortStep::Record => {
                    self.sink.flows == totals.flows
                        && self.sink.packets == self.passes * totals.count.packets
                        && self.sink.bytes == self.passes * totals.count.total_byte
                }
            }
    }
}
