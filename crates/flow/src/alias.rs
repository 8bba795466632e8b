//! Names that other tools gave their users for what the field table has under a name of its own.

/// The names, each with the field that it means.
const ALIASES: [(&str, &str); 16] = [
    ("bytes", "total_byte"),
    ("packets", "total_count"),
    ("srcip", "src_addr"),
    ("src_ip", "src_addr"),
    ("saddr", "src_addr"),
    ("dstip", "dst_addr"),
    ("dst_ip", "dst_addr"),
    ("daddr", "dst_addr"),
    ("sport", "src_port"),
    ("srcport", "src_port"),
    ("dport", "dst_port"),
    ("dstport", "dst_port"),
    ("proto", "protocol"),
    ("tos", "ip_tos"),
    ("ttl", "ip_ttl"),
    ("flags", "tcp_flags"),
];

/// The field that a usual name means, upper and lower case alike; any other name is returned as it is. What is written out has the
/// field's own name.
///
/// ```
/// assert_eq!(flow::resolve_alias("srcip"), "src_addr");
/// assert_eq!(flow::resolve_alias("Bytes"), "total_byte");
/// assert_eq!(flow::resolve_alias("src_addr"), "src_addr");
/// ```
pub fn resolve_alias(name: &str) -> &str {
    ALIASES.iter().find(|(usual, _)| usual.eq_ignore_ascii_case(name)).map_or(name, |(_, field)| field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    #[test]
    fn a_usual_name_means_a_field_and_is_none() {
        for (usual, field) in ALIASES {
            assert!(Field::named(field).is_some_and(|found| found.name == field), "{field}");
            assert!(!crate::FIELDS.iter().any(|field| field.name == usual), "{usual}");
        }
    }
}
