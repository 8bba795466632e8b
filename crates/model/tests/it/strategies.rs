//! Random answers, events, windows and reports.

use model::{
    Account, Answer, AnswerStatus, Capture, Class, Column, ColumnKind, Counters, DesignReport, Event,
    EventKind, FlowCounts, Heaviest, Item, Missing, MissingReason, OutputCounts, PacketCounts, Rates, Rest,
    RunReport, Sampling, Span, Story, TaskNote, UndecidedReport, Value, Window, WindowCounts, WireReport,
};
use proptest::collection::vec;
use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
use proptest::option;
use proptest::prelude::*;
use std::net::IpAddr;

/// Any integer, and often one near those that matter.
fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..10_u64,
        (1_u64 << 53) - 2..(1 << 53) + 3,
        Just(u64::MAX),
        Just(i64::MAX as u64),
        any::<u64>()
    ]
}

fn signed() -> impl Strategy<Value = i64> {
    let edge = 1_i64 << 53;
    prop_oneof![
        -10..10_i64,
        -edge - 2..-edge + 3,
        edge - 2..edge + 3,
        Just(i64::MIN),
        Just(i64::MAX),
        any::<i64>()
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE, (-10..10_i32).prop_map(f64::from)]
}

fn bound(unknown: f64) -> impl Strategy<Value = f64> {
    prop_oneof![3 => float().boxed(), 1 => Just(unknown).boxed()]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_()/ ]{0,12}", any::<String>()]
}

fn address() -> impl Strategy<Value = IpAddr> {
    any::<IpAddr>()
}

fn prefix() -> impl Strategy<Value = Value> {
    (address(), any::<u8>()).prop_map(|(address, length)| {
        let most = if address.is_ipv4() { 32 } else { 128 };
        Value::Prefix { address, length: length % (most + 1) }
    })
}

fn estimate() -> impl Strategy<Value = Value> {
    (float(), bound(f64::NEG_INFINITY), bound(f64::INFINITY))
        .prop_map(|(value, lower, upper)| Value::Estimate { value, lower, upper })
}

fn heaviest() -> impl Strategy<Value = Value> {
    // A text that is an address would be read as one.
    let text = "[g-z]{0,8}".prop_map(Value::Text);
    let value =
        prop_oneof![integer().prop_map(Value::Unsigned), address().prop_map(Value::Address), prefix(), text];
    (vec((value, integer()), 0..3), integer(), integer()).prop_map(|(values, rest_values, rest_weight)| {
        Value::Heaviest(Box::new(Heaviest { values, rest_values, rest_weight }))
    })
}

fn kind() -> impl Strategy<Value = ColumnKind> {
    use ColumnKind::{Address, Estimate, Float, Heaviest, Prefix, Signed, Text, Time, Unsigned};
    proptest::sample::select(vec![Unsigned, Signed, Float, Text, Address, Prefix, Time, Estimate, Heaviest])
}

fn value(kind: ColumnKind) -> impl Strategy<Value = Value> {
    let own = match kind {
        ColumnKind::Unsigned => integer().prop_map(Value::Unsigned).boxed(),
        ColumnKind::Signed => signed().prop_map(Value::Signed).boxed(),
        ColumnKind::Float => float().prop_map(Value::Float).boxed(),
        ColumnKind::Text => text().prop_map(Value::Text).boxed(),
        ColumnKind::Address => address().prop_map(Value::Address).boxed(),
        ColumnKind::Prefix => prefix().boxed(),
        ColumnKind::Time => integer().prop_map(Value::Time).boxed(),
        ColumnKind::Estimate => estimate().boxed(),
        ColumnKind::Heaviest => heaviest().boxed(),
    };
    prop_oneof![6 => own, 1 => Just(Value::Null), 1 => estimate()]
}

fn names(count: usize) -> impl Strategy<Value = Vec<String>> {
    vec(text(), count).prop_map(|names| {
        names.into_iter().enumerate().map(|(at, name)| format!("{name}{at}")).collect::<Vec<_>>()
    })
}

fn columns() -> impl Strategy<Value = Vec<Column>> {
    vec((kind(), text()), 0..5).prop_flat_map(|columns| {
        names(columns.len()).prop_map(move |names| {
            let columns = names.into_iter().zip(&columns);
            columns.map(|(name, (kind, unit))| Column::new(name, *kind, unit)).collect()
        })
    })
}

fn row(columns: &[Column]) -> BoxedStrategy<Vec<Value>> {
    columns.iter().map(|column| value(column.kind).boxed()).collect::<Vec<_>>().boxed()
}

fn table() -> impl Strategy<Value = (Vec<Column>, Vec<Vec<Value>>)> {
    columns().prop_flat_map(|columns| (Just(columns.clone()), vec(row(&columns), 0..4)))
}

fn named() -> impl Strategy<Value = Vec<(String, u64)>> {
    vec(integer(), 0..4)
        .prop_flat_map(|counts| (names(counts.len()), Just(counts)))
        .prop_map(|(names, counts)| names.into_iter().zip(counts).collect())
}

fn counters() -> impl Strategy<Value = Counters> {
    named().prop_map(Counters)
}

fn packets() -> impl Strategy<Value = PacketCounts> {
    (integer(), integer(), counters(), counters()).prop_map(|(received, measured, not_measured, remarks)| {
        PacketCounts { received, measured, not_measured, remarks }
    })
}

fn span() -> impl Strategy<Value = Span> {
    (integer(), integer()).prop_map(|(start_ns, end_ns)| Span { start_ns, end_ns })
}

fn missing() -> impl Strategy<Value = Missing> {
    (span(), proptest::sample::select(MissingReason::ALL.to_vec()))
        .prop_map(|(span, reason)| Missing { span, reason })
}

/// A status, what was watched (always where it is cut, never where it is complete), and what is missing, where it is partial.
fn status() -> impl Strategy<Value = (AnswerStatus, Option<Span>, Vec<Missing>)> {
    prop_oneof![
        Just((AnswerStatus::Complete, None, Vec::new())),
        (prop::option::of(span()), vec(missing(), 0..3)).prop_map(|(span, missing)| (
            AnswerStatus::Partial,
            span,
            missing
        )),
        span().prop_map(|span| (AnswerStatus::Cut, Some(span), Vec::new()))
    ]
}

fn task() -> impl Strategy<Value = TaskNote> {
    (text(), text(), text(), integer(), integer(), [(); 2].map(|()| option::of(integer()))).prop_map(
        |(text, structure, why, memory_bytes, total, [lost, most_unlisted])| TaskNote {
            text,
            structure,
            why,
            memory_bytes,
            total,
            lost,
            most_unlisted,
        },
    )
}

fn coverage() -> impl Strategy<Value = Option<f64>> {
    option::of(0.0..=1.0)
}

fn sampling() -> impl Strategy<Value = Option<Sampling>> {
    let share = || 1e-6..=1.0;
    let one = (share(), share(), share(), integer());
    option::of(one.prop_map(|(share, least, greatest, lost)| Sampling { share, least, greatest, lost }))
}

/// An answer.
pub(crate) fn answer() -> impl Strategy<Value = Answer> {
    let head = (text(), option::of(text()), items(), option::of(span()), status(), any::<bool>(), integer());
    let class = proptest::sample::select(vec![Class::Row, Class::Zoom, Class::Sketch, Class::Sample]);
    let levels = proptest::sample::subsequence(vec!["1h", "1min", "rows"], 0..=3);
    let levels = levels.prop_map(|levels| levels.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let middle =
        (option::of(integer().prop_map(|n| n.max(1))), coverage(), class, levels, sampling(), table());
    let account = (packets(), option::of(counters())).prop_map(|(packets, loss)| Account { packets, loss });
    let tail = (integer(), named(), text(), option::of(text()), option::of(task()), option::of(account));
    (head, middle, tail).prop_map(|(head, middle, tail)| {
        let (query, node, bound, window, (status, watched, missing), late, revision) = head;
        let (empty, coverage, class, levels, sampling, (columns, rows)) = middle;
        let (groups, totals, bounds, reason, task, account) = tail;
        // Numbers are read back by their form: a whole one that is not negative is unsigned.
        let total = |(name, number): (String, u64)| match number % 3 {
            0 => (name, Value::Unsigned(number)),
            1 => (name, Value::Signed(-1 - (number >> 1) as i64)),
            _ => (name, Value::Float(number as f64 / 3.0)),
        };
        let mut rest = Rest { groups, totals: totals.into_iter().map(total).collect(), ..Rest::default() };
        // How many are known is not written where others may be.
        if groups % 3 == 0 {
            rest.groups = 0;
            rest.open();
        }
        Answer {
            query,
            node,
            bound,
            window,
            status,
            late,
            revision,
            watched,
            empty,
            missing,
            coverage,
            class,
            levels,
            sampling,
            columns,
            rows,
            rest,
            bounds,
            reason,
            task,
            account,
        }
    })
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    columns().prop_flat_map(|columns| (Just(columns.clone()), row(&columns))).prop_map(|(columns, row)| {
        columns.into_iter().zip(row).map(|(column, value)| Item { column, value }).collect()
    })
}

/// An event.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    use EventKind::{Expired, Fired, Missed, NoData, Resolved, Suppressed, Timeout};
    let kinds = vec![Fired, Resolved, NoData, Timeout, Expired, Suppressed, Missed];
    let head = (text(), proptest::sample::select(kinds), text(), option::of(text()), items());
    let tail = (option::of(text()), integer(), option::of(span()), items(), option::of(float()));
    (head, tail, any::<bool>(), coverage(), option::of(text()), [option::of(text()), option::of(text())])
        .prop_map(|(head, tail, late, coverage, bounds, [parent, title])| {
            let (event, kind, query, fired_by, key) = head;
            let (node, at_ns, window, values, threshold) = tail;
            Event {
                event,
                kind,
                query,
                fired_by,
                key,
                node,
                at_ns,
                window,
                values,
                threshold,
                late,
                coverage,
                bounds,
                parent,
                title,
            }
        })
}

/// A window.
pub(crate) fn window() -> impl Strategy<Value = Window> {
    let head = (integer(), span(), status(), option::of(integer()));
    let tail = (packets(), option::of(counters()), integer(), vec(answer(), 0..3), vec(answer(), 0..2));
    (head, tail).prop_map(|((index, span, (status, watched, _), empty), tail)| {
        let (packets, loss, table_full, answers, longer) = tail;
        Window { index, span, status, watched, empty, packets, loss, table_full, answers, longer }
    })
}

fn wire() -> impl Strategy<Value = WireReport> {
    proptest::array::uniform9(integer()).prop_map(
        |[
            offered,
            delivered,
            imissed,
            offered_clock_stopped,
            imissed_clock_stopped,
            gaps,
            gap_ns,
            longest_gap_ns,
            rx_nombuf,
        ]| WireReport {
            offered,
            delivered,
            imissed,
            offered_clock_stopped,
            imissed_clock_stopped,
            gaps,
            gap_ns,
            longest_gap_ns,
            rx_nombuf,
        },
    )
}

fn design() -> impl Strategy<Value = DesignReport> {
    let sizes = (0..100_usize, 0..100_usize, vec(0..256_usize, 0..4), any::<bool>());
    (text(), sizes, text()).prop_map(|(name, (receivers, workers, cores, oversubscribed), why)| {
        let (split, state) = ("hash".to_owned(), "separate".to_owned());
        DesignReport { name, receivers, workers, split, state, cores, oversubscribed, why }
    })
}

fn outputs() -> impl Strategy<Value = OutputCounts> {
    (text(), integer(), integer()).prop_map(|(output, exported, dropped)| OutputCounts {
        output,
        exported,
        dropped,
    })
}

fn story() -> impl Strategy<Value = Story> {
    (text(), option::of(text()), text(), vec(text(), 0..3), integer()).prop_map(
        |(id, title, text, events, events_unlisted)| Story { id, title, text, events, events_unlisted },
    )
}

fn capture() -> impl Strategy<Value = Capture> {
    let names = (text(), text(), text(), option::of(text()), text(), option::of(text()));
    (names, integer(), integer(), counters(), any::<bool>()).prop_map(
        |((event, node, query, file, ended_by, refused), packets, bytes, dropped, cut)| Capture {
            event,
            node,
            query,
            packets,
            bytes,
            file,
            ended_by,
            dropped,
            cut,
            refused,
        },
    )
}

/// A report, perhaps of several nodes.
pub(crate) fn run_report() -> impl Strategy<Value = RunReport> {
    // Boxed: trees of values this large do not fit the stack together.
    let one = one_report().boxed();
    let nodes = proptest::collection::btree_map(text(), one.clone(), 0..3).boxed();
    (one, nodes).prop_map(|(report, nodes)| RunReport { nodes, ..report }).boxed()
}

/// What tuning changed, with every member.
pub(crate) fn full_tuning() -> model::TuningReport {
    let window = model::Span { start_ns: 7_000_000_000, end_ns: 8_000_000_000 };
    let change = model::TuningChange {
        window,
        at_ns: 6_000_000_000,
        setting: "share".to_owned(),
        from: 1.0,
        to: 0.25,
        reason: "40.000 % of 20.00 Mpps were lost".to_owned(),
    };
    let unmet = model::TuningUnmet { window, loss: 0.5, is_over: false, reason: "too much".to_owned() };
    model::TuningReport {
        bound: 1e-5,
        changes: vec![change],
        changes_unlisted: 3,
        unmet: vec![unmet],
        settings: model::TuningSettings { workers: 2, idle_timeout: 0.0625, task_memory: 0.25, share: 0.5 },
        windows: 40,
        windows_above: 3,
        windows_off_core: 1,
    }
}

/// The steps of a packet, with every member.
pub(crate) fn full_steps() -> model::StepsReport {
    let thread = model::StepsThread { role: "receiver".to_owned(), packets: u64::MAX, busy: Some(0.5) };
    model::StepsReport {
        one_of: 64,
        timed_packets: 1 << 60,
        receive_ns: 3.5,
        parse_ns: 10.25,
        hand_over_ns: 0.0,
        processing_ns: 40.0,
        free_ns: 1.25,
        delay_ns: 55.0,
        drop_percent: Some(0.001),
        cost_percent: 0.02,
        hardware: Some(model::HardwareReport { cycles: 200.0, instructions: 300.0, cache_misses: 0.5 }),
        threads: vec![thread.clone(), model::StepsThread { role: "worker".to_owned(), busy: None, ..thread }],
    }
}

fn one_report() -> impl Strategy<Value = RunReport> {
    let rate = || option::of(0.0..1e15);
    let head = (vec(text(), 0..3), text(), option::of(integer()), option::of(integer()), packets());
    let counts = proptest::array::uniform10(integer());
    let rates = (rate(), rate(), rate(), 0.0..1e9);
    let lists = (
        vec(answer(), 0..3),
        vec(event(), 0..3),
        vec(text(), 0..3),
        vec(text(), 0..3),
        vec(outputs(), 0..3),
        vec(story(), 0..2),
        vec(capture(), 0..2),
    );
    let parts = (
        option::of(counters()),
        integer(),
        integer(),
        option::of(integer()),
        design(),
        option::of(wire()),
        sampling(),
    );
    (head, counts, rates, lists, parts).prop_map(|(head, counts, rates, lists, parts)| {
        let (source, node, started_ns, ended_ns, packets) = head;
        let [count, full, jump, run_end, unreported, seen, active, exported, dropped, table_full] = counts;
        let (packets_per_second, bits_per_second, processed_per_second, elapsed_seconds) = rates;
        let (answers, events, command_line, faults, outputs, stories, captures) = lists;
        let (loss, memory_bytes, answers_unlisted, link_down, design, wire, sampling) = parts;
        RunReport {
            source,
            node,
            started_ns,
            ended_ns,
            windows: WindowCounts { count, full, jump, run_end, unreported },
            packets,
            loss,
            sampling,
            flows: FlowCounts { seen, active, exported, dropped, table_full, hash_table: None, outputs },
            rates: Rates { packets_per_second, bits_per_second, processed_per_second },
            memory_bytes,
            answers,
            occurrences: model::RunEvents {
                events,
                events_unlisted: count,
                stories,
                stories_unlisted: full,
                undecided: vec![UndecidedReport {
                    query: "q3".to_owned(),
                    condition: "lost <= 0".to_owned(),
                    windows: full,
                    reasons: [("cut", full)].into_iter().collect(),
                }],
                captures,
                captures_unlisted: jump,
            },
            nodes: std::collections::BTreeMap::new(),
            version: "0.1.0".to_owned(),
            command_line,
            elapsed_seconds,
            link_down,
            exporters: Vec::new(),
            design,
            wire,
            steps: (full % 2 == 0).then(full_steps),
            tuning: (jump % 2 == 0).then(full_tuning),
            faults,
            answers_unlisted,
        }
    })
}
