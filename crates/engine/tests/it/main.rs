//! Runs of the engine over packets that the tests make.

mod support;

mod adaption;
mod admission;
mod arrays;
mod batches;
mod captures;
mod control;
mod designs;
mod failures;
mod held;
mod idle_timeout;
mod loss;
mod outputs;
mod recent_windows;
mod sampling;
mod tracked_flows;
mod worker_use;
