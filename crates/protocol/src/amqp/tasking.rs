//! Receiving a probe's task lists.

use super::back_off::BackOff;
use super::connection::{answer, is_missing, words};
use super::probe_state::{ProbeState, TASKING};
use super::publishing::next;
use super::status::ConnectionHealth;
use super::topology::tasks_of;
use super::worker::ShutdownSignal;
use crate::ToProbe;
use crate::envelope::{Properties, decode};
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions, BasicRejectOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection};
use std::pin::pin;
use std::time::Duration;
use tokio::time::sleep;

/// Lists that are delivered ahead.
const AHEAD: u16 = 4;

/// Receives task lists until the connection breaks, for the reason that is returned, or is to end.
pub(super) async fn receive(
    shared: &ProbeState,
    connection: &Connection,
    closing: &ShutdownSignal,
) -> Result<(), String> {
    let queue = tasks_of(&shared.node);
    let mut back_off = BackOff::new();
    loop {
        let channel = answer(connection.create_channel()).await?;
        answer(channel.basic_qos(AHEAD, BasicQosOptions::default())).await?;
        let (tag, options) = (shared.boot.to_string(), BasicConsumeOptions::default());
        let consumed =
            channel.basic_consume(queue.as_str().into(), tag.into(), options, FieldTable::default());
        let wait = match consumed.await {
            Ok(consumer) => {
                back_off.reset();
                shared.status.set(TASKING, ConnectionHealth::Good);
                let mut consumer = pin!(consumer);
                while let Some(delivery) = next(&mut consumer).await {
                    take(shared, &channel, delivery.map_err(|error| words(&error))?).await?;
                }
                // The queue was deleted.
                Duration::ZERO
            }
            Err(error) if is_missing(&error) => {
                let reason = format!("no controller has declared {queue} there yet");
                shared.status.set(TASKING, ConnectionHealth::Waits(reason));
                back_off.wait()
            }
            Err(error) => return Err(words(&error)),
        };
        tokio::select! {
            () = sleep(wait) => {}
            () = closing.wait() => return Ok(()),
        }
    }
}

async fn take(shared: &ProbeState, channel: &Channel, delivery: Delivery) -> Result<(), String> {
    let properties = Properties {
        content_type: delivery.properties.content_type().as_ref().map(|text| text.as_str()),
        content_encoding: delivery.properties.content_encoding().as_ref().map(|text| text.as_str()),
    };
    let read = decode::<ToProbe>(&delivery.data, properties);
    let tag = delivery.delivery_tag;
    match read {
        Ok(envelope) if envelope.id.node == shared.node => {
            if let ToProbe::Tasks(list) = envelope.body {
                shared.deliver(list);
            }
            // A probe that dies now asks for the list again, by its heartbeats.
            answer(channel.basic_ack(tag, BasicAckOptions::default())).await
        }
        other => {
            shared.refuse(other.err().unwrap_or(crate::MessageRefusal::UnknownNode));
            answer(channel.basic_reject(tag, BasicRejectOptions::default())).await
        }
    }
}
