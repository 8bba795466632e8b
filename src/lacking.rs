//! The features that a build can lack, in the words of an error.

use crate::exit::Failure;
use crate::{deployments, port_drivers};
use std::sync::LazyLock;

/// A feature that a build may lack.
pub(crate) struct Feature {
    /// Its name in the manifest.
    pub(crate) name: &'static str,
    /// How a program with it is built.
    pub(crate) remedy: &'static str,
}

/// Ports that DPDK drives.
pub(crate) const DPDK: Feature =
    Feature { name: "dpdk", remedy: "`make build` builds one with it (Debian's package libdpdk-dev)" };
/// Probes and controllers, which a broker connects.
pub(crate) const AMQP: Feature = Feature { name: "amqp", remedy: "`make build` builds one with it" };
/// The client of Kafka.
pub(crate) const KAFKA: Feature =
    Feature { name: "kafka", remedy: "`cargo build --release --features kafka` builds one with it" };

/// Returns the error of a request that needs a feature which this build lacks.
pub(crate) fn lacks(asked: &str, feature: &Feature) -> Failure {
    Failure::usage(format!(
        "{asked} needs the feature {}, which this program was built without: {}",
        feature.name, feature.remedy
    ))
}

/// The version, and which features this build has and lacks.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let features = [
        (AMQP.name, deployments::find("").is_ok()),
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
