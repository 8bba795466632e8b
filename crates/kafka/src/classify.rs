//! The classification of the client's errors.

use crate::{Problem, Refusal};
use rskafka::BackoffError;
use rskafka::client::error::{Error, ProtocolError};

/// The most characters of an error that are kept.
const MOST: usize = 300;

/// Returns the problem that kept messages from being taken, and its reason, which names the place.
pub(crate) fn refusal(error: &Error, place: &str) -> Refusal {
    match error {
        Error::RetryFailed(BackoffError::DeadlineExceded { source, .. }) => {
            match source.downcast_ref::<Error>() {
                Some(error) => refusal(error, place),
                None => away(place, source),
            }
        }
        Error::Connection(_) | Error::Request(_) => away(place, error),
        Error::Timeout => Refusal::new(Problem::Slow, format!("{place} does not answer in time")),
        Error::ServerError { protocol_error, error_message, .. } => {
            let problem = of_protocol(*protocol_error);
            let said = error_message.as_deref().unwrap_or_default();
            let said = if said.is_empty() { String::new() } else { format!(": {}", short(said)) };
            Refusal::new(problem, format!("{place}: {}{said}", in_words(problem, *protocol_error)))
        }
        other => Refusal::new(Problem::Refused, format!("{place}: {}", short(&other.to_string()))),
    }
}

fn away(place: &str, error: &impl ToString) -> Refusal {
    Refusal::new(Problem::Away, format!("{place} cannot be reached: {}", short(&error.to_string())))
}

fn of_protocol(error: ProtocolError) -> Problem {
    use ProtocolError as Of;
    match error {
        Of::MessageTooLarge | Of::RecordListTooLarge => Problem::TooLarge,
        // Others are tried again: a message that is damaged on its way, and one whose time is refused as long as this machine's clock is wrong.
        Of::InvalidRecord => Problem::Malformed,
        Of::UnknownTopicOrPartition
        | Of::InvalidTopicException
        | Of::InvalidReplicationFactor
        | Of::InvalidPartitions
        | Of::PolicyViolation => Problem::NoTopic,
        Of::TopicAuthorizationFailed | Of::ClusterAuthorizationFailed | Of::SaslAuthenticationFailed => {
            Problem::NotAllowed
        }
        Of::NotEnoughReplicas | Of::NotEnoughReplicasAfterAppend => Problem::FewReplicas,
        Of::RequestTimedOut => Problem::Slow,
        Of::LeaderNotAvailable
        | Of::NotLeaderOrFollower
        | Of::BrokerNotAvailable
        | Of::NetworkException
        | Of::NotController => Problem::Away,
        _ => Problem::Refused,
    }
}

fn in_words(problem: Problem, error: ProtocolError) -> String {
    match problem {
        Problem::TooLarge => {
            "the message is larger than the topic takes; raise its max.message.bytes".to_owned()
        }
        Problem::NoTopic => {
            "the topic is missing and is not created; create it, or allow Edison to".to_owned()
        }
        Problem::NotAllowed => "Edison may not write there; allow it to".to_owned(),
        Problem::FewReplicas => "too few replicas are in sync".to_owned(),
        Problem::Slow => "the replicas do not answer in time".to_owned(),
        Problem::Away => format!("no broker leads the partition ({error})"),
        _ if error == ProtocolError::InvalidTimestamp => {
            "it refuses the time of messages; set this machine's clock".to_owned()
        }
        _ => format!("refused: {error}"),
    }
}

fn short(text: &str) -> String {
    text.chars().take(MOST).collect()
}
