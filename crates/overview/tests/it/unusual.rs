//! What is unusual: nothing on a day without plants, and each plant at twice its threshold, but not at half of it.

use crate::support::{BEGIN, Draw, Fed, MINUTE, SECOND, Sent, ip};
use model::view::unusual::{RuleState, UnusualEntry, UnusualRule};
use model::{Counters, Value};
use overview::OverviewSetting;
use overview::thresholds::{
    FLOW_LOSS, FLOW_LOST_BYTES, HEAVY_SHARE, MANY_SOURCES, NODE_LOSS, NODE_LOST_PACKETS, SCAN_DESTINATIONS,
    SCAN_PORTS, SILENT_PART,
};

/// The windows of a minute: the engine's are usually shorter, which is as much as a test of an open minute needs.
const WINDOWS: u64 = 3;

/// Returns the flows of a window of ordinary traffic at a time of the day: servers that answer clients, each for some time, and more by day than
/// by night.
fn ordinary(draw: &mut Draw, window: u64) -> Vec<Sent> {
    let hour = window / (WINDOWS * 60) % 24;
    let load = 4 + hour.min(24 - hour);
    let mut sent = Vec::new();
    for server in 0..12_u32 {
        let clients = load * 2 + draw.below(load);
        for _ in 0..clients {
            let client = 0xc633_0000 + draw.below(3_000) as u32;
            let own = 40_000 + draw.below(20_000) as u16;
            let bytes = 2_000 + draw.below(60_000);
            let server = 0xc000_0200 + server;
            sent.push(Sent::new(server, client, [443, own], bytes));
            sent.push(Sent::new(client, server, [own, 443], bytes / 20 + 60));
        }
    }
    // A resolver that asks many, all of whom answer.
    for _ in 0..load * 3 {
        let other = 0xcb00_7100 + draw.below(150) as u32;
        let own = 20_000 + draw.below(40_000) as u16;
        sent.push(Sent { protocol: 17, ..Sent::new(0xc000_0235, other, [own, 53], 80) });
        sent.push(Sent { protocol: 17, ..Sent::new(other, 0xc000_0235, [53, own], 300) });
    }
    // A little is lost, always.
    for one in sent.iter_mut().step_by(50) {
        one.lost = one.bytes / 200;
    }
    sent
}

/// A node whose packets no map counts.
fn fed() -> Fed {
    let window_ns = MINUTE / WINDOWS;
    Fed { counts: false, ..Fed::new(OverviewSetting::live(window_ns), window_ns, MINUTE, 1 << 30) }
}

/// Feeds minutes of ordinary traffic, to each window of which `plant` adds.
fn feed(
    fed: &mut Fed,
    draw: &mut Draw,
    minutes: std::ops::Range<u64>,
    mut plant: impl FnMut(&mut Vec<Sent>),
) {
    for window in minutes.start * WINDOWS..minutes.end * WINDOWS {
        let mut sent = ordinary(draw, window);
        plant(&mut sent);
        fed.window(BEGIN + window * MINUTE / WINDOWS, &sent);
    }
}

fn entries(fed: &Fed) -> Vec<UnusualEntry> {
    fed.overview.unusual(None).expect("all nodes").entries
}

#[test]
fn a_day_without_plants_lists_nothing() {
    let (mut fed, mut draw) = (fed(), Draw(11));
    for hour in 0..24 {
        feed(&mut fed, &mut draw, hour * 60..(hour + 1) * 60, |_| {});
        let found = entries(&fed);
        assert!(found.is_empty(), "hour {hour}: {found:#?}");
    }
    let unusual = fed.overview.unusual(None).expect("all nodes");
    assert!(unusual.rules.iter().all(|rule| rule.state == RuleState::Watched), "{:?}", unusual.rules);
    assert_eq!(unusual.rules.len(), UnusualRule::ALL.len());
}

/// Feeds an hour of ordinary traffic, a minute with a plant of this part of its threshold, and a minute without it. Returns what is found within
/// the minute, and in the end.
fn planted(plant: impl Fn(&mut Draw, &mut Vec<Sent>)) -> [Vec<UnusualEntry>; 2] {
    let (mut fed, mut draw) = (fed(), Draw(12));
    feed(&mut fed, &mut draw, 0..60, |_| {});
    assert!(entries(&fed).is_empty());
    let mut own = Draw(13);
    feed(&mut fed, &mut draw, 60..61, |sent| plant(&mut own, sent));
    let during = entries(&fed);
    feed(&mut fed, &mut draw, 61..63, |_| {});
    [during, entries(&fed)]
}

/// Checks that a plant appears at twice its threshold, that it is over afterwards, and that at half of it there is nothing.
fn check(rule: UnusualRule, by: &str, plant: impl Fn(f64, &mut Draw, &mut Vec<Sent>)) -> UnusualEntry {
    let [during, after] = planted(|draw, sent| plant(2.0, draw, sent));
    let of_rule: Vec<&UnusualEntry> =
        during.iter().filter(|entry| entry.rule == rule && entry.by == by).collect();
    let [entry] = of_rule[..] else { panic!("{rule:?} {by}: {during:#?}") };
    assert_eq!((entry.since_ns, entry.until_ns), (BEGIN + 60 * MINUTE, None));
    let over = after.iter().find(|other| other.id == entry.id).expect("it stays for an hour");
    assert_eq!(over.until_ns, Some(BEGIN + 61 * MINUTE));
    let [during, after] = planted(|draw, sent| plant(0.5, draw, sent));
    assert!(during.is_empty() && after.is_empty(), "{rule:?} {by}: {during:#?} {after:#?}");
    entry.clone()
}

/// Returns how many of a minute's are a window's.
fn of_window(all: f64) -> u64 {
    (all / WINDOWS as f64).ceil() as u64
}

#[test]
fn a_scan_of_addresses() {
    let scanner = 0xc633_644d;
    let entry = check(UnusualRule::Scan, "source", |times, draw, sent| {
        for _ in 0..of_window(SCAN_DESTINATIONS as f64 * times) {
            let to = 0x0a14_0000 + draw.below(1 << 24) as u32;
            sent.push(Sent { packets: 1, ..Sent::new(scanner, to, [51_000, 3_389], 60) });
        }
    });
    assert_eq!(entry.key[0].value, Value::Address(ip(scanner)));
    let Value::Unsigned(destinations) = entry.figure.value else { panic!("{entry:#?}") };
    assert!((400..=402).contains(&destinations), "{destinations}");
    assert_eq!((entry.threshold.value, entry.node.as_deref()), (200.0, Some("eth0")));
    assert!(entry.past.window.is_some() && entry.text.contains("sent nothing back"), "{entry:#?}");
}

#[test]
fn a_scan_of_ports() {
    let entry = check(UnusualRule::Scan, "conversation", |times, draw, sent| {
        for _ in 0..of_window(SCAN_PORTS as f64 * times) {
            let port = 1 + draw.below(30_000) as u16;
            sent.push(Sent { packets: 1, ..Sent::new(0xc633_644d, 0xc000_0201, [51_000, port], 60) });
        }
    });
    assert!(matches!(entry.figure.value, Value::Estimate { lower, .. } if lower >= 50.0), "{entry:#?}");
}

#[test]
fn many_sources_of_one_destination() {
    // Ordinary servers have some 200 clients in a minute: the threshold is a multiple of that at most.
    let entry = check(UnusualRule::ManyToOne, "destination", |times, draw, sent| {
        for _ in 0..of_window(MANY_SOURCES as f64 * times) {
            let from = draw.below(1 << 31) as u32;
            sent.push(Sent { packets: 1, ..Sent::new(from, 0xc000_0277, [9_000, 80], 60) });
        }
    });
    assert_eq!(entry.key[0].value, Value::Address(ip(0xc000_0277)));
    // Its past is at most that of the 100 destinations with the most sources, far below the threshold.
    assert!(entry.past.value.as_unsigned().expect("known") <= 125, "{entry:#?}");
}

#[test]
fn a_connection_that_loses() {
    let entry = check(UnusualRule::Loss, "flow", |times, _, sent| {
        let lost = (FLOW_LOST_BYTES as f64 * times / WINDOWS as f64) as u64 + 1;
        // Twice the share at twice the bytes: lost / (lost + bytes).
        let bytes = (lost as f64 * (1.0 - FLOW_LOSS * times) / (FLOW_LOSS * times)) as u64;
        sent.push(Sent { lost, ..Sent::new(0xc633_6401, 0xc000_0203, [50_001, 443], bytes) });
    });
    assert_eq!(entry.key.len(), 5);
    assert!(matches!(entry.figure.value, Value::Float(share) if (0.09..0.11).contains(&share)), "{entry:#?}");
}

#[test]
fn a_node_that_loses_packets() {
    for (times, is_found) in [(2.0, true), (0.5, false)] {
        let (mut fed, mut draw) = (fed(), Draw(12));
        feed(&mut fed, &mut draw, 0..60, |_| {});
        for window in 60 * WINDOWS..61 * WINDOWS {
            let sent = ordinary(&mut draw, window);
            fed.window_with(BEGIN + window * MINUTE / WINDOWS, &sent, |facts| {
                // Both the share and the number: half of each is below its threshold.
                let share = facts.frames.received as f64 * NODE_LOSS * times;
                let lost = share.max(NODE_LOST_PACKETS as f64 * times / WINDOWS as f64);
                facts.loss = Some([("imissed", lost.ceil() as u64)].into_iter().collect::<Counters>());
            });
        }
        let found = entries(&fed);
        assert_eq!(
            found.iter().any(|entry| entry.rule == UnusualRule::Loss && entry.by == "node"),
            is_found,
            "{found:#?}"
        );
        assert_eq!(found.len(), usize::from(is_found));
    }
}

#[test]
fn a_new_heavy_talker() {
    let [from, to] = [0xc000_020c, 0xcb00_7128];
    let entry = check(UnusualRule::Heavy, "conversation", |times, _, sent| {
        let others: u64 = sent.iter().map(|one| one.bytes).sum();
        let share = HEAVY_SHARE * times;
        sent.push(Sent::new(from, to, [40_022, 22], (others as f64 * share / (1.0 - share)) as u64));
    });
    // What is not among the leaders had less than the least of them.
    assert!(matches!(entry.past.value, Value::Float(share) if share < 0.05), "{entry:#?}");
    assert!(matches!(entry.figure.value, Value::Float(share) if (0.39..0.41).contains(&share)), "{entry:#?}");
    // Its source and its destination are not listed as well.
    let [during, _] = planted(|_, sent| {
        let others: u64 = sent.iter().map(|one| one.bytes).sum();
        sent.push(Sent::new(from, to, [40_022, 22], others));
    });
    assert_eq!(during.len(), 1, "{during:#?}");
}

#[test]
fn a_source_that_falls_silent() {
    for (times, is_found) in [(2.0, true), (0.5, false)] {
        let (mut fed, mut draw) = (fed(), Draw(12));
        let steady = |part: f64| {
            move |sent: &mut Vec<Sent>| {
                let others: u64 = sent.iter().map(|one| one.bytes).sum();
                sent.push(Sent::new(
                    0xc000_023d,
                    0xcb00_715a,
                    [40_100, 9_100],
                    (others as f64 * 0.11 * part) as u64,
                ));
            }
        };
        feed(&mut fed, &mut draw, 0..60, steady(1.0));
        assert!(entries(&fed).is_empty(), "{:#?}", entries(&fed));
        // Less than a tenth: a twentieth, and a fifth.
        feed(&mut fed, &mut draw, 60..61, steady(SILENT_PART / times));
        let found = entries(&fed);
        assert_eq!(found.len(), usize::from(is_found), "{found:#?}");
        if is_found {
            assert_eq!((found[0].rule, found[0].by.as_str()), (UnusualRule::Silence, "source"));
            // It stays silent, and that is one entry.
            feed(&mut fed, &mut draw, 61..75, |_| {});
            let found = entries(&fed);
            assert_eq!((found.len(), found[0].until_ns), (1, None), "{found:#?}");
        }
    }
}

#[test]
fn a_node_without_packets() {
    let (mut fed, mut draw) = (fed(), Draw(12));
    feed(&mut fed, &mut draw, 0..60, |_| {});
    for window in 60 * WINDOWS..61 * WINDOWS {
        fed.window_with(BEGIN + window * MINUTE / WINDOWS, &[], |facts| {
            facts.frames = model::PacketCounts::default()
        });
    }
    let found = entries(&fed);
    assert_eq!(
        (found.len(), found[0].rule, found[0].by.as_str()),
        (1, UnusualRule::Silence, "node"),
        "{found:#?}"
    );
    // One that comes back is over.
    feed(&mut fed, &mut draw, 61..63, |_| {});
    assert_eq!(entries(&fed)[0].until_ns, Some(BEGIN + 61 * MINUTE));
}

#[test]
fn a_scan_that_goes_on_is_one_entry_and_is_usual_after_an_hour() {
    let (mut fed, mut draw, mut own) = (fed(), Draw(12), Draw(13));
    feed(&mut fed, &mut draw, 0..20, |_| {});
    let mut scan = |sent: &mut Vec<Sent>| {
        for _ in 0..140 {
            let to = 0x0a14_0000 + own.below(1 << 24) as u32;
            sent.push(Sent { packets: 1, ..Sent::new(0xc633_644d, to, [51_000, 3_389], 60) });
        }
    };
    feed(&mut fed, &mut draw, 20..50, &mut scan);
    let found = entries(&fed);
    assert_eq!(
        (found.len(), found[0].since_ns, found[0].until_ns),
        (1, BEGIN + 20 * MINUTE, None),
        "{found:#?}"
    );
    feed(&mut fed, &mut draw, 50..90, &mut scan);
    assert_eq!(entries(&fed)[0].until_ns, Some(BEGIN + 80 * MINUTE), "{:#?}", entries(&fed));
}

#[test]
fn what_is_too_much_is_said_before_its_minute_is_over() {
    let (mut fed, mut draw) = (Fed { counts: false, ..Fed::live() }, Draw(13));
    let scan = |draw: &mut Draw| -> Vec<Sent> {
        let to = |draw: &mut Draw| 0x0a14_0000 + draw.below(1 << 24) as u32;
        (0..250).map(|_| Sent::new(0xc633_644d, to(draw), [51_000, 3_389], 60)).collect()
    };
    fed.window(BEGIN, &scan(&mut draw));
    let found = entries(&fed);
    assert_eq!((found.len(), found[0].until_ns), (1, None), "{found:#?}");
    // The figure grows as the minute goes on, and the entry stays the same one.
    let id = found[0].id.clone();
    fed.window(BEGIN + 10 * SECOND, &scan(&mut draw));
    let found = entries(&fed);
    assert_eq!((found.len(), &found[0].id), (1, &id), "{found:#?}");
    assert!(found[0].figure.value.as_unsigned().is_some_and(|count| count > 490), "{found:#?}");
}

#[test]
fn a_short_capture_with_a_scan_has_it() {
    let window_ns = SECOND / 10;
    let mut fed = Fed::new(OverviewSetting::capture(window_ns), window_ns, window_ns, 1 << 30);
    let (mut draw, mut own) = (Draw(12), Draw(13));
    for window in 0..80 {
        let mut sent = ordinary(&mut draw, window);
        sent.truncate(10);
        for _ in 0..10 {
            let to = 0x0a14_0000 + own.below(1 << 24) as u32;
            sent.push(Sent { packets: 1, ..Sent::new(0xc633_644d, to, [51_000, 3_389], 60) });
        }
        fed.window(BEGIN + window * window_ns, &sent);
    }
    fed.recorder.finish();
    let found = entries(&fed);
    assert_eq!((found.len(), found[0].rule), (1, UnusualRule::Scan), "{found:#?}");
    // The capture is over, and so is all in it.
    assert!(found[0].until_ns.is_some(), "{found:#?}");
    // Nothing is known of its past.
    assert_eq!((&found[0].past.value, found[0].past.window), (&Value::Null, None));
}
