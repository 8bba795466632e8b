//! Lines at the head of a report.

use model::Totals;
use model::{
    Answer, Counters, DesignReport, ExporterReport, FlowCounts, HardwareReport, PacketCounts, Sampling, Span,
    StepsReport, Value, WireReport,
};
use notation::{grouped, how_long, scaled, time_text};

/// The names of the sources; of many files, their number with the first and the last.
pub fn sources(names: &[String]) -> String {
    match names {
        [first, .., last] if names.len() > MOST_NAMES => {
            format!("source    {} files: {first} to {last}", grouped(names.len() as u64))
        }
        _ => format!("source    {}", names.join(", ")),
    }
}

/// The number of names above which only their number is shown, with the first and the last.
const MOST_NAMES: usize = 4;

/// Routers, those with the most records; of many, the number of the others.
pub(crate) fn exporters(all: &[ExporterReport]) -> Vec<String> {
    let mut shown: Vec<&ExporterReport> = all.iter().collect();
    shown.sort_by_key(|exporter| std::cmp::Reverse(exporter.records));
    let others = shown.split_off(shown.len().min(MOST_EXPORTERS));
    let line = |exporter: &&ExporterReport| {
        let ExporterReport { address, port, version, domain, sessions, records, lost, .. } = exporter;
        let ExporterReport { agent, lost_unit, sampling, .. } = exporter;
        // The port changes when an exporter is started again: it is told where it tells exporters apart.
        let is_other = |other: &&ExporterReport| {
            (other.address, other.agent, &other.version, other.domain) == (*address, *agent, version, *domain)
        };
        let are_several = all.iter().filter(is_other).count() > 1;
        let session = match port {
            Some(port) if are_several => format!(", port {port}"),
            None if *sessions != 1 => format!(", {} earlier sessions", grouped(*sessions)),
            None => ", an earlier session".to_owned(),
            Some(_) => String::new(),
        };
        // A switch that sends by itself has one address.
        let agent = agent.filter(|agent| agent != address).map(|agent| format!(", agent {agent}"));
        let agent = agent.unwrap_or_default();
        let sampling = match &sampling[..] {
            [] => String::new(),
            rates => format!(", sampling {}", rates.join(" ")),
        };
        let lost = if *lost == 0 { String::new() } else { format!(", {} {lost_unit} lost", grouped(*lost)) };
        format!(
            "router    {address} {version}{agent}, domain {domain}{session}: {} records{sampling}{lost}",
            grouped(*records)
        )
    };
    let mut lines: Vec<String> = shown.iter().map(line).collect();
    if !others.is_empty() {
        let records = others.iter().map(|exporter| exporter.records).sum();
        lines.push(format!(
            "          and {} others: {} records",
            grouped(others.len() as u64),
            grouped(records)
        ));
    }
    lines
}

/// Routers that are shown.
const MOST_EXPORTERS: usize = 10;

/// Returns the traffic of a run of this time. Its rates are over the time from the first measured packet to the last. Where frames were ahead of
/// stream time, which did not follow them, that time ends with the run, as it does for `rate()`.
pub fn traffic_of_run(totals: &Totals, time: Span, frames: &PacketCounts) -> String {
    let is_ahead = frames.remarks.get("time_ahead") != 0;
    let until = |measured: Span| match is_ahead {
        true => measured.end_ns.min(time.end_ns).max(measured.start_ns),
        false => measured.end_ns,
    };
    let measured = totals.measured.map(|measured| Span { end_ns: until(measured), ..measured });
    traffic(totals, "flow records", measured)
}

/// Returns the traffic of a window. Its rates are over the time that the window was watched.
pub fn traffic_of_window(totals: &Totals, watched: Span) -> String {
    traffic(totals, "flows", Some(watched))
}

fn traffic(totals: &Totals, of: &str, span: Option<Span>) -> String {
    let over = span.map_or_else(String::new, |span| format!(" over {}", how_long(span.length_ns())));
    let rates = match span.map_or(0.0, |span| span.seconds()) {
        seconds if seconds > 0.0 => {
            let rate = |amount: u64, unit| scaled(amount as f64 / seconds, unit);
            let (bytes, layer) = match totals.wire_bytes {
                Some(bytes) => (bytes, "on the wire"),
                None => (totals.bytes, "of layer 3"),
            };
            let bits = bytes.saturating_mul(8);
            format!(": {}, {} {layer}", rate(totals.packets, "pps"), rate(bits, "bps"))
        }
        _ => String::new(),
    };
    let flows = match totals.least_flows == totals.flows {
        true => grouped(totals.flows),
        false => format!("{} to {}", grouped(totals.least_flows), grouped(totals.flows)),
    };
    format!("traffic   {} L3 bytes in {flows} {of}{over}{rates}", grouped(totals.bytes))
}

/// Returns the line that says which share of the packets a sample has, and which figures are estimates.
pub(crate) fn sampling(sampling: &Sampling) -> String {
    let percent = |share: f64| format!("{}%", (share * 1e6).round() / 1e4);
    let of = match sampling.least.total_cmp(&sampling.greatest) {
        std::cmp::Ordering::Equal => percent(sampling.share),
        _ => format!("{} to {}", percent(sampling.least), percent(sampling.greatest)),
    };
    format!("sampled   {of} of the packets: bytes are estimated, flows are those of the sample")
}

/// The account of all frames.
pub fn account(packets: &PacketCounts, loss: Option<&Counters>) -> Vec<String> {
    let mut lines = vec![format!(
        "packets   {} received = {} measured + {} not measured",
        grouped(packets.received),
        grouped(packets.measured),
        grouped(packets.not_measured.total())
    )];
    lines.extend(counters("          not measured: ", &packets.not_measured));
    lines.extend(counters("          remarks: ", &packets.remarks));
    lines.push(match loss {
        None => "loss      unknown: this source does not count it".to_owned(),
        Some(loss) => counters("loss      ", loss).unwrap_or_else(|| "loss      none".to_owned()),
    });
    lines
}

fn counters(label: &str, counters: &Counters) -> Option<String> {
    let list: Vec<_> = counters.nonzero().map(|(name, count)| format!("{name} {}", grouped(count))).collect();
    (!list.is_empty()).then(|| format!("{label}{}", list.join(", ")))
}

/// Packets in the record `other`, if any.
pub fn table_full(packets: u64) -> Option<String> {
    (packets != 0).then(|| format!("          {} packets came when the table was full", grouped(packets)))
}

/// Returns the line that says how well a table tells flows apart that knows them by a hash.
pub(crate) fn hash_table(flows: &FlowCounts) -> Option<String> {
    flows.hash_table.as_ref().map(|table| format!("          {}", table.describe(flows.table_full)))
}

/// Returns the line that says how the work was divided; none if it was not.
pub(crate) fn design(design: &DesignReport) -> Option<String> {
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

/// Returns the lines about the time that a packet took, by step.
pub(crate) fn steps(steps: &StepsReport) -> Vec<String> {
    let StepsReport { receive_ns, parse_ns, hand_over_ns, processing_ns, free_ns, delay_ns, .. } = steps;
    let drops = match steps.drop_percent {
        Some(percent) => format!("{percent:.4} %"),
        None => "not known".to_owned(),
    };
    let mut lines = vec![
        format!(
            "steps     {receive_ns:.1} ns to receive, {parse_ns:.1} to parse, {hand_over_ns:.1} to hand over, {processing_ns:.1} to process (PPT), {free_ns:.1} to free"
        ),
        format!("          {delay_ns:.1} ns delay of a packet; drop rate (PDR) {drops}"),
    ];
    lines.extend(steps.hardware.map(|HardwareReport { cycles, instructions, cache_misses }| {
        format!(
            "          {cycles:.0} cycles, {instructions:.0} instructions, {cache_misses:.3} cache misses a packet"
        )
    }));
    let busy = steps
        .threads
        .iter()
        .filter_map(|thread| thread.busy.map(|busy| format!("{} {:.0} %", thread.role, 100.0 * busy)));
    let busy = busy.collect::<Vec<_>>().join(", ");
    let busy = if busy.is_empty() { busy } else { format!("; busy: {busy}") };
    lines.push(format!(
        "          timed: {} packets, one burst in {}, at a cost of {:.4} % of the threads' time{busy}",
        grouped(steps.timed_packets),
        steps.one_of,
        steps.cost_percent
    ));
    lines
}

/// Returns the lines that the software wire reports of its receivers.
pub(crate) fn wire(wire: &WireReport) -> Vec<String> {
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

/// The answer `tcp_loss`: what was lost before this point, and what after it.
pub fn tcp_loss(answer: &Answer) -> Vec<String> {
    let sum = |column| answer.value(0, column).and_then(Value::as_unsigned).unwrap_or(0);
    let mut more = vec![
        format!("{} segments reordered", grouped(sum("reorder_count"))),
        format!("{} bytes unseen here", grouped(sum("unseen_byte"))),
        format!("{} zero windows", grouped(sum("zero_window_count"))),
    ];
    if sum("resync_count") != 0 {
        more.push(format!("{} segments with senseless sequence numbers", grouped(sum("resync_count"))));
    }
    vec![
        format!(
            "tcp loss  {} bytes ({} segments) lost before here",
            grouped(sum("ploss_byte")),
            grouped(sum("ploss_count"))
        ),
        format!(
            "          {} bytes ({} segments) sent again, lost behind here or without need",
            grouped(sum("retrans_byte")),
            grouped(sum("retrans_count"))
        ),
        format!("          {}", more.join(", ")),
    ]
}

/// Returns a line for each task that says what counted it, and why.
pub(crate) fn tasks(answers: &[Answer]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for task in answers.iter().filter_map(|answer| answer.task.as_ref()) {
        let line = format!("task      {}: {}", task.text, task.why);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}
