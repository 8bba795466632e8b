//! Declaring exchanges and queues, which the controller does.

use super::connection::answer;
use super::topology::{Argument, BrokerQueue, BrokerTopology, Exchange};
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};

/// Declares the exchanges and queues of a topology.
pub(super) async fn declare(channel: &Channel, topology: &BrokerTopology) -> Result<(), String> {
    for one in &topology.exchanges {
        explain_declared(one.name, exchange(channel, one).await)?;
    }
    for one in &topology.queues {
        explain_declared(&one.name, queue(channel, one).await)?;
    }
    Ok(())
}

/// The reason why something is not declared: one that exists with other properties is not changed.
fn explain_declared(name: &str, declared: Result<(), String>) -> Result<(), String> {
    declared.map_err(|reason| format!("cannot declare {name}: {reason}"))
}

async fn exchange(channel: &Channel, exchange: &Exchange) -> Result<(), String> {
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    let kind = match exchange.kind {
        "topic" => ExchangeKind::Topic,
        "direct" => ExchangeKind::Direct,
        "fanout" => ExchangeKind::Fanout,
        other => ExchangeKind::Custom(other.to_owned()),
    };
    answer(channel.exchange_declare(exchange.name.into(), kind, options, FieldTable::default())).await
}

async fn queue(channel: &Channel, queue: &BrokerQueue) -> Result<(), String> {
    let BrokerQueue { name, arguments, exchange, key } = queue;
    let mut table = FieldTable::default();
    for (name, value) in arguments {
        let value = match value {
            Argument::Text(text) => AMQPValue::LongString((*text).into()),
            Argument::Number(number) => AMQPValue::LongLongInt(i64::try_from(*number).unwrap_or(i64::MAX)),
            Argument::Flag(flag) => AMQPValue::Boolean(*flag),
        };
        table.insert((*name).into(), value);
    }
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    answer(channel.queue_declare(name.as_str().into(), options, table)).await?;
    let (queue, exchange, key) = (name.as_str().into(), (*exchange).into(), key.as_str().into());
    answer(channel.queue_bind(queue, exchange, key, QueueBindOptions::default(), FieldTable::default())).await
}
