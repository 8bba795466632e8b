//! Values that packets and records did not tell, and the answers that depend on them.

use super::plan::QueryPlan;
use crate::query::{Aggregate, Condition, Expression, Grouping, Query};
use flow::Untold;
use model::Answer;
use packet::KeySpec;

/// The protocol number (IANA) of TCP.
const TCP: i64 = 6;
/// The field whose sums are null where a record does not tell it.
const WIRE_BYTES: &str = "wire_byte";
/// The fields that tell when the time of a rate begins and ends.
const TIMES: [&str; 2] = ["stime", "ltime"];

impl QueryPlan {
    /// Returns the numbers that matter to its answers; the others are 0.
    pub(crate) fn untold(&self, untold: &Untold) -> Untold {
        if untold.is_none() {
            return *untold;
        }
        let fields = self.query.fields();
        let key: Vec<&str> = if self.is_of_flows() { self.key.columns().collect() } else { Vec::new() };
        let untold =
            untold.limit_to_fields(|field| fields.contains(field), &key, self.query.loss_field().is_some());
        let untold = if sums_alone(&self.query, WIRE_BYTES) { untold.but(WIRE_BYTES) } else { untold };
        match self.query.filter.as_ref().and_then(|filter| holds_for_protocol(filter, TCP)) {
            Some(false) => untold.without_tcp(),
            _ => untold,
        }
    }

    /// Makes an answer of the plan partial where what packets and records did not tell matters to it.
    pub(crate) fn tell_untold(&self, untold: &Untold, answer: &mut Answer) {
        answer.mark_untold(&self.untold(untold));
        if sums_alone(&self.query, WIRE_BYTES) && self.query.fields().contains(WIRE_BYTES) {
            model::wire_bytes_sentence(untold).into_iter().for_each(|sentence| answer.remark(&sentence));
        }
    }

    /// Makes an answer of the plan with a rate over the time from the first begin to the last end partial where records do not tell their begins.
    pub(crate) fn tell_rates(&self, untold: &Untold, answer: &mut Answer) {
        let fields = self.query.fields();
        for time in TIMES.into_iter().filter(|time| self.query.has_rates() && !fields.contains(*time)) {
            answer.mark_untold(&untold.only(time));
        }
    }

    /// Returns whether its answer depends on which packets are one flow.
    pub(crate) fn is_of_flows(&self) -> bool {
        let counts = |aggregate: &&Aggregate| aggregate.planning().counts_flows();
        let is_by_packets = !self.changing.is_empty();
        self.query.group == Grouping::Flows
            || self.query.aggregates().iter().any(counts)
            || self.merges && !is_by_packets
    }
}

/// Returns whether nothing of an answer depends on a field but sums in its columns, which are null where a record does not tell it.
fn sums_alone(query: &Query, field: &str) -> bool {
    let is_order =
        |value: &&Expression| matches!(value, Expression::Aggregate(_) | Expression::Arithmetic(..));
    // Groups are in the order of the first aggregate where no other is asked for.
    let is_ordered_by_first = query.group != Grouping::All && query.order.is_empty();
    let first =
        query.columns.iter().map(|column| &column.value).find(is_order).filter(|_| is_ordered_by_first);
    let others = query.columns.iter().filter(|column| !is_of_sums(&column.value, field)).cloned();
    let rest = Query { columns: others.collect(), ..query.clone() };
    !rest.fields().contains(field) && first.is_none_or(|first| !first.reads(field))
}

/// Returns whether a value reads a field in sums and their rates alone.
fn is_of_sums(value: &Expression, field: &str) -> bool {
    match value {
        Expression::Aggregate(aggregate) => {
            aggregate.planning().summed().is_some_and(|of| *of == Expression::field(field))
        }
        Expression::Arithmetic(left, _, right) => {
            [left, right].into_iter().all(|part| !part.reads(field) || is_of_sums(part, field))
        }
        _ => false,
    }
}

/// Returns whether a condition holds for all packets of a protocol, or for none; `None` where the protocol does not tell it.
fn holds_for_protocol(condition: &Condition, protocol: i64) -> Option<bool> {
    let is_protocol = |value: &Expression| matches!(value, Expression::Field(field) if field == "protocol");
    let junction = |parts: &[Condition], decides: bool| {
        let mut of_all = Some(!decides);
        for part in parts {
            match holds_for_protocol(part, protocol) {
                Some(holds) if holds == decides => return Some(decides),
                Some(_) => {}
                None => of_all = None,
            }
        }
        of_all
    };
    match condition {
        Condition::And(parts) => junction(parts, false),
        Condition::Or(parts) => junction(parts, true),
        Condition::Not(part) => holds_for_protocol(part, protocol).map(|holds| !holds),
        Condition::Compare(value, comparison, Expression::Integer(other)) if is_protocol(value) => {
            Some(comparison.holds(protocol.cmp(other)))
        }
        Condition::In(value, list) if is_protocol(value) => {
            Some(list.iter().any(|one| matches!(one, Expression::Integer(one) if *one == protocol)))
        }
        _ => None,
    }
}

/// Returns the numbers that matter to sums of packets and bytes and to the number of flows of such keys; the others are 0.
pub(crate) fn untold_of_totals(untold: &Untold, key: &KeySpec) -> Untold {
    untold.limit_to_fields(
        |field| matches!(field, "total_count" | "total_byte"),
        &key.columns().collect::<Vec<_>>(),
        false,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Comparison;

    #[test]
    fn a_filter_by_protocol_tells_which_packets_pass() {
        let is = |comparison, number| Condition::compare("protocol", comparison, number);
        let port = Condition::compare("dst_port", Comparison::Equal, 53);
        let list = |numbers: &[i64]| {
            let numbers = numbers.iter().map(|number| Expression::Integer(*number));
            Condition::In(Expression::field("protocol"), numbers.collect())
        };
        let not = |condition| Condition::Not(Box::new(condition));
        let (tcp, udp) = (is(Comparison::Equal, 6), is(Comparison::Equal, 17));
        for (condition, expected) in [
            (tcp.clone(), Some(true)),
            (udp.clone(), Some(false)),
            (not(tcp.clone()), Some(false)),
            (is(Comparison::Greater, 6), Some(false)),
            (list(&[1, 6]), Some(true)),
            (list(&[1, 17]), Some(false)),
            (port.clone(), None),
            (Condition::And(vec![port.clone(), udp.clone()]), Some(false)),
            (Condition::And(vec![port.clone(), tcp.clone()]), None),
            (Condition::Or(vec![port.clone(), udp.clone()]), None),
            (Condition::Or(vec![port.clone(), tcp.clone()]), Some(true)),
            (not(port), None),
            (
                Condition::Compare(
                    Expression::field("src_port"),
                    Comparison::Equal,
                    Expression::field("protocol"),
                ),
                None,
            ),
        ] {
            assert_eq!(holds_for_protocol(&condition, TCP), expected, "{condition:?}");
        }
    }
}
