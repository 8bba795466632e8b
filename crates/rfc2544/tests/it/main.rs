//! Devices of the kernel, and the report.

mod device;
mod schema;
