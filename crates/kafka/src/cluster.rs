//! Kafka.

use crate::classify::refusal;
use crate::{KafkaProblem, Message, ProduceError, Producer, Servers, Topic, Topics, partition};
use rskafka::BackoffConfig;
use rskafka::chrono::{DateTime, Utc};
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::{Builder, Runtime};

/// Bytes that go to a partition at once: brokers take a mebibyte by default, as one batch.
const MOST_BYTES: usize = 768 << 10;
/// The time for which the client tries by itself: the sink tries again, and says what is wrong.
const TRIES: Duration = Duration::from_millis(500);
/// The longest time that a broker may take to create a topic, milliseconds.
const CREATION_MS: i32 = 5_000;
/// The number of times that the partitions of a new topic are looked for, and the time between.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);
/// The broker's own number of partitions, and of replicas.
const BROKER_DEFAULT: i16 = -1;

/// A cluster that messages are handed to: safe ones are with all replicas in sync.
pub(crate) struct Cluster {
    servers: Servers,
    topics: Topics,
    runtime: Runtime,
    connected: Option<Connected>,
}

struct Connected {
    client: Client,
    /// A client for each partition of a topic.
    partitions: BTreeMap<Topic, Vec<PartitionClient>>,
}

/// The result of each message, as far as it is known.
type Results = Vec<Option<Result<(), ProduceError>>>;

impl Cluster {
    /// A cluster; nothing is sent as yet.
    ///
    /// # Errors
    /// One line: the system gives no means to wait for sockets.
    pub(crate) fn new(servers: Servers, topics: Topics) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot wait for Kafka: {error}"))?;
        Ok(Self { servers, topics, runtime, connected: None })
    }
}

impl Producer for Cluster {
    fn produce(&mut self, messages: &[&Message], patience: Duration) -> Vec<Result<(), ProduceError>> {
        let mut results: Results = vec![None; messages.len()];
        let place = format!("Kafka at {}", self.servers);
        let Self { servers, topics, runtime, connected, .. } = self;
        let work = hand_over(connected, (servers, topics), &place, messages, &mut results);
        let ended = runtime.block_on(async { tokio::time::timeout(patience, work).await });
        let rest = match ended {
            Ok(Ok(())) => None,
            Ok(Err(refusal)) => Some(refusal),
            Err(_) => Some(ProduceError::new(KafkaProblem::Slow, format!("{place} does not answer in time"))),
        };
        let is_well = |result: &Option<Result<(), ProduceError>>| match result {
            Some(Ok(())) => true,
            Some(Err(refusal)) => refusal.problem.is_of_message(),
            None => false,
        };
        // What is known of leaders and partitions may be why.
        if !results.iter().all(is_well) {
            self.connected = None;
        }
        let unknown =
            || ProduceError::new(KafkaProblem::Refused, format!("{place} says nothing of a message"));
        let rest = rest.unwrap_or_else(unknown);
        results.into_iter().map(|result| result.unwrap_or_else(|| Err(rest.clone()))).collect()
    }
}

/// Hands over all messages. An error is that of those that have no result.
async fn hand_over(
    connected: &mut Option<Connected>,
    (servers, topics): (&Servers, &Topics),
    place: &str,
    messages: &[&Message],
    results: &mut Results,
) -> Result<(), ProduceError> {
    let connected = match connected {
        Some(connected) => connected,
        None => {
            let client = connect(servers).await.map_err(|error| refusal(&error, place))?;
            connected.insert(Connected { client, partitions: BTreeMap::new() })
        }
    };
    for topic in Topic::ALL {
        let numbers: Vec<usize> = (0..messages.len()).filter(|at| messages[*at].topic == topic).collect();
        if numbers.is_empty() {
            continue;
        }
        let name = topics.name(topic);
        let place = format!("{place}, topic {name}");
        let partitions = match connected.partitions.entry(topic) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(unknown) => {
                let found = partitions(&connected.client, &name).await;
                unknown.insert(found.map_err(|error| refusal(&error, &place))?)
            }
        };
        let mut shares: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for at in numbers {
            shares.entry(partition(messages[at].key.as_bytes(), partitions.len())).or_default().push(at);
        }
        for (number, share) in shares {
            let Some(partition) = partitions.get(number) else { continue };
            for batch in batches(messages, share) {
                let records = batch.iter().map(|at| record(messages[*at])).collect();
                let produced = partition.produce(records, Compression::NoCompression).await;
                let result = produced.map(|_| ()).map_err(|error| refusal(&error, &place));
                let is_over = result.as_ref().is_err_and(|refusal| !refusal.problem.is_of_message());
                batch.into_iter().for_each(|at| results[at] = Some(result.clone()));
                // What follows in this partition comes after it.
                if is_over {
                    result?;
                }
            }
        }
    }
    Ok(())
}

async fn connect(servers: &Servers) -> Result<Client, Error> {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(50),
        max_backoff: TRIES,
        base: 2.0,
        deadline: Some(TRIES),
    };
    let builder = ClientBuilder::new(servers.each().to_vec()).client_id("edison").backoff_config(backoff);
    builder.build().await
}

/// The partitions of a topic, which is created where it is missing.
async fn partitions(client: &Client, name: &str) -> Result<Vec<PartitionClient>, Error> {
    let number = async || {
        let topics = client.list_topics().await?;
        let found = topics.into_iter().find(|topic| topic.name == name);
        Ok::<usize, Error>(found.map_or(0, |topic| topic.partitions.len()))
    };
    let mut found = number().await?;
    if found == 0 {
        let created = client
            .controller_client()?
            .create_topic(name, i32::from(BROKER_DEFAULT), BROKER_DEFAULT, CREATION_MS)
            .await;
        match created {
            // Another one was quicker.
            Err(Error::ServerError { protocol_error: ProtocolError::TopicAlreadyExists, .. }) | Ok(()) => {}
            Err(error) => return Err(error),
        }
        // Brokers hear of it one after the other.
        for _ in 0..LOOKS {
            found = number().await?;
            if found != 0 {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        if found == 0 {
            return Err(Error::Timeout);
        }
    }
    let mut partitions = Vec::new();
    for number in 0..i32::try_from(found).unwrap_or(i32::MAX) {
        partitions.push(client.partition_client(name, number, UnknownTopicHandling::Error).await?);
    }
    Ok(partitions)
}

/// Messages of a partition in portions that a broker takes at once. One that is larger goes alone.
fn batches(messages: &[&Message], numbers: Vec<usize>) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut bytes = MOST_BYTES;
    for at in numbers {
        let own = messages[at].bytes();
        match batches.last_mut().filter(|_| bytes + own <= MOST_BYTES) {
            Some(last) => last.push(at),
            None => {
                batches.push(vec![at]);
                bytes = 0;
            }
        }
        bytes += own;
    }
    batches
}

fn record(message: &Message) -> Record {
    Record {
        key: Some(message.key.clone().into_bytes()),
        value: Some(message.value.clone()),
        headers: BTreeMap::from([("id".to_owned(), message.id.clone().into_bytes())]),
        // Not that of the window: by it Kafka would drop at once what a capture of last year says.
        timestamp: now(),
    }
}

fn now() -> DateTime<Utc> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_have_all_messages_in_order_and_a_bound() {
        let sizes = [10, 500 << 10, 300 << 10, 2 << 20, 1, 1];
        let messages: Vec<Message> = sizes
            .iter()
            .map(|size| Message {
                topic: Topic::Answers,
                id: String::new(),
                key: String::new(),
                value: vec![0; *size],
            })
            .collect();
        let messages: Vec<&Message> = messages.iter().collect();
        let batches = batches(&messages, (0..sizes.len()).collect());
        assert_eq!(batches, [vec![0, 1], vec![2], vec![3], vec![4, 5]]);
    }

    #[test]
    fn a_broker_that_is_not_there_is_named() {
        // The port is bound, but does not listen.
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let port = socket.local_addr().expect("an address").port();
        let servers = format!("127.0.0.1:{port}").parse().expect("a server");
        let mut cluster = Cluster::new(servers, Topics::default()).expect("a runtime");
        let message =
            Message { topic: Topic::Answers, id: "1".into(), key: "k".into(), value: b"{}".to_vec() };
        let results = cluster.produce(&[&message, &message], Duration::from_secs(20));
        assert_eq!(results.len(), 2);
        for result in results {
            let refusal = result.expect_err("no broker listens there");
            assert_eq!(refusal.problem, KafkaProblem::Away);
            assert!(refusal.reason.contains(&format!("127.0.0.1:{port}")), "{}", refusal.reason);
        }
    }

    #[test]
    fn a_broker_that_says_nothing_is_not_awaited_for_long() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let servers = listener.local_addr().expect("an address").to_string().parse().expect("a server");
        let mut cluster = Cluster::new(servers, Topics::default()).expect("a runtime");
        let message =
            Message { topic: Topic::Events, id: "1".into(), key: "k".into(), value: b"{}".to_vec() };
        let results = cluster.produce(&[&message], Duration::from_millis(200));
        assert_eq!(results[0].as_ref().expect_err("nothing is said").problem, KafkaProblem::Slow);
    }
}
