//! The classification of the client's errors.

use crate::{KafkaProblem, ProduceError};
use rskafka::BackoffError;
use rskafka::client::error::{Error, ProtocolError};

/// The most characters of an error that are kept.
const MOST: usize = 300;

/// Returns the problem that kept messages from being taken, and its reason, which names the place.
pub(crate) fn refusal(error: &Error, place: &str) -> ProduceError {
    match error {
        Error::RetryFailed(BackoffError::DeadlineExceded { source, .. }) => {
            match source.downcast_ref::<Error>() {
                Some(error) => refusal(error, place),
                None => away(place, source),
            }
        }
        Error::Connection(_) | Error::Request(_) => away(place, error),
        Error::Timeout => ProduceError::new(KafkaProblem::Slow, format!("{place} does not answer in time")),
        Error::ServerError { protocol_error, error_message, .. } => {
            let problem = classify_protocol_error(*protocol_error);
            let said = error_message.as_deref().unwrap_or_default();
            let said = if said.is_empty() { String::new() } else { format!(": {}", short(said)) };
            ProduceError::new(problem, format!("{place}: {}{said}", in_words(problem, *protocol_error)))
        }
        other => ProduceError::new(KafkaProblem::Refused, format!("{place}: {}", short(&other.to_string()))),
    }
}

fn away(place: &str, error: &impl ToString) -> ProduceError {
    ProduceError::new(KafkaProblem::Away, format!("{place} cannot be reached: {}", short(&error.to_string())))
}

fn classify_protocol_error(error: ProtocolError) -> KafkaProblem {
    use ProtocolError as Of;
    match error {
        Of::MessageTooLarge | Of::RecordListTooLarge => KafkaProblem::TooLarge,
        // Others are tried again: a message that is damaged on its way, and one whose time is refused as long as this machine's clock is wrong.
        Of::InvalidRecord => KafkaProblem::Malformed,
        Of::UnknownTopicOrPartition
        | Of::InvalidTopicException
        | Of::InvalidReplicationFactor
        | Of::InvalidPartitions
        | Of::PolicyViolation => KafkaProblem::NoTopic,
        Of::TopicAuthorizationFailed | Of::ClusterAuthorizationFailed | Of::SaslAuthenticationFailed => {
            KafkaProblem::NotAllowed
        }
        Of::NotEnoughReplicas | Of::NotEnoughReplicasAfterAppend => KafkaProblem::FewReplicas,
        Of::RequestTimedOut => KafkaProblem::Slow,
        Of::LeaderNotAvailable
        | Of::NotLeaderOrFollower
        | Of::BrokerNotAvailable
        | Of::NetworkException
        | Of::NotController => KafkaProblem::Away,
        _ => KafkaProblem::Refused,
    }
}

fn in_words(problem: KafkaProblem, error: ProtocolError) -> String {
    match problem {
        KafkaProblem::TooLarge => {
            "the message is larger than the topic takes; raise its max.message.bytes".to_owned()
        }
        KafkaProblem::NoTopic => {
            "the topic is missing and is not created; create it, or allow Edison to".to_owned()
        }
        KafkaProblem::NotAllowed => "Edison may not write there; allow it to".to_owned(),
        KafkaProblem::FewReplicas => "too few replicas are in sync".to_owned(),
        KafkaProblem::Slow => "the replicas do not answer in time".to_owned(),
        KafkaProblem::Away => format!("no broker leads the partition ({error})"),
        _ if error == ProtocolError::InvalidTimestamp => {
            "it refuses the time of messages; set this machine's clock".to_owned()
        }
        _ => format!("refused: {error}"),
    }
}

fn short(text: &str) -> String {
    text.chars().take(MOST).collect()
}
