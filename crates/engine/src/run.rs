//! A run: sources polled until they end, the user ends it, or a limit does.

use crate::collector::RecordSink;
use crate::config::Config;
use crate::meter::{Ended, Meter};
use port::{Filter, PacketSource, Poll, SourceError, TimeBase};
use record::report::{Counters, WindowReport};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use summary::OutOfMemory;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Frames received.
    pub received: u64,
    /// Flows in the tables.
    pub flows: u64,
    /// Bytes of the sources read.
    pub done_bytes: u64,
    /// Bytes there are, where that is known.
    pub total_bytes: Option<u64>,
}

/// Who watches a run, on the measuring thread: it must not block for long.
pub trait Observer {
    /// A window is closed. False where the report could not be passed on.
    fn window(&mut self, report: WindowReport) -> bool;
    /// Comes every some thousand bursts, and when nothing arrives.
    fn progress(&mut self, snapshot: Snapshot);
    /// A line for the user.
    fn warning(&mut self, line: String);
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome<R> {
    /// What was measured.
    pub ended: Ended<R>,
    /// What the sources lost; `None` where one of them cannot know.
    pub loss: Option<Counters>,
    /// What went wrong with sources.
    pub errors: Vec<SourceError>,
    /// True where `stop` ended it.
    pub stopped: bool,
    /// Reports that the observer could not pass on.
    pub unreported: u64,
    /// Time that it took.
    pub elapsed: Duration,
}

/// Bursts between two reports of progress.
const PROGRESS_BURSTS: u32 = 4096;

/// Nanoseconds since the epoch by the machine's clock.
fn clock_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

struct Run<'a, R> {
    meter: Meter<R>,
    config: &'a Config,
    filter: Option<&'a Filter>,
    stop: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    /// Bytes of the sources that have ended.
    done_bytes: u64,
    total_bytes: Option<u64>,
    windows_seen: u64,
    unreported: u64,
    stopped: bool,
}

/// Measures `sources`, all of the same time base: replays one after the other, live ones in turn.
///
/// # Errors
/// Where the tables cannot be made; all else is in the [`Outcome`].
pub fn run<R: RecordSink>(
    sources: &mut [Box<dyn PacketSource>],
    filter: Option<&Filter>,
    config: &Config,
    stop: &AtomicBool,
    records: R,
    observer: &mut dyn Observer,
) -> Result<Outcome<R>, OutOfMemory> {
    let began = Instant::now();
    let time_base = sources.first().map_or(TimeBase::Packets, |source| source.time_base());
    let total_bytes = sources.iter().map(|source| source.progress()?.total).sum();
    let mut run = Run {
        meter: Meter::new(config, time_base, records)?,
        config,
        filter,
        stop,
        observer,
        done_bytes: 0,
        total_bytes,
        windows_seen: 0,
        unreported: 0,
        stopped: false,
    };
    let mut errors = Vec::new();
    match time_base {
        TimeBase::Packets => {
            for at in 0..sources.len() {
                let ended = run.poll(&mut sources[at..=at]);
                run.done_bytes += sources[at].progress().map_or(0, |progress| progress.done);
                errors.extend(ended.err());
                if run.stopped || run.limit() == 0 || run.meter.is_over() {
                    break;
                }
            }
        }
        TimeBase::Clock => errors.extend(run.poll(sources).err()),
    }
    let loss = lost(sources);
    run.meter.set_loss(loss.clone());
    let (mut unreported, stopped, observer) = (run.unreported, run.stopped, run.observer);
    let mut ended = run.meter.end();
    for report in std::mem::take(&mut ended.reports) {
        unreported += u64::from(!observer.window(report));
    }
    Ok(Outcome { ended, loss, errors, stopped, unreported, elapsed: began.elapsed() })
}

impl<R: RecordSink> Run<'_, R> {
    /// Polls the sources in turn until all have ended or the run has.
    fn poll(&mut self, sources: &mut [Box<dyn PacketSource>]) -> Result<(), SourceError> {
        let is_live = sources.first().is_some_and(|source| source.time_base() == TimeBase::Clock);
        let mut idle_since: Option<Instant> = None;
        let mut next_progress = PROGRESS_BURSTS;
        let mut ended = vec![false; sources.len()];
        while !ended.iter().all(|&ended| ended) {
            if self.stop.load(Relaxed) {
                self.stopped = true;
                break;
            }
            if is_live {
                self.tick(sources);
            }
            let mut took = false;
            for (source, ended) in sources.iter_mut().zip(&mut ended) {
                // What would not be measured is not taken from the source.
                if self.limit() == 0 {
                    break;
                }
                match source.rx_burst() {
                    Ok(Poll::Burst(burst)) => {
                        self.meter.burst(burst, self.limit(), self.filter);
                        took = true;
                    }
                    Ok(Poll::Idle) => {}
                    Ok(Poll::Ended) => *ended = true,
                    Err(error) => {
                        self.tell(sources);
                        return Err(error);
                    }
                }
            }
            if !took {
                self.meter.idle();
                sources.iter_mut().for_each(|source| source.wait());
            }
            if self.windows_seen != self.meter.windows() {
                self.windows_seen = self.meter.windows();
                self.meter.set_loss(lost(sources));
            }
            if self.meter.has_reports() {
                self.pass_reports();
            }
            if self.limit() == 0 || self.meter.is_over() {
                break;
            }
            next_progress -= 1;
            if next_progress == 0 || !took {
                next_progress = PROGRESS_BURSTS;
                self.tell(sources);
            }
            if took {
                idle_since = None;
            } else if let Some(limit) = self.config.idle_exit
                && idle_since.get_or_insert_with(Instant::now).elapsed() >= limit
            {
                break;
            }
        }
        self.tell(sources);
        Ok(())
    }

    fn tick(&mut self, sources: &mut [Box<dyn PacketSource>]) {
        let now = clock_ns();
        if self.meter.turns_at(now) {
            self.meter.set_loss(lost(sources));
        }
        self.meter.tick(now);
    }

    /// Frames that may still be received.
    fn limit(&self) -> u64 {
        self.config.packets.map_or(u64::MAX, |packets| packets.saturating_sub(self.meter.received()))
    }

    fn pass_reports(&mut self) {
        for report in self.meter.take_reports() {
            self.unreported += u64::from(!self.observer.window(report));
        }
    }

    fn tell(&mut self, sources: &mut [Box<dyn PacketSource>]) {
        let done: u64 = sources.iter().filter_map(|source| source.progress()).map(|p| p.done).sum();
        self.observer.progress(Snapshot {
            received: self.meter.received(),
            flows: self.meter.flows() as u64,
            done_bytes: self.done_bytes + done,
            total_bytes: self.total_bytes,
        });
        let of_sources = sources.iter_mut().flat_map(|source| source.warnings());
        of_sources.chain(self.meter.warnings()).for_each(|line| self.observer.warning(line));
    }
}

/// The losses of all sources by name; `None` where one of them cannot know.
fn lost(sources: &mut [Box<dyn PacketSource>]) -> Option<Counters> {
    let mut sum: Vec<(&'static str, u64)> = Vec::new();
    for source in sources {
        for (name, count) in source.lost()? {
            match sum.iter_mut().find(|(known, _)| *known == name) {
                Some((_, total)) => *total += count,
                None => sum.push((name, count)),
            }
        }
    }
    Some(Counters(sum))
}
