//! How much there is, compared with before.

use super::played::{SECOND, START, node, play};
use crate::support::capture::{self, Frame};
use crate::support::output::number;
use crate::support::scratch::{Scratch, text};
use std::collections::BTreeMap;
use std::net::IpAddr;

const NOTHING: &str = "packets=80k,flows=1k,rate=2k";

/// Of each second, the entropy of sources by bytes.
fn entropies(frames: &[Frame]) -> Vec<f64> {
    let mut seconds: BTreeMap<u64, BTreeMap<IpAddr, u64>> = BTreeMap::new();
    for frame in frames {
        let ((from, ..), length) = capture::layer3(&frame.data);
        *seconds.entry((frame.time_ns - START) / SECOND).or_default().entry(from).or_default() += length;
    }
    let entropy = |of: &BTreeMap<IpAddr, u64>| {
        let total = of.values().sum::<u64>() as f64;
        of.values().map(|bytes| *bytes as f64 / total).map(|share| -share * share.log2()).sum()
    };
    seconds.values().map(entropy).collect()
}

/// The seconds in which the entropy is below a share of its mean over the ten seconds before, but for the last one, which is cut.
fn low(frames: &[Frame]) -> Vec<usize> {
    let bits = entropies(frames);
    let is_low = |at: &usize| {
        let before = &bits[at.saturating_sub(10)..*at];
        before.len() >= 5 && bits[*at] < 0.8 * before.iter().sum::<f64>() / before.len() as f64
    };
    (0..bits.len() - 1).filter(is_low).collect()
}

#[test]
fn drop_in_entropy() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, &format!("{NOTHING},plant=elephant:share=5%"));
    let low = low(&generated.frames);
    assert!(low.len() > 3 && low.is_sorted_by(|a, b| a + 1 == *b), "{low:?}");
    let (first, after) = (low[0] * 1000, (low[low.len() - 1] + 1) * 1000);
    let played = play(&scratch, "Drop in entropy", &[text(&generated.path)]);
    let expected =
        [format!("{first}..{} fired few", first + 1000), format!("{after}..{} resolved few", after + 1000)];
    assert_eq!(played.happened(), expected);
    let [(window, rows)] = played.answers_of("few")[..] else { panic!("one answer") };
    assert_eq!(
        (window, rows[0]["src_addr"].as_str()),
        ([first as u64, first as u64 + 1000], Some("192.0.2.10"))
    );
}

#[test]
fn no_drop_in_entropy() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, NOTHING);
    assert_eq!(low(&generated.frames), [] as [usize; 0]);
    let played = play(&scratch, "Drop in entropy", &[text(&generated.path)]);
    assert_eq!(played.happened(), [] as [String; 0]);
}

/// So many packets within some milliseconds, from and to hosts with these last octets.
fn packets(hosts: [u8; 2], number: u64, begin_ms: u64, length_ms: u64) -> impl Iterator<Item = Frame> {
    let mut data = capture::udp(5000);
    (data[29], data[33]) = (hosts[0], hosts[1]);
    let time = move |n: u64| START + (begin_ms * number + length_ms * n) * 1_000_000 / number + 1000;
    (0..number).map(move |n| Frame { time_ns: time(n), data: data.clone() })
}

#[test]
fn microburst() {
    let scratch = Scratch::new();
    // 50 packets a second, and 60 within 20 ms.
    let steady = || packets([1, 1], 1000, 0, 20_000);
    let source = node(&scratch, "here", steady().chain(packets([2, 1], 60, 12_310, 20)).collect());
    let played = play(&scratch, "Microburst", &[&source]);
    assert_eq!(played.happened(), ["12300..12400 fired burst", "12400..12500 resolved burst"]);
    let load = played.answers_of("load");
    let (_, rows) = load.iter().find(|(window, _)| window[0] == 12_300).expect("its window");
    assert_eq!(rows[0]["most"]["top"][0]["value"], "192.0.2.2");
    assert_eq!((number(&rows[0]["bytes"]), rows[0]["usual"].as_f64()), (65 * 46, Some(230.0)));
    let burst = played.answers_of("burst");
    let windows: Vec<u64> = burst.iter().map(|(window, _)| window[0]).collect();
    assert_eq!(windows, Vec::from_iter((14_400..15_400).step_by(100)));
    assert!(burst.iter().all(|(_, rows)| rows.len() == 1 && rows[0]["src_addr"] == "192.0.2.1"));
}

#[test]
fn no_microburst() {
    let scratch = Scratch::new();
    // The same packets within two seconds are none.
    let frames = packets([1, 1], 1000, 0, 20_000).chain(packets([2, 1], 60, 12_310, 2000));
    let source = node(&scratch, "here", frames.collect());
    assert_eq!(play(&scratch, "Microburst", &[&source]).happened(), [] as [String; 0]);
}

#[test]
fn baseline_exceeded() {
    let scratch = Scratch::new();
    // Five hosts are sent 20 packets in ten seconds each; one of them a hundred times as many for thirty seconds.
    let steady = || (1..6).flat_map(|host| packets([1, host], 400, 0, 200_000));
    let more = packets([9, 3], 6000, 100_000, 30_000);
    let source = node(&scratch, "here", steady().chain(more).collect());
    let played = play(&scratch, "Baseline exceeded", &[&source]);
    // The mean of a minute with one such window is less than a fourth of it, with two it is not.
    let expected = ["110000..120000 fired above 198.51.100.3", "120000..130000 resolved above 198.51.100.3"];
    assert_eq!(played.happened(), expected);
    let [(window, rows)] = played.answers_of("above")[..] else { panic!("one answer") };
    assert_eq!(window, [130_000, 140_000]);
    assert_eq!((rows.len(), number(&rows[0]["bytes"])), (1, 20 * 46));
}

#[test]
fn baseline_not_exceeded() {
    let scratch = Scratch::new();
    // One window is not two; what is small may be a multiple of nothing.
    let steady = (1..6).flat_map(|host| packets([1, host], 400, 0, 200_000));
    let frames =
        steady.chain(packets([9, 3], 2000, 100_000, 10_000)).chain(packets([1, 77], 100, 130_000, 40_000));
    let source = node(&scratch, "here", frames.collect());
    assert_eq!(play(&scratch, "Baseline exceeded", &[&source]).happened(), [] as [String; 0]);
}
