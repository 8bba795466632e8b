//! Losses of TCP connections against models, simulated paths and tshark.

mod tcp_support;

mod tcp_properties;
mod tcp_rules;
mod tcp_senseless;
mod tcp_simulation;
mod tcp_tshark;
