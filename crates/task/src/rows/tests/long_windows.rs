//! Windows of other lengths than the run's, against rows that the test merges.

use super::*;

/// Length of the run's windows.
const BASE: u64 = 10;

fn long(every: u64, over: u64) -> Query {
    let over = Over::Windows { every_ns: every * BASE, over_ns: over * BASE };
    Query { name: format!("{every}/{over:?}"), over, ..query(&["src_addr"], items(), None) }
}

pub(super) fn account(number: u64, lost: u64) -> WindowAccount {
    let span = Span { start_ns: number * BASE, end_ns: (number + 1) * BASE };
    WindowAccount {
        span,
        watched: span,
        received: 9,
        lost: Some(lost),
        refused_rows: 0,
        unfollowed: 0,
        outside: Unplaced::default(),
        untold: flow::Untold::default(),
        sampled: None,
    }
}

fn begin(planned: &RowQueries) -> Vec<LongWindows> {
    let mut states = Vec::new();
    planned.begin_long_windows(&mut states);
    states
}

/// The sums of flows over some windows.
fn expected(windows: &BTreeMap<u64, Vec<Plain>>, from: u64, to: u64) -> Groups {
    let mut flows: BTreeMap<FlowKey, Plain> = BTreeMap::new();
    for row in windows.range(from..to).flat_map(|(_, rows)| rows) {
        let flow = flows.entry(row.key()).or_insert(Plain { packets: 0, bytes: 0, ..row.clone() });
        (flow.packets, flow.bytes) = (flow.packets + row.packets, flow.bytes + row.bytes);
    }
    sums(&flows.into_values().collect::<Vec<_>>(), |row| groups_of(&["src_addr"], row))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(32), ..ProptestConfig::default() })]

    #[test]
    fn flows_are_merged_over_the_windows_of_a_query(
        windows in prop::collection::btree_map(0u64..40, rows(), 1..8),
        every in 1u64..5,
        times in 2u64..4,
    ) {
        let over = every * times;
        let queries = [long(every, over), long(every, every)];
        let planned = RowQueries::plan(Generation::default(), &queries, &site(1 << 30)).expect("queries");
        let mut states = begin(&planned);
        let mut answers = Vec::new();
        for (number, rows) in &windows {
            let (v4, v6) = blocks(rows);
            for state in &mut states {
                state.add(number * BASE, &v4, &v6);
                answers.extend(state.close(&account(*number, 0)));
            }
        }
        answers.extend(states.iter_mut().flat_map(LongWindows::end));
        let (first, last) = (*windows.keys().next().expect("a window"), *windows.keys().last().expect("a window"));
        for query in &queries {
            let Over::Windows { over_ns, .. } = query.over else { unreachable!("all are") };
            if every == 1 && over_ns == BASE {
                // It is a query of the run's windows.
                continue;
            }
            let own: Vec<_> = answers.iter().filter(|answer| answer.query == query.name).collect();
            // Each window from the first with packets to the last, in order, empty ones together.
            let mut next = first / every;
            for answer in own {
                let window = answer.window.expect("a window");
                let end = (window.end_ns / BASE, window.end_ns % BASE);
                prop_assert_eq!(end.1, 0);
                let (from, to) = ((window.start_ns) / BASE, end.0);
                match answer.empty {
                    Some(empty) => {
                        let first = ((next + 1) * every).saturating_sub(over_ns / BASE);
                        prop_assert_eq!((from, to), (first, (next + empty) * every));
                        prop_assert!(windows.range(from..to).next().is_none() && answer.rows.is_empty());
                        next += empty;
                    }
                    None => {
                        prop_assert_eq!(to, (next + 1) * every);
                        let start = to.saturating_sub(over_ns / BASE);
                        prop_assert_eq!(from, start);
                        prop_assert_eq!(shown(answer, 1), expected(&windows, start, to), "{:?}", window);
                        prop_assert_eq!(answer.coverage, Some(1.0));
                        let watched = Span {
                            start_ns: window.start_ns.max(first * BASE),
                            end_ns: window.end_ns.min((last + 1) * BASE),
                        };
                        let status = if watched == window { (AnswerStatus::Complete, None) } else { (AnswerStatus::Cut, Some(watched)) };
                        prop_assert_eq!((answer.status, answer.watched), status);
                        next += 1;
                    }
                }
            }
            prop_assert_eq!(next, last / every + 1);
        }
    }
}

#[test]
fn windows_of_different_shares_are_one_sample() {
    let planned = RowQueries::plan(Generation::default(), &[long(2, 2)], &site(1 << 30)).expect("a query");
    let [mut state] = <[_; 1]>::try_from(begin(&planned)).expect("one length");
    let of = |number, ppm, packets| {
        let share = flow::Share::from_ppm(ppm).expect("a share");
        WindowAccount { sampled: Some(flow::Sampled::new(share, packets, 0, 1500)), ..account(number, 0) }
    };
    assert!(state.close(&of(4, 100_000, 10)).is_empty());
    let answers = state.close(&of(5, 300_000, 60));
    let sampling = answers[0].sampling.expect("a sample");
    // 100 packets and 200 packets, of which 70 were sampled.
    assert!((sampling.share - 70.0 / 300.0).abs() < 1e-9, "{sampling:?}");
    assert_eq!((sampling.least, sampling.greatest), (0.1, 0.3));
    assert_eq!(answers[0].class, model::Class::Sample);
    assert!(answers[0].reason.as_ref().is_some_and(|reason| reason.contains("10% to 30%")));
}

#[test]
fn what_a_window_lacks_is_in_the_longer_ones() {
    let planned = RowQueries::plan(Generation::default(), &[long(2, 2)], &site(1 << 30)).expect("a query");
    let [mut state] = <[_; 1]>::try_from(begin(&planned)).expect("one length");
    assert!(state.close(&account(4, 0)).is_empty());
    let lacking = WindowAccount {
        refused_rows: 7,
        outside: Unplaced { packets: 3, bytes: 5, wire_bytes: 6, keyless: 0 },
        ..account(5, 9)
    };
    let answers = state.close(&lacking);
    assert_eq!((answers[0].status, answers[0].coverage), (AnswerStatus::Partial, Some(18.0 / 27.0)));
    let reason = "3 packets had no place in the table: they are in no group; 7 rows came faster than they were answered";
    assert_eq!(answers[0].reason.as_deref(), Some(reason));
    assert_eq!(answers[0].rest.totals[0].1, Value::Unsigned(3));
    // A million years later.
    let answers = state.close(&account(4_000_000_000_000, 0));
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].empty, answers[0].rows.len()), (Some(1_999_999_999_997), 0));
}

#[test]
fn windows_outlive_the_sets_that_have_their_queries() {
    let (standing, other) = ([long(2, 4), long(2, 2)], Query { name: "other".to_owned(), ..long(2, 4) });
    let plan = |others: &[Query]| {
        RowQueries::plan_with(Generation::default(), &standing, others, &site(1 << 30)).expect("queries")
    };
    let (without, with) = (plan(&[]), plan(std::slice::from_ref(&other)));
    let mut states = begin(&without);
    with.begin_long_windows(&mut states);
    // The other query is of the same length, and leaves those of the standing ones as they are.
    assert_eq!(states.len(), 3);
    without.begin_long_windows(&mut states);
    assert_eq!(states.len(), 3);
    let continued = |set: &RowQueries| states.iter().map(|state| set.continues(state)).collect::<Vec<_>>();
    assert_eq!(continued(&without), [true, true, false]);
    assert_eq!(continued(&with), [true; 3]);
    let renamed = Query { name: "else".to_owned(), ..long(2, 4) };
    let changed = RowQueries::plan(Generation::default(), &[renamed], &site(1 << 30)).expect("a query");
    assert_eq!(continued(&changed), [false; 3]);
    assert!(states.iter().all(|state| !state.has_begun()));
    states[0].close(&account(4, 0));
    assert!(states[0].has_begun());
}

#[test]
fn rows_of_a_later_window_outlive_the_end() {
    let planned = RowQueries::plan(Generation::default(), &[long(2, 2)], &site(1 << 30)).expect("a query");
    let [mut state] = <[_; 1]>::try_from(begin(&planned)).expect("one length");
    let rows = |packets: u64| {
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        let (src, dst, ports, bytes) = (address(1), address(2), [1, 2], packets * 100);
        blocks(&[Plain { src, dst, ports, protocol: 6, packets, bytes, vlan: None, rtt: None, lost: 0 }])
    };
    let (first, later) = (rows(5), rows(7));
    state.add(4 * BASE, &first.0, &first.1);
    assert!(state.close(&account(4, 0)).is_empty());
    // A set has the query no more, and the next one has it again: its rows come before the window between is closed.
    state.add(8 * BASE, &later.0, &later.1);
    let answers = state.end();
    assert_eq!(answers.len(), 1);
    assert!(state.has_rows() && !state.has_begun());
    assert!(state.close(&account(8, 0)).is_empty());
    // Nothing follows in this pane, and so it is over.
    let found = state.pass(10 * BASE);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].rows.len(), found[0].status), (1, AnswerStatus::Complete));
    assert!(state.end().is_empty() && !state.has_rows());
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    for (every, over) in [(0, 0), (15, 30), (20, 30), (20, 0)] {
        let query = Query { over: Over::Windows { every_ns: every, over_ns: over }, ..long(1, 1) };
        let refused =
            RowQueries::plan(Generation::default(), &[query], &site(1 << 20)).expect_err("no multiple");
        assert!(matches!(refused[0].1, Refusal::NoSuchWindow { .. }), "{refused:?}");
    }
    let of_packets = PlanContext { window_ns: None, ..site(1 << 20) };
    assert!(RowQueries::plan(Generation::default(), &[long(2, 2)], &of_packets).is_err());
}
