//! One trial: what is sent to a device, what came back, and what that says.

use crate::arrivals::ArrivalCounts;
use crate::frame::{bits_on_the_link, most_frames_per_second};
use model::Integer;
use serde::Serialize;

const SECOND_NS: u128 = 1_000_000_000;

/// A device that is tested, with the ports on both of its sides.
pub trait DeviceUnderTest {
    /// Performs a trial, with what comes before and after it: learning frames, and the wait for frames in flight.
    ///
    /// # Errors
    /// Returns why the trial has no outcome.
    fn trial(&mut self, plan: &TrialPlan) -> Result<TrialOutcome, TrialEnd>;
}

/// The reason why a run ends before its last trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialEnd {
    /// The user ended it.
    Stopped,
    /// A port cannot be used any more.
    Fault(String),
    /// Not one of this many frames of the first trial arrived, but this many foreign ones did.
    NothingArrived {
        /// Test frames that were sent.
        sent: u64,
        /// Other frames that arrived.
        foreign: u64,
    },
}

/// A trial as it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialPlan {
    /// Bytes of a frame, with check sequence.
    pub frame_size: u32,
    /// Frames per second.
    pub rate: u64,
    /// Frames in all.
    pub frames: u64,
    /// True if the delay of the frame in the middle is told apart.
    pub tagged: bool,
}

impl TrialPlan {
    /// Returns a trial of this length at a rate, of one frame at the least.
    pub fn lasting(frame_size: u32, rate: u64, length_ns: u64, tagged: bool) -> Self {
        let frames = u128::from(rate) * u128::from(length_ns) / SECOND_NS;
        Self { frame_size, rate, frames: u64::try_from(frames).unwrap_or(u64::MAX).max(1), tagged }
    }

    /// Returns the time that the frames take at their rate, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        let length = u128::from(self.frames) * SECOND_NS / u128::from(self.rate.max(1));
        u64::try_from(length).unwrap_or(u64::MAX)
    }

    /// Returns the time after which no more frames are sent, nanoseconds: a hundredth and ten milliseconds later than planned.
    pub fn deadline_ns(&self) -> u64 {
        let length = self.length_ns();
        length.saturating_add(length / 100).saturating_add(10_000_000)
    }
}

/// A trial as it went.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialOutcome {
    /// Bytes of a frame, with check sequence.
    pub frame_size: u32,
    /// Frames per second that were to be offered.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub rate: u64,
    /// Frames that were to be sent.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub planned: u64,
    /// Frames that the sending port took.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub sent: u64,
    /// Frames per second that were offered: those sent, by the time that sending took.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub offered_rate: u64,
    /// True if all frames were sent in time: within a hundredth and ten milliseconds of the time that they take at the rate.
    pub rate_reached: bool,
    /// The longest time that a frame left after it was due, nanoseconds. Those that follow come in a burst.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub longest_delay_ns: u64,
    /// Frames that were received, each counted once.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub received: u64,
    /// Frames that were sent and not received, for whatever reason.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub lost: u64,
    /// Frames of `lost` that the sending port may have lost after it had taken them: by its counters, or all if its link was down.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub lost_by_sender: u64,
    /// Frames of `lost` that the receiving port may have lost: by its counters, which count all frames, or all others if its link was down.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub lost_by_receiver: u64,
    /// Frames that were received again.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub duplicates: u64,
    /// Frames of `received` that came after one that was sent later.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub reordered: u64,
    /// Frames that came with another length; they are not of `received`.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub wrong_length: u64,
    /// Frames of an earlier trial that came in this one.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub late: u64,
    /// Frames that are no test frames of this run.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub foreign: u64,
    /// Times from the hand-over of a frame to the sending port until its reception; null if none is known.
    pub delay: Option<DelaySummary>,
}

/// The delays of the frames of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// The delay of the frame in the middle of the trial, nanoseconds; null if it was not asked for, or did not arrive.
    pub tagged_ns: Option<u64>,
    /// The least delay, nanoseconds.
    pub min_ns: u64,
    /// The mean delay, nanoseconds.
    pub mean_ns: f64,
    /// The greatest delay, nanoseconds.
    pub max_ns: u64,
    /// Frames whose delay is not known, because the clock was set meanwhile.
    pub unknown: u64,
}

/// The counts of sending in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Frames that the port took.
    pub frames: u64,
    /// Frames of these that the port may have lost.
    pub lost: u64,
    /// The time that sending took, nanoseconds; at least that which the frames take at their rate.
    pub elapsed_ns: u64,
    /// The longest time that a frame left after it was due, nanoseconds.
    pub longest_delay_ns: u64,
}

/// The verdict on the device at the rate that was offered in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No more was lost than is tolerated.
    Passed,
    /// The device lost more.
    Lost,
    /// More was lost, but the tester's ports may have lost it.
    Undecided,
}

impl TrialOutcome {
    /// Joins what was sent and what was received. `receiver_lost` is what the receiving port may have lost meanwhile.
    pub fn new(plan: &TrialPlan, sent: &SentCounts, arrived: &ArrivalCounts, receiver_lost: u64) -> Self {
        let lost = sent.frames.saturating_sub(arrived.received);
        let lost_by_sender = sent.lost.min(lost);
        let delays = &arrived.delays;
        let in_time = sent.frames == plan.frames && sent.elapsed_ns <= plan.deadline_ns();
        let offered = u128::from(sent.frames) * SECOND_NS / u128::from(sent.elapsed_ns.max(1));
        Self {
            frame_size: plan.frame_size,
            rate: plan.rate,
            planned: plan.frames,
            sent: sent.frames,
            offered_rate: u64::try_from(offered).unwrap_or(u64::MAX).min(plan.rate),
            rate_reached: in_time,
            longest_delay_ns: sent.longest_delay_ns,
            received: arrived.received,
            lost,
            lost_by_sender,
            lost_by_receiver: receiver_lost.min(lost - lost_by_sender),
            duplicates: arrived.duplicates,
            reordered: arrived.reordered,
            wrong_length: arrived.wrong_length,
            late: arrived.late,
            foreign: arrived.foreign,
            delay: delays.mean_ns().map(|mean_ns| DelaySummary {
                tagged_ns: delays.tagged_ns,
                min_ns: delays.min_ns,
                mean_ns,
                max_ns: delays.max_ns,
                unknown: delays.clock_was_set,
            }),
        }
    }

    /// Returns the frames that the device lost at the least: those that none of the tester's ports can have lost.
    pub fn lost_by_device(&self) -> u64 {
        self.lost - self.lost_by_sender - self.lost_by_receiver
    }

    /// Returns the verdict where `tolerance_ppm` millionths of the frames may be lost.
    pub fn verdict(&self, tolerance_ppm: u32) -> Verdict {
        let tolerated = u128::from(self.sent) * u128::from(tolerance_ppm);
        let is_more = |lost: u64| u128::from(lost) * 1_000_000 > tolerated;
        match (is_more(self.lost), is_more(self.lost_by_device())) {
            (false, _) => Verdict::Passed,
            (true, true) => Verdict::Lost,
            (true, false) => Verdict::Undecided,
        }
    }
}

/// A frame size on a link of a known speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLoad {
    /// Bytes of a frame, with check sequence.
    pub frame_size: u32,
    /// The speed of the link, bits per second.
    pub link_bits_per_second: u64,
}

impl LinkLoad {
    /// Returns the theoretical maximum, frames per second.
    pub fn most(&self) -> u64 {
        most_frames_per_second(self.link_bits_per_second, self.frame_size)
    }

    /// Returns the bits per second that a rate of frames takes on the link.
    pub fn bits_per_second(&self, rate: u64) -> u64 {
        rate.saturating_mul(bits_on_the_link(self.frame_size))
    }

    /// Returns a share of the maximum, frames per second, at least 1.
    pub fn share(&self, ppm: u32) -> u64 {
        let rate = u128::from(self.most()) * u128::from(ppm) / 1_000_000;
        u64::try_from(rate).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(sent: u64, sender_lost: u64, received: u64, receiver_lost: u64) -> TrialOutcome {
        let plan = TrialPlan { frame_size: 64, rate: 1000, frames: 1000, tagged: false };
        let sent =
            SentCounts { frames: sent, lost: sender_lost, elapsed_ns: 1_000_000_000, longest_delay_ns: 0 };
        let arrived = ArrivalCounts { received, ..ArrivalCounts::default() };
        TrialOutcome::new(&plan, &sent, &arrived, receiver_lost)
    }

    #[test]
    fn what_the_ports_lost_is_not_the_devices() {
        for (sent, sender, received, receiver, by_device, verdict) in [
            (1000, 0, 1000, 0, 0, Verdict::Passed),
            (1000, 0, 999, 0, 1, Verdict::Lost),
            (1000, 1, 999, 0, 0, Verdict::Undecided),
            (1000, 0, 999, 50, 0, Verdict::Undecided),
            (1000, 10, 900, 50, 40, Verdict::Lost),
            // Counters of what other senders lost do not make the loss greater.
            (1000, 70, 1000, 9, 0, Verdict::Passed),
            (0, 0, 0, 0, 0, Verdict::Passed),
        ] {
            let outcome = outcome(sent, sender, received, receiver);
            assert_eq!((outcome.lost_by_device(), outcome.verdict(0)), (by_device, verdict));
            assert_eq!(outcome.sent, outcome.received + outcome.lost);
        }
    }

    #[test]
    fn a_share_of_the_frames_may_be_lost() {
        assert_eq!(outcome(1000, 0, 999, 0).verdict(1000), Verdict::Passed);
        assert_eq!(outcome(1000, 0, 999, 0).verdict(999), Verdict::Lost);
        assert_eq!(outcome(1000, 1, 998, 0).verdict(1000), Verdict::Undecided);
    }

    #[test]
    fn a_rate_that_was_not_reached_is_the_one_that_was() {
        let plan = TrialPlan::lasting(64, 1000, 2_000_000_000, false);
        assert_eq!((plan.frames, plan.length_ns(), plan.deadline_ns()), (2000, 2_000_000_000, 2_030_000_000));
        let of = |frames, elapsed_ns| {
            let sent = SentCounts { frames, elapsed_ns, ..SentCounts::default() };
            let outcome = TrialOutcome::new(&plan, &sent, &ArrivalCounts::default(), 0);
            (outcome.rate_reached, outcome.offered_rate)
        };
        assert_eq!(of(2000, 2_000_000_000), (true, 1000));
        assert_eq!(of(2000, 2_030_000_000), (true, 985));
        assert_eq!(of(2000, 4_000_000_000), (false, 500));
        assert_eq!(of(1015, 2_030_000_000), (false, 500));
        assert_eq!(of(0, 0), (false, 0));
        assert_eq!(TrialPlan::lasting(64, 1, 1, false).frames, 1);
    }
}
