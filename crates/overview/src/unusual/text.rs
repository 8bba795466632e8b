//! The rules and their findings in words.

use crate::group_key::GroupKey;
use crate::thresholds::{
    FLOW_LOSS, FLOW_LOST_BYTES, HEAVY_SHARE, MANY_SOURCES, NODE_LOSS, NODE_LOST_PACKETS, SCAN_DESTINATIONS,
    SCAN_PORTS, SILENT_PART, STEADY_SHARE, TIMES_OWN_PAST,
};
use model::view::unusual::UnusualRule;

/// Returns a rule in a sentence.
pub(super) fn title(rule: UnusualRule) -> &'static str {
    match rule {
        UnusualRule::Scan => {
            "One source reaches many destinations that do not answer, or many ports of one destination"
        }
        UnusualRule::ManyToOne => "Many sources reach one destination",
        UnusualRule::Loss => "A node, or a connection, loses much",
        UnusualRule::Heavy => "A group has a large share that it did not have before",
        UnusualRule::Silence => "A source or a node that sent steadily sends no more",
    }
}

/// Returns the threshold of a rule in words.
pub(super) fn threshold(rule: UnusualRule) -> String {
    let times = TIMES_OWN_PAST;
    match rule {
        UnusualRule::Scan => format!(
            "{SCAN_DESTINATIONS} destinations in a minute, half of them without an answer, or {SCAN_PORTS} ports of one destination, \
             and {times} times its own most of the last hour"
        ),
        UnusualRule::ManyToOne => {
            format!("{MANY_SOURCES} sources in a minute, and {times} times its own most of the last hour")
        }
        UnusualRule::Loss => format!(
            "{} of the packets of a node and {NODE_LOST_PACKETS} of them, or {} of the bytes of a connection and {} bytes a minute",
            percent(NODE_LOSS),
            percent(FLOW_LOSS),
            grouped(FLOW_LOST_BYTES)
        ),
        UnusualRule::Heavy => {
            format!(
                "{} of all bytes, and {times} times its own largest share of the last hour",
                percent(HEAVY_SHARE)
            )
        }
        UnusualRule::Silence => format!(
            "less than {} of its own mean of the last hour, of which it had {} of all bytes; a node without a packet",
            percent(SILENT_PART),
            percent(STEADY_SHARE)
        ),
    }
}

/// Returns a number with commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a share as a percentage of three digits at the most; never 100 % while something lacks.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let text = match percent {
        percent if (99.95..100.0).contains(&percent) => "99.9".to_owned(),
        percent if percent >= 0.1 => format!("{percent:.1}"),
        percent => format!("{percent:.2}"),
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// Returns a count of bytes with a unit.
pub(super) fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.5 || unit == "TB" {
            let digits = if value >= 100.0 || unit == "B" {
                0
            } else if value >= 10.0 {
                1
            } else {
                2
            };
            return format!("{value:.digits$} {unit}");
        }
        value /= 1_000.0;
    }
    format!("{count} B")
}

/// Returns the name of a group.
pub(super) fn name(key: &GroupKey) -> String {
    match key {
        GroupKey::Address(address) => address.to_string(),
        GroupKey::Pair(one, other) => format!("{one} \u{2194} {other}"),
        GroupKey::Port(protocol, port) => format!("{port}/{}", flow::protocol_name(*protocol)),
        GroupKey::Protocol(protocol) => flow::protocol_name(*protocol).to_string(),
        GroupKey::Flow([from, to], [from_port, to_port], _) => {
            format!("{}:{from_port} \u{2192} {}:{to_port}", bracketed(from), bracketed(to))
        }
    }
}

fn bracketed(address: &std::net::IpAddr) -> String {
    match address.is_ipv6() {
        true => format!("[{address}]"),
        false => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_do() {
        assert_eq!(
            [1, 999, 1_000, 20_114, 1_234_567].map(grouped),
            ["1", "999", "1,000", "20,114", "1,234,567"]
        );
        assert_eq!(
            [0.001, 0.05, 0.99996, 1.0, 0.2].map(percent),
            ["0.1 %", "5 %", "99.9 %", "100 %", "20 %"]
        );
        assert_eq!([12, 1_500, 3_285_000_000].map(bytes), ["12 B", "1.50 kB", "3.29 GB"]);
    }
}
