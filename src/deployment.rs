//! Probes and controllers of their own, which a broker connects, and their certificates: `edison probe`, `edison controller` and
//! `edison authority`.

pub(crate) mod authority;
mod broker;
pub(crate) mod controller;
mod file_name;
mod kernel_clock;
mod load;
pub(crate) mod probe;
mod settings;

pub(crate) use settings::Settings;
