//! Parts of files in which no row can pass a filter.

use record::read::{FilePart, ValueRange};
use std::net::IpAddr;
use task::query::{Comparison, Condition, Expression};

/// Fields of a key, which merging of rows does not change.
const MEMBERS: [&str; 5] = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"];

/// False if no row of the part can pass, by what is known of its members.
pub(crate) fn may_pass(condition: &Condition, part: &FilePart) -> bool {
    match condition {
        Condition::And(parts) => parts.iter().all(|condition| may_pass(condition, part)),
        Condition::Or(parts) => parts.iter().any(|condition| may_pass(condition, part)),
        Condition::Compare(Expression::Field(field), comparison, Expression::Integer(number)) => {
            numbers(field, part)
                .is_none_or(|(least, greatest)| compares(least, greatest, *comparison, *number))
        }
        Condition::In(Expression::Field(field), list) => {
            numbers(field, part).is_none_or(|(least, greatest)| {
                list.iter().any(|value| match value {
                    Expression::Integer(number) => compares(least, greatest, Comparison::Equal, *number),
                    _ => true,
                })
            })
        }
        Condition::InPrefixes(field, prefixes) => addresses(field, part).is_none_or(|(least, greatest)| {
            prefixes.iter().any(|prefix| {
                let (first, last) = bounds(*prefix);
                first <= greatest && least <= last
            })
        }),
        _ => true,
    }
}

fn range<'a>(field: &str, part: &'a FilePart) -> Option<&'a ValueRange> {
    let name = flow::resolve_alias(field).to_ascii_lowercase();
    let is_member = MEMBERS.contains(&name.as_str());
    part.ranges.iter().find(|(known, _)| is_member && *known == name).map(|(_, range)| range)
}

fn numbers(field: &str, part: &FilePart) -> Option<(u64, u64)> {
    match range(field, part)? {
        ValueRange::Numbers(least, greatest) => Some((*least, *greatest)),
        ValueRange::Addresses(..) => None,
    }
}

fn addresses(field: &str, part: &FilePart) -> Option<(u128, u128)> {
    match range(field, part)? {
        ValueRange::Addresses(least, greatest) => Some((*least, *greatest)),
        ValueRange::Numbers(..) => None,
    }
}

fn compares(least: u64, greatest: u64, comparison: Comparison, number: i64) -> bool {
    let (least, greatest, number) = (i128::from(least), i128::from(greatest), i128::from(number));
    match comparison {
        Comparison::Equal => (least..=greatest).contains(&number),
        Comparison::NotEqual => least != greatest || least != number,
        Comparison::Less => least < number,
        Comparison::LessOrEqual => least <= number,
        Comparison::Greater => greatest > number,
        Comparison::GreaterOrEqual => greatest >= number,
    }
}

/// The first and the last address of a prefix; IPv4's are mapped.
fn bounds((address, length): (IpAddr, u8)) -> (u128, u128) {
    let (bits, length) = match address {
        IpAddr::V4(v4) => (v4.to_ipv6_mapped().to_bits(), 96 + u32::from(length.min(32))),
        IpAddr::V6(v6) => (v6.to_bits(), u32::from(length.min(128))),
    };
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    (bits & mask, bits & mask | !mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> FilePart {
        let address = |text: &str| match text.parse() {
            Ok(IpAddr::V4(v4)) => v4.to_ipv6_mapped().to_bits(),
            Ok(IpAddr::V6(v6)) => v6.to_bits(),
            Err(_) => 0,
        };
        let ranges = vec![
            ("dst_port", ValueRange::Numbers(80, 443)),
            ("src_addr", ValueRange::Addresses(address("10.0.0.5"), address("10.0.1.9"))),
            ("total_byte", ValueRange::Numbers(1, 2)),
        ];
        FilePart { ranges, ..FilePart::default() }
    }

    #[test]
    fn what_no_row_can_pass() {
        let port = |comparison, number| Condition::compare("dport", comparison, number);
        let network = |address: &str, length| {
            Condition::InPrefixes("src_addr".to_owned(), vec![(address.parse().expect("an address"), length)])
        };
        let never = [
            port(Comparison::Equal, 53),
            port(Comparison::Less, 80),
            port(Comparison::Greater, 443),
            network("10.0.2.0", 24),
            network("2001:db8::", 32),
            Condition::And(vec![port(Comparison::Equal, 80), network("11.0.0.0", 8)]),
            Condition::In(
                Expression::field("dst_port"),
                vec![Expression::Integer(1), Expression::Integer(79)],
            ),
        ];
        never.iter().for_each(|condition| assert!(!may_pass(condition, &part()), "{condition:?}"));
        let perhaps = [
            port(Comparison::Equal, 100),
            port(Comparison::NotEqual, 80),
            port(Comparison::GreaterOrEqual, 443),
            network("10.0.1.0", 24),
            network("0.0.0.0", 0),
            Condition::Or(vec![port(Comparison::Equal, 53), network("10.0.0.0", 8)]),
            Condition::Not(Box::new(port(Comparison::Equal, 80))),
            // Rows are merged before it is judged.
            Condition::compare("total_byte", Comparison::Greater, 1000),
        ];
        perhaps.iter().for_each(|condition| assert!(may_pass(condition, &part()), "{condition:?}"));
    }
}
