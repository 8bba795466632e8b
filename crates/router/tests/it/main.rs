//! Datagrams of flow exporters.

mod cases;
mod datagrams;
mod sampling;
mod sessions;
mod strangers;
mod support;
