//! The exchanges and queues, which the controller declares.

use super::connection::answer;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};

/// Where results go: an exchange, and the queue behind it.
pub(super) const RESULTS: &str = "edison.results";
/// Where task lists go.
pub(super) const TASKS: &str = "edison.tasks";
/// Where messages go that were refused, or delivered too often: an exchange, and the queue behind it.
const DEAD: &str = "edison.dead";

/// What is kept of refused messages.
const MOST_DEAD_BYTES: i64 = 64 << 20;
/// A message that is delivered so often makes its controller fail. RabbitMQ 4 has a limit of 20 by itself, which a controller that is
/// started again and again by its supervisor reaches within a minute.
const MOST_DELIVERIES: i64 = 1000;

/// The queue of a node.
pub(super) fn tasks_of(node: &str) -> String {
    format!("{TASKS}.{node}")
}

fn table<const N: usize>(members: [(&str, AMQPValue); N]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in members {
        table.insert(name.into(), value);
    }
    table
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

/// Declares what results need. `most_bytes`: the most bytes of results that the broker keeps until they are acknowledged.
pub(super) async fn declare_results(channel: &Channel, most_bytes: u64) -> Result<(), String> {
    exchange(channel, DEAD, ExchangeKind::Fanout).await?;
    queue(channel, DEAD, table([("x-max-length-bytes", AMQPValue::LongLongInt(MOST_DEAD_BYTES))])).await?;
    bind(channel, DEAD, DEAD, "").await?;
    exchange(channel, RESULTS, ExchangeKind::Topic).await?;
    let most_bytes = i64::try_from(most_bytes).unwrap_or(i64::MAX);
    let arguments = table([
        ("x-queue-type", text("quorum")),
        ("x-overflow", text("reject-publish")),
        ("x-max-length-bytes", AMQPValue::LongLongInt(most_bytes)),
        ("x-delivery-limit", AMQPValue::LongLongInt(MOST_DELIVERIES)),
        ("x-dead-letter-exchange", text(DEAD)),
        ("x-single-active-consumer", AMQPValue::Boolean(true)),
    ]);
    queue(channel, RESULTS, arguments).await?;
    bind(channel, RESULTS, RESULTS, "#").await
}

/// Declares what task lists need.
pub(super) async fn declare_tasks(channel: &Channel, nodes: &[String]) -> Result<(), String> {
    exchange(channel, TASKS, ExchangeKind::Direct).await?;
    for node in nodes {
        let name = tasks_of(node);
        queue(channel, &name, table([("x-max-length", AMQPValue::LongLongInt(1))])).await?;
        bind(channel, TASKS, &name, node).await?;
    }
    Ok(())
}

/// The reason why something is not declared: one that exists with other properties is not changed.
fn told(name: &str, declared: Result<(), String>) -> Result<(), String> {
    declared.map_err(|reason| format!("cannot declare {name}: {reason}"))
}

async fn exchange(channel: &Channel, name: &str, kind: ExchangeKind) -> Result<(), String> {
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    let declared = channel.exchange_declare(name.into(), kind, options, FieldTable::default());
    told(name, answer(declared).await)
}

async fn queue(channel: &Channel, name: &str, arguments: FieldTable) -> Result<(), String> {
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    told(name, answer(channel.queue_declare(name.into(), options, arguments)).await.map(drop))
}

async fn bind(channel: &Channel, exchange: &str, queue: &str, key: &str) -> Result<(), String> {
    let options = QueueBindOptions::default();
    let bound = channel.queue_bind(queue.into(), exchange.into(), key.into(), options, FieldTable::default());
    told(queue, answer(bound).await)
}
