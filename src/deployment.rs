//! Probes and controllers of their own, which a broker connects: `edison probe` and `edison controller`.

mod broker;
pub(crate) mod controller;
mod kernel_clock;
mod load;
pub(crate) mod probe;
mod settings;

pub(crate) use settings::Settings;
