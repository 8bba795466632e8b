//! IPFIX (RFC 7011): flow records as messages, in a file (RFC 5655) or to a collector over UDP or TCP.
//!
//! Both ways share the [`encoder`]: it turns records into the data sets of messages whose headers are still
//! open, because export time and sequence number are known only where a message leaves. `docs/ipfix.md`
//! describes what is exported and how.

mod collector;
mod encoder;
mod exporter;
mod file;
mod message;
mod options;
mod pace;
mod queue;
mod sender;
mod shape;
mod template;
mod transport;

pub use collector::{Collector, CollectorError, Transport};
pub use exporter::{Patience, export};
pub(crate) use file::IpfixWriter;
pub(crate) use message::{HEADER, OPTIONS_TEMPLATE_SET, SET_HEADER, TEMPLATE_SET};
pub use queue::EXPORT_QUEUE_BYTES;

/// The registry's elements that carry no field of a record.
pub(crate) mod element {
    use flow::InformationElement as Element;

    pub(crate) const EXPORTED_OCTETS: Element = Element::registered("exportedOctetTotalCount", 40);
    pub(crate) const EXPORTED_MESSAGES: Element = Element::registered("exportedMessageTotalCount", 41);
    pub(crate) const EXPORTED_RECORDS: Element = Element::registered("exportedFlowRecordTotalCount", 42);
    pub(crate) const EXPORTING_PROCESS: Element = Element::registered("exportingProcessId", 144);
    pub(crate) const TEMPLATE: Element = Element::registered("templateId", 145);
    pub(crate) const DOMAIN: Element = Element::registered("observationDomainId", 149);
    pub(crate) const IGNORED_PACKETS: Element = Element::registered("ignoredPacketTotalCount", 164);
    pub(crate) const NOT_SENT_RECORDS: Element = Element::registered("notSentFlowTotalCount", 166);
    pub(crate) const NOT_SENT_PACKETS: Element = Element::registered("notSentPacketTotalCount", 167);
    pub(crate) const NOT_SENT_OCTETS: Element = Element::registered("notSentOctetTotalCount", 168);
    pub(crate) const FLOW_KEYS: Element = Element::registered("flowKeyIndicator", 173);
    pub(crate) const PADDING: Element = Element::registered("paddingOctets", 210);
    pub(crate) const BIFLOW_DIRECTION: Element = Element::registered("biflowDirection", 239);
    pub(crate) const DOMAIN_NAME: Element = Element::registered("observationDomainName", 300);
    pub(crate) const SELECTOR: Element = Element::registered("selectorId", 302);
    pub(crate) const ELEMENT_ID: Element = Element::registered("informationElementId", 303);
    pub(crate) const SELECTOR_ALGORITHM: Element = Element::registered("selectorAlgorithm", 304);
    pub(crate) const PACKET_INTERVAL: Element = Element::registered("samplingPacketInterval", 305);
    pub(crate) const PACKET_SPACE: Element = Element::registered("samplingPacketSpace", 306);
    pub(crate) const PROBABILITY: Element = Element::registered("samplingProbability", 311);
    pub(crate) const ELEMENT_TYPE: Element = Element::registered("informationElementDataType", 339);
    pub(crate) const ELEMENT_DESCRIPTION: Element = Element::registered("informationElementDescription", 340);
    pub(crate) const ELEMENT_NAME: Element = Element::registered("informationElementName", 341);
    pub(crate) const ELEMENT_SEMANTICS: Element = Element::registered("informationElementSemantics", 344);
    pub(crate) const ELEMENT_UNITS: Element = Element::registered("informationElementUnits", 345);
    pub(crate) const ENTERPRISE: Element = Element::registered("privateEnterpriseNumber", 346);
    pub(crate) const RECEIVED: Element = Element::own("received", 20);
    pub(crate) const MEASURED: Element = Element::own("measured", 21);
}

/// The first of the numbers that denote a run's statistics, in their order.
const FIRST_STATISTIC: u16 = 64;
/// Marks Edison's own elements of the other direction: RFC 5103 has a number space for the registry's only.
pub(crate) const OWN_REVERSE: u16 = 0x4000;
/// The enterprise number of the registry's elements in the other direction (RFC 5103, section 6.1).
pub(crate) const REVERSE_ENTERPRISE: u32 = 29305;

/// The observation domain of a node that names none: the same for the same name (32-bit FNV-1a), and not 0, which would
/// mean no domain in particular.
pub fn domain_of(node: &str) -> u32 {
    let hash =
        node.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash.max(1)
}
