//! Receiving what probes send, and sending them their lists.

use super::connection::{answer, answer_of};
use super::controller_state::{CONSUMING, ControllerState, LISTING};
use super::declaring::declare;
use super::intake::{BrokerDelivery, DeliveryReply, Tag};
use super::publishing::{next, patiently, properties, refusal};
use super::room::Room;
use super::status::ConnectionHealth;
use super::topology::{BrokerTopology, RESULTS, TASKS};
use super::worker::ShutdownSignal;
use super::{LOOK, connection};
use futures_core::Stream;
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, BasicRejectOptions,
    ConfirmSelectOptions,
};
use lapin::types::{FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Connection, Event};
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The longest time in which a broker that is well answers. With [`LOOK`] it is less than that after which a node that is not heard is down.
const ANSWER: Duration = Duration::from_secs(2);
/// Messages that are delivered ahead of their acknowledgement.
const AHEAD: u16 = 256;

/// Takes deliveries until the connection breaks, for the reason that is returned, or is to end.
pub(super) async fn consume(
    shared: &ControllerState,
    connection: &Connection,
    room: &Arc<Room>,
    closing: &ShutdownSignal,
) -> Result<(), String> {
    let channel = answer(connection.create_channel()).await?;
    declare(&channel, &BrokerTopology::for_results(shared.results_bytes)).await?;
    answer(channel.basic_qos(AHEAD, BasicQosOptions::default())).await?;
    let (tag, options) = (shared.boot.to_string(), BasicConsumeOptions::default());
    let consumer = channel.basic_consume(RESULTS.into(), tag.into(), options, FieldTable::default());
    let mut consumer = pin!(answer_of(RESULTS, consumer).await?);
    let number = shared.begin(room);
    let mut messages = 0;
    shared.status.set(CONSUMING, ConnectionHealth::Good);
    loop {
        tell(shared, &channel, number).await?;
        tokio::select! {
            // After what was acknowledged before.
            () = closing.wait() => return tell(shared, &channel, number).await,
            () = shared.words_wake.notified() => {}
            delivery = next(&mut consumer) => match delivery {
                Some(Ok(delivery)) => {
                    messages += 1;
                    let is_too_large = room.is_too_large(messages);
                    shared.deliver(BrokerDelivery { is_too_large, ..delivered(delivery, number) });
                }
                Some(Err(error)) => return Err(connection::words(&error)),
                None => return Err(format!("{RESULTS} was deleted")),
            },
            () = sleep(LOOK) => {
                if !connection.status().connected() {
                    return Err("the connection broke".to_owned());
                }
            }
        }
    }
}

fn delivered(delivery: Delivery, connection: u64) -> BrokerDelivery {
    let text = |text: &Option<ShortString>| text.as_ref().map(ToString::to_string);
    BrokerDelivery {
        tag: Tag { connection, number: delivery.delivery_tag },
        routing_key: delivery.routing_key.to_string(),
        content_type: text(delivery.properties.content_type()),
        content_encoding: text(delivery.properties.content_encoding()),
        user: text(delivery.properties.user_id()),
        is_too_large: false,
        bytes: delivery.data,
    }
}

/// Tells the broker what has been stored or refused since.
async fn tell(shared: &ControllerState, channel: &Channel, connection: u64) -> Result<(), String> {
    for word in shared.take_words() {
        match word {
            DeliveryReply::Done(tag) if tag.connection == connection => {
                answer(channel.basic_ack(tag.number, BasicAckOptions { multiple: true })).await?;
            }
            DeliveryReply::Refused(tag) if tag.connection == connection => {
                answer(channel.basic_reject(tag.number, BasicRejectOptions { requeue: false })).await?;
            }
            // Of a connection that is gone: it is delivered again.
            _ => {}
        }
    }
    Ok(())
}

/// Sends lists until the connection breaks, for the reason that is returned, or is to end.
///
/// On a connection of its own: a broker without space stops reading from those that send, and acknowledgements are what makes space.
pub(super) async fn send_lists(
    shared: &ControllerState,
    connection: &Connection,
    closing: &ShutdownSignal,
) -> Result<(), String> {
    let channel = answer(connection.create_channel()).await?;
    // First, so that a probe which finds its queue finds where to send to.
    declare(&channel, &BrokerTopology::for_results(shared.results_bytes)).await?;
    declare(&channel, &BrokerTopology::for_tasks(&shared.nodes)).await?;
    answer(channel.confirm_select(ConfirmSelectOptions::default())).await?;
    let looks = answer(connection.create_channel()).await?;
    answer(looks.confirm_select(ConfirmSelectOptions::default())).await?;
    let events = pin!(connection.events_listener());
    shared.lists().rewind();
    shared.status.set(LISTING, ConnectionHealth::Good);
    tokio::select! {
        ended = send_each(shared, connection, [&channel, &looks], closing) => ended,
        never = watch(shared, connection, events) => match never {},
    }
}

/// Notes when the broker takes no messages, also while one waits to be taken.
async fn watch(
    shared: &ControllerState,
    connection: &Connection,
    mut events: Pin<&mut impl Stream<Item = Event>>,
) -> Infallible {
    while let Some(event) = next(&mut events).await {
        if let Event::ConnectionBlocked(reason) = event {
            let reason = format!("it takes no messages now: {}", reason.replace(char::is_control, " "));
            shared.status.set(LISTING, ConnectionHealth::Waits(reason));
        } else if !connection.status().blocked() {
            shared.status.set(LISTING, ConnectionHealth::Good);
        }
    }
    std::future::pending().await
}

async fn send_each(
    shared: &ControllerState,
    connection: &Connection,
    [channel, looks]: [&Channel; 2],
    closing: &ShutdownSignal,
) -> Result<(), String> {
    loop {
        send(shared, connection, channel).await?;
        if !connection.status().blocked() {
            shared.status.set(LISTING, ConnectionHealth::Good);
            look(shared, connection, looks).await?;
        }
        tokio::select! {
            () = closing.wait() => return Ok(()),
            () = shared.lists_wake.notified() => {}
            () = sleep(LOOK) => {
                if !connection.status().connected() {
                    return Err("the connection broke".to_owned());
                }
            }
        }
    }
}

/// Sends nothing to nowhere, and waits until the broker has taken it. A broker tells a connection of its alarm only once this sends something,
/// and task lists are rare; one that hangs tells nothing, and no message of a node comes.
async fn look(shared: &ControllerState, connection: &Connection, channel: &Channel) -> Result<(), String> {
    // No node has an empty name, so that no queue is bound by it and the broker drops the message.
    let properties = BasicProperties::default().with_user_id(shared.broker.user().into());
    let published =
        channel.basic_publish(TASKS.into(), "".into(), BasicPublishOptions::default(), &[], properties);
    let mut taken = pin!(patiently(connection, patiently(connection, published).await?));
    if let Ok(taken) = timeout(ANSWER, &mut taken).await {
        return taken.map(drop);
    }
    if !connection.status().blocked() {
        shared.status.set(LISTING, ConnectionHealth::Waits("it does not answer".to_owned()));
    }
    taken.await.map(drop)
}

async fn send(shared: &ControllerState, connection: &Connection, channel: &Channel) -> Result<(), String> {
    let unsent = shared.lists().unsent();
    let mut confirms = Vec::new();
    for one in unsent {
        let key = one.outgoing.id.node.as_str().into();
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let properties = properties(&one.outgoing, shared.broker.user());
        let published = channel.basic_publish(TASKS.into(), key, options, &one.outgoing.bytes, properties);
        confirms.push((patiently(connection, published).await?, one.node, one.list));
    }
    for (confirm, node, list) in confirms {
        match refusal(patiently(connection, confirm).await?) {
            None => shared.lists().sent(node, list),
            Some(reason) => return Err(format!("a task list: {reason}")),
        }
    }
    Ok(())
}
