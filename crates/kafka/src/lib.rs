//! Answers, events and window rows as messages to Kafka: at least once, each with an identifier by which those that came twice are told.
//!
//! An [`Outbox`] keeps messages until they are acknowledged: [`MemoryOutbox`] in memory, [`Archived`] in the archive of a controller,
//! [`StoredRows`] in a store. A [`DeliveryThread`] is a thread that takes messages from outboxes and hands them to a [`Producer`], which
//! [`client()`] gives where there is a Kafka. Measuring threads never wait for it. `docs/kafka.md` describes the messages, and
//! `docs/schema/kafka.json` is their schema.
//!
//! The crate knows neither queries nor engines nor HTTP.
#![forbid(unsafe_code)]

mod archived;
mod bell;
#[cfg(feature = "client")]
mod classify;
mod client;
#[cfg(feature = "client")]
mod cluster;
mod delivery;
mod ended;
mod form;
mod memory;
mod message;
mod murmur2;
mod outbox;
mod producer;
mod row_progress;
mod rows;
#[cfg(feature = "schema")]
pub mod schema;
mod servers;
mod sink;
mod stored_rows;

pub use archived::{Archived, SharedArchive};
pub use bell::Bell;
pub use client::{ProducerFactory, client};
pub use ended::KafkaOutcome;
pub use form::SCHEMA;
pub use memory::{MemoryOutbox, OutboxSender};
pub use message::{Message, Topic, encode_answer, encode_event};
pub use murmur2::partition;
pub use outbox::{MessageBatch, Outbox};
pub use producer::{KafkaProblem, ProduceError, Producer};
pub use servers::{Servers, Topics};
pub use sink::DeliveryThread;
pub use stored_rows::StoredRows;
