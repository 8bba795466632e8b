//! Changes: whole numbers stay whole, and only windows that were watched as a whole are compared.

use crate::support::*;
use std::collections::HashMap;
use task::{ReportedFacts, TaskAnswer, TaskRunner, WindowId, WorkerId};

const WORKER: WorkerId = WorkerId::new(0);

/// Windows whose flows changed by exactly `change` packets against the mean of the three windows before, which in nearly all cases are
/// no multiples of three. Odd flows have less than before, even ones more.
fn at_the_threshold(change: u64) -> Vec<Vec<Packet>> {
    let mut windows = vec![Vec::new(); 4];
    for flow in 0..300_u64 {
        let (a, b) = (change + flow % 31, change + flow * 7 % 23);
        let c = change + (3 - (a + b + change) % 3) % 3;
        let mean = (a + b + c) / 3;
        assert_eq!(mean * 3, a + b + c);
        let now = if flow % 2 == 0 { mean + change } else { mean - change };
        let key = if flow % 5 == 0 { v6(u128::from(flow), 1, 1) } else { v4(flow as u32, 1, 1) };
        for (window, packets) in windows.iter_mut().zip([a, b, c, now]) {
            window.extend(vec![Packet { key, bytes: 100 }; packets as usize]);
        }
    }
    windows
}

#[test]
fn a_change_that_has_just_the_threshold_is_in_the_answer() {
    for (count, expected) in [(40, 300), (41, 0)] {
        let windows = at_the_threshold(40);
        let windows: Vec<&[Packet]> = windows.iter().map(|window| &window[..]).collect();
        let text =
            format!("change:against=average,windows=3,count={count},top=1000,structure=exact,memory=16MiB");
        let answer = answers(&tasks(&[&text], &setting(100_000, 1, false)), &windows).remove(3).remove(0);
        let found: HashMap<_, _> =
            flows(&answer).iter().map(|flow| (flow.key, flow.estimate.value)).collect();
        assert_eq!(found.len(), expected, "{text} {}", answer.status);
        assert!(found.values().all(|change| change.abs() == 40.0), "{text} {found:?}");
    }
}

/// A share of the larger of both sides' totals: 3 windows before with 1,000 packets in all, one of 400, so that 10 % is 40.
#[test]
fn a_share_is_of_all_without_division() {
    let of = |flow, packets| vec![Packet { key: v4(flow, 1, 1), bytes: 100 }; packets];
    let before: Vec<_> = [333, 333, 334].map(|all| [of(1, all - 10), of(2, 10)].concat()).into();
    // Flow 2 has 40 packets more than the mean of 10.
    let now = [of(1, 350), of(2, 50)].concat();
    let windows: Vec<&[Packet]> = before.iter().map(|window| &window[..]).chain([&now[..]]).collect();
    for (share, expected) in [("10%", 1), ("10.0001%", 0)] {
        let text = format!("change:against=average,windows=3,share={share},structure=exact,memory=4MiB");
        let answer = answers(&tasks(&[&text], &setting(1_000, 1, false)), &windows).remove(3).remove(0);
        let found = flows(&answer).iter().filter(|flow| flow.estimate.value == 40.0).count();
        assert_eq!(found, expected, "{share} {:?}", answer.rows);
    }
}

/// Answers of windows, of which some were watched only in part.
fn of_cut(text: &str, cut: &[bool]) -> Vec<TaskAnswer> {
    let reported = |is_cut: &bool| ReportedFacts { is_cut: *is_cut, ..ReportedFacts::from(None) };
    of_windows(text, &cut.iter().map(reported).collect::<Vec<_>>())
}

/// Answers of windows that are reported so.
fn of_windows(text: &str, reports: &[ReportedFacts]) -> Vec<TaskAnswer> {
    let tasks = tasks(&[text], &setting(5_000, 1, false));
    let (mut desk, mut counter) = (TaskRunner::new(tasks.clone(), 1), counter(&tasks));
    let mut empty = Box::new(tasks.states().expect("memory"));
    let mut answers = Vec::new();
    for (number, reported) in (0..).zip(reports) {
        // Everything is new in each window.
        let packets: Vec<_> =
            (0..50).map(|flow| Packet { key: v4(flow, number as u32, 1), bytes: 1 }).collect();
        count(&mut counter, &packets);
        let window = WindowId::new(number);
        empty = desk.part(WORKER, window, counter.turn(empty)).remove(0).1;
        answers.push(desk.report(window, *reported).remove(0));
    }
    answers
}

#[test]
fn windows_that_were_watched_only_in_part_are_not_compared() {
    let cut = [true, false, false, false, true, false, false];
    // By window: whether it is compared. The last window is the first that is whole, as is the one before it.
    for (against, compared) in [
        ("last", [false, false, true, true, false, false, true]),
        ("average,windows=2", [false, false, false, true, false, false, false]),
    ] {
        let text = format!("change:against={against},count=1,structure=exact,memory=4MiB");
        for (number, (answer, is_compared)) in of_cut(&text, &cut).into_iter().zip(compared).enumerate() {
            assert_eq!(!flows(&answer).is_empty(), is_compared, "{text} window {number}: {}", answer.status);
            assert_eq!(answer.status == "ok", is_compared, "{text} window {number}: {}", answer.status);
            assert!(answer.bounds() == if is_compared { "exact" } else { "none" }, "{text} {number}");
            assert_eq!(answer.status.starts_with("not compared"), cut[number], "{text} {}", answer.status);
        }
    }
    // What is not compared with another window does not mind.
    assert!(of_cut("heavy-hitters:count=1", &[true]).iter().all(|answer| answer.status == "ok"));
}

#[test]
fn values_that_were_not_told_count_in_each_window_that_is_compared() {
    let cut_ports = |packets| {
        let mut reported = ReportedFacts::from(None);
        reported.untold.cut_ports = packets;
        reported
    };
    let reports = [0, 0, 3, 5, 0, 0].map(cut_ports);
    // By window: how many packets without ports its answer depends on.
    for (key, expected) in [("src_addr+src_port", [0, 0, 3, 8, 5, 0]), ("src_addr", [0; 6])] {
        let text = format!("change:key={key},count=1,structure=exact,memory=4MiB");
        let found = of_windows(&text, &reports).into_iter().map(|answer| {
            assert!(answer.untold.cut_ports == 0 || answer.bounds() == "none", "{answer:?}");
            answer.untold.cut_ports
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
    }
}
