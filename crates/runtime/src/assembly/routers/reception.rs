//! The reception of flow records: datagrams are decoded, and their flows count in windows, until the run ends.

use super::MonotonicClock;
use super::quality::DatagramTally;
use super::windows::RouterWindows;
use engine::{MeasurementConfig, Observer, Outputs, RecordSink, RunOutcome, Snapshot};
use model::ExporterReport;
use router::{DatagramIntake, Decoder, DecoderCounts, ExporterState, ForeignSender};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time after which the observer is told again, and outputs are asked again what they have to say.
const TELL: Duration = Duration::from_millis(100);
/// The longest time that datagrams are waited for before windows are looked at.
const TIMEOUT: Duration = Duration::from_millis(50);

/// The reception of what routers send.
pub(super) struct RouterReception<'a> {
    config: &'a MeasurementConfig,
    decoder: Decoder,
    windows: RouterWindows,
    clock: MonotonicClock,
    began: Instant,
    /// The time at which the observer was told last.
    told: Instant,
    /// The time at which the last datagram came.
    heard: Instant,
    /// The number of datagrams that the kernel dropped, if it says so.
    dropped: Option<u64>,
    /// True if a limit of the run or a fault ended the reception.
    is_over: bool,
    faults: Vec<String>,
}

impl<'a> RouterReception<'a> {
    /// Returns a reception that has received nothing yet.
    pub(super) fn new(
        config: &'a MeasurementConfig,
        decoder: Decoder,
        windows: RouterWindows,
        clock: MonotonicClock,
        began: Instant,
    ) -> Self {
        Self {
            config,
            decoder,
            windows,
            clock,
            began,
            told: began,
            heard: began,
            dropped: Some(0),
            is_over: false,
            faults: Vec::new(),
        }
    }

    /// Adds a fault to those of the run.
    pub(super) fn fail(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Receives until `stop` is set, a limit of the run is reached or the socket fails.
    pub(super) fn receive(
        &mut self,
        intake: &DatagramIntake,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) {
        loop {
            self.is_over |= self.has_reached_limit();
            if self.is_over || stop.load(Relaxed) {
                intake.end();
            }
            let datagrams = match intake.take(TIMEOUT) {
                Ok(Some(datagrams)) => datagrams,
                Ok(None) => break,
                Err(error) => {
                    self.fail(format!("the socket is read no more: {error}; start again"));
                    self.is_over = true;
                    break;
                }
            };
            for (from, octets) in datagrams {
                let now_ns = self.advance(intake);
                let windows = &mut self.windows;
                self.decoder.datagram(from, &octets, now_ns, &mut |flow| windows.take(flow, now_ns));
                self.heard = Instant::now();
            }
            self.advance(intake);
            self.dropped = intake.dropped();
            if self.told.elapsed() >= TELL {
                self.tell(observer);
            }
        }
    }

    fn has_reached_limit(&self) -> bool {
        let MeasurementConfig { duration, packets, idle_exit, .. } = self.config;
        duration.is_some_and(|duration| self.began.elapsed() >= duration)
            || packets.is_some_and(|packets| self.windows.received() >= packets)
            || idle_exit.is_some_and(|idle| self.heard.elapsed() >= idle)
    }

    /// Opens and closes the windows that are due. Returns the time, nanoseconds since the epoch.
    fn advance(&mut self, intake: &DatagramIntake) -> u64 {
        let now_ns = self.clock.now_ns();
        if self.windows.is_due(now_ns) {
            self.windows.advance(now_ns, &tally(self.decoder.counts(), intake.dropped()));
        }
        now_ns
    }

    /// Tells the observer how far the reception is, and what is wrong with outputs and senders.
    fn tell(&mut self, observer: &mut dyn Observer) {
        self.told = Instant::now();
        let flows = self.windows.open_rows();
        observer.progress(Snapshot { received: self.windows.received(), flows, ..Snapshot::default() });
        self.windows.outputs().warnings().into_iter().for_each(|line| observer.warning(line));
        self.decoder.foreigners().iter().for_each(|sender| observer.warning(unread(sender)));
    }

    /// Closes all windows. Returns the outcome of the run, and the routers that sent something.
    pub(super) fn finish(self, observer: &mut dyn Observer) -> (RunOutcome<Outputs>, Vec<ExporterReport>) {
        let Self { mut decoder, windows, mut clock, began, dropped, is_over, mut faults, .. } = self;
        let now_ns = clock.now_ns();
        decoder.foreigners().iter().for_each(|sender| observer.warning(unread(sender)));
        decoder.finish();
        let counts = *decoder.counts();
        if !counts.are_complete() {
            faults.push(
                "the datagrams received are not all accounted for: this is an error in Edison".to_owned(),
            );
        }
        let loss = tally(&counts, dropped);
        let (ended, outputs) = windows.finish(now_ns, &loss);
        let outcome = RunOutcome {
            ended,
            loss: loss.counters(),
            link_downs: None,
            errors: Vec::new(),
            faults,
            stopped: !is_over,
            unreported: 0,
            elapsed: began.elapsed(),
            steps: Vec::new(),
            processor_time: Duration::ZERO,
            records: outputs,
        };
        (outcome, decoder.exporters().into_iter().map(exporter).collect())
    }
}

/// Returns the warning about a sender whose datagrams are not read.
fn unread(sender: &ForeignSender) -> String {
    let from = sender.from;
    match sender.protocol {
        Some(protocol) => format!(
            "{from} sends {protocol}, which is not read: have it send NetFlow v5, NetFlow v9, IPFIX or sFlow v5"
        ),
        None => {
            format!("{from} sends what is neither NetFlow v5, NetFlow v9, IPFIX nor sFlow v5: it is not read")
        }
    }
}

/// Returns what the decoder and the kernel have counted so far.
fn tally(counts: &DecoderCounts, dropped: Option<u64>) -> DatagramTally {
    DatagramTally { counts: *counts, dropped }
}

fn exporter(state: ExporterState) -> ExporterReport {
    let ExporterState { address, port, version, domain, agent, sessions, .. } = state;
    let ExporterState { datagrams, records, sampled, lost, counts_messages, rates, unknown_rate, .. } = state;
    let known = rates.iter().map(ToString::to_string);
    let unknown = (unknown_rate != 0).then(|| "unknown".to_owned());
    ExporterReport {
        address,
        port,
        version: version.to_string(),
        domain: domain.into(),
        agent,
        sessions,
        datagrams,
        records,
        sampled,
        lost,
        lost_unit: if counts_messages { "messages" } else { "records" }.to_owned(),
        sampling: known.chain(unknown).collect(),
    }
}
