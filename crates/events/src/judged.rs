//! Changes of the phase of a key by a window.

use crate::graph::{QueryTrigger, TriggerKind};
use crate::state::KeyPhase;
use crate::truth::TruthValue;

/// The time of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowTime {
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
    pub(crate) truth: TruthValue,
    /// The truth of what re-arms the key.
    pub(crate) rearms: TruthValue,
}

/// A change of a key's phase that is an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseChange {
    Fired,
    Resolved,
}

impl KeyPhase {
    /// The phase after a window, and what happened in it.
    pub(crate) fn after(
        self,
        judged: Judged,
        time: WindowTime,
        trigger: &QueryTrigger,
    ) -> (Self, Option<PhaseChange>) {
        let WindowTime { end_ns, length_ns, skipped_ns } = time;
        match self {
            Self::Idle => idle(judged.truth, 0, time, trigger),
            Self::Recovering { until_ns, held_ns, is_true } => {
                let held_ns = if is_true { held_ns.saturating_add(skipped_ns) } else { held_ns };
                if end_ns >= until_ns {
                    return pending(judged.truth, held_ns, time, trigger);
                }
                let is_true = judged.truth == TruthValue::True;
                let held_ns = match judged.truth {
                    TruthValue::True => held_ns.saturating_add(length_ns),
                    TruthValue::False => 0,
                    TruthValue::Unknown => held_ns,
                };
                (Self::Recovering { until_ns, held_ns, is_true }, None)
            }
            Self::Pending { held_ns, is_true } => {
                let held_ns = if is_true { held_ns.saturating_add(skipped_ns) } else { held_ns };
                pending(judged.truth, held_ns, time, trigger)
            }
            Self::Active { .. } if trigger.kind == TriggerKind::Each && judged.truth == TruthValue::True => {
                (Self::Active { fired_ns: end_ns }, Some(PhaseChange::Fired))
            }
            Self::Active { fired_ns } => {
                if judged.rearms != TruthValue::True {
                    return (self, None);
                }
                let until_ns = fired_ns.saturating_add(trigger.cooldown_ns);
                // The next window is the first that may fire.
                let is_quiet = until_ns > end_ns.saturating_add(length_ns);
                let recovering = Self::Recovering { until_ns, held_ns: 0, is_true: false };
                let phase = if is_quiet { recovering } else { Self::Idle };
                (phase, Some(PhaseChange::Resolved))
            }
        }
    }
}

/// A key that may fire, and for which the condition held for `held_ns` before, which a window that does not decide it leaves so.
fn pending(
    truth: TruthValue,
    held_ns: u64,
    time: WindowTime,
    trigger: &QueryTrigger,
) -> (KeyPhase, Option<PhaseChange>) {
    match truth {
        TruthValue::Unknown if held_ns != 0 => (KeyPhase::Pending { held_ns, is_true: false }, None),
        truth => idle(truth, held_ns, time, trigger),
    }
}

/// A key that may fire, and for which the condition held for `held_ns` before.
fn idle(
    truth: TruthValue,
    held_ns: u64,
    time: WindowTime,
    trigger: &QueryTrigger,
) -> (KeyPhase, Option<PhaseChange>) {
    if truth != TruthValue::True {
        return (KeyPhase::Idle, None);
    }
    let held_ns = held_ns.saturating_add(time.length_ns);
    match held_ns >= trigger.hold_ns {
        true => (KeyPhase::Active { fired_ns: time.end_ns }, Some(PhaseChange::Fired)),
        false => (KeyPhase::Pending { held_ns, is_true: true }, None),
    }
}
