//! The layout of an answer as a table: its columns, their headings and their shares.

use crate::cell::item_text;
use model::Totals;
use model::{Answer, Column, ColumnKind, Item};

/// A column of the answer in the table.
pub(crate) struct LayoutColumn {
    /// The position of the column in the answer.
    pub(crate) at: usize,
    /// The heading in the table.
    pub(crate) heading: String,
    /// The total that the values of the column are shares of.
    pub(crate) whole: Option<u64>,
}

/// The standing queries: the names of their tables, and the columns that follow the key.
struct ContinuousQueryTable {
    query: &'static str,
    heading: &'static str,
    figures: &'static [FigureColumn],
}

struct FigureColumn {
    column: &'static str,
    heading: &'static str,
    has_share: bool,
}

const fn figure(column: &'static str, heading: &'static str, has_share: bool) -> FigureColumn {
    FigureColumn { column, heading, has_share }
}

const FLOW_FIGURES: &[FigureColumn] =
    &[figure("total_count", "packets", true), figure("total_byte", "bytes", true)];
const GROUP_FIGURES: &[FigureColumn] = &[
    figure("flows", "flows", false),
    figure("total_count", "packets", true),
    figure("total_byte", "bytes", true),
];
/// Those of each direction are there with `--biflow`.
const CONVERSATION_FIGURES: &[FigureColumn] = &[
    figure("flows", "flows", false),
    figure("forward_count", "packets ->", false),
    figure("reverse_count", "packets <-", false),
    figure("forward_byte", "bytes ->", false),
    figure("reverse_byte", "bytes <-", false),
    figure("total_count", "packets", true),
    figure("total_byte", "bytes", true),
];
/// The figures of peers, of which an answer has either `destinations` or `sources`.
const PEER_FIGURES: &[FigureColumn] = &[
    figure("destinations", "destinations", false),
    figure("sources", "sources", false),
    figure("flows", "flows", false),
    figure("total_count", "packets", false),
    figure("total_byte", "bytes", false),
];
const LOSS_FIGURES: &[FigureColumn] = &[
    figure("total_count", "packets", false),
    figure("ploss_byte", "lost before", false),
    figure("retrans_byte", "sent again", false),
    figure("unseen_byte", "unseen", false),
    figure("reorder_count", "reordered", false),
    figure("rtt_min", "round trip", false),
];

const CONTINUOUS: &[ContinuousQueryTable] = &[
    ContinuousQueryTable { query: "top_bytes", heading: "Flows with the most bytes", figures: FLOW_FIGURES },
    ContinuousQueryTable {
        query: "top_packets",
        heading: "Flows with the most packets",
        figures: FLOW_FIGURES,
    },
    ContinuousQueryTable {
        query: "top_loss",
        heading: "Flows with the most TCP loss (bytes; least round trip from here)",
        figures: LOSS_FIGURES,
    },
    ContinuousQueryTable {
        query: "hosts",
        heading: "Hosts by bytes sent and received",
        figures: GROUP_FIGURES,
    },
    ContinuousQueryTable {
        query: "conversations",
        heading: "Conversations by bytes of both directions",
        figures: CONVERSATION_FIGURES,
    },
    ContinuousQueryTable {
        query: "ports",
        heading: "Ports by bytes to and from them",
        figures: GROUP_FIGURES,
    },
    ContinuousQueryTable { query: "protocols", heading: "Protocols by bytes", figures: GROUP_FIGURES },
    ContinuousQueryTable {
        query: "scanners",
        heading: "Scanners: sources that contact the most destinations",
        figures: PEER_FIGURES,
    },
    ContinuousQueryTable {
        query: "targets",
        heading: "Targets: destinations that the most sources contact",
        figures: PEER_FIGURES,
    },
];

fn find_continuous(query: &str) -> Option<&'static ContinuousQueryTable> {
    CONTINUOUS.iter().find(|standing| standing.query == query)
}

/// Returns true if the table of the query is one of those that every run shows.
pub(crate) fn is_continuous(query: &str) -> bool {
    find_continuous(query).is_some()
}

/// Returns true if lines at the head show the answers of a query, instead of a table.
pub fn is_head(query: &str) -> bool {
    model::SUMS.contains(&query)
}

/// The members of flow keys, by field name, and what of either direction groups are made of.
pub(crate) const KEY: [&str; 10] = [
    "src_addr",
    "dst_addr",
    "protocol",
    "src_port",
    "dst_port",
    "vlan",
    "ip_tos",
    "addr",
    "port",
    "conversation",
];

/// The heading of a table.
pub(crate) fn heading(answer: &Answer) -> String {
    if let Some(standing) = find_continuous(&answer.query) {
        return standing.heading.to_owned();
    }
    match &answer.task {
        Some(task) => format!("{}  [{}; bounds: {}]", task.text, task.structure, answer.bounds),
        None if answer.bounds == "exact" => name(answer),
        None => format!("{}  [bounds: {}]", name(answer), answer.bounds),
    }
}

/// The name of the query, and what a firing pinned.
pub(crate) fn name(answer: &Answer) -> String {
    let pinned = |item: &Item| format!("{} {}", item.column.name, item_text(item));
    match answer.bound.is_empty() {
        true => answer.query.clone(),
        false => {
            format!("{} for {}", answer.query, answer.bound.iter().map(pinned).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The heading of a column, which names the prefixes of both families.
fn heading_of(column: &Column) -> String {
    let name = &column.name;
    match name.split_once('/').map(|(field, length)| (field, length.parse::<u32>())) {
        Some((field, Ok(length))) if column.kind == ColumnKind::Prefix => {
            format!("{}/{length}/{}", column_heading(field), 4 * length)
        }
        _ => column_heading(name).to_owned(),
    }
}

/// The heading of a column.
pub(crate) fn column_heading(name: &str) -> &str {
    match name {
        "src_addr" => "source",
        "addr" => "host",
        "dst_addr" => "destination",
        "total_count" => "packets",
        "total_byte" => "bytes",
        "lower" => "at least",
        "upper" => "at most",
        other => other,
    }
}

/// The columns of a table: of a standing query the key and its figures, of any other all.
pub(crate) fn columns(answer: &Answer, totals: Option<&Totals>) -> Vec<LayoutColumn> {
    let whole = |name: &str| match (name, totals?) {
        ("total_count", totals) => Some(totals.packets),
        ("total_byte", totals) => Some(totals.bytes),
        _ => None,
    };
    let all = answer.columns.iter().enumerate();
    let plain = |(at, column): (usize, &Column)| {
        let has_share = matches!(column.name.as_str(), "total_count" | "total_byte");
        let whole = whole(&column.name).filter(|_| has_share);
        LayoutColumn { at, heading: heading_of(column), whole }
    };
    let Some(standing) = find_continuous(&answer.query) else { return all.map(plain).collect() };
    // The name of an address stands next to it.
    let is_key = |name: &str| KEY.contains(&name.strip_suffix("_name").unwrap_or(name));
    let key = all.filter(|(_, column)| is_key(&column.name)).map(plain);
    let figures = standing.figures.iter().filter_map(|figure| {
        let whole = whole(figure.column).filter(|_| figure.has_share);
        Some(LayoutColumn { at: answer.column(figure.column)?, heading: figure.heading.to_owned(), whole })
    });
    key.chain(figures).collect()
}
