//! Reports as people read them: aligned tables.

mod task;

pub use task::{task_answers, window_tasks};

use crate::report::{
    Counters, DesignReport, LossAnswer, PacketCounts, RankedAddress, RankedFlow, RunReport, Span, Totals,
    WindowReport, WireReport,
};
use notation::{grouped, scaled, time_text};
use packet::{FlowKey, KeySpec};
use std::fmt::Write;
use std::net::IpAddr;

/// A table: a heading, columns (numbers to the right), rows.
struct Table {
    heading: String,
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Align {
    Left,
    Right,
}
use Align::{Left, Right};

impl Table {
    fn render(&self, out: &mut String) {
        let width = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].chars().count());
            cells.chain([self.columns[at].0.len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::new();
            for ((cell, &width), (_, align)) in cells.zip(&widths).zip(&self.columns) {
                // Writing to a String cannot fail.
                let _ = match align {
                    Left => write!(text, "  {cell:<width$}"),
                    Right => write!(text, "  {cell:>width$}"),
                };
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        line(&mut [self.heading.as_str()].into_iter().filter(|heading| !heading.is_empty()));
        line(&mut self.columns.iter().map(|(name, _)| *name));
        for row in &self.rows {
            line(&mut row.iter().map(String::as_str));
        }
    }
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

/// An IP protocol's short name (IANA), or its number.
pub fn protocol_name(number: u8) -> String {
    let name = match number {
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        41 => "6in4",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmp6",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        132 => "sctp",
        136 => "udplite",
        _ => return number.to_string(),
    };
    name.to_owned()
}

/// What the columns of a table of flows show of their keys.
struct KeyColumns {
    members: Vec<&'static str>,
}

impl KeyColumns {
    /// An address takes its port along.
    fn new(key: &KeySpec) -> Self {
        let all: Vec<_> = key.columns().collect();
        let has = |name| all.contains(&name);
        let is_shown_apart = |name: &&str| match *name {
            "src_port" => !has("src_addr"),
            "dst_port" => !has("dst_addr"),
            _ => true,
        };
        // Addresses first, and the protocol behind them, as in the field table.
        Self { members: all.iter().copied().filter(is_shown_apart).collect() }
    }

    fn headings(&self) -> impl Iterator<Item = (&'static str, Align)> {
        self.members.iter().map(|&member| match member {
            "src_addr" => ("source", Left),
            "dst_addr" => ("destination", Left),
            "src_port" | "dst_port" | "vlan" | "ip_tos" => (member, Right),
            other => (other, Left),
        })
    }

    fn cells(&self, key: Option<FlowKey>) -> Vec<String> {
        let Some(key) = key else {
            let mut cells = vec![String::new(); self.members.len()];
            if let Some(first) = cells.first_mut() {
                *first = "other (table full)".to_owned();
            }
            return cells;
        };
        self.members.iter().map(|member| key_cell(&key, member)).collect()
    }
}

fn key_cell(key: &FlowKey, member: &str) -> String {
    let has_ports = key.protocol.is_none_or(|protocol| matches!(protocol, 6 | 17 | 132 | 136));
    let number = |number: Option<u16>| number.map(|n| n.to_string()).unwrap_or_default();
    match member {
        "src_addr" => endpoint(key.src_addr, key.src_port.filter(|_| has_ports)),
        "dst_addr" => endpoint(key.dst_addr, key.dst_port.filter(|_| has_ports)),
        "protocol" => protocol(key),
        "src_port" => number(key.src_port),
        "dst_port" => number(key.dst_port),
        "vlan" => number(key.vlan),
        "ip_tos" => number(key.ip_tos.map(u16::from)),
        _ => String::new(),
    }
}

fn endpoint(address: Option<IpAddr>, port: Option<u16>) -> String {
    match (address, port) {
        (None, _) => String::new(),
        (Some(address), None) => address.to_string(),
        (Some(IpAddr::V4(a)), Some(port)) => format!("{a}:{port}"),
        (Some(IpAddr::V6(a)), Some(port)) => format!("[{a}]:{port}"),
    }
}

/// The protocol's name; ICMP with type and code, which stand in place of the destination port.
fn protocol(key: &FlowKey) -> String {
    let Some(number) = key.protocol else { return String::new() };
    match (number, key.dst_port) {
        (1 | 58, Some(port)) => format!("{} {}/{}", protocol_name(number), port >> 8, port & 0xff),
        _ => protocol_name(number),
    }
}

fn flow_table(heading: &str, key: &KeySpec, flows: &[RankedFlow], all: &Totals) -> Table {
    let key = KeyColumns::new(key);
    let row = |flow: &RankedFlow| {
        let sums = [
            grouped(flow.totals.packets),
            share(flow.totals.packets, all.packets),
            grouped(flow.totals.total_byte),
            share(flow.totals.total_byte, all.total_byte),
        ];
        key.cells(flow.key).into_iter().chain(sums).collect()
    };
    let sums = [("packets", Right), ("", Right), ("bytes", Right), ("", Right)];
    Table {
        heading: heading.to_owned(),
        columns: key.headings().chain(sums).collect(),
        rows: flows.iter().map(row).collect(),
    }
}

/// How the work was divided, where it was.
fn design_line(design: &DesignReport) -> Option<String> {
    if design.receivers * (1 + design.workers) <= 1 && design.state != "shared" {
        return None;
    }
    let workers = match design.workers {
        0 => String::new(),
        workers => format!(", {workers} worker(s) each"),
    };
    let split = if design.split == "position" { ", bursts split by position" } else { "" };
    let state = if design.state == "shared" { ", shared state" } else { "" };
    let over = if design.oversubscribed { ", oversubscribed: more threads than cores" } else { "" };
    let cores = design.cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let cores = if cores.is_empty() { cores } else { format!(" on cores {cores}") };
    Some(format!(
        "design    {}: {} receiver(s){workers}{cores}{split}{state}{over} ({})",
        design.name, design.receivers, design.why
    ))
}

/// What the software wire says of its receivers.
fn wire_lines(wire: &WireReport) -> Vec<String> {
    let share = |missed: u64, offered: u64| 100.0 * missed as f64 / offered.max(1) as f64;
    let mut lines = vec![format!(
        "wire      {} packets arrived, {} missed ({:.4} %)",
        grouped(wire.offered),
        grouped(wire.imissed),
        share(wire.imissed, wire.offered)
    )];
    if wire.gaps != 0 {
        lines.push(format!(
            "          receivers were off their core {} times, {} in all, {} at the longest: without that {} missed ({:.4} %)",
            grouped(wire.gaps),
            time_text(wire.gap_ns),
            time_text(wire.longest_gap_ns),
            grouped(wire.imissed_clock_stopped),
            share(wire.imissed_clock_stopped, wire.offered_clock_stopped)
        ));
    }
    if wire.rx_nombuf != 0 {
        lines.push(format!(
            "          {} times there was no mbuf for a packet, which waited: more mbufs= may help",
            grouped(wire.rx_nombuf)
        ));
    }
    lines
}

/// What `--loss` says of all flows: what was lost before this point, and what behind it.
fn loss_lines(answer: &LossAnswer) -> Vec<String> {
    let sum = &answer.sum;
    let mut more = vec![
        format!("{} segments reordered", grouped(sum.reorder_count)),
        format!("{} bytes unseen here", grouped(sum.unseen_byte)),
        format!("{} zero windows", grouped(sum.zero_window_count)),
    ];
    if sum.resync_count != 0 {
        more.push(format!("{} times taken anew", grouped(sum.resync_count)));
    }
    vec![
        format!(
            "tcp loss  {} bytes ({} segments) lost before here",
            grouped(sum.ploss_byte),
            grouped(sum.ploss_count)
        ),
        format!(
            "          {} bytes ({} segments) sent again, lost behind here or without need",
            grouped(sum.retrans_byte),
            grouped(sum.retrans_count)
        ),
        format!("          {}", more.join(", ")),
    ]
}

fn loss_table(key: &KeySpec, answer: &LossAnswer) -> Table {
    let key = KeyColumns::new(key);
    let figures = [
        ("packets", Right),
        ("lost before", Right),
        ("sent again", Right),
        ("unseen", Right),
        ("reordered", Right),
        ("round trip", Right),
    ];
    let rows = answer.flows.iter().map(|flow| {
        let loss = &flow.loss;
        let figures = [
            grouped(flow.totals.packets),
            grouped(loss.ploss_byte),
            grouped(loss.retrans_byte),
            grouped(loss.unseen_byte),
            grouped(loss.reorder_count),
            loss.rtt_min.map(time_text).unwrap_or_default(),
        ];
        key.cells(flow.key).into_iter().chain(figures).collect()
    });
    Table {
        heading: "Flows with the most TCP loss (bytes; least round trip from here)".to_owned(),
        columns: key.headings().chain(figures).collect(),
        rows: rows.collect(),
    }
}

fn address_table(heading: &str, column: &'static str, addresses: &[RankedAddress], all: &Totals) -> Table {
    let row = |line: &RankedAddress| {
        vec![
            line.key.to_string(),
            grouped(line.totals.flows),
            share(line.totals.flows, all.flows),
            grouped(line.totals.packets),
            grouped(line.totals.total_byte),
        ]
    };
    Table {
        heading: heading.to_owned(),
        columns: vec![(column, Left), ("flows", Right), ("", Right), ("packets", Right), ("bytes", Right)],
        rows: addresses.iter().map(row).collect(),
    }
}

fn counters(label: &str, counters: &Counters) -> String {
    let list: Vec<_> = counters.nonzero().map(|(name, count)| format!("{name} {}", grouped(count))).collect();
    if list.is_empty() { String::new() } else { format!("{label}: {}", list.join(", ")) }
}

/// The lines that account for every frame.
fn account(out: &mut Vec<String>, packets: &PacketCounts, loss: Option<&Counters>) {
    out.push(format!(
        "packets   {} received = {} measured + {} not measured",
        grouped(packets.received),
        grouped(packets.measured),
        grouped(packets.not_measured.total())
    ));
    out.push(counters("          not measured", &packets.not_measured));
    out.push(counters("          remarks", &packets.remarks));
    out.push(match loss {
        None => "loss      unknown: this source does not count it".to_owned(),
        Some(loss) if loss.total() == 0 => "loss      none".to_owned(),
        Some(loss) => counters("loss", loss),
    });
}

fn traffic(totals: &Totals, packets: u64, span: Span) -> String {
    let seconds = span.seconds();
    let rates = if seconds > 0.0 {
        let bits = totals.wire_byte as f64 * 8.0 / seconds;
        format!(", {}, {}", scaled(packets as f64 / seconds, "packet/s"), scaled(bits, "bit/s"))
    } else {
        String::new()
    };
    format!(
        "traffic   {} bytes in {} flows over {seconds:.3} s{rates}",
        grouped(totals.total_byte),
        grouped(totals.flows)
    )
}

fn lines(lines: Vec<String>) -> String {
    lines.into_iter().filter(|line| !line.is_empty()).fold(String::new(), |text, line| text + &line + "\n")
}

/// The whole run on a terminal.
pub fn run_report(report: &RunReport) -> String {
    let mut head = vec![format!("source    {}", report.source.join(", "))];
    if let Some(span) = report.span {
        head.push(traffic(&report.totals, report.packets.received, span));
    }
    account(&mut head, &report.packets, report.loss.as_ref());
    head.extend(
        report
            .link_down
            .filter(|&downs| downs != 0)
            .map(|downs| format!("link      went down {downs} time_text(s)")),
    );
    head.extend(report.wire.iter().flat_map(wire_lines));
    head.extend(design_line(&report.design));
    head.extend(report.tcp_loss.iter().flat_map(loss_lines));
    head.extend(task::choices(report));
    let flows = &report.flows;
    head.push(format!("flows     {} seen, {} open at the end", grouped(flows.seen), grouped(flows.active)));
    if flows.table_full != 0 {
        head.push(format!("          {} packets came when the table was full", grouped(flows.table_full)));
    }
    if flows.dropped != 0 {
        head.push(format!("          {} records were dropped by outputs", grouped(flows.dropped)));
    }
    let speed = report.processed_per_second().map(|rate| scaled(rate, "packet/s")).unwrap_or_default();
    head.push(format!(
        "took      {:.3} s, {speed}, {} MiB of tables and queues",
        report.elapsed_seconds,
        report.memory_bytes.div_ceil(1 << 20)
    ));
    if report.windows.unreported != 0 {
        head.push(format!("          {} window reports were not shown", grouped(report.windows.unreported)));
    }
    let mut text = lines(head);
    let tables = [
        flow_table("Flows with the most bytes", &report.key, &report.top_bytes, &report.totals),
        flow_table("Flows with the most packets", &report.key, &report.top_packets, &report.totals),
        loss_table(&report.key, report.tcp_loss.as_ref().unwrap_or(&LossAnswer::default())),
        address_table(
            "Sources with the most flows (a scan stands out here)",
            "source",
            &report.talkers.sources,
            &report.totals,
        ),
        address_table(
            "Destinations with the most flows (a flood stands out here)",
            "destination",
            &report.talkers.destinations,
            &report.totals,
        ),
    ];
    for table in tables.iter().filter(|table| !table.rows.is_empty()) {
        text.push('\n');
        table.render(&mut text);
    }
    text
}

/// One window on a terminal.
pub fn window_report(report: &WindowReport) -> String {
    let mut head = vec![format!("window    {}", report.index)];
    head.push(traffic(&report.totals, report.packets.received, report.span));
    account(&mut head, &report.packets, report.loss.as_ref());
    if report.table_full != 0 {
        head.push(format!("          {} packets came when the table was full", grouped(report.table_full)));
    }
    head.extend(report.tcp_loss.iter().flat_map(loss_lines));
    let mut text = lines(head);
    for table in [
        flow_table("Flows with the most bytes", &report.key, &report.top_bytes, &report.totals),
        flow_table("Flows with the most packets", &report.key, &report.top_packets, &report.totals),
        loss_table(&report.key, report.tcp_loss.as_ref().unwrap_or(&LossAnswer::default())),
    ] {
        if !table.rows.is_empty() {
            text.push('\n');
            table.render(&mut text);
        }
    }
    text + &task_answers(report)
}

/// A table of texts with a line of column names: `edison fields`, `edison ports`.
pub fn text_table(columns: &[&'static str], rows: Vec<Vec<String>>) -> String {
    let mut text = String::new();
    let columns = columns.iter().map(|&name| (name, Left)).collect();
    Table { heading: String::new(), columns, rows }.render(&mut text);
    // Without a heading the first line is empty.
    text.trim_start_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_columns() {
        let text = text_table(&["a", "name"], vec![vec!["long".to_owned(), "x".to_owned()]]);
        assert_eq!(text, "  a     name\n  long  x\n");
    }
}
