//! The exchanges and queues of a deployment, and who may do what with them.

/// The name of the exchange that results go to, and of the queue behind it.
pub(super) const RESULTS: &str = "edison.results";
/// The name of the exchange that task lists go to.
pub(super) const TASKS: &str = "edison.tasks";
/// The name of the exchange for messages that were refused, or delivered too often, and of the queue behind it.
const DEAD: &str = "edison.dead";

/// The most bytes of refused messages that are kept.
const MOST_DEAD_BYTES: u64 = 64 << 20;
/// A message that is delivered so often makes its controller fail. RabbitMQ 4 has a limit of 20 by itself, which a controller that is
/// started again and again by its supervisor reaches within a minute.
const MOST_DELIVERIES: u64 = 1000;

/// The queue of a node.
pub(super) fn tasks_of(node: &str) -> String {
    format!("{TASKS}.{node}")
}

/// A durable exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The exchange's name.
    pub name: &'static str,
    /// `topic`, `direct` or `fanout`.
    pub kind: &'static str,
}

/// The value of a queue's argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A text.
    Text(&'static str),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
}

/// A durable queue, and how it is bound to an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerQueue {
    /// The queue's name.
    pub name: String,
    /// The queue's arguments.
    pub arguments: Vec<(&'static str, Argument)>,
    /// The exchange that it is bound to.
    pub exchange: &'static str,
    /// The key that it is bound by.
    pub key: String,
}

/// The exchanges and queues that a deployment has at its broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerTopology {
    /// The exchanges.
    pub exchanges: Vec<Exchange>,
    /// The queues.
    pub queues: Vec<BrokerQueue>,
}

impl BrokerTopology {
    /// Returns what results and task lists of these nodes need.
    pub fn new(nodes: &[String], results_bytes: u64) -> Self {
        let mut all = Self::for_results(results_bytes);
        let Self { exchanges, queues } = Self::for_tasks(nodes);
        all.exchanges.extend(exchanges);
        all.queues.extend(queues);
        all
    }

    /// Returns what results need. `most_bytes`: the most bytes of results that the broker keeps until they are acknowledged.
    pub(super) fn for_results(most_bytes: u64) -> Self {
        let dead = BrokerQueue {
            name: DEAD.to_owned(),
            arguments: vec![("x-max-length-bytes", Argument::Number(MOST_DEAD_BYTES))],
            exchange: DEAD,
            key: String::new(),
        };
        let results = BrokerQueue {
            name: RESULTS.to_owned(),
            arguments: vec![
                ("x-queue-type", Argument::Text("quorum")),
                ("x-overflow", Argument::Text("reject-publish")),
                ("x-max-length-bytes", Argument::Number(most_bytes)),
                ("x-delivery-limit", Argument::Number(MOST_DELIVERIES)),
                ("x-dead-letter-exchange", Argument::Text(DEAD)),
                ("x-single-active-consumer", Argument::Flag(true)),
            ],
            exchange: RESULTS,
            key: "#".to_owned(),
        };
        Self {
            exchanges: vec![
                Exchange { name: DEAD, kind: "fanout" },
                Exchange { name: RESULTS, kind: "topic" },
            ],
            queues: vec![dead, results],
        }
    }

    /// Returns what the task lists of these nodes need.
    pub(super) fn for_tasks(nodes: &[String]) -> Self {
        let queue = |node: &String| BrokerQueue {
            name: tasks_of(node),
            arguments: vec![("x-max-length", Argument::Number(1))],
            exchange: TASKS,
            key: node.clone(),
        };
        Self {
            exchanges: vec![Exchange { name: TASKS, kind: "direct" }],
            queues: nodes.iter().map(queue).collect(),
        }
    }
}

/// The rights of a user at the broker: regular expressions of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The names that the user may declare and delete.
    pub configure: String,
    /// The names that the user may write to.
    pub write: String,
    /// The names that the user may read.
    pub read: String,
    /// The topic exchange whose keys are limited.
    pub exchange: &'static str,
    /// The keys that the user may write there.
    pub write_key: String,
    /// The keys that the user may bind there.
    pub read_key: String,
}

/// Matches nothing. An empty right means the same, and cannot be told from one that was forgotten.
const NOTHING: &str = "^$";

impl Rights {
    /// Returns the rights of a node's user: it writes under its own key and reads its own queue.
    pub fn for_probe(node: &str) -> Self {
        Self {
            configure: NOTHING.to_owned(),
            write: exactly(RESULTS),
            read: exactly(&tasks_of(node)),
            exchange: RESULTS,
            write_key: exactly(node),
            read_key: NOTHING.to_owned(),
        }
    }

    /// Returns the rights of a controller's user: it declares all of the topology. To bind a queue is to write to it, so that keys, not names,
    /// keep it from sending results.
    pub fn for_controller() -> Self {
        let names = [RESULTS, TASKS, DEAD].map(quoted).join("|");
        let ours = format!("^({names}|{}\\..+)$", quoted(TASKS));
        Self {
            configure: ours.clone(),
            write: ours.clone(),
            read: ours,
            exchange: RESULTS,
            write_key: NOTHING.to_owned(),
            read_key: "^#$".to_owned(),
        }
    }
}

/// The expression of this text alone.
fn exactly(text: &str) -> String {
    format!("^{}$", quoted(text))
}

/// The text as a part of an expression. What is not ASCII stands for itself: RabbitMQ compares bytes.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for letter in text.chars() {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && letter != '_' {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_of_one_name() {
        let rights = Rights::for_probe("a.b{username}$ü");
        assert_eq!(rights.write_key, r"^a\.b\{username\}\$ü$");
        assert_eq!(rights.read, r"^edison\.tasks\.a\.b\{username\}\$ü$");
        assert_eq!((rights.configure.as_str(), rights.read_key.as_str()), (NOTHING, NOTHING));
    }
}
