//! Sending a probe's messages, and learning that they arrived.

use super::TIMEOUT;
use super::back_off::BackOff;
use super::connection::{answer, is_missing, is_refused, words};
use super::outbox::Outgoing;
use super::probe_state::{PUBLISHING, ProbeState};
use super::status::ConnectionHealth;
use super::topology::RESULTS;
use super::worker::ShutdownSignal;
use crate::envelope::{CONTENT_ENCODING, CONTENT_TYPE};
use futures_core::Stream;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, Connection, Event, ExchangeKind, PublisherConfirm};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use tokio::time::{Instant, sleep, sleep_until};

/// The time for which a heartbeat is worth anything, milliseconds.
const HEARTBEAT_LIFE: &str = "10000";
/// AMQP's number of messages that outlive the broker.
const PERSISTENT: u8 = 2;

/// Returns the AMQP properties that a message is sent with. `user`: the sender, for whom the broker vouches.
pub(super) fn properties(outgoing: &Outgoing, user: &str) -> BasicProperties {
    BasicProperties::default()
        .with_content_type(CONTENT_TYPE.into())
        .with_content_encoding(CONTENT_ENCODING.into())
        .with_message_id(outgoing.id.to_string().into())
        .with_user_id(user.into())
        .with_delivery_mode(PERSISTENT)
}

/// Waits for the broker within bounds, which it is not held to while it takes nothing.
pub(super) async fn patiently<T>(
    connection: &Connection,
    asked: impl Future<Output = lapin::Result<T>>,
) -> Result<T, String> {
    let mut asked = pin!(asked);
    loop {
        tokio::select! {
            answered = &mut asked => return answered.map_err(|error| words(&error)),
            () = sleep(TIMEOUT) => {
                if !connection.status().blocked() {
                    return Err("it does not take messages in time".to_owned());
                }
            }
        }
    }
}

/// The next of a stream.
pub(super) async fn next<S: Stream>(stream: &mut Pin<&mut S>) -> Option<S::Item> {
    poll_fn(|context| stream.as_mut().poll_next(context)).await
}

/// A message that the broker has not confirmed.
struct InFlight {
    confirm: PublisherConfirm,
    until: Instant,
}

/// Sends what is in the outbox until the connection breaks, for the reason that is returned, or is to end.
pub(super) async fn publish(
    shared: &ProbeState,
    connection: &Connection,
    closing: &ShutdownSignal,
) -> Result<(), String> {
    if !await_exchange(shared, connection, closing).await? {
        return Ok(());
    }
    let channel = answer(connection.create_channel()).await?;
    answer(channel.confirm_select(ConfirmSelectOptions::default())).await?;
    // Without confirms: nothing waits for heartbeats.
    let heartbeats = answer(connection.create_channel()).await?;
    let publisher = ProbePublisher { shared, connection, channel, heartbeats };
    shared.outbox().rewind();
    shared.status.set(PUBLISHING, ConnectionHealth::Good);
    publisher.run(closing).await
}

/// Waits until the controller has declared where results go. False if the connection is to end.
async fn await_exchange(
    shared: &ProbeState,
    connection: &Connection,
    closing: &ShutdownSignal,
) -> Result<bool, String> {
    let mut back_off = BackOff::new();
    loop {
        // The broker closes a channel on which something was missing.
        let channel = answer(connection.create_channel()).await?;
        let options = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
        match channel
            .exchange_declare(RESULTS.into(), ExchangeKind::Topic, options, FieldTable::default())
            .await
        {
            Ok(()) => return Ok(true),
            Err(error) if is_missing(&error) => {}
            // RabbitMQ 4.2.6 and 4.3.0 want the right to declare it here. Whether it is there is seen when something is sent.
            Err(error) if is_refused(&error) => return Ok(true),
            Err(error) => return Err(words(&error)),
        }
        let reason = format!("no controller has declared {RESULTS} there yet");
        shared.status.set(PUBLISHING, ConnectionHealth::Waits(reason));
        tokio::select! {
            () = sleep(back_off.wait()) => {}
            () = closing.wait() => return Ok(false),
        }
    }
}

struct ProbePublisher<'a> {
    shared: &'a ProbeState,
    connection: &'a Connection,
    channel: Channel,
    heartbeats: Channel,
}

impl ProbePublisher<'_> {
    async fn run(&self, closing: &ShutdownSignal) -> Result<(), String> {
        let mut events = pin!(self.connection.events_listener());
        let mut in_flight = VecDeque::<InFlight>::new();
        let mut back_off = BackOff::new();
        // Why the broker did not take a message: all from that one on are sent again, once nothing is on its way.
        let mut refused = None;
        let mut was_blocked = false;
        loop {
            let is_blocked = self.connection.status().blocked();
            if was_blocked && !is_blocked {
                in_flight.iter_mut().for_each(|one| one.until = Instant::now() + TIMEOUT);
                self.shared.status.set(PUBLISHING, ConnectionHealth::Good);
            }
            was_blocked = is_blocked;
            if refused.is_some() && in_flight.is_empty() {
                self.shared.outbox().rewind();
                refused = None;
                tokio::select! {
                    () = sleep(back_off.wait()) => {}
                    () = closing.wait() => return Ok(()),
                }
            }
            if !is_blocked {
                self.send(&mut in_flight, refused.is_none()).await?;
            }
            let is_waiting = !in_flight.is_empty();
            let until = in_flight.front().map_or_else(Instant::now, |front| front.until);
            tokio::select! {
                () = closing.wait() => return Ok(()),
                () = self.shared.wake.notified() => {}
                Some(event) = next(&mut events) => self.note(event)?,
                confirmed = front(&mut in_flight), if is_waiting => {
                    in_flight.pop_front();
                    match refusal(confirmed.map_err(|error| words(&error))?) {
                        None if refused.is_none() => {
                            back_off.reset();
                            self.shared.confirm();
                            self.shared.status.set(PUBLISHING, ConnectionHealth::Good);
                        }
                        // Confirmed or not: it comes after one that was not taken, and is sent again after that.
                        None => {}
                        Some(reason) => {
                            self.shared.status.set(PUBLISHING, ConnectionHealth::Waits(reason.clone()));
                            refused.get_or_insert(reason);
                        }
                    }
                }
                () = sleep_until(until), if is_waiting && !is_blocked => {
                    return Err("it does not confirm messages in time".to_owned());
                }
                // In case that nothing tells of its end. A thousand probes are woken in vain a thousand times a second where this is a second.
                () = sleep(TIMEOUT) => {
                    if !self.connection.status().connected() {
                        return Err("the connection broke".to_owned());
                    }
                }
            }
        }
    }

    /// Sends a heartbeat, and where `all`, as many messages as may be on their way.
    async fn send(&self, in_flight: &mut VecDeque<InFlight>, all: bool) -> Result<(), String> {
        let unwritten = |error: std::io::Error| error.to_string();
        let heartbeat = self.shared.outbox().take_heartbeat().map_err(unwritten)?;
        if let Some(outgoing) = heartbeat {
            let properties = self.properties(&outgoing).with_expiration(HEARTBEAT_LIFE.into());
            // AMQP's number of messages that need not outlive the broker.
            self.hand_over(&self.heartbeats, &outgoing, properties.with_delivery_mode(1)).await?;
        }
        while all && !self.connection.status().blocked() {
            let outgoing = self.shared.outbox().next().map_err(unwritten)?;
            // What its envelope says may have to be written first.
            self.shared.unwritten.notify_one();
            let Some(outgoing) = outgoing else { break };
            let confirm = self.hand_over(&self.channel, &outgoing, self.properties(&outgoing)).await?;
            in_flight.push_back(InFlight { confirm, until: Instant::now() + TIMEOUT });
        }
        Ok(())
    }

    fn properties(&self, outgoing: &Outgoing) -> BasicProperties {
        properties(outgoing, self.shared.broker.user())
    }

    async fn hand_over(
        &self,
        channel: &Channel,
        outgoing: &Outgoing,
        properties: BasicProperties,
    ) -> Result<PublisherConfirm, String> {
        // Without `mandatory`, a message that no queue takes is confirmed like others.
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let key = self.shared.node.as_str().into();
        patiently(
            self.connection,
            channel.basic_publish(RESULTS.into(), key, options, &outgoing.bytes, properties),
        )
        .await
    }

    /// Takes note of what happens to the connection; an error if it is over.
    fn note(&self, event: Event) -> Result<(), String> {
        match event {
            Event::ConnectionBlocked(reason) => {
                let reason = format!("it takes no messages now: {}", reason.replace(char::is_control, " "));
                self.shared.status.set(PUBLISHING, ConnectionHealth::Waits(reason));
            }
            Event::Error(error) => return Err(words(&error)),
            _ => {}
        }
        Ok(())
    }
}

/// Waits for what the broker says of the first message on its way.
async fn front(in_flight: &mut VecDeque<InFlight>) -> lapin::Result<Confirmation> {
    match in_flight.front_mut() {
        Some(front) => (&mut front.confirm).await,
        None => std::future::pending().await,
    }
}

/// Returns the reason why a message was not taken, if it was not.
pub(super) fn refusal(confirmation: Confirmation) -> Option<String> {
    match confirmation {
        Confirmation::Ack(None) => None,
        Confirmation::Ack(Some(_)) => Some("no queue is bound there".to_owned()),
        Confirmation::Nack(_) => Some("its queue is full".to_owned()),
        Confirmation::NotRequested => Some("it does not confirm messages".to_owned()),
    }
}
