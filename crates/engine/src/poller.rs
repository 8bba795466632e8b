//! The loop of a receiving thread: sources polled in turn until they end, the user ends it, or a limit does.

use crate::closed::STOPPED;
use crate::config::MeasurementConfig;
use crate::hardware::PerfCounters;
use crate::idle_vote::IdleVoter;
use crate::ids::{ReceiverId, WindowId};
use crate::keeping::SealedWindow;
use crate::live_clock::{LiveClock, Passage, clock_ns, has_caught_up};
use crate::receiver::{Downstream, Receiver, ReceiverEnd};
use crate::steps::{StepTimes, Stopwatch, ThreadRole};
use crate::window::WindowHeader;
use crate::window_barrier::Seat;
use crate::work::ThreadLoad;
use model::Counters;
use notation::how_long;
use port::{Burst, Filter, PacketSource, Poll, SourceError, TimeBase};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time between two reports of progress: each wakes a thread, which preempts another one on its core.
const PROGRESS: Duration = Duration::from_millis(50);
/// The number of polls after which the clock is read to see whether [`PROGRESS`] is over; while nothing arrives it is read at every poll.
const PROGRESS_POLLS: u32 = 1024;

/// The least delay of a window's end, nanoseconds, after which the window is told to lack frames that may have arrived in it.
const LATE_NS: u64 = 1_000_000_000;
/// Windows in which nothing was polled that are each told of.
const MOST_PASSED: usize = 86_400;

/// Receives the events of a receiver.
pub(crate) trait ReceiverEvents {
    /// Takes the header of a window that the receiver has turned away from.
    fn header(&mut self, header: WindowHeader);
    /// Takes a window that the receiver's own worker has sealed.
    fn part(&mut self, sealed: SealedWindow);
    /// Takes the report that one of the receiver's workers, the one of this lane, does not respond.
    fn worker_failed(&mut self, lane: usize);
    /// Takes the progress of the receiver. Called every few thousand bursts, and from time to time while nothing arrives.
    fn progress(&mut self, progress: PollProgress);
    /// Takes a warning for the user.
    fn warning(&mut self, line: String);
}

/// The progress of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PollProgress {
    /// Frames received.
    pub(crate) received: u64,
    /// The bytes read of the receiver's sources.
    pub(crate) done_bytes: u64,
    /// The nanoseconds of a live receiver's rounds of polls that returned frames; [`PollProgress::polled_ns`] are those of all rounds.
    pub(crate) busy_ns: u64,
    pub(crate) polled_ns: u64,
}

/// The conditions that end a receiver in addition to its sources.
#[derive(Debug)]
pub(crate) struct Ends<'a> {
    /// The flag by which the user ends the run.
    pub(crate) stop: &'a AtomicBool,
    /// The vote by which the run ends if nothing arrives at any receiver, if that is watched for.
    pub(crate) quiet: IdleVoter<'a>,
}

/// The final report of a receiver.
#[derive(Debug)]
pub(crate) struct PollerEnd {
    pub(crate) counted: ReceiverEnd,
    /// The errors of sources.
    pub(crate) errors: Vec<SourceError>,
    /// True if `stop` ended the receiver.
    pub(crate) stopped: bool,
    /// The number of times that links of the sources were found to have gone down; `None` if none has a link.
    pub(crate) link_downs: Option<u64>,
    /// The time of the receiver by step, if measured.
    pub(crate) steps: Option<StepTimes>,
}

/// A receiver with its sources.
pub(crate) struct Poller<'a, D, E> {
    receiver: Receiver<'a>,
    down: D,
    events: E,
    config: &'a MeasurementConfig,
    filter: Option<&'a Filter>,
    ends: Ends<'a>,
    /// Bytes of the sources that have ended.
    done_bytes: u64,
    /// The loss of the replays that have ended; `None` if one of them cannot know.
    lost_before: Option<Counters>,
    turned: u64,
    /// The last two windows turned away from, the earlier first.
    last_turned: [Option<WindowId>; 2],
    stopped: bool,
    /// The times of [`PollProgress::busy_ns`] and [`PollProgress::polled_ns`].
    busy_ns: u64,
    polled_ns: u64,
    /// The time of rounds in which a source had half a burst or more.
    behind_ns: u64,
    /// The times of rounds, and frames lost off the core, up to the last window.
    before: WindowBaseline,
    clock: LiveClock,
    /// Stream time follows the times of frames, which waited while nothing was polled.
    follows: Option<Following>,
    stopwatch: Stopwatch,
    steps: StepTimes,
    /// Frames of timed bursts.
    timed_frames: u64,
}

/// The counts up to the last window that was turned away from.
#[derive(Clone, Copy, Debug, Default)]
struct WindowBaseline {
    behind_ns: u64,
    polled_ns: u64,
    off_core: u64,
}

/// A time in which nothing was polled, and whose frames are being read.
#[derive(Clone, Copy, Debug)]
struct Following {
    held_ns: u64,
    /// True if sources lost frames in this time.
    has_lost: bool,
}

/// The time until the next report of progress.
#[derive(Clone, Copy, Debug)]
struct ProgressTimer {
    /// Rounds until the clock is read.
    rounds: u32,
    /// The time of the last report.
    told: Instant,
}

impl ProgressTimer {
    fn start() -> Self {
        Self { rounds: PROGRESS_POLLS, told: Instant::now() }
    }

    /// Returns the time if progress is to be reported after this round. `took`: the round had frames.
    #[inline(always)]
    fn due(&mut self, took: bool) -> Option<Instant> {
        self.rounds -= 1;
        if self.rounds != 0 && took {
            return None;
        }
        self.rounds = PROGRESS_POLLS;
        if self.told.elapsed() < PROGRESS {
            return None;
        }
        self.told = Instant::now();
        Some(self.told)
    }
}

impl<'a, D: Downstream, E: ReceiverEvents> Poller<'a, D, E> {
    pub(crate) fn new(
        time_base: TimeBase,
        down: D,
        events: E,
        config: &'a MeasurementConfig,
        filter: Option<&'a Filter>,
        ends: Ends<'a>,
        seat: Option<Seat<'a>>,
    ) -> Self {
        let receiver = Receiver::new(config, time_base, seat);
        Self {
            receiver,
            down,
            events,
            config,
            filter,
            ends,
            done_bytes: 0,
            lost_before: Some(Counters::default()),
            turned: 0,
            last_turned: [None; 2],
            stopped: false,
            busy_ns: 0,
            polled_ns: 0,
            behind_ns: 0,
            before: WindowBaseline::default(),
            clock: LiveClock::new(),
            follows: None,
            stopwatch: Stopwatch::new(config.timed),
            steps: StepTimes::default(),
            timed_frames: 0,
        }
    }

    /// Measures a sample of the packets, if the configuration says so. `number`: the receiver's, each of which draws its own.
    pub(crate) fn sampling(mut self, number: ReceiverId) -> Self {
        self.receiver.sample(self.config, number);
        self
    }

    /// Receives from `sources`, all of the same time base: replays in sequence, live ones in turn. Returns
    /// what it counted, and what is to be ended after it.
    pub(crate) fn run(mut self, sources: &mut [Box<dyn PacketSource>]) -> (PollerEnd, D, E) {
        let mut errors = Vec::new();
        let began = Instant::now();
        let counting = self.stopwatch.is_on().then(PerfCounters::start).flatten();
        // The source's loss must be known from the first window on, because it decides how refusals of a full
        // ring are counted.
        self.receiver.set_loss(lost(sources));
        sources.iter_mut().for_each(|source| source.leave_prefetching());
        let is_live = sources.first().is_some_and(|source| source.time_base() == TimeBase::Clock);
        if is_live {
            errors.extend(self.poll(sources).err());
        } else {
            for at in 0..sources.len() {
                let ended = self.poll(&mut sources[at..=at]);
                self.done_bytes += sources[at].progress().map_or(0, |progress| progress.done);
                self.lost_before = self.lost_with(&mut sources[at..=at]);
                self.receiver.set_loss(self.lost_before.clone());
                errors.extend(ended.err());
                if self.stopped || self.limit() == 0 || self.receiver.is_over() {
                    break;
                }
            }
        }
        self.receiver.set_loss(lost(sources));
        let counted = self.receiver.end(self.filter, &mut self.down);
        self.pass_on();
        let StepTimes { receive, free, parse: burst, .. } = self.steps;
        let (count, within_bursts) = self.receiver.count_time();
        let (packets, timed_packets) = (self.receiver.received(), self.timed_frames);
        let scale = |time| self.stopwatch.scale(time, packets, timed_packets);
        let steps = self.stopwatch.is_on().then(|| StepTimes {
            role: ThreadRole::Receiver,
            packets,
            timed_packets,
            receive: scale(receive),
            free: scale(free),
            parse: scale(burst.saturating_sub(within_bursts)),
            count,
            elapsed: began.elapsed(),
            readings: self.stopwatch.spent() + self.receiver.readings(),
            hardware: counting.and_then(PerfCounters::read),
        });
        let link_downs = sources.iter().filter_map(|source| source.link_downs()).reduce(|a, b| a + b);
        let steps = steps.map(StepTimes::limited);
        let end = PollerEnd { counted, errors, stopped: self.stopped, link_downs, steps };
        (end, self.down, self.events)
    }

    /// Polls the sources in turn until all have ended or the run has.
    fn poll(&mut self, sources: &mut [Box<dyn PacketSource>]) -> Result<(), SourceError> {
        let is_live = sources.first().is_some_and(|source| source.time_base() == TimeBase::Clock);
        let mut idle_since: Option<Instant> = None;
        let mut telling = ProgressTimer::start();
        let mut ended = vec![false; sources.len()];
        // When the round before began, and the most frames that a source had in it.
        let mut before: Option<(u64, usize)> = None;
        while !ended.iter().all(|&ended| ended) {
            if self.ends.stop.load(Relaxed) {
                self.stopped = true;
                if !is_live {
                    self.receiver.lack(STOPPED);
                }
                break;
            }
            if self.stopwatch.is_on() {
                // Whether it finds packets is not known yet.
                let is_timed = self.stopwatch.begin(1);
                self.receiver.time_passing(is_timed);
            }
            let now = is_live.then(|| self.tick(sources));
            if let (Some((began, frames)), Some(now)) = (before, now) {
                self.note_round(began, frames, now);
            }
            if !is_live && sources.iter().any(|source| source.has_new_loss()) {
                self.receiver.set_loss(self.lost_with(sources));
            }
            let most = self.poll_each(sources, &mut ended, is_live)?;
            before = now.map(|now| (now, most));
            let took = most != 0;
            if !took {
                if let (Some(following), Some(now)) = (self.follows.take(), now) {
                    self.end_following(following, now);
                }
                self.receiver_idle(sources);
            }
            if self.turned != self.receiver.turned() {
                self.turned = self.receiver.turned();
                self.receiver.set_loss(self.lost_with(sources));
            }
            self.pass_on();
            if self.limit() == 0 || self.receiver.is_over() {
                break;
            }
            if let Some(now) = telling.due(took) {
                self.clock.note(now);
                self.tell(sources);
            }
            if self.ends_idle(took, &mut idle_since) {
                break;
            }
        }
        self.tell(sources);
        Ok(())
    }

    /// Notes the time of a round that began then and ends now, in which a source had at most this many frames.
    #[inline(always)]
    fn note_round(&mut self, began: u64, frames: usize, now: u64) {
        // A clock that is set back adds nothing.
        let round_ns = now.saturating_sub(began);
        self.polled_ns += round_ns;
        self.busy_ns += if frames != 0 { round_ns } else { 0 };
        self.behind_ns += if 2 * frames >= self.config.burst { round_ns } else { 0 };
    }

    /// Polls each source once, and notes those that have ended. Returns the most frames that one of them had.
    #[inline(always)]
    fn poll_each(
        &mut self,
        sources: &mut [Box<dyn PacketSource>],
        ended: &mut [bool],
        is_live: bool,
    ) -> Result<usize, SourceError> {
        let mut most = 0;
        for (source, ended) in sources.iter_mut().zip(ended) {
            // Frames that would not be measured are not taken from the source.
            if self.limit() == 0 {
                break;
            }
            let mut receive = Duration::ZERO;
            let tells_arrivals = is_live && source.tells_arrivals();
            match self.stopwatch.time(&mut receive, || source.rx_burst()) {
                Ok(Poll::Burst(burst)) => {
                    self.steps.receive += receive;
                    let frames = burst.len();
                    most = most.max(frames.max(1));
                    match is_live && self.is_behind(burst) {
                        true if tells_arrivals => self.follow(burst),
                        true => {
                            self.go_on();
                            self.measure(burst);
                        }
                        false => self.measure(burst),
                    }
                    let Self { stopwatch, steps, .. } = self;
                    if stopwatch.is_on() {
                        // Of every burst: the next poll, which may be timed, would release it otherwise.
                        stopwatch.time(&mut steps.free, || source.release());
                        self.timed_frames += if stopwatch.is_running() { frames as u64 } else { 0 };
                    }
                }
                Ok(Poll::Idle) => {}
                Ok(Poll::Ended) => *ended = true,
                Err(error) => {
                    self.receiver.lack(&error.to_string());
                    self.tell(sources);
                    return Err(error);
                }
            }
        }
        Ok(most)
    }

    /// Returns true if the run ends because nothing has arrived for the configured time at any receiver. `took`: the round had frames.
    #[inline(always)]
    fn ends_idle(&mut self, took: bool, idle_since: &mut Option<Instant>) -> bool {
        let Some(limit) = self.config.idle_exit else { return false };
        let is_quiet = !took && idle_since.get_or_insert_with(Instant::now).elapsed() >= limit;
        if took {
            *idle_since = None;
        }
        self.ends.quiet.is_everywhere(is_quiet)
    }

    fn measure(&mut self, burst: Burst<'_>) {
        let mut rest = burst;
        loop {
            let limit = self.limit();
            let Self { receiver, filter, down, stopwatch, steps, .. } = self;
            let left = stopwatch.time(&mut steps.parse, || receiver.burst(rest, limit, *filter, down));
            match left {
                None => return,
                Some(left) => rest = left,
            }
            self.pass_on();
            self.await_answers();
        }
    }

    /// Seals all windows that were turned away from: others wait for their answers before this receiver may enter the next one.
    #[cold]
    fn settle(&mut self) {
        self.down.idle();
        self.down.settle();
        self.pass_on();
    }

    /// Waits until the window before the one that was turned away from last is answered, and with it all
    /// earlier ones. A gate waits by itself.
    #[cold]
    fn await_answers(&mut self) {
        let Some(control) = &self.config.control else { return };
        if control.is_gated() {
            self.settle();
        } else if let [Some(window), _] = self.last_turned {
            control.await_answers(window, self.ends.stop);
        }
    }

    fn receiver_idle(&mut self, sources: &mut [Box<dyn PacketSource>]) {
        self.down.idle();
        sources.iter_mut().for_each(|source| source.wait());
    }

    fn tick(&mut self, sources: &mut [Box<dyn PacketSource>]) -> u64 {
        let (now, passage) = self.clock.next();
        if passage != Passage::Round {
            self.make_up_delay(passage, now, sources);
        }
        if self.follows.is_some() {
            return now;
        }
        if self.receiver.turns_at(now) {
            self.receiver.set_loss(self.lost_with(sources));
            let work = self.work(sources);
            self.receiver.set_work(work);
        }
        self.receiver.tick(now, &mut self.down);
        now
    }

    /// The clock went on by more than a round: frames that arrived meanwhile are measured in the windows in which they arrived, if one source
    /// tells when that was; otherwise it is told that they are not.
    #[cold]
    fn make_up_delay(&mut self, passage: Passage, now: u64, sources: &mut [Box<dyn PacketSource>]) {
        match passage {
            Passage::Held(held_ns) if matches!(sources, [source] if source.tells_arrivals()) => {
                let lost = self.lost_with(sources);
                let has_lost = lost.is_none() || lost.as_ref() != self.receiver.loss();
                self.follows.get_or_insert(Following { held_ns, has_lost });
            }
            _ => self.tell_held(passage, now),
        }
    }

    /// Tells that windows up to now may lack frames of a time in which nothing was polled, or that no one watched.
    fn tell_held(&mut self, passage: Passage, now: u64) {
        match passage {
            Passage::Round => {}
            Passage::Held(ns) => self.pass_over(now, &held(ns, "frames of that time may count later")),
            Passage::Set(ns) => {
                let by = how_long(ns);
                self.pass_over(now, &format!("the clock went on by {by} at once: that time was not watched"));
            }
        }
    }

    /// The clock has passed the open window's end since the round began.
    #[cold]
    fn go_on(&mut self) {
        let (now, passage) = self.clock.next();
        self.tell_held(passage, now);
        self.receiver.tick(now, &mut self.down);
        self.pass_on();
    }

    /// Returns whether frames of a burst waited while nothing was polled, or arrived after the end of the open window.
    fn is_behind(&self, burst: Burst<'_>) -> bool {
        let until_ns = self.receiver.open_until_ns().unwrap_or(u64::MAX);
        self.follows.is_some() || burst.last_time().is_some_and(|last_ns| last_ns >= until_ns)
    }

    /// Measures the frames of a burst in the windows of their times, the clock's at most.
    #[cold]
    fn follow(&mut self, burst: Burst<'_>) {
        let now = clock_ns();
        let mut rest = burst;
        while let Some(time_ns) = rest.time(0).map(|time_ns| time_ns.min(now)) {
            self.receiver.tick(time_ns, &mut self.down);
            self.pass_on();
            if self.receiver.is_over() {
                return;
            }
            let end_ns = self.receiver.open_until_ns().unwrap_or(u64::MAX);
            let within = rest.times().take_while(|time_ns| (*time_ns).min(now) < end_ns).count();
            let (part, behind) = rest.split(within.max(1) as u64);
            self.measure(part);
            rest = behind;
        }
        let last_ns = burst.last_time().unwrap_or(now);
        if has_caught_up(last_ns, now)
            && let Some(following) = self.follows.take()
        {
            self.end_following(following, now);
        }
    }

    /// The frames that waited while nothing was polled are measured. Windows between the last of them and now may lack those that were lost.
    #[cold]
    fn end_following(&mut self, following: Following, now: u64) {
        if following.has_lost {
            self.pass_over(now, &held(following.held_ns, "some of its frames were lost"));
        }
    }

    /// Turns away from each window up to now, and enters the one of now, as from windows that may lack frames, for what this remark says.
    #[cold]
    fn pass_over(&mut self, now: u64, remark: &str) {
        let is_late = |end_ns: u64| end_ns.saturating_add(LATE_NS) < now;
        if !self.receiver.open_until_ns().is_some_and(is_late) {
            return;
        }
        for _ in 0..MOST_PASSED {
            self.receiver.lack_as(remark);
            let Some(end_ns) = self.receiver.open_until_ns().filter(|end_ns| *end_ns <= now) else { break };
            self.receiver.tick(end_ns, &mut self.down);
            self.pass_on();
            if self.receiver.is_over() {
                return;
            }
        }
        self.receiver.lack_as(remark);
    }

    /// The losses of these sources and of those that have ended; `None` if one of them cannot know.
    fn lost_with(&self, sources: &mut [Box<dyn PacketSource>]) -> Option<Counters> {
        let (mut sum, more) = self.lost_before.clone().zip(lost(sources))?;
        sum.add(&more);
        Some(sum)
    }

    /// Frames that may still be received.
    fn limit(&self) -> u64 {
        self.config.packets.map_or(u64::MAX, |packets| packets.saturating_sub(self.receiver.received()))
    }

    /// Returns how far behind the receiver was since the last window, and what was lost off its core.
    #[cold]
    fn work(&mut self, sources: &[Box<dyn PacketSource>]) -> ThreadLoad {
        let off_core = sources.iter().map(|source| source.lost_off_core()).sum();
        let now = WindowBaseline { behind_ns: self.behind_ns, polled_ns: self.polled_ns, off_core };
        let before = std::mem::replace(&mut self.before, now);
        let polled_ns = now.polled_ns - before.polled_ns;
        ThreadLoad {
            receivers_behind: (now.behind_ns - before.behind_ns) as f64 / polled_ns.max(1) as f64,
            off_core: now.off_core.saturating_sub(before.off_core),
            ..ThreadLoad::default()
        }
    }

    /// Passes on the reports of windows.
    fn pass_on(&mut self) {
        for header in self.receiver.take_headers() {
            self.last_turned = [self.last_turned[1], Some(header.number)];
            self.events.header(header);
            for worker in self.down.take_failed() {
                self.events.worker_failed(worker);
            }
        }
        while let Some(sealed) = self.down.take_sealed() {
            self.events.part(sealed);
        }
    }

    fn tell(&mut self, sources: &mut [Box<dyn PacketSource>]) {
        let done: u64 = sources.iter().filter_map(|source| source.progress()).map(|p| p.done).sum();
        self.events.progress(PollProgress {
            received: self.receiver.received(),
            done_bytes: self.done_bytes + done,
            busy_ns: self.busy_ns,
            polled_ns: self.polled_ns,
        });
        sources.iter_mut().flat_map(|source| source.warnings()).for_each(|line| self.events.warning(line));
    }
}

/// The remark on windows of a time of this length in which nothing was polled, and what became of it.
fn held(ns: u64, what: &str) -> String {
    format!("the receiver did not run for {}: {what}", how_long(ns))
}

/// The losses of all sources by name; `None` if one of them cannot know.
fn lost(sources: &mut [Box<dyn PacketSource>]) -> Option<Counters> {
    let mut sum = Counters::default();
    for source in sources {
        sum.add(&source.lost()?.into_iter().collect());
    }
    Some(sum)
}
