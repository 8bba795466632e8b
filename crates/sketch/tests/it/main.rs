//! Sketches against models.

mod sketch_support;

mod counter_arrays;
mod dyadic;
mod heavy_flows;
mod shared_arrays;
mod sketch_memory;
