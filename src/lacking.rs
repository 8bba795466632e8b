//! What a build can lack, in the words of an error.

use crate::exit::Failure;

/// A feature that a build may lack.
pub(crate) struct Feature {
    /// What the build does not have without it.
    pub(crate) what: &'static str,
    /// What to do about it.
    pub(crate) remedy: &'static str,
}

/// Ports that DPDK drives.
pub(crate) const DPDK: Feature =
    Feature { what: "DPDK", remedy: "build it with the feature dpdk (Debian's package libdpdk-dev)" };
/// Probes and controllers, which a broker connects.
pub(crate) const AMQP: Feature = Feature { what: "deployments", remedy: "build it with the feature amqp" };
/// The client of Kafka.
pub(crate) const KAFKA: Feature =
    Feature { what: "client of Kafka", remedy: "build it with the feature kafka" };

/// Returns the error of a request that needs a feature which this build lacks.
pub(crate) fn lacks(asked: &str, feature: &Feature) -> Failure {
    Failure::usage(format!("{asked}: this build has no {}; {}", feature.what, feature.remedy))
}
