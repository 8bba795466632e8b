//! Header fields by what these tests know of them.

use flow::{HEADER_FIELDS, HeaderValues};

/// Values with a flow label, and a least and a greatest time to live; packets do not have other fields.
pub(crate) fn header_values(
    flow_label: Option<u32>,
    [ip_ttl_min, ip_ttl_max]: [Option<u32>; 2],
) -> HeaderValues {
    let mut values = [None; HEADER_FIELDS];
    (values[0], values[1], values[2]) = (flow_label, ip_ttl_min, ip_ttl_max);
    HeaderValues::new(values)
}
