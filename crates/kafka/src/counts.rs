//! What became of messages.

use std::collections::BTreeMap;

/// What became of messages so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that are safe.
    pub delivered: u64,
    /// Bytes of their JSON.
    pub bytes: u64,
    /// Messages that were handed over again because it is not known whether they had arrived.
    pub again: u64,
    /// What was given up, by reason.
    pub lost: BTreeMap<&'static str, u64>,
    /// How often something went wrong that may pass, by its name.
    pub problems: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// Counts what was given up.
    pub(crate) fn lose(&mut self, reason: &'static str, number: u64) {
        if number != 0 {
            *self.lost.entry(reason).or_default() += number;
        }
    }

    /// All that was given up.
    pub fn all_lost(&self) -> u64 {
        self.lost.values().sum()
    }
}

/// How a sink ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// What became of messages.
    pub counts: Counts,
    /// What was still waiting, by what it is.
    pub waiting: Vec<(&'static str, u64)>,
    /// Why, where something was wrong.
    pub reason: Option<String>,
    /// The thread failed: what became of messages is not known.
    pub has_failed: bool,
}

impl Ended {
    /// What was not delivered, in words: a line each; none if everything was.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.has_failed {
            lines.push("the thread that delivers to Kafka failed: what Kafka lacks is not known".to_owned());
        }
        for (reason, number) in &self.counts.lost {
            lines.push(format!("Kafka lacks {number} messages: {}", in_words(reason)));
        }
        for (what, number) in self.waiting.iter().filter(|(_, number)| *number != 0) {
            let reason = self.reason.as_deref().unwrap_or("there was no more time");
            lines.push(format!("Kafka lacks {number} {what}, which were not delivered at the end: {reason}"));
        }
        lines
    }
}

fn in_words(reason: &'static str) -> &'static str {
    match reason {
        "no_room" => "they came faster than they were delivered (no_room)",
        "too_large" => "they are larger than the topic takes; raise its max.message.bytes (too_large)",
        "malformed" => "the broker took them for no messages (malformed)",
        "not_json" => "they cannot be written as JSON (not_json)",
        "dropped" => {
            "what they are of was dropped before it was sent: keep more, or have Kafka take more (dropped)"
        }
        "damaged" => "what they are of is damaged (damaged)",
        "late" => "their windows came after later ones had been sent (late)",
        other => other,
    }
}
