//! Every capture under `EDISON_TEST_DATA` with TCP in it, against tshark's `tcp.analysis.*`: holes,
//! retransmissions, segments out of order, zero windows and round trips, per connection and direction.
//!
//! The tracker gets the header fields that tshark shows, so that only the analysis is compared. Differences
//! that remain are listed in `tcp_support/differences.txt`, each with its reason. One that is not listed
//! fails, and so does a listed one that is no more.

use crate::tcp_support::differences::Listed;
use crate::tcp_support::tshark::{self, Endpoint, Row, pair};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tcp::{LossCounts, TcpConnection};
use testbed::captures::{self, CapturePath};

/// Captures that one tshark reads: its start takes longer than most of them.
const BATCH: usize = 50;

const THREADS: usize = 2;

/// Mean round trips may differ by this share: the tracker times three segments at once, tshark all.
const MEAN_TOLERANCE: f64 = 0.25;

/// What is compared of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
struct Figures {
    lost_segment: u32,
    retransmission: u32,
    out_of_order: u32,
    zero_window: u32,
    rtt: Vec<u64>,
}

impl Figures {
    fn add_rtt(&mut self, counts: &LossCounts) {
        // One segment ends at most one round trip of each direction. tshark shows none of zero.
        assert!(counts.rtt_count <= 1 && counts.rtt_min_ns == counts.rtt_sum_ns, "{counts:?}");
        self.rtt.extend((counts.rtt_sum_ns != 0).then_some(counts.rtt_sum_ns));
    }

    fn rtt_min(&self) -> Option<u64> {
        self.rtt.iter().copied().min()
    }

    fn rtt_avg(&self) -> Option<f64> {
        let sum: u64 = self.rtt.iter().sum();
        (!self.rtt.is_empty()).then(|| sum as f64 / self.rtt.len() as f64)
    }
}

type Connections = BTreeMap<(Endpoint, Endpoint), [Figures; 2]>;

fn by_tshark(rows: &[Row]) -> Connections {
    let mut connections = Connections::new();
    // Where segments were sent again, by connection and direction: frame and first sequence number.
    let mut sent_again = BTreeMap::<_, Vec<(u64, u32)>>::new();
    let ends: BTreeMap<u64, u32> =
        rows.iter().map(|row| (row.frame, row.segment.seq.wrapping_add(row.segment.payload))).collect();
    for row in rows {
        let (key, direction) = pair(row);
        let figures = connections.entry(key.clone()).or_default();
        let analysis = &row.analysis;
        let own = &mut figures[direction];
        own.lost_segment += u32::from(analysis.lost_segment);
        own.retransmission += u32::from(analysis.retransmission);
        own.out_of_order += u32::from(analysis.out_of_order);
        own.zero_window += u32::from(analysis.zero_window);
        if analysis.retransmission || analysis.out_of_order {
            let place = (row.frame, row.segment.seq);
            sent_again.entry((key.clone(), direction)).or_default().push(place);
        }
        // tshark times what was sent again too. By Karn's rule that is left out, and what waited for it.
        if let Some((rtt, frame)) = analysis.ack_rtt {
            let again = sent_again.get(&(key, 1 - direction)).map_or(&[][..], Vec::as_slice);
            let end = ends[&frame];
            let is_ambiguous =
                again.iter().any(|(at, seq)| *at >= frame && end.wrapping_sub(*seq).cast_signed() >= 0);
            if !is_ambiguous {
                figures[1 - direction].rtt.push(rtt);
            }
        }
    }
    connections
}

fn by_tracker(rows: &[Row]) -> Connections {
    let mut connections = Connections::new();
    let mut states = BTreeMap::<_, TcpConnection>::new();
    for row in rows {
        let (key, direction) = pair(row);
        let state = states.entry(key.clone()).or_default();
        state.segment(direction, &row.segment);
        let booked = state.take();
        let figures = connections.entry(key).or_default();
        for (figures, booked) in figures.iter_mut().zip(&booked) {
            figures.add_rtt(booked);
        }
        let (own, booked) = (&mut figures[direction], &booked[direction]);
        own.lost_segment += booked.hole_count;
        // Where the same segment opened a hole, loss was booked for the one that was pushed out.
        let has_repaired = booked.ploss_count != 0 && booked.hole_count == 0;
        own.retransmission += u32::from(booked.retrans_count != 0 || has_repaired);
        own.out_of_order += booked.reorder_count;
        own.zero_window += booked.zero_window_count;
    }
    connections
}

/// One line for each figure of a direction that differs, sorted.
fn difference(rows: &[Row]) -> Vec<String> {
    let (tshark, tracker) = (by_tshark(rows), by_tracker(rows));
    assert!(tshark.keys().eq(tracker.keys()));
    let mut lines = Vec::new();
    for ((key, theirs), ours) in tshark.iter().zip(tracker.values()) {
        for (direction, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
            let ((from, from_port), (to, to_port)) =
                if direction == 0 { (&key.0, &key.1) } else { (&key.1, &key.0) };
            let mut differs = |field: &str, ours: String, theirs: String| {
                lines.push(format!("{from} {from_port} {to} {to_port} {field} {ours} {theirs}"));
            };
            for (field, ours, theirs) in [
                ("lost_segment", ours.lost_segment, theirs.lost_segment),
                ("retransmission", ours.retransmission, theirs.retransmission),
                ("out_of_order", ours.out_of_order, theirs.out_of_order),
                ("zero_window", ours.zero_window, theirs.zero_window),
            ] {
                if ours != theirs {
                    differs(field, ours.to_string(), theirs.to_string());
                }
            }
            let show = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| ns.to_string());
            if ours.rtt_min() != theirs.rtt_min() {
                differs("rtt_min", show(ours.rtt_min()), show(theirs.rtt_min()));
            }
            let is_near = match (ours.rtt_avg(), theirs.rtt_avg()) {
                (Some(ours), Some(theirs)) => (ours - theirs).abs() <= theirs * MEAN_TOLERANCE,
                (ours, theirs) => ours.is_some() == theirs.is_some(),
            };
            if !is_near {
                let show = |mean: Option<f64>| show(mean.map(|ns| ns.round() as u64));
                differs("rtt_avg", show(ours.rtt_avg()), show(theirs.rtt_avg()));
            }
        }
    }
    lines.sort();
    lines
}

#[test]
fn every_connection_agrees_with_tshark() {
    let Some(folder) = std::env::var_os("EDISON_TEST_DATA").map(PathBuf::from) else {
        eprintln!("skipped: EDISON_TEST_DATA names no folder of captures");
        return;
    };
    assert_eq!(tshark::missing_program(), None, "a program that the test needs is not installed");
    let captures = captures::find(&folder);
    assert!(!captures.is_empty(), "no captures in {}", folder.display());
    let listed =
        Listed::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tcp_support/differences.txt"));

    let failures = Mutex::new(Vec::new());
    let (segments, next) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let batches: Vec<&[CapturePath]> = captures.chunks(BATCH).collect();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((number, batch)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    batches.get(number).map(|batch| (number, batch))
                } {
                    for (capture, rows) in batch.iter().zip(tshark::read(number, batch)) {
                        segments.fetch_add(rows.len(), Ordering::Relaxed);
                        let found = difference(&rows);
                        let expected = listed.of(&capture.name);
                        if found != expected {
                            let found = found.join("\n  ");
                            let text = format!(
                                "{}\n  {found}\n  listed are {} lines\n",
                                capture.name,
                                expected.len()
                            );
                            failures.lock().expect("no panic").push(text);
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no panic");
    let names: BTreeSet<&String> = captures.iter().map(|capture| &capture.name).collect();
    failures.extend(
        listed
            .names()
            .filter(|name| !names.contains(name))
            .map(|name| format!("{name}\n  listed in differences.txt, but there is no such capture\n")),
    );
    failures.sort();
    let segments = segments.into_inner();
    assert!(segments > 0, "no TCP in {}", folder.display());
    println!("{segments} segments");
    assert!(
        failures.is_empty(),
        "{} of {} captures do not agree with tshark (ours, then tshark's)\n\n{}",
        failures.len(),
        captures.len(),
        failures.join("\n")
    );
}
