//! Datagrams of flow exporters.

mod datagrams;
mod sessions;
mod support;
