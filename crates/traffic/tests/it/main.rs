//! Generated traffic.

mod generator;
mod path;
mod tcp;
mod tshark;
