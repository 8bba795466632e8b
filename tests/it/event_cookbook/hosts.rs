//! Hosts that stand out.

use super::played::{SECOND, START, node, play};
use crate::support::capture::{self, Frame};
use crate::support::output::number;
use crate::support::scratch::{Scratch, text};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Traffic in which nothing is planted, and no source has as many destinations or bytes.
const NOTHING: &str = "packets=80k,flows=1k,rate=2k";

#[test]
fn scanner() {
    let scratch = Scratch::new();
    let plant = "plant=scan:share=5%:targets=2k:start=30%:end=50%";
    let generated = capture::generate(&scratch, &format!("{NOTHING},{plant}"));
    // An independent count: destinations of each source in windows of 10 s.
    let mut targets: BTreeMap<(u64, IpAddr), BTreeSet<IpAddr>> = BTreeMap::new();
    for frame in &generated.frames {
        let ((from, to, ..), _) = capture::layer3(&frame.data);
        targets.entry(((frame.time_ns - START) / (10 * SECOND), from)).or_default().insert(to);
    }
    let most: Vec<_> = targets.iter().filter(|(_, of)| of.len() > 200).collect();
    let [((1, scanner), of)] = most[..] else { panic!("one source in one window is expected: {most:?}") };
    let played = play(&scratch, "Scanner", &[text(&generated.path)]);
    let expected =
        [format!("10000..20000 fired scan {scanner}"), format!("20000..30000 resolved scan {scanner}")];
    assert_eq!(played.happened(), expected);
    // The answer is of the window that fired.
    let [(window, rows)] = played.answers_of("scan")[..] else { panic!("one answer") };
    assert_eq!((window, rows.len()), ([10_000, 20_000], 1));
    assert_eq!((number(&rows[0]["dst_port"]), number(&rows[0]["targets"])), (22, of.len() as u64));
}

#[test]
fn no_scanner() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, NOTHING);
    let played = play(&scratch, "Scanner", &[text(&generated.path)]);
    assert_eq!(played.happened(), [] as [String; 0]);
}

#[test]
fn new_heavy_hitter() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, &format!("{NOTHING},plant=elephant:share=5%"));
    let played = play(&scratch, "New heavy hitter", &[text(&generated.path)]);
    // It begins with second 10; a tenth of it is usual one second later.
    let expected = ["10000..11000 fired heavy 192.0.2.10", "11000..12000 resolved heavy 192.0.2.10"];
    assert_eq!(played.happened(), expected);
    let bytes = |frame: &&Frame| {
        let ((from, ..), length) = capture::layer3(&frame.data);
        let is_it = from == IpAddr::from([192, 0, 2, 10]);
        (is_it && (frame.time_ns - START) / SECOND == 13).then_some(length)
    };
    let sent: u64 = generated.frames.iter().filter_map(|frame| bytes(&frame)).sum();
    let [(window, rows)] = played.answers_of("heavy")[..] else { panic!("one answer") };
    assert_eq!((window, rows.len(), number(&rows[0]["bytes"])), ([13_000, 14_000], 1, sent));
}

#[test]
fn no_new_heavy_hitter() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, NOTHING);
    let played = play(&scratch, "New heavy hitter", &[text(&generated.path)]);
    assert_eq!(played.happened(), [] as [String; 0]);
    // One that was there from the beginning is not new.
    let generated =
        capture::generate(&scratch, &format!("{NOTHING},plant=elephant:share=5%:start=0%:end=100%"));
    let frames = generated.frames.into_iter().filter(|frame| frame.time_ns < START + 39 * SECOND);
    let source = node(&scratch, "here", frames.collect());
    let played = play(&scratch, "New heavy hitter", &[&source]);
    assert_eq!(played.happened(), [] as [String; 0]);
}
