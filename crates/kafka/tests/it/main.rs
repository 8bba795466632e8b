//! What a Kafka broker gets.

mod support;

mod delivery;
mod rows;
mod schema;
