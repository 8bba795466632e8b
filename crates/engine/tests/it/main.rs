//! Runs of the engine over packets that the tests make.

mod support;

mod adaption;
mod admission;
mod arrays;
mod captures;
mod control;
mod designs;
mod failures;
mod held;
mod idle_timeout;
mod look_back;
mod loss;
mod outputs;
mod sampling;
mod worker_use;
mod zoom;
