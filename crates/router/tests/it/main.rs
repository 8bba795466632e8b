//! Datagrams of flow exporters.

mod datagrams;
