//! Changes of the phase of a key by a window.

use crate::graph::{Trigger, TriggerKind};
use crate::state::Phase;
use crate::truth::Truth;

/// The time of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// The end of the window, nanoseconds since the epoch.
    pub(crate) end_ns: u64,
    /// The time from the end of the window before it, nanoseconds.
    pub(crate) length_ns: u64,
    /// The time of windows before it in which all was as in the last one that was taken, nanoseconds.
    pub(crate) skipped_ns: u64,
}

/// The truths that became known of a key in a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    /// The condition.
    pub(crate) truth: Truth,
    /// The truth of what re-arms the key.
    pub(crate) rearms: Truth,
}

/// A change of a key's phase that is an event.
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
            Self::Recovering { until_ns, held_ns, is_true } => {
                let held_ns = if is_true { held_ns.saturating_add(skipped_ns) } else { held_ns };
                if end_ns >= until_ns {
                    return pending(judged.truth, held_ns, time, trigger);
                }
                let is_true = judged.truth == Truth::True;
                let held_ns = match judged.truth {
                    Truth::True => held_ns.saturating_add(length_ns),
                    Truth::False => 0,
                    Truth::Unknown => held_ns,
                };
                (Self::Recovering { until_ns, held_ns, is_true }, None)
            }
            Self::Pending { held_ns, is_true } => {
                let held_ns = if is_true { held_ns.saturating_add(skipped_ns) } else { held_ns };
                pending(judged.truth, held_ns, time, trigger)
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
                let recovering = Self::Recovering { until_ns, held_ns: 0, is_true: false };
                let phase = if is_quiet { recovering } else { Self::Idle };
                (phase, Some(Change::Resolved))
            }
        }
    }
}

/// A key that may fire, and for which the condition held for `held_ns` before, which a window that does not decide it leaves so.
fn pending(truth: Truth, held_ns: u64, time: Time, trigger: &Trigger) -> (Phase, Option<Change>) {
    match truth {
        Truth::Unknown if held_ns != 0 => (Phase::Pending { held_ns, is_true: false }, None),
        truth => idle(truth, held_ns, time, trigger),
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
