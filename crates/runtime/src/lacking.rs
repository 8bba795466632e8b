//! The features that a build can lack, in the words of an error.

use crate::exit::Failure;

/// A feature that a build may lack.
pub struct Feature {
    /// The name of the feature in the manifest.
    pub name: &'static str,
    /// The way to build a program with the feature.
    pub remedy: &'static str,
}

/// Ports that DPDK drives.
pub const DPDK: Feature =
    Feature { name: "dpdk", remedy: "`make build` builds one with it (Debian's package libdpdk-dev)" };
/// Probes and controllers, which a broker connects.
pub const AMQP: Feature = Feature { name: "amqp", remedy: "`make build` builds one with it" };
/// The client of Kafka.
pub const KAFKA: Feature =
    Feature { name: "kafka", remedy: "`cargo build --release --features kafka` builds one with it" };

/// Returns the error of a request that needs a feature which this build lacks.
pub fn lacks(asked: &str, feature: &Feature) -> Failure {
    Failure::usage(format!(
        "{asked} needs the feature {}, which this program was built without: {}",
        feature.name, feature.remedy
    ))
}
