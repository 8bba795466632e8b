//! A path's frames against its truth, counted from the bytes of the frames.

use std::collections::{HashMap, HashSet};
use traffic::{LossTruth, Path, PathSpec, TapFrame};

fn frames(text: &str) -> (Vec<TapFrame>, Path) {
    let mut path = Path::new(text.parse().unwrap());
    let frames = std::iter::from_fn(|| path.next_frame()).collect();
    (frames, path)
}

/// Port of the client, sequence number and payload of a data segment.
fn data(frame: &TapFrame) -> Option<(u16, u32, u32)> {
    let word = |at: usize| u32::from_be_bytes(frame.data[at..at + 4].try_into().unwrap());
    let payload = u32::from(u16::from_be_bytes([frame.data[16], frame.data[17]])) - 40;
    let port = u16::from_be_bytes([frame.data[34], frame.data[35]]);
    (payload != 0).then(|| (port, word(38), payload))
}

/// Port of the client and sequence number of a SYN.
fn syn(frame: &TapFrame) -> Option<(u16, u32)> {
    let seq = u32::from_be_bytes(frame.data[38..42].try_into().unwrap());
    let port = u16::from_be_bytes([frame.data[34], frame.data[35]]);
    (frame.data[47] == 2).then_some((port, seq))
}

#[test]
fn taps_see_what_the_truth_says() {
    for text in [
        "",
        "hops=1,lossy=1,loss=5%,seed=2",
        "hops=5,lossy=4,loss=0.5%,connections=3,seed=9",
        "reorder=3%,seed=3",
    ] {
        let (frames, path) = frames(text);
        let spec: PathSpec = text.parse().unwrap();
        let truth = path.truth();
        assert!(frames.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
        assert_eq!(truth.taps.len(), spec.hops as usize + 1);
        let mut lost = 0;
        for (tap, expected) in (0..).zip(&truth.taps) {
            let here = || frames.iter().filter(|frame| frame.tap == tap);
            assert_eq!(here().count() as u64, expected.packets);
            // Sent again and seen before; and first seen although later ones were.
            let (mut seen, mut highest) = (HashSet::new(), HashMap::new());
            let (mut again, mut late, mut overtaken) = (0, 0, 0);
            // Nothing is repaired before the rest of the window and the way there and back have gone by.
            let mut skipped: HashMap<(u16, u32), u64> = HashMap::new();
            let syns: HashMap<u16, u32> = here().filter_map(syn).collect();
            for (time_ns, (port, seq, payload)) in here().filter_map(|it| Some((it.time_ns, data(it)?))) {
                assert_eq!(payload, 1460);
                let offset = seq.wrapping_sub(syns[&port]);
                let highest = highest.entry(port).or_insert(1 - 1460_i64);
                let offset = i64::from(offset);
                let missing = (*highest + 1460..offset).step_by(1460);
                skipped.extend(missing.map(|offset| ((port, offset as u32), time_ns)));
                if !seen.insert((port, seq)) {
                    again += 1;
                } else if offset < *highest {
                    let since = time_ns - skipped[&(port, offset as u32)];
                    late += u64::from(since > 5_000_000);
                    overtaken += u64::from(since <= 100_000);
                }
                *highest = offset.max(*highest);
            }
            let expected = LossTruth { ..expected.loss };
            let found = LossTruth {
                ploss_byte: late * 1460,
                ploss_count: late,
                reorder_count: overtaken,
                retrans_byte: again * 1460,
                retrans_count: again,
            };
            assert_eq!(found, expected, "{text} tap {tap}");
            let delays = tap >= spec.lossy && spec.reorder_ppm != 0;
            assert_eq!(overtaken > 0, delays, "{text} tap {tap}");
            // Everything arrives at every tap in the end.
            assert_eq!(seen.len() as u32, spec.connections * spec.segments);
            lost = lost.max(late);
        }
        assert_eq!((truth.lost_count, truth.lost_byte), (lost, lost * 1460));
        assert!(lost > 0);
    }
}

#[test]
fn bad_specifications_say_what_is_wrong() {
    let cases = [
        ("hops=2,lossy=3", "lossy=3: there are only 2 hops"),
        ("hops=0", "hops=0: must be from 1 to 16"),
        ("hops=2, loss=1%,hops=2", "hops is given twice"),
        ("reorder=30%", "reorder: at most 20%"),
        ("loss=30%", "loss: at most 20%: more stalls every connection"),
        (
            "lossyhop=1",
            "unknown key \"lossyhop\". There are: connections, segments, hops, lossy, loss, reorder, rtt, seed",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<PathSpec>().unwrap_err().to_string(), expected);
    }
    let spec: PathSpec =
        "connections=7,segments=300,hops=4,lossy=3,loss=2.5%,reorder=0.5%,rtt=30k,seed=5".parse().unwrap();
    assert_eq!(spec.to_string().parse::<PathSpec>().unwrap(), spec);
}
