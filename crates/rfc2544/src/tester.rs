//! The tester: trials with two ports, by a thread that sends and one that receives.

use crate::arrivals::ArrivalCounter;
use crate::frame::{Addressing, CHECK_SEQUENCE, TRIALS};
use crate::receiver::{ArrivalThread, Received};
use crate::settings::TestSettings;
use crate::stream::TestStream;
use crate::trial::{DeviceUnderTest, SentCounts, TrialEnd, TrialOutcome, TrialPlan};
use notation::Rate;
use port::{Pacing, PacketSink, PacketSource, SourceError, SystemSendClock};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Learning frames before each trial: more than one, as any may be lost.
const LEARNING_FRAMES: usize = 3;
/// The longest time without a look at the flag that ends a run.
const NAP: Duration = Duration::from_millis(20);

/// Two ports with a device between them.
pub struct Tester {
    tx: Box<dyn PacketSink>,
    /// The receiving port, by which learning frames leave.
    learning: Box<dyn PacketSink>,
    receiver: ArrivalThread,
    addressing: Addressing,
    settle: Duration,
    pause: Duration,
    first_trial: u32,
    performed: u32,
    /// Losses of the receiving port up to the last trial.
    receiver_lost: u64,
    /// Times that the receiving port's link had gone down up to the last trial.
    receiver_downs: u64,
    stop: Arc<AtomicBool>,
}

impl Tester {
    /// A tester that sends by `tx` and receives by `rx`; `learning` is the same port as `rx`. Setting `stop` ends the run.
    ///
    /// # Errors
    /// Returns the reason if the machine starts no thread, or a port does not take frames of the sizes of the settings.
    pub fn new(
        tx: Box<dyn PacketSink>,
        rx: Box<dyn PacketSource>,
        learning: Box<dyn PacketSink>,
        addressing: Addressing,
        settings: &TestSettings,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, SourceError> {
        let largest = settings.sizes.iter().copied().max().unwrap_or(0);
        for sink in [&tx, &learning] {
            if (largest - CHECK_SEQUENCE.min(largest)) as usize > sink.longest() {
                return Err(SourceError::Open(format!(
                    "frames of {largest} bytes are longer than {} takes, whose longest has {} with check sequence: raise its MTU, or \
                     leave them out of the sizes",
                    sink.name(),
                    sink.longest() + CHECK_SEQUENCE as usize
                )));
            }
        }
        Ok(Self {
            receiver: ArrivalThread::start(rx, addressing.learning_frame(), stop.clone())?,
            tx,
            learning,
            addressing,
            settle: Duration::from_nanos(settings.settle_ns),
            pause: Duration::from_nanos(settings.pause_ns),
            // Frames of an earlier run that a device still has are not taken for those of this one.
            first_trial: (RandomState::new().hash_one(std::process::id()) % u64::from(TRIALS)) as u32,
            performed: 0,
            receiver_lost: 0,
            receiver_downs: 0,
            stop,
        })
    }

    /// Returns warnings of the receiving port since the last call, each on one line.
    pub fn warnings(&mut self) -> Vec<String> {
        self.receiver.warnings()
    }

    /// Waits, unless the run ends meanwhile.
    fn wait(&self, time: Duration) -> Result<(), TrialEnd> {
        let began = Instant::now();
        while let Some(left) = time.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            self.check()?;
            std::thread::sleep(left.min(NAP));
        }
        self.check()
    }

    fn check(&self) -> Result<(), TrialEnd> {
        match self.receiver.fault() {
            Some(fault) => Err(TrialEnd::Fault(fault)),
            None if self.stop.load(Relaxed) => Err(TrialEnd::Stopped),
            None => Ok(()),
        }
    }

    /// Sends learning frames; a port that has no room for one has others.
    fn teach(&mut self) -> Result<(), TrialEnd> {
        let frame = self.addressing.learning_frame();
        for _ in 0..LEARNING_FRAMES {
            self.learning.tx_burst(&[&frame]).map_err(|error| TrialEnd::Fault(error.to_string()))?;
        }
        self.wait(self.settle)
    }

    /// Sends the frames of a trial.
    fn send(&mut self, plan: &TrialPlan, trial: u32) -> Result<SentCounts, TrialEnd> {
        let before = lost_by(self.tx.as_mut());
        let mut stream = TestStream::new(&self.addressing, plan, trial);
        let pacing = Pacing::Rate(Rate::Packets(plan.rate));
        let mut clock = SystemSendClock::default();
        let report = port::transmit(&mut stream, self.tx.as_mut(), pacing, &mut clock, &self.stop);
        self.check()?;
        if let Some(fault) = report.fault {
            return Err(TrialEnd::Fault(fault.to_string()));
        }
        if report.too_long > 0 {
            return Err(TrialEnd::Fault(format!(
                "{} does not take frames of {} bytes any more: its MTU was lowered",
                self.tx.name(),
                plan.frame_size
            )));
        }
        Ok(SentCounts {
            frames: report.frames,
            lost: lost_by(self.tx.as_mut()).saturating_sub(before),
            elapsed_ns: report.elapsed_ns,
            longest_delay_ns: report.longest_delay_ns,
        })
    }
}

impl DeviceUnderTest for Tester {
    fn trial(&mut self, plan: &TrialPlan) -> Result<TrialOutcome, TrialEnd> {
        if self.performed > 0 {
            self.wait(self.pause)?;
        }
        self.teach()?;
        let (tx_was_down, rx_was_down) = (self.tx.link_was_down(), self.learning.link_was_down());
        let trial = self.first_trial.wrapping_add(self.performed) % TRIALS;
        self.performed += 1;
        let tagged = plan.tagged.then_some(plan.frames / 2);
        let wire_len = plan.frame_size - CHECK_SEQUENCE;
        self.receiver.begin(ArrivalCounter::new(trial, self.first_trial, wire_len, plan.frames, tagged));
        let mut sent = self.send(plan, trial)?;
        self.wait(self.settle)?;
        let Received { counts, lost, link_downs } =
            self.receiver.end().ok_or_else(|| self.end_of_receiver())?;
        // A port that cannot know its losses may have lost every frame.
        let mut lost_now = lost.map_or(u64::MAX, |lost| lost.saturating_sub(self.receiver_lost));
        self.receiver_lost = lost.unwrap_or(self.receiver_lost);
        let went_down = link_downs > self.receiver_downs;
        self.receiver_downs = link_downs;
        // A port whose link was down may have lost every frame, and no counter tells how many.
        if self.tx.link_was_down() || tx_was_down {
            sent.lost = sent.frames;
        }
        if self.learning.link_was_down() || rx_was_down || went_down {
            lost_now = u64::MAX;
        }
        Ok(TrialOutcome::new(plan, &sent, &counts, lost_now))
    }
}

impl Tester {
    /// Returns why the receiver ended.
    fn end_of_receiver(&self) -> TrialEnd {
        let fault = self.receiver.fault();
        TrialEnd::Fault(fault.unwrap_or_else(|| "the receiving thread has ended".into()))
    }
}

/// Returns what a port lost, by all of its counters, since it was opened.
fn lost_by(sink: &mut dyn PacketSink) -> u64 {
    sink.lost().iter().map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Verdict;
    use port::{Poll, SourceCounter, TimeBase};

    /// A port that takes all frames, and one behind a device that forwards none. The latter tells how many it lost, if it knows.
    struct Port {
        lost: Option<u64>,
    }

    impl PacketSink for Port {
        fn name(&self) -> &str {
            "tx"
        }

        fn longest(&self) -> usize {
            1514
        }

        fn link_speed(&self) -> Option<u64> {
            Some(1_000_000_000)
        }

        fn tx_burst(&mut self, frames: &[&[u8]]) -> Result<usize, SourceError> {
            Ok(frames.len())
        }

        fn finish(&mut self) {}

        fn lost(&mut self) -> Vec<SourceCounter> {
            Vec::new()
        }
    }

    impl PacketSource for Port {
        fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
            Ok(Poll::Idle)
        }

        fn time_base(&self) -> TimeBase {
            TimeBase::Clock
        }

        fn name(&self) -> &str {
            "rx"
        }

        fn lost(&mut self) -> Option<Vec<SourceCounter>> {
            self.lost.map(|lost| vec![("rx_dropped", lost)])
        }
    }

    /// Frames that did not arrive may be lost by a receiving port that does not know what it loses: the device is not blamed.
    #[test]
    fn a_loss_is_undecided_where_the_receiving_port_cannot_know_its_own() {
        let settings = TestSettings { settle_ns: 0, pause_ns: 0, ..TestSettings::of_rfc(1_000_000_000) };
        let plan = TrialPlan::lasting(64, 100_000, 10_000_000, false);
        for (lost, verdict) in [(Some(0), Verdict::Lost), (None, Verdict::Undecided)] {
            let [tx, learning] = [(); 2].map(|()| Box::new(Port { lost: None }));
            let mut tester = Tester::new(
                tx,
                Box::new(Port { lost }),
                learning,
                Addressing::default(),
                &settings,
                Arc::default(),
            )
            .expect("a tester");
            // A second trial begins where the first one ended.
            for _ in 0..2 {
                let outcome = tester.trial(&plan).expect("a trial");
                assert!(outcome.sent > 0 && outcome.received == 0);
                assert_eq!(outcome.verdict(0), verdict, "{outcome:?}");
            }
        }
    }
}
