//! A probe and its store.

mod history;
mod on_demand;
