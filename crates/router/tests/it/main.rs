//! Datagrams of flow exporters.

mod cases;
mod datagrams;
mod sampling;
mod sessions;
mod sflow;
mod strangers;
mod support;
