//! What a window does to the phase of a key.

use crate::graph::{Trigger, TriggerKind};
use crate::state::Phase;
use crate::truth::Truth;

/// The time of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// Its end.
    pub(crate) end_ns: u64,
    /// From the end of the window before it.
    pub(crate) length_ns: u64,
    /// Windows before it in which all was as in the last one that was taken, nanoseconds.
    pub(crate) skipped_ns: u64,
}

/// What became known of a key in a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    /// The condition.
    pub(crate) truth: Truth,
    /// What re-arms the key.
    pub(crate) rearms: Truth,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Fired,
    Resolved,
}

impl Phase {
    /// The phase after a window, and what happened in it.
    pub(crate) fn after(self, judged: Judged, time: Time, trigger: &Trigger) -> (Self, Option<Change>) {
        let Time { end_ns, length_ns, skipped_ns } = time;
        match self {
            Self::Idle => idle(judged.truth, 0, time, trigger),
            Self::Recovering { until_ns } if end_ns < until_ns => (self, None),
            Self::Recovering { .. } => idle(judged.truth, 0, time, trigger),
            Self::Pending { held_ns, is_true } => {
                let held_ns = if is_true { held_ns.saturating_add(skipped_ns) } else { held_ns };
                match judged.truth {
                    Truth::True => idle(Truth::True, held_ns, time, trigger),
                    Truth::False => (Self::Idle, None),
                    Truth::Unknown => (Self::Pending { held_ns, is_true: false }, None),
                }
            }
            Self::Active { .. } if trigger.kind == TriggerKind::Each && judged.truth == Truth::True => {
                (Self::Active { fired_ns: end_ns }, Some(Change::Fired))
            }
            Self::Active { fired_ns } => {
                if judged.rearms != Truth::True {
                    return (self, None);
                }
                let until_ns = fired_ns.saturating_add(trigger.cooldown_ns);
                // The next window is the first that may fire.
                let is_quiet = until_ns > end_ns.saturating_add(length_ns);
                let phase = if is_quiet { Self::Recovering { until_ns } } else { Self::Idle };
                (phase, Some(Change::Resolved))
            }
        }
    }
}

/// A key that may fire, and for which the condition held for `held_ns` before.
fn idle(truth: Truth, held_ns: u64, time: Time, trigger: &Trigger) -> (Phase, Option<Change>) {
    if truth != Truth::True {
        return (Phase::Idle, None);
    }
    let held_ns = held_ns.saturating_add(time.length_ns);
    match held_ns >= trigger.hold_ns {
        true => (Phase::Active { fired_ns: time.end_ns }, Some(Change::Fired)),
        false => (Phase::Pending { held_ns, is_true: true }, None),
    }
}
