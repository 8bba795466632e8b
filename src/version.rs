//! The text of `edison --version`.

use runtime::assembly::port_drivers;
use runtime::lacking::{AMQP, DPDK, KAFKA};
use std::sync::LazyLock;

/// The version, and which features this build has and lacks.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let features = [
        (AMQP.name, deployment::find("").is_ok()),
        (DPDK.name, port_drivers::find("").is_ok()),
        (KAFKA.name, kafka::client().is_some()),
    ];
    let those = |there| {
        features.iter().filter(|(_, is_there)| *is_there == there).map(|(name, _)| *name).collect::<Vec<_>>()
    };
    let parts = [("with", those(true)), ("without", those(false))];
    let parts: Vec<_> = parts
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(word, names)| format!("{word} {}", names.join(", ")))
        .collect();
    format!("{} ({})", env!("CARGO_PKG_VERSION"), parts.join("; "))
});

/// Returns the version in the words of `edison --version`.
pub(crate) fn version() -> &'static str {
    &VERSION
}
