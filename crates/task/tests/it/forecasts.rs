//! Changes against forecasts. The model computes them by the formulas of Krishnamurthy et al. with maps of `f64`.

use crate::support::*;
use packet::FlowKey;
use std::collections::HashMap;
use task::{ReportedFacts, TaskAnswer, TaskRunner, Tasks, WindowId, WorkerId};

const KEY: &str = "src_addr/32/32";

type Numbers = HashMap<FlowKey, f64>;

fn get(numbers: &Numbers, key: &FlowKey) -> f64 {
    numbers.get(key).copied().unwrap_or(0.0)
}

/// The forecast of the window that follows, by the sums as published: S_f(2) = S_o(1); S_f(t) = α S_o(t - 1) + (1 - α) S_f(t - 1).
fn ewma(observed: &[Numbers], alpha: f64, keys: &[FlowKey]) -> Option<Numbers> {
    let mut forecast = observed.first()?.clone();
    for window in &observed[1..] {
        forecast = keys
            .iter()
            .map(|key| (*key, alpha * get(window, key) + (1.0 - alpha) * get(&forecast, key)))
            .collect();
    }
    Some(forecast)
}

/// The smoothing component S_s and the trend component S_t as published, whose sum is the forecast.
fn holt_winters(observed: &[Numbers], (alpha, beta): (f64, f64), keys: &[FlowKey]) -> Option<Numbers> {
    let [first, second, ..] = observed else { return None };
    let of = |key: &FlowKey| {
        // At t = 2.
        let (mut smooth, mut trend) = (get(first, key), get(second, key) - get(first, key));
        for t in 3..=observed.len() + 1 {
            let before = smooth;
            smooth = alpha * get(&observed[t - 2], key) + (1.0 - alpha) * (smooth + trend);
            trend = beta * (smooth - before) + (1.0 - beta) * trend;
        }
        (*key, smooth + trend)
    };
    Some(keys.iter().map(of).collect())
}

/// Windows of flows of both families that grow, fall, come and go.
fn windows(number: u64, many: usize) -> Vec<Vec<Packet>> {
    let mut random = Random(number);
    (0..many)
        .map(|window| {
            let mut packets = Vec::new();
            for flow in 0..60_u32 {
                let count = match flow % 6 {
                    0 => 20 * window,
                    1 => 300_usize.saturating_sub(25 * window),
                    2 if window % 3 == 0 => 200,
                    2 => 0,
                    3 if window < 3 => 150,
                    3 => 0,
                    4 => 100 + random.below(30) as usize,
                    _ => 10,
                };
                let key = if flow % 5 == 0 {
                    v6(u128::from(flow + 1) << 97, 1, 1)
                } else {
                    v4(0x0a00_0000 + flow * 7_919, 1, 1)
                };
                packets.extend(vec![Packet { key, bytes: 100 }; count]);
            }
            packets
        })
        .collect()
}

fn observed(windows: &[Vec<Packet>]) -> (Vec<Numbers>, Vec<FlowKey>) {
    let of = |packets: &Vec<Packet>| -> Numbers {
        weights(packets, &key(KEY), false).into_iter().map(|(key, weight)| (key, weight as f64)).collect()
    };
    let observed: Vec<Numbers> = windows.iter().map(of).collect();
    let mut keys: Vec<FlowKey> = observed.iter().flat_map(HashMap::keys).copied().collect();
    keys.sort();
    keys.dedup();
    (observed, keys)
}

/// The windows' answers; `is_cut` says which were not watched as a whole. Windows without packets are counted by no worker.
fn answers_of(
    text: &str,
    windows: &[Vec<Packet>],
    is_cut: impl Fn(usize) -> bool,
) -> Vec<Option<TaskAnswer>> {
    let tasks =
        Tasks::plan(&[spec(text)], &setting(10_000, 2, false)).unwrap_or_else(|error| panic!("{error}"));
    let mut desk = TaskRunner::new(tasks.clone(), 2);
    let mut counters = [counter(&tasks), counter(&tasks)];
    let mut answers = Vec::new();
    for (at, packets) in windows.iter().enumerate() {
        let window = WindowId::new(at as u64);
        for (worker, counter) in counters.iter_mut().enumerate() {
            if packets.is_empty() {
                desk.advance_worker(WorkerId::new(worker), WindowId::new(at as u64 + 1));
                continue;
            }
            let part: Vec<Packet> = packets.iter().skip(worker).step_by(2).copied().collect();
            count(counter, &part);
            let empty = Box::new(tasks.states().expect("memory"));
            desk.part(WorkerId::new(worker), window, counter.turn(empty));
        }
        let reported = ReportedFacts { is_cut: is_cut(at), ..ReportedFacts::from(Some(0)) };
        answers.push(desk.report(window, reported).pop());
    }
    answers
}

/// Asserts that the answer has the changes against this forecast that are at least `count`, to within `off`.
fn must_have(answer: &TaskAnswer, now: &Numbers, forecast: &Numbers, (count, off): (f64, f64), text: &str) {
    let found: HashMap<_, _> = flows(answer).iter().map(|flow| (flow.key, flow.estimate)).collect();
    let keys: std::collections::HashSet<_> = now.keys().chain(forecast.keys()).collect();
    for key in keys {
        let change = get(now, key) - get(forecast, key);
        if change.abs() >= count + off {
            assert!(found.contains_key(key), "{text}: {key:?} {change} of {found:?}");
        }
        if change.abs() < count - off {
            assert!(!found.contains_key(key), "{text}: {key:?} {change}");
        }
    }
    for (key, estimate) in found {
        let change = get(now, &key) - get(forecast, &key);
        assert!((estimate.value - change).abs() <= off, "{text}: {key:?} {estimate:?} {change}");
        let bounds = estimate.bounds.expect("bounds");
        assert!(
            bounds.lower - 1e-6 <= change && change <= bounds.upper + 1e-6,
            "{text}: {estimate:?} {change}"
        );
    }
}

#[test]
fn changes_are_those_against_the_models_forecast() {
    let windows = windows(1, 9);
    let (observed, keys) = observed(&windows);
    // A table is exact; in so many counters the sketches are off by little.
    for (structure, off) in [
        ("exact,memory=4MiB", 1e-6),
        ("flow-sample,memory=4MiB", 1e-6),
        ("k-ary,width=60000", 0.5),
        ("turnstile,width=60000", 0.5),
        ("reversible,width=65536", 0.5),
    ] {
        for (against, needed) in
            [("ewma", 1), ("ewma,alpha=0.75", 1), ("holt-winters", 2), ("holt-winters,alpha=0.5,beta=40%", 2)]
        {
            let text = format!("change:key={KEY},against={against},count=20,structure={structure}");
            let model = |before: &[Numbers]| match against {
                "ewma" => ewma(before, 0.3, &keys),
                "ewma,alpha=0.75" => ewma(before, 0.75, &keys),
                "holt-winters" => holt_winters(before, (0.3, 0.1), &keys),
                _ => holt_winters(before, (0.5, 0.4), &keys),
            };
            for (at, answer) in answers_of(&text, &windows, |_| false).iter().enumerate() {
                let answer = answer.as_ref().expect("an answer");
                if at < needed {
                    let says = format!("nothing to compare with: {at} of {needed} windows");
                    assert!(
                        answer.status.starts_with(&says) && flows(answer).is_empty(),
                        "{}",
                        answer.status
                    );
                    continue;
                }
                assert_eq!(answer.status, "ok", "{text}");
                let forecast = model(&observed[..at]).expect("a forecast");
                must_have(answer, &observed[at], &forecast, (20.0, off), &format!("{text} window {at}"));
                if structure.starts_with("exact") {
                    assert_eq!(answer.bounds(), "exact", "{text}");
                }
            }
        }
    }
}

/// A share is of the larger of the window's total and the total's forecast: 300 packets after 1,000 in each window.
#[test]
fn a_share_is_of_the_larger_total() {
    let of = |flow, packets| vec![Packet { key: v4(flow, 1, 1), bytes: 100 }; packets];
    let mut windows = vec![[of(1, 900), of(2, 100)].concat(); 3];
    windows.push([of(1, 100), of(2, 200)].concat());
    for (share, expected) in [("10%", 2), ("10.0001%", 1)] {
        let text = format!("change:against=ewma,share={share},structure=exact,memory=4MiB");
        let answer = answers_of(&text, &windows, |_| false).pop().flatten().expect("an answer");
        assert_eq!(flows(&answer).len(), expected, "{share}");
    }
}

/// A window that was watched only in part is neither compared nor observed; one without packets is observed as nothing.
#[test]
fn windows_are_observed_as_they_were_watched() {
    let mut windows = windows(2, 8);
    windows[5].clear();
    let (observed, keys) = observed(&windows);
    for text in ["ewma", "holt-winters"] {
        let task = format!("change:key={KEY},against={text},count=20,structure=exact,memory=4MiB");
        let answers = answers_of(&task, &windows, |at| at == 0 || at == 3);
        let mut whole: Vec<Numbers> = Vec::new();
        for (at, answer) in answers.iter().enumerate() {
            let forecast = match text {
                "ewma" => ewma(&whole, 0.3, &keys),
                _ => holt_winters(&whole, (0.3, 0.1), &keys),
            };
            match (answer, at) {
                (None, 5) => {}
                (Some(answer), 0 | 3) => {
                    assert!(answer.status.starts_with("not compared"), "{}", answer.status);
                    assert!(flows(answer).is_empty());
                }
                (Some(answer), _) => match forecast {
                    Some(forecast) => must_have(answer, &observed[at], &forecast, (20.0, 1e-6), text),
                    None => assert!(answer.status.starts_with("nothing to compare"), "{}", answer.status),
                },
                (None, _) => panic!("{text}: no answer of window {at}"),
            }
            if at != 0 && at != 3 {
                whole.push(observed[at].clone());
            }
        }
    }
}

/// Windows that are never reported, as they had no packets, count as nothing, however many they are.
#[test]
fn a_pause_is_observed_as_windows_without_packets() {
    let whole = windows(4, 4);
    for (against, pause, at) in ["ewma", "holt-winters"]
        .into_iter()
        .flat_map(|against| [0_u64, 1, 2, 7, 40, 1_000].map(|pause| (against, pause)))
        .flat_map(|(against, pause)| [1_usize, 3].map(|at| (against, pause, at)))
    {
        for (structure, off) in [("exact,memory=4MiB", 1e-6), ("k-ary,width=60000", 0.5)] {
            let text = format!("change:key={KEY},against={against},count=20,structure={structure}");
            let tasks = tasks(&[&text], &setting(10_000, 1, false));
            let (mut desk, mut counter) = (TaskRunner::new(tasks.clone(), 1), counter(&tasks));
            let mut last = None;
            for (window, packets) in whole.iter().enumerate() {
                let window = WindowId::new(window as u64 + if window < at { 0 } else { pause });
                count(&mut counter, packets);
                desk.part(WorkerId::new(0), window, counter.turn(Box::new(tasks.states().expect("memory"))));
                last = desk.report(window, Some(0)).pop();
            }
            let nothing = vec![Vec::new(); pause as usize];
            let (observed, keys) = observed(&[&whole[..at], &nothing[..], &whole[at..]].concat());
            let (now, before) = observed.split_last().expect("windows");
            let forecast = match against {
                "ewma" => ewma(before, 0.3, &keys),
                _ => holt_winters(before, (0.3, 0.1), &keys),
            };
            let answer = last.expect("an answer");
            must_have(
                &answer,
                now,
                &forecast.expect("a forecast"),
                (20.0, off),
                &format!("{text} pause {pause} at {at}"),
            );
        }
    }
}

/// Packets that were lost before may have been of any flow; a trend carries on what they were.
#[test]
fn losses_widen_what_comes_of_a_forecast() {
    let windows = windows(3, 4);
    for (against, has_bounds) in [("ewma", true), ("holt-winters", false)] {
        let text = format!("change:key={KEY},against={against},count=20,structure=exact,memory=4MiB");
        let tasks = tasks(&[&text], &setting(10_000, 1, false));
        let (mut desk, mut counter) = (TaskRunner::new(tasks.clone(), 1), counter(&tasks));
        let mut last = None;
        for (window, (packets, lost)) in (0..).map(WindowId::new).zip(windows.iter().zip([0, 7, 0, 0])) {
            count(&mut counter, packets);
            desk.part(WorkerId::new(0), window, counter.turn(Box::new(tasks.states().expect("memory"))));
            last = desk.report(window, Some(lost)).pop();
        }
        let answer = last.expect("an answer");
        assert!(!flows(&answer).is_empty());
        for flow in flows(&answer) {
            let width = flow.estimate.bounds.map(|bounds| bounds.upper - bounds.lower);
            assert_eq!(width, has_bounds.then_some(7.0), "{against}: {flow:?}");
        }
    }
}

/// A table that is full says so.
#[test]
fn a_forecast_without_room_says_what_it_lacks() {
    let packets: Vec<Vec<Packet>> = (0..3_u32)
        .map(|window| {
            let flow = |flow| Packet { key: v4(window * 100_000 + flow, 1, 1), bytes: 1 };
            (0..800).map(flow).collect()
        })
        .collect();
    let text = "change:against=ewma,count=1,structure=exact,memory=32KiB";
    let whole: Vec<&[Packet]> = packets.iter().map(|packets| &packets[..]).collect();
    let answers = answers(&tasks(&[text], &setting(900, 1, false)), &whole);
    let last = &answers[2][0];
    assert!(last.status.starts_with("incomplete"), "{}", last.status);
    assert!(flows(last).iter().all(|flow| flow.estimate.bounds.is_none()), "{:?}", last.rows);
}
