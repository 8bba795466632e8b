//! The JSON of answers, events, windows and reports: what is written, that it is read back, and that the schemas hold.

mod examples;
mod literal;
mod round_trip;
mod schema;
mod strategies;
