//! The machine of events over histories.

mod earlier;
mod model;
mod small_histories;
