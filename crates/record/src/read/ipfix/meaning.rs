//! What information elements mean.

use super::super::name::Name;
use super::session::Session;
use super::template::Element;
use crate::ipfix::{OWN_REVERSE, REVERSE_ENTERPRISE, element};
use flow::{FIELDS, Field, InformationElement, Value};

/// How the octets of a field are a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Number,
    /// A number whose lowest 8 bits are the value.
    LowOctet,
    /// A number, 0 where there is none.
    NonZero,
    Float,
    V4,
    V6,
    Text,
    Seconds,
    Milliseconds,
    /// NTP timestamps (RFC 7011, section 6.1.9 and 6.1.10).
    NtpMicroseconds,
    NtpNanoseconds,
    /// Milliseconds since the system's start.
    Uptime,
    /// Microseconds before the export time.
    MicrosecondsBefore,
}

/// What an element is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Meaning {
    pub(crate) name: Name,
    pub(crate) reading: Reading,
    /// Of several elements in a template that mean the same, the one of the least rank is read.
    pub(crate) rank: u8,
}

/// Elements of the registry beyond those of the field table, which are of rank 0.
const OTHERS: &[(u16, &str, Reading, u8)] = &[
    (154, "stime", Reading::NtpMicroseconds, 1),
    (155, "ltime", Reading::NtpMicroseconds, 1),
    (152, "stime", Reading::Milliseconds, 2),
    (153, "ltime", Reading::Milliseconds, 2),
    (158, "stime", Reading::MicrosecondsBefore, 3),
    (159, "ltime", Reading::MicrosecondsBefore, 3),
    (22, "stime", Reading::Uptime, 4),
    (21, "ltime", Reading::Uptime, 4),
    (150, "stime", Reading::Seconds, 5),
    (151, "ltime", Reading::Seconds, 5),
    // Totals since the flow began, where no differences are exported.
    (85, "total_byte", Reading::Number, 1),
    (86, "total_count", Reading::Number, 1),
    (353, "wire_byte", Reading::Number, 1),
    (243, "vlan", Reading::NonZero, 1),
    // Ports by protocol; type and code of ICMP.
    (180, "src_port", Reading::Number, 1),
    (182, "src_port", Reading::Number, 1),
    (181, "dst_port", Reading::Number, 1),
    (183, "dst_port", Reading::Number, 1),
    (32, "dst_port", Reading::Number, 2),
    (139, "dst_port", Reading::Number, 2),
];

/// Elements that tell nothing of a row: prefix lengths, the version of IP, the start of the system, padding, direction.
const SILENT: &[u16] = &[9, 13, 29, 30, 60, 160, element::PADDING.number, element::BIFLOW_DIRECTION.number];

/// What an element means, or under which name it is not read; `None` for what tells nothing of a row.
pub(crate) fn meaning(element: Element, session: &Session) -> Option<Result<Meaning, String>> {
    let Element { enterprise, number } = element;
    let unread = || match enterprise {
        0 => format!("element {number}"),
        _ => format!("element {enterprise}/{number}"),
    };
    let found = match enterprise {
        0 | REVERSE_ENTERPRISE if SILENT.contains(&number) => return None,
        0 => registered(number, false),
        REVERSE_ENTERPRISE => registered(number, true),
        _ => described(element, session),
    };
    Some(found.ok_or_else(unread))
}

fn registered(number: u16, is_reverse: bool) -> Option<Meaning> {
    let of = |field: &'static Field, reading, rank| Meaning {
        name: Name::Field { field, is_reverse },
        reading,
        rank,
    };
    if let Some((_, name, reading, rank)) = OTHERS.iter().find(|(of, ..)| *of == number) {
        return Field::named(name).map(|field| of(field, *reading, *rank));
    }
    let has = |field: &&Field| {
        field.elements.iter().any(|element| element.enterprise == 0 && element.number == number)
    };
    let field = FIELDS.iter().find(has)?;
    let reading = match (field.name, field.value, number) {
        ("src_addr" | "dst_addr", _, 8 | 12) => Reading::V4,
        ("src_addr" | "dst_addr", ..) => Reading::V6,
        (_, Value::Time(_), _) => Reading::NtpNanoseconds,
        (_, Value::Node, _) => Reading::Text,
        (_, Value::Mac(_), _) | ("vlan", ..) => Reading::NonZero,
        // The registry has 16 bits, of which the upper ones are no flags of the field.
        ("tcp_flags", ..) => Reading::LowOctet,
        _ => Reading::Number,
    };
    Some(of(field, reading, 0))
}

/// By the name that the element says it has; Edison's own losses also by their numbers.
fn described(element: Element, session: &Session) -> Option<Meaning> {
    let own = || {
        if element.enterprise != InformationElement::DOCUMENTATION {
            return None;
        }
        let plain = element.number & !OWN_REVERSE;
        let has = |field: &&Field| {
            field.elements.iter().any(|own| own.enterprise == element.enterprise && own.number == plain)
        };
        let is_reverse = element.number & OWN_REVERSE != 0;
        FIELDS.iter().find(has).map(|field| Name::Field { field, is_reverse })
    };
    let name = match session.name(element) {
        Some(name) => Name::of(name),
        None => own()?,
    };
    let reading = match &name {
        Name::Statistic { .. } => Reading::Float,
        Name::Field { field, .. } if matches!(field.value, Value::Unsigned(..) | Value::Optional(..)) => {
            Reading::Number
        }
        _ => return None,
    };
    Some(Meaning { name, reading, rank: 6 })
}
