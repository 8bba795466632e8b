//! The fields by which a change is explained.

/// A field whose groups are compared.
#[derive(Debug)]
pub(crate) struct ChangeField {
    /// The name of the field in the API.
    pub(crate) name: &'static str,
    /// The fields of Equery that a group has a value of each.
    pub(crate) by: &'static [&'static str],
    /// True if the field is compared where a client names none.
    pub(crate) is_usual: bool,
}

/// The name of the field whose groups are nodes.
pub(crate) const NODE: &str = "node";

const fn field(name: &'static str, by: &'static [&'static str], is_usual: bool) -> ChangeField {
    ChangeField { name, by, is_usual }
}

/// All fields but the node.
pub(crate) const FIELDS: [ChangeField; 12] = [
    field("conversation", &["src_addr", "dst_addr"], true),
    field("source", &["src_addr"], true),
    field("destination", &["dst_addr"], true),
    field("source_network", &["src_addr/24/64"], true),
    field("destination_network", &["dst_addr/24/64"], true),
    field("port", &["protocol", "dst_port"], true),
    field("protocol", &["protocol"], true),
    field("source_port", &["protocol", "src_port"], false),
    field("source_as", &["src_asn"], false),
    field("destination_as", &["dst_asn"], false),
    field("source_country", &["src_country"], false),
    field("destination_country", &["dst_country"], false),
];
