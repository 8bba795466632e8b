//! Identifiers of events.

use crate::key::Member;
use model::{EventKind, Span};
use sha2::{Digest, Sha256};

/// The subject of an event, which identifies it.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) kind: EventKind,
    pub(crate) query: &'a str,
    pub(crate) version: &'a str,
    pub(crate) key: &'a [Member],
    /// The name of the node; `None` for all together.
    pub(crate) node: Option<&'a str>,
    pub(crate) window: Span,
}

/// The event's identifier: 16 hexadecimal digits, the same in every run.
pub(crate) fn identifier(about: &About<'_>) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        // Lengths keep the parts apart.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    };
    let node = about.node.unwrap_or_default();
    [about.kind.name(), about.query, about.version, node].iter().for_each(|text| add(text.as_bytes()));
    about.key.iter().for_each(|member| add(text(member).as_bytes()));
    add(&about.window.start_ns.to_be_bytes());
    add(&about.window.end_ns.to_be_bytes());
    let first = digest.finalize()[..8].iter().fold(0, |first, octet| first << 8 | u64::from(*octet));
    format!("{first:016x}")
}

/// The identifier of an event that no query tells: the same for the same setting, node and window.
pub fn identifier_of_setting(
    kind: EventKind,
    query: &str,
    setting: &str,
    node: &str,
    window: Span,
) -> String {
    let key = [Member::Text(setting.to_owned())];
    identifier(&About { kind, query, version: "", key: &key, node: Some(node), window })
}

/// A member as text that no member of another type has.
fn text(member: &Member) -> String {
    match member {
        Member::Null => String::new(),
        Member::Unsigned(number) => format!("u{number}"),
        Member::Signed(number) => format!("s{number}"),
        Member::Float(bits) => format!("f{bits:x}"),
        Member::Time(ns) => format!("t{ns}"),
        Member::Address(address) => format!("a{address}"),
        Member::Prefix(address, length) => format!("p{address}/{length}"),
        Member::Text(text) => format!("x{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_do_not_change_from_version_to_version() {
        let window = Span { start_ns: 1_000_000_000, end_ns: 2_000_000_000 };
        let key = [Member::Address([192, 0, 2, 7].into()), Member::Unsigned(443)];
        let about = About {
            kind: EventKind::Fired,
            query: "q2",
            version: "text",
            key: &key,
            node: Some("A"),
            window,
        };
        let own = identifier(&about);
        // Computed by hashlib.
        assert_eq!(own, "53e4aa90742f61e5");
        assert_ne!(own, identifier(&About { query: "q2t", version: "ext", ..about }));
        assert_ne!(own, identifier(&About { kind: EventKind::Resolved, ..about }));
        assert_ne!(own, identifier(&About { key: &key[..1], ..about }));
        assert_ne!(own, identifier(&About { node: None, ..about }));
    }
}
