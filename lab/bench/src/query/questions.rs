//! Ten questions, each as a query, as SQL, and as an ordinary map.

use super::ReferenceRow;
use model::{Answer, Value};
use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use task::query::{
    Aggregate, Comparison, Condition, Expression, GroupField, Operator, Order, OutputColumn, Query,
    ValueWeight,
};

/// A question whose answers are compared by the values of one column, in their order.
pub(crate) struct ComparedQuery {
    pub(crate) name: &'static str,
    pub(crate) query: Query,
    /// The query for DuckDB, over the table `rows`.
    pub(crate) sql: &'static str,
    /// The values of all groups.
    truth: fn(&[ReferenceRow]) -> Vec<f64>,
}

/// Groups in an answer.
const TOP: usize = 20;

impl ComparedQuery {
    /// Returns true if an answer has the largest values, in their order.
    pub(crate) fn is_right(&self, answer: &Answer, flows: &[ReferenceRow]) -> bool {
        let mut expected = (self.truth)(flows);
        expected.sort_by(|one, other| other.total_cmp(one));
        expected.truncate(self.query.limit.unwrap_or(usize::MAX));
        let value = |row: &Vec<Value>| match row.last() {
            Some(Value::Unsigned(number)) => *number as f64,
            Some(Value::Float(number)) => *number,
            _ => f64::NAN,
        };
        let found: Vec<f64> = answer.rows.iter().map(value).collect();
        let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-9 * expected.abs();
        found.len() == expected.len() && found.iter().zip(&expected).all(is_near)
    }
}

/// The values of groups.
fn sums<K: Eq + std::hash::Hash>(
    flows: &[ReferenceRow],
    groups: impl Fn(&ReferenceRow) -> Vec<K>,
    value: impl Fn(&ReferenceRow) -> u64,
) -> Vec<f64> {
    let mut sums: HashMap<K, u64> = HashMap::new();
    for flow in flows {
        groups(flow).into_iter().for_each(|group| *sums.entry(group).or_default() += value(flow));
    }
    sums.into_values().map(|sum| sum as f64).collect()
}

fn top(name: &'static str, group: &[&str], value: OutputColumn) -> Query {
    Query {
        order: vec![Order::largest(value.value.clone())],
        limit: Some(TOP),
        ..Query::new(name, group.iter().copied().map(GroupField::from_field), [value])
    }
}

/// Questions about files of flow records, whose addresses are text: a sum by protocol of one port, of one network, and of a host's flows.
pub(crate) fn file_questions() -> Vec<ComparedQuery> {
    let is_https = Condition::compare("dst_port", Comparison::Equal, 443);
    let network = Condition::InPrefixes("src_addr".to_owned(), vec![(Ipv4Addr::new(10, 0, 0, 0).into(), 16)]);
    let by_protocol = |name, filter| Query {
        filter: Some(filter),
        ..Query::new(name, [GroupField::from_field("protocol")], [OutputColumn::sum("total_byte")])
    };
    vec![
        ComparedQuery {
            name: "https",
            query: by_protocol("https", is_https.clone()),
            sql: "SELECT protocol, sum(total_byte) AS v FROM rows WHERE dst_port = 443 GROUP BY 1 ORDER BY v DESC",
            truth: |flows| {
                let of = |flow: &ReferenceRow| {
                    (flow.ports[1] == 443).then_some(flow.protocol).into_iter().collect()
                };
                sums(flows, of, |flow| flow.bytes)
            },
        },
        ComparedQuery {
            name: "https_network",
            query: by_protocol("https_network", Condition::And(vec![is_https, network])),
            sql: "SELECT protocol, sum(total_byte) AS v FROM rows WHERE dst_port = 443 AND src_addr LIKE '10.0.%' \
                  GROUP BY 1 ORDER BY v DESC",
            truth: |flows| {
                let is_asked =
                    |flow: &ReferenceRow| flow.ports[1] == 443 && flow.src.octets()[..2] == [10, 0];
                sums(
                    flows,
                    |flow| is_asked(flow).then_some(flow.protocol).into_iter().collect(),
                    |flow| flow.bytes,
                )
            },
        },
        ComparedQuery {
            name: "sources",
            query: top("sources", &["src_addr"], OutputColumn::sum("total_byte")),
            sql: "SELECT src_addr, sum(total_byte) AS v FROM rows GROUP BY 1 ORDER BY v DESC LIMIT 20",
            truth: |flows| sums(flows, |flow| vec![flow.src], |flow| flow.bytes),
        },
    ]
}

/// Returns the ten questions.
pub(crate) fn questions() -> Vec<ComparedQuery> {
    let mut questions = of_bytes();
    questions.extend(of_other_values());
    questions
}

/// Returns the questions about the bytes of groups: hosts, ports, protocols, networks and conversations.
fn of_bytes() -> Vec<ComparedQuery> {
    let bytes = || OutputColumn::sum("total_byte");
    let nets = GroupField { field: "src_addr".to_owned(), prefix: Some([24, 64]) };
    vec![
        ComparedQuery {
            name: "hosts",
            query: top("hosts", &["addr"], bytes()),
            sql: "SELECT addr, sum(total_byte) AS v FROM (SELECT src_addr AS addr, total_byte FROM rows UNION ALL \
                  SELECT dst_addr, total_byte FROM rows WHERE dst_addr <> src_addr) GROUP BY 1 ORDER BY v DESC LIMIT 20",
            truth: |flows| {
                sums(
                    flows,
                    |flow| if flow.src == flow.dst { vec![flow.src] } else { vec![flow.src, flow.dst] },
                    |flow| flow.bytes,
                )
            },
        },
        ComparedQuery {
            name: "ports",
            query: top("ports", &["protocol", "port"], bytes()),
            sql: "SELECT protocol, port, sum(total_byte) AS v FROM (SELECT protocol, src_port AS port, total_byte FROM rows UNION ALL \
                  SELECT protocol, dst_port, total_byte FROM rows WHERE dst_port <> src_port) GROUP BY 1, 2 ORDER BY v DESC LIMIT 20",
            truth: |flows| {
                let ends = |flow: &ReferenceRow| {
                    let [from, to] = flow.ports.map(|port| (flow.protocol, port));
                    if from == to { vec![from] } else { vec![from, to] }
                };
                sums(flows, ends, |flow| flow.bytes)
            },
        },
        ComparedQuery {
            name: "protocols",
            query: top("protocols", &["protocol"], bytes()),
            sql: "SELECT protocol, sum(total_byte) AS v FROM rows GROUP BY 1 ORDER BY v DESC LIMIT 20",
            truth: |flows| sums(flows, |flow| vec![flow.protocol], |flow| flow.bytes),
        },
        ComparedQuery {
            name: "networks",
            query: Query {
                order: vec![Order::largest(bytes().value)],
                limit: Some(TOP),
                ..Query::new("networks", [nets], [bytes()])
            },
            sql: "SELECT src_addr[:15], sum(total_byte) AS v FROM rows GROUP BY 1 ORDER BY v DESC LIMIT 20",
            truth: |flows| sums(flows, |flow| vec![u32::from(flow.src) >> 8], |flow| flow.bytes),
        },
        ComparedQuery {
            name: "conversations",
            query: top("conversations", &["conversation"], bytes()),
            // Comparing structures takes DuckDB five times as long.
            sql: "SELECT CASE WHEN f THEN src_addr ELSE dst_addr END, CASE WHEN f THEN dst_addr ELSE src_addr END, \
                  CASE WHEN f THEN src_port ELSE dst_port END, CASE WHEN f THEN dst_port ELSE src_port END, protocol, sum(total_byte) AS v \
                  FROM (SELECT *, src_addr < dst_addr OR (src_addr = dst_addr AND src_port <= dst_port) AS f FROM rows) \
                  GROUP BY ALL ORDER BY v DESC LIMIT 20",
            truth: |flows| {
                let ends = |flow: &ReferenceRow| {
                    let (one, other) = ((flow.src, flow.ports[0]), (flow.dst, flow.ports[1]));
                    vec![(one.min(other), one.max(other), flow.protocol)]
                };
                sums(flows, ends, |flow| flow.bytes)
            },
        },
    ]
}

/// Returns the questions about other values: distinct ones, entropy, a filtered sum, a ratio and a total.
fn of_other_values() -> Vec<ComparedQuery> {
    let ratio = Expression::Arithmetic(
        Box::new(Expression::sum("total_byte")),
        Operator::Divide,
        Box::new(Expression::sum("total_count")),
    );
    let entropy =
        Aggregate::Entropy(GroupField::from_field("dst_port"), ValueWeight::Sum("total_count".to_owned()));
    let is_web =
        Condition::In(Expression::field("dst_port"), vec![Expression::Integer(80), Expression::Integer(443)]);
    let is_large = Condition::compare("total_byte", Comparison::Greater, 1000);
    vec![
        ComparedQuery {
            name: "sources",
            query: top("sources", &["dst_addr"], OutputColumn::distinct("src_addr", "sources")),
            sql: "SELECT dst_addr, count(DISTINCT src_addr) AS v FROM rows GROUP BY 1 ORDER BY v DESC LIMIT 20",
            truth: |flows| {
                let mut sources: HashMap<_, HashSet<_>> = HashMap::new();
                for flow in flows {
                    sources.entry(flow.dst).or_default().insert(flow.src);
                }
                sources.into_values().map(|sources| sources.len() as f64).collect()
            },
        },
        ComparedQuery {
            name: "entropy",
            query: Query::new("entropy", [], [OutputColumn::new("entropy", Expression::Aggregate(entropy))]),
            sql: "SELECT sum(w / t * log2(t / w)) AS v FROM (SELECT w, sum(w) OVER () AS t FROM \
                  (SELECT sum(total_count)::DOUBLE AS w FROM rows GROUP BY dst_port))",
            truth: |flows| {
                let weights = sums(flows, |flow| vec![flow.ports[1]], |flow| flow.packets);
                let all: f64 = weights.iter().sum();
                vec![weights.iter().map(|weight| weight / all * (all / weight).log2()).sum()]
            },
        },
        ComparedQuery {
            name: "filtered",
            query: Query {
                filter: Some(Condition::And(vec![is_web, is_large])),
                ..top("filtered", &["dst_addr"], OutputColumn::sum("total_byte"))
            },
            sql: "SELECT dst_addr, sum(total_byte) AS v FROM rows WHERE dst_port IN (80, 443) AND total_byte > 1000 GROUP BY 1 \
                  ORDER BY v DESC LIMIT 20",
            truth: |flows| {
                let is_kept = |flow: &ReferenceRow| [80, 443].contains(&flow.ports[1]) && flow.bytes > 1000;
                sums(flows, |flow| if is_kept(flow) { vec![flow.dst] } else { Vec::new() }, |flow| flow.bytes)
            },
        },
        ComparedQuery {
            name: "ratio",
            query: top("ratio", &["protocol"], OutputColumn::new("ratio", ratio)),
            sql: "SELECT protocol, sum(total_byte) / sum(total_count) AS v FROM rows GROUP BY 1 ORDER BY v DESC LIMIT 20",
            truth: |flows| {
                let mut sums: HashMap<u8, (u64, u64)> = HashMap::new();
                for flow in flows {
                    let sum = sums.entry(flow.protocol).or_default();
                    *sum = (sum.0 + flow.bytes, sum.1 + flow.packets);
                }
                sums.into_values().map(|(bytes, packets)| bytes as f64 / packets as f64).collect()
            },
        },
        ComparedQuery {
            name: "total",
            query: Query::new("total", [], [OutputColumn::sum("total_count")]),
            sql: "SELECT sum(total_count) AS v FROM rows",
            truth: |flows| vec![flows.iter().map(|flow| flow.packets).sum::<u64>() as f64],
        },
    ]
}
