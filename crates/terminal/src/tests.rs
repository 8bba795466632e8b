//! What a terminal shows, to the letter.

use super::*;
use model::{
    Amount, Answer, AnswerStatus, Column, ColumnKind, Counters, DesignReport, FlowCounts, HardwareReport,
    HashTableCounts, Item, OutputCounts, PacketCounts, Rates, Rest, RunReport, Span, StepsReport,
    StepsThread, TaskNote, Totals, Value, Window, WindowCounts, WireReport,
};

#[test]
fn each_ranking_of_a_run_has_its_table() {
    let (are_rankings, others): (Vec<&str>, Vec<&str>) =
        model::RANKINGS.iter().chain(&model::SUMS).partition(|name| layout::is_continuous(name));
    assert_eq!((&are_rankings[..], &others[..]), (&model::RANKINGS[..], &model::SUMS[..]));
}

const START: u64 = 1_795_534_800_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn span(seconds: u64) -> Span {
    Span { start_ns: START, end_ns: START + seconds * SECOND }
}

/// The column of a field, or of an unsigned integer.
fn column(name: &str) -> Column {
    let field = flow::Field::named(name).map(Column::from_field);
    field.unwrap_or_else(|| Column::new(name, ColumnKind::Unsigned, ""))
}

fn table(query: &str, columns: &[&str], rows: Vec<Vec<Value>>) -> Answer {
    Answer::new(query, None, columns.iter().map(|name| column(name)).collect(), rows)
}

fn numbers<const N: usize>(numbers: [u64; N]) -> Vec<Value> {
    numbers.map(Value::Unsigned).into()
}

fn address(text: &str) -> Value {
    Value::Address(text.parse().expect("an address"))
}

/// The text without the line break that sets it off.
fn lines(text: &'static str) -> &'static str {
    text.strip_prefix('\n').unwrap_or(text)
}

fn totals() -> Answer {
    let columns = ["total_count", "total_byte", "wire_byte", "flows", "stime", "ltime"];
    let mut row = numbers([2000, 1_000_000, 1_250_000, 40]);
    // What was measured is of less time than what was received.
    row.extend([START + SECOND, START + 9 * SECOND].map(Value::Time));
    table("totals", &columns, vec![row])
}

fn flows(query: &str) -> Answer {
    let columns = [
        "src_addr",
        "dst_addr",
        "protocol",
        "src_port",
        "dst_port",
        "total_count",
        "total_byte",
        "wire_byte",
    ];
    let row = |src: &str, dst: &str, rest: [u64; 6]| {
        let mut row = vec![address(src), address(dst)];
        row.extend(numbers(rest));
        row
    };
    let mut other = vec![Value::Null; 5];
    other.extend(numbers([20, 10_000, 11_000]));
    let rows = vec![
        row("192.0.2.1", "198.51.100.77", [6, 54_321, 443, 1500, 900_000, 921_000]),
        row("2001:db8::1", "2001:db8::2", [17, 53, 40_000, 30, 30_000, 31_000]),
        row("192.0.2.1", "192.0.2.2", [1, 0, 2048, 2, 128, 168]),
        row("192.0.2.1", "192.0.2.2", [47, 0, 0, 1, 64, 84]),
        other,
    ];
    table(query, &columns, rows)
}

#[test]
fn a_ranking_of_flows() {
    let expected = "
  Flows with the most bytes
  source              destination          protocol  packets            bytes
  192.0.2.1:54321     198.51.100.77:443    tcp         1,500  75.0 %  900,000  90.0 %
  [2001:db8::1]:53    [2001:db8::2]:40000  udp            30   1.5 %   30,000   3.0 %
  192.0.2.1           192.0.2.2            icmp 8/0        2   0.1 %      128   0.0 %
  192.0.2.1           192.0.2.2            gre             1   0.1 %       64   0.0 %
  other (table full)                                      20   1.0 %   10,000   1.0 %
";
    let whole = Totals::from_answer(&totals());
    assert_eq!(answer(&flows("top_bytes"), Some(&whole), usize::MAX), lines(expected));
}

#[test]
fn a_flow_without_a_tag_is_not_the_record_other() {
    let rows = vec![vec![Value::Null, Value::Unsigned(7), Value::Unsigned(420)]];
    let expected = "
  Flows with the most packets
  vlan  packets  bytes
              7    420
";
    let untagged = table("top_packets", &["vlan", "total_count", "total_byte"], rows);
    assert_eq!(answer(&untagged, None, usize::MAX), lines(expected));
}

#[test]
fn a_query_of_a_user() {
    let mut columns = vec![Column::new("dst_addr/24", ColumnKind::Prefix, ""), column("dst_port")];
    columns.extend(["total_byte", "count(*)", "stime"].map(column));
    columns.push(Column::new("ratio", ColumnKind::Float, ""));
    columns.push(Column::new("change", ColumnKind::Signed, "packets"));
    columns.push(Column::new("name", ColumnKind::Text, ""));
    let row = |last: u8, port: u64, name: &str| {
        let mut row = vec![Value::Prefix { address: [10, 0, last, 0].into(), length: 24 }];
        row.extend(numbers([port, 250_000, 1234]));
        row.extend([Value::Time(START + 1), Value::Float(0.125), Value::Signed(-1_000), name.into()]);
        row
    };
    let cut = Answer {
        status: AnswerStatus::Cut,
        watched: Some(span(3)),
        reason: Some("7 blocks of rows were refused".to_owned()),
        rest: Rest {
            groups: 1500,
            is_open: false,
            totals: vec![
                ("total_byte".to_owned(), Value::Unsigned(4321)),
                ("count(*)".to_owned(), Value::Unsigned(9)),
            ],
        },
        ..Answer::new("q1", None, columns, vec![row(1, 8080, "a\u{1b}[2J"), row(2, 53, ""), row(3, 1, "")])
    };
    let expected = "
  q1
  cut: watched 2026-11-24 15:40:00 to 15:40:03 UTC; 7 blocks of rows were refused
  destination/24/96  dst_port    bytes          count(*)  stime                            ratio  change  name
  10.0.1.0/24            8080  250,000  25.0 %     1,234  2026-11-24T15:40:00.000000001Z  0.1250  -1,000  a\u{fffd}[2J
  10.0.2.0/24              53  250,000  25.0 %     1,234  2026-11-24T15:40:00.000000001Z  0.1250  -1,000
  … and 1 more
  rest: 1,500 groups, bytes 4,321, count(*) 9
";
    let whole = Totals::from_answer(&totals());
    assert_eq!(answer(&cut, Some(&whole), 2), lines(expected));
}

#[test]
fn an_answer_that_is_not_whole_says_why() {
    let plain = table("q1", &["total_count"], vec![]);
    let shown = |status, reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        answer(&Answer { status, reason, ..plain.clone() }, None, 1)
    };
    assert_eq!(shown(AnswerStatus::Complete, None), "  q1\n  packets\n");
    assert_eq!(shown(AnswerStatus::Complete, Some("a remark")), "  q1\n  a remark\n  packets\n");
    assert_eq!(shown(AnswerStatus::Partial, None), "  q1\n  partial\n  packets\n");
    assert_eq!(
        shown(AnswerStatus::Partial, Some("memory ran out")),
        "  q1\n  partial: memory ran out\n  packets\n"
    );
    let sketch = Answer { bounds: "certain".to_owned(), ..plain.clone() };
    assert_eq!(answer(&sketch, None, 1), "  q1  [bounds: certain]\n  packets\n");
}

#[test]
fn an_answer_of_an_instance_says_what_is_pinned() {
    let item = |name: &str, kind, value| Item { column: Column::new(name, kind, ""), value };
    let pinned = Answer {
        bound: vec![
            item("dst_addr", ColumnKind::Address, Value::Address([203, 0, 113, 10].into())),
            item("dst_port", ColumnKind::Unsigned, Value::Unsigned(8080)),
            item("name", ColumnKind::Text, "a\u{1b}[2J".into()),
        ],
        ..table("q2", &["total_count"], vec![])
    };
    let caption = "  q2 for dst_addr 203.0.113.10, dst_port 8080, name a\u{fffd}[2J";
    assert_eq!(answer(&pinned, None, 1), format!("{caption}\n  packets\n"));
    let empty = Answer { window: Some(span(3)), empty: Some(7), ..pinned };
    assert!(
        answers([&empty], Paper::PLAIN).starts_with(&format!("\n{caption}, ")),
        "{}",
        answers([&empty], Paper::PLAIN)
    );
}

fn task(query: &str, bounds: &str, columns: Vec<Column>, rows: Vec<Vec<Value>>) -> Answer {
    let note = TaskNote {
        text: "some:task".to_owned(),
        structure: "a table".to_owned(),
        why: "it is exact".to_owned(),
        memory_bytes: 1,
        total: 7,
        lost: None,
        most_unlisted: None,
    };
    Answer {
        task: Some(note),
        bounds: bounds.to_owned(),
        ..Answer::new(query, Some(span(10)), columns, rows)
    }
}

fn estimate(value: f64, lower: f64, upper: f64) -> Value {
    Value::Estimate { value, lower, upper }
}

#[test]
fn estimates_have_their_bounds_next_to_them() {
    let columns = vec![
        Column::new("src_addr", ColumnKind::Prefix, ""),
        Column::new("total_count", ColumnKind::Estimate, "packets"),
        Column::new("own", ColumnKind::Estimate, "packets"),
    ];
    let prefix = Value::Prefix { address: [10, 0, 0, 0].into(), length: 8 };
    let row = vec![
        prefix,
        estimate(1234.4, 1000.0, f64::INFINITY),
        estimate(-5.0, f64::NEG_INFINITY, 12_345_678.9),
    ];
    let expected = "
  some:task  [a table; bounds: each with a probability of 0.950]
  source      packets  at least  at most  own  at least     at most
  10.0.0.0/8    1,234     1,000        ?   -5         ?  12,345,679
";
    let heavy = task("heavy_hitters", "each with a probability of 0.950", columns, vec![row]);
    assert_eq!(answer(&heavy, Some(&Totals::from_answer(&totals())), 20), lines(expected));
}

#[test]
fn a_count_is_exact_while_memory_lasts() {
    let rows = vec![vec![Value::Unsigned(999_999)], vec![estimate(2e6, 1.9e6, 2.1e6)]];
    let count = Answer::new("q", None, vec![Column::new("n", ColumnKind::Unsigned, "flows")], rows);
    let expected = "
  q
          n   at least    at most
    999,999    999,999    999,999
  2,000,000  1,900,000  2,100,000
";
    assert_eq!(answer(&count, None, 20), lines(expected));
}

#[test]
fn the_entropy_of_traffic() {
    let columns = vec![Column::new("bits", ColumnKind::Estimate, "bits")];
    let entropy = task("entropy", "exact", columns, vec![vec![estimate(1.5, 1.5, 1.5)]]);
    let expected = "
  some:task  [a table; bounds: exact]
    bits  at least  at most
  1.5000    1.5000   1.5000
";
    assert_eq!(answer(&entropy, None, 20), lines(expected));
}

#[test]
fn flows_by_size() {
    let mut columns: Vec<_> = ["size_from", "size_to"].map(column).into();
    columns.push(Column::new("flows", ColumnKind::Float, "flows"));
    let row = |from: u64, to: u64, flows: f64| vec![from.into(), to.into(), flows.into()];
    let sizes = task("flow_sizes", "none", columns, vec![row(1, 1, 12_345.0), row(1025, 2048, 2.6)]);
    let expected = "
  some:task  [a table; bounds: none]
  packets of a flow   flows
                  1  12,345
     1,025 to 2,048       3
";
    assert_eq!(answer(&sizes, None, 20), lines(expected));
}

#[test]
fn quantiles_of_ports_and_of_addresses() {
    let share = || Column::new("share", ColumnKind::Float, "");
    let row = vec![Value::Float(0.995), Value::Unsigned(44_300), Value::Unsigned(44_000), Value::Null];
    let columns = vec![share(), column("src_port"), column("lower"), column("upper")];
    let expected = "
  some:task  [a table; bounds: certain]
   share  src_port  at least  at most
  99.5 %     44300     44000
";
    assert_eq!(answer(&task("quantiles", "certain", columns, vec![row]), None, 20), lines(expected));
    let kinds = ["src_addr", "lower", "upper"].map(|name| Column::new(name, ColumnKind::Address, ""));
    let columns = [share()].into_iter().chain(kinds).collect();
    let row = vec![Value::Float(0.5), address("10.0.0.1"), address("10.0.0.0"), address("10.0.0.9")];
    let expected = "
  some:task  [a table; bounds: certain]
  share  source    at least  at most
   50 %  10.0.0.1  10.0.0.0  10.0.0.9
";
    assert_eq!(answer(&task("quantiles", "certain", columns, vec![row]), None, 20), lines(expected));
}

fn loss_answers() -> [Answer; 2] {
    let columns = [
        "ploss_byte",
        "ploss_count",
        "reorder_count",
        "retrans_count",
        "retrans_byte",
        "unseen_byte",
        "zero_window_count",
        "hole_count",
        "resync_count",
        "rtt_min",
        "rtt_avg",
    ];
    let mut sum = numbers([14_600, 10, 2, 3, 4380, 0, 1, 2, 0]);
    sum.extend([Value::Null, Value::Null]);
    let of_flow =
        [&["src_addr", "src_port", "total_count", "total_byte", "wire_byte"][..], &columns].concat();
    let mut row = vec![address("192.0.2.1")];
    row.extend(numbers([
        443, 1500, 900_000, 921_000, 14_600, 10, 2, 3, 4380, 0, 1, 2, 0, 2_340_000, 3_000_000,
    ]));
    [table("tcp_loss", &columns, vec![sum]), table("top_loss", &of_flow, vec![row])]
}

fn packets() -> PacketCounts {
    PacketCounts {
        received: 2100,
        measured: 2000,
        not_measured: [("arp", 60), ("filter", 40)].into_iter().collect(),
        remarks: [("ports_truncated", 3)].into_iter().collect(),
    }
}

#[test]
fn flows_of_which_only_bounds_are_known_are_shown_with_both() {
    let shown = |flows: Value| {
        let mut answer = totals();
        answer.rows[0][3] = flows;
        let of = Totals::from_answer(&answer);
        (
            super::traffic_of_run(&of, span(8), &PacketCounts::default()),
            super::traffic_of_window(&of, span(8)),
        )
    };
    let (run, window) = shown(estimate(7134.0, 4096.0, 7134.0));
    assert!(run.contains(" in 4,096 to 7,134 flow records over "), "{run}");
    assert!(window.contains(" in 4,096 to 7,134 flows over "), "{window}");
    let (run, _) = shown(estimate(40.0, 40.0, 40.0));
    assert!(run.contains(" in 40 flow records over "), "{run}");
    // Of a sample neither bound is known, and the line below says so.
    let (run, _) = shown(estimate(40.0, f64::NEG_INFINITY, f64::INFINITY));
    assert!(run.contains(" in 40 flow records over "), "{run}");
}

#[test]
fn a_frame_that_is_ahead_of_stream_time_does_not_stretch_rates() {
    let mut answer = totals();
    answer.rows[0][5] = Value::Time(START + 400 * 86_400 * SECOND);
    let of = Totals::from_answer(&answer);
    let frames =
        PacketCounts { remarks: [("time_ahead", 1)].into_iter().collect(), ..PacketCounts::default() };
    let shown = super::traffic_of_run(&of, span(9), &frames);
    assert!(shown.contains(" over 8 s: 250 pps, "), "{shown}");
    let shown = super::traffic_of_run(&of, span(9), &PacketCounts::default());
    assert!(shown.contains(" over 400 d"), "{shown}");
}

#[test]
fn a_run() {
    let addresses = |query: &str, column: &str, peers: &str| {
        let mut row = vec![address("192.0.2.1")];
        row.extend(numbers([20, 30, 1600, 950_000, 990_000]));
        table(query, &[column, peers, "flows", "total_count", "total_byte", "wire_byte"], vec![row])
    };
    let mut sources = addresses("scanners", "src_addr", "destinations");
    sources.status = AnswerStatus::Partial;
    sources.reason = Some("memory ran out, 5 records are in no row".to_owned());
    let mut answers = vec![totals(), flows("top_bytes"), table("top_packets", &["total_count"], vec![])];
    answers[1].rows.truncate(1);
    answers.extend(loss_answers());
    answers.extend([sources, addresses("targets", "dst_addr", "sources")]);
    answers.extend([task("entropy", "exact", vec![], vec![]), task("entropy", "exact", vec![], vec![])]);
    let report = RunReport {
        source: vec!["a.pcap".to_owned(), "b.pcap".to_owned()],
        started_ns: Some(START),
        ended_ns: Some(START + 10 * SECOND),
        packets: packets(),
        loss: Some(Counters(vec![("imissed".to_owned(), 0)])),
        link_down: Some(2),
        wire: Some(WireReport {
            offered: 2_200,
            delivered: 2_100,
            imissed: 100,
            offered_clock_stopped: 2_000,
            imissed_clock_stopped: 1,
            gaps: 4,
            gap_ns: 12_000_000,
            longest_gap_ns: 900_000,
            rx_nombuf: 5,
        }),
        design: DesignReport {
            name: "rss".to_owned(),
            receivers: 2,
            workers: 1,
            split: "position".to_owned(),
            state: "shared".to_owned(),
            cores: vec![0, 1],
            oversubscribed: true,
            why: "as asked".to_owned(),
        },
        steps: Some(StepsReport {
            one_of: 64,
            timed_packets: 2_048,
            receive_ns: 3.2,
            parse_ns: 10.5,
            hand_over_ns: 4.0,
            processing_ns: 40.125,
            free_ns: 1.0,
            delay_ns: 58.875,
            drop_percent: Some(4.5454),
            cost_percent: 0.0123,
            hardware: Some(HardwareReport { cycles: 210.4, instructions: 305.0, cache_misses: 0.5 }),
            threads: vec![
                StepsThread { role: "receiver".to_owned(), packets: 2_100, busy: Some(0.456) },
                StepsThread { role: "worker".to_owned(), packets: 2_100, busy: None },
            ],
        }),
        flows: FlowCounts {
            seen: 40,
            active: 3,
            exported: 40,
            dropped: 1,
            table_full: 20,
            hash_table: None,
            outputs: vec![
                OutputCounts { output: "f.csv".to_owned(), exported: 40, dropped: 1 },
                OutputCounts { output: "g.csv".to_owned(), exported: 41, dropped: 0 },
            ],
        },
        rates: Rates::new(
            &Amount { packets: 2000, wire_bytes: Some(1_250_000), span: Some(span(8)) },
            2100,
            0.5,
        ),
        memory_bytes: (64 << 20) - 1,
        elapsed_seconds: 0.5,
        windows: WindowCounts { count: 2, unreported: 1, ..WindowCounts::default() },
        answers,
        ..RunReport::default()
    };
    let expected = "
source    a.pcap, b.pcap
time      2026-11-24 15:40:00 to 15:40:10 UTC
traffic   1,000,000 L3 bytes in 40 flow records over 8 s: 250 pps, 1.25 Mbps on the wire
packets   2,100 received = 2,000 measured + 100 not measured
          not measured: arp 60, filter 40
          remarks: ports_truncated 3
loss      none
link      went down 2 time(s)
wire      2,200 packets arrived, 100 missed (4.5455 %)
          receivers were off their core 4 times, 12.00 ms in all, 900.0 µs at the longest: without that 1 missed (0.0500 %)
          5 times there was no mbuf for a packet, which waited: more mbufs= may help
design    rss: 2 receiver(s), 1 worker(s) each on cores 0,1, bursts split by position, shared state, oversubscribed: more threads than cores (as asked)
steps     3.2 ns to receive, 10.5 to parse, 4.0 to hand over, 40.1 to process (PPT), 1.0 to free
          58.9 ns delay of a packet; drop rate (PDR) 4.5454 %
          210 cycles, 305 instructions, 0.500 cache misses a packet
          timed: 2,048 packets, one burst in 64, at a cost of 0.0123 % of the threads' time; busy: receiver 46 %
tcp loss  14,600 bytes (10 segments) lost before here
          4,380 bytes (3 segments) sent again, lost behind here or without need
          2 segments reordered, 0 bytes unseen here, 1 zero windows
task      some:task: it is exact
records   40 flow records, 3 open at the end
          20 packets came when the table was full
          f.csv lacks 1 of 41 records
took      500.00 ms, 4.20 kpps, 64 MiB of tables and queues
          1 window reports were not shown

  Flows with the most bytes
  source           destination        protocol  packets            bytes
  192.0.2.1:54321  198.51.100.77:443  tcp         1,500  75.0 %  900,000  90.0 %

  Flows with the most TCP loss (bytes; least round trip from here)
  source         packets  lost before  sent again  unseen  reordered  round trip
  192.0.2.1:443    1,500       14,600       4,380       0          2     2.34 ms

  Scanners: sources that contact the most destinations
  partial: memory ran out, 5 records are in no row
  source     destinations  flows  packets    bytes
  192.0.2.1            20     30    1,600  950,000

  Targets: destinations that the most sources contact
  destination  sources  flows  packets    bytes
  192.0.2.1         20     30    1,600  950,000
";
    assert_eq!(run_report(&report, Paper::PLAIN), lines(expected));
}

#[test]
fn a_run_without_frames() {
    let report = RunReport { source: vec!["a.pcap".to_owned()], ..RunReport::default() };
    let expected = "
source    a.pcap
packets   0 received = 0 measured + 0 not measured
loss      unknown: this source does not count it
records   0 flow records, 0 open at the end
took      0 s, 0 MiB of tables and queues
";
    assert_eq!(run_report(&report, Paper::PLAIN), lines(expected));
}

fn window(answers: Vec<Answer>) -> Window {
    Window {
        index: 3,
        span: span(10),
        status: AnswerStatus::Complete,
        watched: None,
        empty: None,
        packets: packets(),
        loss: Some([("imissed", 7), ("rx_nombuf", 1)].into_iter().collect()),
        table_full: 20,
        answers,
        longer: Vec::new(),
    }
}

#[test]
fn a_window() {
    let rows = (100..122).map(|number| vec![Value::Unsigned(number)]).collect();
    let many = table("q1", &["n"], rows);
    let mut short = flows("top_bytes");
    short.rows.truncate(1);
    let [sum, _] = loss_answers();
    let cut = Window {
        status: AnswerStatus::Cut,
        watched: Some(span(5)),
        ..window(vec![totals(), short, flows("top_packets"), sum, many])
    };
    let shown = window_report(&cut, Paper::PLAIN);
    let expected = "
window    3: 2026-11-24 15:40:00 to 15:40:10 UTC, cut
          watched 2026-11-24 15:40:00 to 15:40:05 UTC
traffic   1,000,000 L3 bytes in 40 flows over 5 s: 400 pps, 2.00 Mbps on the wire
packets   2,100 received = 2,000 measured + 100 not measured
          not measured: arp 60, filter 40
          remarks: ports_truncated 3
loss      imissed 7, rx_nombuf 1
          20 packets came when the table was full
tcp loss  14,600 bytes (10 segments) lost before here
          4,380 bytes (3 segments) sent again, lost behind here or without need
          2 segments reordered, 0 bytes unseen here, 1 zero windows

  Flows with the most bytes
  source           destination        protocol  packets            bytes
  192.0.2.1:54321  198.51.100.77:443  tcp         1,500  75.0 %  900,000  90.0 %

  Flows with the most packets
";
    assert!(shown.starts_with(lines(expected)), "{shown}");
    assert!(shown.ends_with("  118\n  119\n  … and 2 more\n"), "{shown}");
}

#[test]
fn the_answers_of_a_window_of_a_replay() {
    let rows = vec![vec![Value::Unsigned(500), Value::Unsigned(1)]];
    let own = table("q1", &["total_count", "n"], rows);
    let expected = "
window    3: 2,100 packets, 2026-11-24 15:40:00 to 15:40:10 UTC

  q1
  packets          n
      500  25.0 %  1
";
    assert_eq!(
        window_answers(&window(vec![totals(), flows("top_bytes"), own]), Paper::PLAIN),
        lines(expected)
    );
}

#[test]
fn empty_windows_are_one_line() {
    let many = Window { empty: Some(1234), ..window(vec![]) };
    let line = "window    3: 1,234 empty, 2026-11-24 15:40:00 to 15:40:10 UTC\n";
    assert_eq!(window_report(&many, Paper::PLAIN), line);
    assert_eq!(window_answers(&many, Paper::PLAIN), line);
}

#[test]
fn many_files_are_a_number() {
    let named = |count: usize| RunReport {
        source: (1..=count).map(|number| format!("{number:03}.pcap")).collect(),
        ..RunReport::default()
    };
    assert!(
        run_report(&named(4), Paper::PLAIN).starts_with("source    001.pcap, 002.pcap, 003.pcap, 004.pcap\n")
    );
    assert!(run_report(&named(360), Paper::PLAIN).starts_with("source    360 files: 001.pcap to 360.pcap\n"));
}

#[test]
fn a_port_is_a_name_and_has_no_groups_of_digits() {
    let ports = table("ports", &["protocol", "port", "total_byte"], vec![numbers([6, 62_808, 62_808])]);
    let shown = answer(&ports, None, 1);
    assert!(shown.ends_with("  tcp       62808  62,808\n"), "{shown}");
}

#[test]
fn sessions_of_an_exporter_are_told_apart_by_their_ports() {
    let of = |last: u8, port, sessions, lost, lost_unit: &str| model::ExporterReport {
        address: std::net::IpAddr::from([192, 0, 2, last]),
        port,
        version: "IPFIX".to_owned(),
        domain: 7,
        agent: None,
        sessions,
        datagrams: 1,
        records: 1000 - u64::from(last) - u64::from(port.unwrap_or(0)),
        sampled: 0,
        lost,
        lost_unit: lost_unit.to_owned(),
        sampling: Vec::new(),
    };
    let all = [
        of(1, Some(10), 1, 0, "records"),
        of(2, Some(20), 1, 3, "messages"),
        of(2, Some(30), 1, 0, "records"),
    ];
    let earlier =
        [of(2, None, 2, 0, "records"), of(3, None, 1, 0, "records"), of(3, Some(600), 1, 0, "records")];
    let lines = head::exporters(&[&all[..], &earlier[..]].concat());
    assert_eq!(
        lines,
        [
            "router    192.0.2.2 IPFIX, domain 7, 2 earlier sessions: 998 records",
            "router    192.0.2.3 IPFIX, domain 7, an earlier session: 997 records",
            "router    192.0.2.1 IPFIX, domain 7: 989 records",
            "router    192.0.2.2 IPFIX, domain 7, port 20: 978 records, 3 messages lost",
            "router    192.0.2.2 IPFIX, domain 7, port 30: 968 records",
            "router    192.0.2.3 IPFIX, domain 7, port 600: 397 records",
        ]
    );
}

#[test]
fn a_table_that_knows_hashes_says_how_good_it_is() {
    let table = |name: &str, shared_entries, shared_packets| {
        Some(HashTableCounts { table: name.to_owned(), shared_entries, shared_packets })
    };
    let flows =
        FlowCounts { table_full: 1234, hash_table: table("double", 2, 3000), ..FlowCounts::default() };
    assert_eq!(
        crate::head::hash_table(&flows).as_deref(),
        Some(
            "          approximate: the table 'double' knows flows by 32 bits of a hash, two at most of those with one low half: 3,000 packets are \
             known to be in the records of other flows (shared_packets, in 2 records), 1,234 in no record (table_full)"
        )
    );
    let flows = FlowCounts { hash_table: table("list", 0, 0), ..FlowCounts::default() };
    let line = crate::head::hash_table(&flows).expect("a line");
    assert!(
        line.contains("0 packets are known to be in the records of other flows")
            && line.ends_with(", none in no record"),
        "{line}"
    );
    assert_eq!(crate::head::hash_table(&FlowCounts::default()), None);
}
