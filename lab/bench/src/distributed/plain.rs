//! Processor time of the protocol, compared with a publisher and a consumer that use the AMQP library directly for the same bytes. Both
//! sides run in this process, whose time is measured.

use super::fleet::{Fleet, HEARTBEAT, LOOK, heartbeat, now_ns};
use super::site::TestDeployment;
use crate::compare::process_time;
use futures_core::Stream;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, Consumer};
use model::Span;
use model::view::Spool;
use protocol::amqp::{self, ControllerLinkSettings};
use protocol::{
    Boot, ControllerLink, Envelope, FromProbe, MessageId, ProbeLink, ReceivedMessage, WindowResult,
};
use std::fmt::Display;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The interval at which messages that were taken are acknowledged, as a controller does that stores them first.
const GROUP: Duration = Duration::from_millis(100);
/// The longest time for which the last messages are awaited.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Messages that are delivered ahead of their acknowledgement.
const AHEAD: u16 = 256;
/// Connections that are made at the same time.
const AT_ONCE: usize = 16;
/// The exchange and the queue of results.
const RESULTS: &str = "edison.results";

/// The messages that passed, and the processor time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// Processor time, nanoseconds.
    pub(super) time_ns: f64,
    /// Results that were sent, and those that arrived.
    pub(super) sent: u64,
    pub(super) arrived: u64,
    pub(super) heartbeats: u64,
}

/// The times at which all probes send.
#[derive(Clone, Copy)]
pub(super) struct ProbePace {
    pub(super) window: Duration,
    /// The number of windows.
    pub(super) windows: u32,
}

/// Returns the result that each probe sends in each window.
pub(super) fn results(fleet: &Fleet, site: &TestDeployment) -> Result<Vec<WindowResult>, String> {
    let start_ns = (now_ns() / site.window_ns - 1) * site.window_ns;
    let window = Span { start_ns, end_ns: start_ns + site.window_ns };
    (0..site.nodes.len()).map(|number| fleet.result(number, window)).collect()
}

/// Sends the results by the connections of probes and of a controller.
pub(super) fn by_protocol(
    site: &TestDeployment,
    fleet: &Fleet,
    results: &[WindowResult],
    pace: ProbePace,
) -> Result<Passed, String> {
    let settings = ControllerLinkSettings::new(site.broker("controller")?, site.nodes.clone());
    let link = amqp::controller_link(settings).map_err(|error| error.to_string())?;
    let began = Instant::now();
    while !link.state().connected {
        if began.elapsed() > TIMEOUT {
            return Err(format!("the broker is away: {:?}", link.state().reason));
        }
        std::thread::sleep(GROUP);
    }
    let (ends, arrived, heartbeats) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let before = process_time();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Relaxed) {
                let group = Instant::now();
                while let Ok(Some(ReceivedMessage { message, .. })) = link.receive(GROUP) {
                    let count = if matches!(message, FromProbe::Window(_)) { &arrived } else { &heartbeats };
                    count.fetch_add(1, Relaxed);
                    if group.elapsed() >= GROUP {
                        break;
                    }
                }
                link.acknowledge();
            }
        });
        let sent = send_by_protocol(fleet, results, pace);
        await_all(&arrived, sent);
        ends.store(true, Relaxed);
        let passed = Passed {
            time_ns: process_time() - before,
            sent,
            arrived: arrived.load(Relaxed),
            heartbeats: heartbeats.load(Relaxed),
        };
        Ok(passed)
    })
}

fn send_by_protocol(fleet: &Fleet, results: &[WindowResult], pace: ProbePace) -> u64 {
    let began = Instant::now();
    let count = results.len() as u32;
    let mut heartbeats: Vec<Instant> =
        (0..count).map(|number| began + HEARTBEAT * number / count.max(1)).collect();
    let mut sent = 0;
    for window in 1..=pace.windows {
        let end = began + pace.window * window;
        while Instant::now() < end {
            let now = Instant::now();
            for (number, due) in heartbeats.iter_mut().enumerate().filter(|(_, due)| **due <= now) {
                *due += HEARTBEAT;
                let message = FromProbe::Heartbeat(Box::new(heartbeat(None, Spool::default(), 0)));
                // A connection that is away keeps the newest one.
                let _ = fleet.link(number).send(message);
            }
            std::thread::sleep(LOOK);
        }
        for (number, result) in results.iter().enumerate() {
            sent += u64::from(fleet.link(number).send(FromProbe::Window(Box::new(result.clone()))).is_ok());
        }
    }
    sent
}

fn await_all(arrived: &AtomicU64, sent: u64) {
    let began = Instant::now();
    while arrived.load(Relaxed) < sent && began.elapsed() < TIMEOUT {
        std::thread::sleep(GROUP);
    }
}

/// Sends the results by connections that are told what to send and nothing else.
pub(super) fn by_plain_library(
    site: &TestDeployment,
    results: &[WindowResult],
    pace: ProbePace,
) -> Result<Passed, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let mut connections = Vec::new();
        for nodes in site.nodes.chunks(AT_ONCE) {
            let connecting = nodes.iter().map(|node| {
                let broker = site.broker(node);
                tokio::spawn(async move { amqp::plain_connection(&broker?, "edison-lab bench").await })
            });
            for connected in connecting.collect::<Vec<_>>() {
                connections.push(connected.await.map_err(|error| error.to_string())??);
            }
        }
        let consumer = amqp::plain_connection(&site.broker("controller")?, "edison-lab bench").await?;
        let consuming = Consuming::begin(&consumer).await?;
        let mut publishers = Vec::new();
        for ((node, result), connection) in site.nodes.iter().zip(results).zip(&connections) {
            publishers.push(NodePublisher::new(connection, node, result).await?);
        }
        // All is connected, as it is before the protocol is measured.
        let arrived = Arc::new(AtomicU64::new(0));
        let all = Arc::clone(&arrived);
        let before = process_time();
        let consuming = tokio::spawn(consuming.take(all));
        let (began, count) = (tokio::time::Instant::now(), results.len() as u32);
        let publishing: Vec<_> = (0..)
            .zip(publishers)
            .map(|(number, publisher)| {
                tokio::spawn(publisher.publish(began, began + HEARTBEAT * number / count.max(1), pace))
            })
            .collect();
        let (mut heartbeats, sent) = (0, u64::from(pace.windows) * u64::from(count));
        for publisher in publishing {
            heartbeats += publisher.await.map_err(|error| error.to_string())??;
        }
        let waiting = Instant::now();
        while arrived.load(Relaxed) < sent + heartbeats && waiting.elapsed() < TIMEOUT {
            if consuming.is_finished() {
                return Err(consuming.await.map_or_else(text, |ended| format!("the consumer: {ended:?}")));
            }
            tokio::time::sleep(GROUP).await;
        }
        let time_ns = process_time() - before;
        consuming.abort();
        Ok(Passed { time_ns, sent, arrived: arrived.load(Relaxed).saturating_sub(heartbeats), heartbeats })
    })
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// The messages of a node, and the channel on which it publishes them.
struct NodePublisher {
    channel: Channel,
    node: String,
    result: Vec<u8>,
    heartbeat: Vec<u8>,
}

impl NodePublisher {
    async fn new(connection: &Connection, node: &str, result: &WindowResult) -> Result<Self, String> {
        let channel = connection.create_channel().await.map_err(text)?;
        channel.confirm_select(ConfirmSelectOptions::default()).await.map_err(text)?;
        let id = MessageId { node: node.to_owned(), boot: Boot::random(), sequence: 1 };
        let sealed = |message| Envelope::new(id.clone(), message).encode().map_err(text);
        Ok(Self {
            channel,
            node: node.to_owned(),
            result: sealed(FromProbe::Window(Box::new(result.clone())))?,
            heartbeat: sealed(FromProbe::Heartbeat(Box::new(heartbeat(None, Spool::default(), 0))))?,
        })
    }

    /// Publishes at this pace. Returns the number of heartbeats.
    async fn publish(
        self,
        began: tokio::time::Instant,
        mut next_heartbeat: tokio::time::Instant,
        pace: ProbePace,
    ) -> Result<u64, String> {
        let mut heartbeats = 0;
        for window in 1..=pace.windows {
            let end = began + pace.window * window;
            while next_heartbeat < end {
                tokio::time::sleep_until(next_heartbeat).await;
                self.send(&self.heartbeat).await?;
                heartbeats += 1;
                next_heartbeat += HEARTBEAT;
            }
            tokio::time::sleep_until(end).await;
            self.send(&self.result).await?;
        }
        Ok(heartbeats)
    }

    /// Publishes a message and waits until the broker confirms it.
    async fn send(&self, bytes: &[u8]) -> Result<(), String> {
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let properties = BasicProperties::default().with_delivery_mode(2);
        let published =
            self.channel.basic_publish(RESULTS.into(), self.node.as_str().into(), options, bytes, properties);
        published.await.map_err(text)?.await.map_err(text)?;
        Ok(())
    }
}

/// The consumer of what all nodes publish.
struct Consuming {
    channel: Channel,
    consumer: Consumer,
}

impl Consuming {
    async fn begin(connection: &Connection) -> Result<Self, String> {
        let channel = connection.create_channel().await.map_err(text)?;
        channel.basic_qos(AHEAD, BasicQosOptions::default()).await.map_err(text)?;
        let consumer = channel.basic_consume(
            RESULTS.into(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        );
        let consumer = consumer.await.map_err(text)?;
        Ok(Self { channel, consumer })
    }

    /// Counts and acknowledges messages until the connection ends.
    async fn take(mut self, arrived: Arc<AtomicU64>) -> Result<(), String> {
        let (mut last, mut tick) = (None, tokio::time::interval(GROUP));
        loop {
            tokio::select! {
                delivery = poll_fn(|context| Pin::new(&mut self.consumer).poll_next(context)) => {
                    last = Some(delivery.ok_or("it was cancelled")?.map_err(text)?.delivery_tag);
                    arrived.fetch_add(1, Relaxed);
                }
                _ = tick.tick(), if last.is_some() => {
                    let all = BasicAckOptions { multiple: true };
                    self.channel.basic_ack(last.take().unwrap_or_default(), all).await.map_err(text)?;
                }
            }
        }
    }
}
