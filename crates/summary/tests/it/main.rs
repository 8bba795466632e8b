//! Tables, sketches and losses against models.

mod sketch_support;
mod tcp_support;

mod counter_arrays;
mod dyadic;
mod growth;
mod heavy_flows;
mod model;
mod shared_arrays;
mod shares;
mod sketch_memory;
mod statistic;
mod tcp_properties;
mod tcp_rules;
mod tcp_senseless;
mod tcp_simulation;
mod tcp_tshark;
