//! What is answered about the last hour, against a map of all packets.

use crate::support::{BEGIN, Draw, Fed, MINUTE, SECOND, Sent, all, bounds, contains, key, recorder};
use model::view::now::{Now, NowKind, RankingBy};
use model::{MissingReason, Span, Value};
use overview::{MOST_STEPS, NowAsked, OverviewSetting, WindowFacts};

/// Returns random flows of a window, of many hosts, few of which have most.
pub(crate) fn drawn(draw: &mut Draw, flows: u64, hosts: u64) -> Vec<Sent> {
    let host = |draw: &mut Draw| {
        let (one, other) = (draw.below(hosts), draw.below(hosts));
        0x0a00_0000 + u32::try_from(one.min(other)).expect("few hosts")
    };
    (0..flows)
        .map(|_| {
            let ports =
                [40_000 + draw.below(20_000) as u16, [443, 80, 53, 22, 5_432][draw.below(5) as usize]];
            let protocol = if ports[1] == 53 { 17 } else { 6 };
            let bytes = 60 + draw.below(20_000);
            Sent { protocol, ..Sent::new(host(draw), host(draw) | 0x0001_0000, ports, bytes) }
        })
        .collect()
}

/// Compares all sums with the map.
pub(crate) fn check(fed: &Fed, now: &Now, is_exact: bool) {
    let period = now.period.expect("a period");
    let step_ns = now.step_ns;
    let steps: Vec<u64> = (0..u64::from(now.steps)).map(|at| period.start_ns + at * step_ns).collect();
    let total = |start: u64, at: usize| -> u64 {
        let within = fed.totals.iter().filter(|(step, _)| (start..start + step_ns).contains(*step));
        within.map(|(_, sums)| sums[at]).sum()
    };
    assert_eq!(now.figures.bytes, Value::Unsigned(steps.iter().map(|start| total(*start, 0)).sum()));
    for (at, start) in steps.iter().enumerate() {
        if now.series.bytes[at] != Value::Null {
            assert_eq!(now.series.bytes[at], Value::Unsigned(total(*start, 0)), "step {at}");
            assert_eq!(now.series.packets[at], Value::Unsigned(total(*start, 1)), "step {at}");
        }
    }
    for ranking in &now.rankings {
        let truth = fed.sums(ranking.by, period);
        let of_step = |start: &u64| fed.sums(ranking.by, Span { start_ns: *start, end_ns: start + step_ns });
        let by_step: Vec<_> = steps.iter().map(of_step).collect();
        assert!(ranking.rows.len() <= 10 && !ranking.rows.is_empty());
        for row in &ranking.rows {
            let group = key(ranking.by, &row.key);
            let [bytes, packets] = truth[&group];
            assert!(
                contains(&row.sums.bytes, bytes),
                "{:?} {group:?} {:?} {bytes}",
                ranking.by,
                row.sums.bytes
            );
            assert!(contains(&row.sums.packets, packets));
            if is_exact {
                assert_eq!((&row.sums.bytes, &row.sums.packets), (&bytes.into(), &packets.into()));
            }
            for (at, own) in by_step.iter().enumerate() {
                let own = own.get(&group).map_or(0, |sums| sums[0]);
                assert!(row.sums.series[at] == Value::Null || contains(&row.sums.series[at], own));
            }
        }
        // Rows and the rest are all.
        let [mut lower, mut upper] = [0.0; 2];
        for sums in all(ranking) {
            let [least, most] = bounds(&sums.bytes);
            (lower, upper) = (lower + least, upper + most);
        }
        let whole = truth.values().map(|sums| sums[0]).sum::<u64>() as f64;
        assert!(lower <= whole && whole <= upper);
        if is_exact {
            assert_eq!((lower, upper), (whole, whole));
            let mut order: Vec<u64> = truth.values().map(|sums| sums[0]).collect();
            order.sort_unstable_by_key(|bytes| std::cmp::Reverse(*bytes));
            let listed: Vec<f64> = ranking.rows.iter().map(|row| bounds(&row.sums.bytes)[0]).collect();
            let expected: Vec<f64> = order.iter().take(10).map(|bytes| *bytes as f64).collect();
            assert_eq!(listed, expected);
        }
    }
}

#[test]
fn two_hours_of_few_hosts_are_exact() {
    let mut fed = Fed::live();
    let mut draw = Draw(1);
    for window in 0..6 * 130 {
        let sent = drawn(&mut draw, 20, 9);
        fed.window(BEGIN + window * 10 * SECOND, &sent);
    }
    let now = fed.now();
    // The 130th minute is over; 120 are kept, 60 of which are the last hour.
    assert_eq!((now.steps, now.step_ns, now.kind, now.open), (60, MINUTE, NowKind::Live, false));
    assert_eq!(now.period, Some(Span { start_ns: BEGIN + 70 * MINUTE, end_ns: BEGIN + 130 * MINUTE }));
    assert_eq!(now.before, Some(Span { start_ns: BEGIN + 10 * MINUTE, end_ns: BEGIN + 70 * MINUTE }));
    check(&fed, &now, true);
    let before = now.before.expect("an hour before");
    let expected: u64 = (10..70).map(|minute| fed.totals[&(BEGIN + minute * MINUTE)][0]).sum();
    assert_eq!(now.figures_before.as_ref().map(|figures| figures.bytes.clone()), Some(expected.into()));
    for ranking in &now.rankings {
        let truth = fed.sums(ranking.by, before);
        for row in &ranking.rows {
            let earlier = truth.get(&key(ranking.by, &row.key)).map_or(0, |sums| sums[0]);
            assert_eq!(row.sums.bytes_before, earlier.into());
            let change = bounds(&row.sums.bytes)[0] / earlier as f64 - 1.0;
            assert!(earlier == 0 || (row.sums.change.expect("known") - change).abs() < 1e-9);
        }
    }
    assert_eq!(now.kept.start_ns, Some(BEGIN + 10 * MINUTE));
    let account = &now.account;
    assert_eq!(account.received, account.measured + account.not_measured.total());
    assert_eq!((account.not_measured.total(), account.coverage), (3 * 360, Some(1.0)));
    assert!(now.missing.is_empty() && now.partial.is_empty());
}

#[test]
fn of_many_hosts_all_is_within_its_bounds() {
    let mut fed = Fed::live();
    let mut draw = Draw(2);
    for window in 0..6 * 12 {
        let sent = drawn(&mut draw, 3_000, 60_000);
        fed.window(BEGIN + window * 10 * SECOND, &sent);
    }
    let now = fed.now();
    check(&fed, &now, false);
    let by_source = &now.rankings[0].rows[0].sums.bytes;
    assert!(matches!(by_source, Value::Estimate { .. }), "{by_source:?}: more hosts than are kept");
}

#[test]
fn the_first_window_is_shown_and_its_minute_is_open() {
    let mut fed = Fed::live();
    fed.window(BEGIN, &[Sent::new(1, 2, [50_000, 443], 1_000)]);
    let now = fed.now();
    assert_eq!((now.steps, now.open), (1, true));
    assert_eq!(now.figures.watched_ns, 10 * SECOND);
    assert_eq!(now.figures.flows, Value::Unsigned(1));
    check(&fed, &now, true);
    // Nothing is known of an hour before, and that is not zero.
    assert_eq!((now.before, &now.rankings[0].rows[0].sums.bytes_before), (None, &Value::Null));
}

#[test]
fn a_window_that_never_came_is_a_gap_and_an_empty_one_is_zero() {
    let mut fed = Fed::live();
    let sent = [Sent::new(1, 2, [50_000, 443], 1_000)];
    for window in [0, 1, 2, 3, 4, 5, 18, 19, 20, 21, 22, 23] {
        fed.window(BEGIN + window * 10 * SECOND, &sent);
    }
    // A minute of which the engine says that nothing came, then one window.
    fed.window_with(BEGIN + 300 * SECOND, &sent, |facts| facts.empty_before = 6);
    let now = fed.now();
    let sums = now.series.bytes.clone();
    let known = |bytes| Value::Unsigned(bytes);
    assert_eq!(sums[..5], [known(6_000), Value::Null, Value::Null, known(6_000), known(0)]);
    assert_eq!(now.series.watched_ns[..2], [known(MINUTE), known(0)]);
    let missing = &now.missing[0];
    assert_eq!(
        (now.missing.len(), missing.node.as_str(), missing.missing.reason),
        (1, "eth0", MissingReason::NotSent)
    );
    let gap = Span { start_ns: BEGIN + MINUTE, end_ns: BEGIN + 3 * MINUTE };
    assert_eq!(missing.missing.span, gap);
}

#[test]
fn a_capture_has_60_to_120_steps_of_its_own_time() {
    for (windows, window_ns) in [(300, SECOND / 100), (1_000, SECOND), (5_000, SECOND / 5)] {
        let mut fed = Fed::new(OverviewSetting::capture(window_ns), window_ns, window_ns, 1 << 30);
        let mut draw = Draw(3);
        for window in 0..windows {
            let sent = drawn(&mut draw, 6, 40);
            fed.window(BEGIN + window * window_ns, &sent);
        }
        fed.recorder.finish();
        let now = fed.now();
        assert!((60..=120).contains(&now.steps), "{windows}: {}", now.steps);
        assert_eq!((now.kind, now.ended, now.before), (NowKind::Capture, true, None));
        let period = now.period.expect("a period");
        assert!(period.start_ns <= BEGIN && period.end_ns >= BEGIN + windows * window_ns);
        // Steps are joined with bounds.
        check(&fed, &now, false);
    }
}

#[test]
fn a_capture_with_a_gap_of_years_stays_small() {
    let mut fed = Fed::new(OverviewSetting::capture(SECOND), SECOND, SECOND, 1 << 30);
    fed.window(BEGIN, &[Sent::new(1, 2, [50_000, 443], 1_000)]);
    let years = 3 * 365 * 86_400;
    let sent = [Sent::new(3, 4, [50_000, 443], 7_000)];
    fed.window_with(BEGIN + years * SECOND, &sent, |facts| facts.empty_before = years - 1);
    fed.recorder.finish();
    let now = fed.now();
    assert!(now.steps <= 121, "{}", now.steps);
    assert_eq!(now.figures.bytes, Value::Unsigned(8_000));
}

#[test]
fn nodes_are_summed_and_one_can_be_asked_alone() {
    let mut fed = Fed::live();
    let (mut other, _) = recorder(&fed.overview, "eth1", 1 << 30);
    for window in 0..12 {
        fed.window(BEGIN + window * 10 * SECOND, &[Sent::new(1, 2, [50_000, 443], 1_000)]);
        let start_ns = BEGIN + window * 10 * SECOND;
        let span = Span { start_ns, end_ns: start_ns + 10 * SECOND };
        other.window(&WindowFacts { bytes: 500, packets: 1, ..WindowFacts::new(span) });
    }
    let now = fed.now();
    assert_eq!((now.nodes.len(), &now.figures.bytes), (2, &Value::Unsigned(18_000)));
    // The second node has no rows of what it counted: the first one's group may have all of it.
    let [lower, upper] = bounds(&now.rankings[0].rows[0].sums.bytes);
    assert_eq!((lower, upper), (12_000.0, 18_000.0));
    // A source that cannot count its loss makes that of all unknown.
    assert_eq!((now.account.coverage, now.figures.lost.clone()), (None, Value::Null));
    let asked =
        NowAsked { node: Some("eth0".to_owned()), by: Some(RankingBy::Port), top: 1, ..NowAsked::default() };
    let alone = fed.overview.now(&asked).expect("a node");
    assert_eq!((alone.rankings.len(), &alone.figures.bytes), (1, &Value::Unsigned(12_000)));
    assert!(fed.overview.now(&NowAsked { node: Some("eth2".to_owned()), ..NowAsked::default() }).is_err());
}

#[test]
fn what_is_sampled_is_estimated_and_what_is_lacking_is_said() {
    let mut fed = Fed::live();
    for window in 0..6 {
        fed.window_with(BEGIN + window * 10 * SECOND, &[Sent::new(1, 2, [50_000, 443], 1_000)], |facts| {
            facts.estimated = Some([10_000.0, 10.0]);
            facts.lacks = vec!["12 rows were refused".to_owned()];
        });
    }
    let now = fed.now();
    let estimate = Value::Estimate { value: 60_000.0, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    assert_eq!((&now.figures.bytes, &now.rankings[0].rows[0].sums.bytes), (&estimate, &estimate));
    assert_eq!((now.partial.len(), now.partial[0].reason.as_str()), (1, "12 rows were refused"));
}

#[test]
fn windows_longer_than_a_minute_are_steps() {
    let window_ns = 5 * MINUTE;
    let mut fed = Fed::new(OverviewSetting::live(window_ns), window_ns, window_ns, 1 << 30);
    let mut draw = Draw(4);
    for window in 0..(2 * MOST_STEPS as u64) {
        let sent = drawn(&mut draw, 5, 30);
        fed.window(BEGIN + window * window_ns, &sent);
    }
    let now = fed.now();
    assert_eq!((now.steps, now.step_ns), (12, window_ns));
    check(&fed, &now, true);
}
