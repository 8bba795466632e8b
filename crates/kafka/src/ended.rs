//! The end of a sink, and what Kafka lacks then.

use model::view::Delivered;

/// The state of a sink at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KafkaOutcome {
    /// The counts of messages by what became of them.
    pub counts: Delivered,
    /// The numbers of messages that were still waiting, each with what they are.
    pub waiting: Vec<(&'static str, u64)>,
    /// The reason, where something was wrong.
    pub reason: Option<String>,
    /// True if the thread failed: what became of messages is not known.
    pub has_failed: bool,
}

impl KafkaOutcome {
    /// Returns what was not delivered, in words: a line each; none if everything was.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.has_failed {
            lines.push("the thread that delivers to Kafka failed: what Kafka lacks is not known".to_owned());
        }
        for (reason, number) in self.counts.lost.nonzero() {
            lines.push(format!("Kafka lacks {number} messages: {}", in_words(reason)));
        }
        for (what, number) in self.waiting.iter().filter(|(_, number)| *number != 0) {
            let reason = self.reason.as_deref().unwrap_or("there was no more time");
            lines.push(format!("Kafka lacks {number} {what}, which were not delivered at the end: {reason}"));
        }
        lines
    }
}

fn in_words(reason: &str) -> &str {
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
