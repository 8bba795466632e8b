//! Query text from strangers: checked, printed and checked again to the same plan, explained, and answered over some rows.
#![no_main]

use arena::Limits;
use equery::{CheckOptions, ExplainContext, Severity, SourceText, check, explain, one_line, render};
use flow::{LossCounts, Rows, WindowRow};
use libfuzzer_sys::fuzz_target;
use model::Span;
use packet::{KeySpec, KeyV4, KeyV6, Seed};
use std::sync::OnceLock;
use task::Generation;
use task::rows::{PlanContext, RowQueries, RowScratch, Unplaced};

/// A second, the length of the run's windows.
const SECOND: u64 = 1_000_000_000;

fn rows<K>(key: impl Fn(u8) -> K) -> Rows<K> {
    let mut rows = Rows::with_capacity(20, 20);
    for n in 0..20_u8 {
        let row = WindowRow {
            packets: (n % 5).into(),
            bytes: u64::from(n) * 1000,
            wire_bytes: u64::from(n) * 1014,
            tcp_seq: 7,
            tcp_ack: u32::MAX,
            tcp_win: n.into(),
            vlan: if n % 3 == 0 { WindowRow::<K>::NO_VLAN } else { n.into() },
            tcp_flags: n,
            ip_ttl: 64,
            macs: [n % 2; 12],
            ..WindowRow::without_packets(key(n), SECOND + u64::from(n), SECOND + 10 * u64::from(n))
        };
        let loss = LossCounts { ploss_byte: n.into(), ..LossCounts::default() };
        rows.push(row, Some(&loss));
    }
    rows
}

fn all_rows() -> &'static (Rows<KeyV4>, Rows<KeyV6>) {
    static ROWS: OnceLock<(Rows<KeyV4>, Rows<KeyV6>)> = OnceLock::new();
    ROWS.get_or_init(|| {
        let protocol = |n: u8| [6, 17, 1, 58][usize::from(n % 4)];
        let v4 = rows(|n| KeyV4::new([10, 0, n % 3, n, 192, 0, 2, n % 7], [0, n, 1, 187], protocol(n)));
        let v6 = rows(|n| KeyV6::new(&[n % 3; 16], &[n % 7; 16], [0, 53, n, n], protocol(n)));
        (v4, v6)
    })
}

fn answer(queries: &[task::query::Query]) {
    let site = PlanContext {
        node: "here".to_owned(),
        window_ns: Some(SECOND),
        tracked: flow::TrackedParts::ALL,
        ..PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 20, usize::MAX))
    };
    for query in queries {
        let Ok(planned) = RowQueries::plan(Generation::default(), std::slice::from_ref(query), &site) else {
            continue;
        };
        let (v4, v6) = all_rows();
        let mut partials = planned.window();
        let mut other = planned.window();
        let mut scratch = RowScratch::default();
        partials.add_v4(&planned, v4, &mut scratch);
        other.add_v6(&planned, v6, &mut scratch);
        partials.merge(&planned, &other).expect("one generation");
        let span = Span { start_ns: SECOND, end_ns: 2 * SECOND };
        for answer in partials.window_answers(&planned, span, span, &Unplaced::default()) {
            // Writing fails where a value does not fit its column.
            serde_json::to_string(&answer).unwrap_or_else(|error| panic!("{query:?}: {error}"));
        }
    }
}

fuzz_target!(|text: &str| {
    let source = SourceText { name: "fuzzed", text };
    let options = CheckOptions { set: vec![("K1".to_owned(), "10K".to_owned())], ..CheckOptions::default() };
    let checked = check(&source, &options);
    for diagnostic in &checked.diagnostics {
        assert!(text.get(diagnostic.span.clone()).is_some(), "{diagnostic:?}");
        assert!(!one_line(&source, diagnostic).contains('\n'), "{diagnostic:?}");
    }
    if text.len() < 2000 {
        render(&source, &checked.diagnostics, false);
    }
    if checked.has_errors() {
        return;
    }
    explain(&checked, &ExplainContext::default()).to_string();
    answer(&checked.queries.iter().map(|query| query.plan.clone()).collect::<Vec<_>>());
    // A query's own text means the same, unless it reads what the other text defines.
    if text.to_ascii_lowercase().contains("let") {
        return;
    }
    for query in
        checked.queries.iter().filter(|query| query.trigger.is_none() && query.derived_from.is_empty())
    {
        let again = check(&SourceText { name: "again", text: &query.text }, &options);
        let errors = again.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        assert_eq!(errors.count(), 0, "{}: {:?}", query.text, again.diagnostics);
        let plan = task::query::Query { name: query.label.clone(), ..again.queries[0].plan.clone() };
        assert_eq!(plan, query.plan, "{}", query.text);
    }
});
