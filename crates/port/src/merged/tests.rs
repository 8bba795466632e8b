use super::*;
use crate::CaptureWriter;
use std::path::{Path, PathBuf};

/// Frames as (time, first byte).
type Frames = Vec<(u64, u8)>;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("edison-merged-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn write(folder: &Path, name: &str, frames: &[(u64, u8)]) -> String {
    let path = folder.join(name);
    let mut writer = CaptureWriter::create(&path, 1, 65_535).expect("a file");
    for &(time_ns, first) in frames {
        writer.write(time_ns, &[first; 60], 60).expect("a frame");
    }
    writer.finish().expect("the rest");
    path.to_str().expect("UTF-8").to_owned()
}

fn read(paths: &[String], burst: usize) -> (Frames, Option<SourceError>, Vec<String>) {
    let mut source = MergedSource::open(paths, burst).expect("files");
    let mut frames = Vec::new();
    loop {
        match source.rx_burst() {
            Ok(Poll::Burst(burst)) => {
                frames.extend(burst.frames().map(|frame| (frame.time_ns, frame.data[0])))
            }
            Ok(Poll::Idle) => {}
            Ok(Poll::Ended) => return (frames, None, source.warnings()),
            Err(error) => {
                assert!(matches!(source.rx_burst(), Ok(Poll::Ended)));
                return (frames, Some(error), source.warnings());
            }
        }
    }
}

/// Heads compared one by one, the first of equals.
fn merged(files: &[Frames]) -> Frames {
    let mut at = vec![0; files.len()];
    let mut all = Vec::new();
    loop {
        let heads = (0..files.len()).filter(|&file| at[file] < files[file].len());
        let Some(next) = heads.min_by_key(|&file| files[file][at[file]].0) else { return all };
        all.push(files[next][at[next]]);
        at[next] += 1;
    }
}

#[test]
fn frames_come_by_time_whatever_the_order_of_the_files() {
    let folder = folder("order");
    let files: Vec<Frames> = vec![
        (0..500).map(|n| (1000 + 10 * n, 1)).collect(),
        (0..700).map(|n| (1000 + 7 * n, 2)).collect(),
        Vec::new(),
        // Behind all others, and one that goes back.
        vec![(90_000, 3), (5, 3), (95_000, 3)],
        vec![(1, 4), (2, 4)],
    ];
    let paths: Vec<_> =
        files.iter().enumerate().map(|(n, frames)| write(&folder, &format!("{n}.pcap"), frames)).collect();
    for burst in [1, 3, 256] {
        assert_eq!(read(&paths, burst), (merged(&files), None, Vec::new()));
        let turned: Vec<_> = paths.iter().rev().cloned().collect();
        let mut expected = merged(&files.iter().rev().cloned().collect::<Vec<_>>());
        let (mut frames, ..) = read(&turned, burst);
        assert_eq!(frames.iter().map(|frame| frame.0).collect::<Vec<_>>(), {
            expected.iter().map(|frame| frame.0).collect::<Vec<_>>()
        });
        frames.sort_unstable();
        expected.sort_unstable();
        assert_eq!(frames, expected);
    }
    let source = MergedSource::open(&paths, 8).expect("files");
    assert_eq!(source.name(), "5 files");
    let size = paths.iter().map(|path| std::fs::metadata(path).expect("a file").len()).sum();
    assert_eq!(source.progress().and_then(|progress| progress.total), Some(size));
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn one_damaged_file_leaves_the_others_whole() {
    let folder = folder("damaged");
    let whole = write(&folder, "whole.pcap", &[(1, 1), (4, 1), (9, 1)]);
    let cut = write(&folder, "cut.pcap", &[(2, 2), (3, 2), (5, 2)]);
    let bytes = std::fs::read(&cut).expect("a file");
    std::fs::write(&cut, &bytes[..bytes.len() - 7]).expect("written");
    let foreign = folder.join("foreign.txt").to_str().expect("UTF-8").to_owned();
    std::fs::write(&foreign, "no capture").expect("written");
    let cut_again = folder.join("again.pcap").to_str().expect("UTF-8").to_owned();
    std::fs::copy(&cut, &cut_again).expect("copied");
    let (frames, error, warnings) = read(&[whole.clone(), cut, cut_again], 16);
    assert_eq!(frames, [(1, 1), (2, 2), (2, 2), (3, 2), (3, 2), (4, 1), (9, 1)]);
    let messages = [error.expect("an error").to_string(), warnings.join("\n")].join("\n");
    assert!(messages.contains("cut.pcap") && messages.contains("again.pcap"), "{messages}");
    let refused = MergedSource::open(&[whole, foreign], 16).err().expect("an error");
    assert!(matches!(&refused, SourceError::Open(text) if text.contains("foreign.txt")), "{refused}");
    let absent = MergedSource::open(&["absent.pcap".into(), "-".into()], 1).err().expect("an error");
    assert!(absent.to_string().contains("absent.pcap"), "{absent}");
    std::fs::remove_dir_all(folder).expect("removed");
}

/// A pcapng file of packets, of each the time in microseconds and the number of packets that it says were lost before it. Its interface lost this
/// number of packets, if it says it.
fn pcapng(folder: &Path, name: &str, packets: &[(u32, u64)], lost: Option<u64>) -> String {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes(), &length, body, &length].map(<[u8]>::to_vec).concat()
    };
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let packet = |(time, dropped): &(u32, u64)| {
        let head = [0_u32, 0, *time, 4, 60].map(u32::to_le_bytes).concat();
        let told = [&[4, 0, 8, 0], &dropped.to_le_bytes()[..]].concat();
        let told = if *dropped == 0 { Vec::new() } else { told };
        block(6, &[head, vec![7; 4], told].concat())
    };
    let statistics = |lost: u64| [&[0; 12][..], &[5, 0, 8, 0], &lost.to_le_bytes()].concat();
    let head = [block(0x0a0d_0d0a, &section), block(1, &[1, 0, 0, 0, 0, 0, 0, 0])].concat();
    let packets = packets.iter().flat_map(packet).collect();
    let path = folder.join(name);
    let told = lost.map(|lost| block(5, &statistics(lost))).unwrap_or_default();
    std::fs::write(&path, [head, packets, told].concat()).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn what_some_captures_lost_is_told_where_others_do_not_say_it() {
    let folder = folder("loss");
    let [lossy, silent, whole] = [("lossy", Some(30)), ("silent", None), ("whole", Some(0))]
        .map(|(name, lost)| pcapng(&folder, name, &[(1_000_000, 0)], lost));
    let said = |paths: &[&String]| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).clone()).collect();
        let mut source = MergedSource::open(&paths, 8).expect("files");
        while !matches!(source.rx_burst(), Ok(Poll::Ended)) {}
        (source.lost(), source.warnings())
    };
    let least = format!(
        "at least 30 packets were lost before the captures: {lossy} says 30; 1 capture does not say, so that the loss of all is not known"
    );
    assert_eq!(said(&[&lossy, &silent]), (None, vec![least]));
    assert_eq!(said(&[&lossy, &whole]), (Some(vec![("isb_ifdrop", 30)]), Vec::new()));
    // Nothing is told of what is not known, and of nothing.
    assert_eq!(said(&[&whole, &silent]), (None, Vec::new()));
    assert_eq!(said(&[&silent]), (None, Vec::new()));
}

/// A capture is read ahead of the others by a burst: what its packets say was lost counts when they have their turn.
#[test]
fn losses_count_when_the_packets_that_tell_them_have_their_turn() {
    const SECOND: u32 = 1_000_000;
    let folder = folder("turns");
    let of = |losses: &[(u32, u64)]| -> Vec<(u32, u64)> {
        let lost = |time| losses.iter().find(|(at, _)| *at == time).map_or(0, |(_, lost)| *lost);
        (0..30).map(|second| (second * SECOND + 1, lost(second))).collect()
    };
    let captures = [of(&[(3, 1), (22, 2)]), of(&[(12, 7)])];
    let paths = [("one", 0), ("other", 1)].map(|(name, at)| pcapng(&folder, name, &captures[at], None));
    for burst in [1, 4, 256] {
        let mut source = MergedSource::open(&paths, burst).expect("files");
        let mut frames = 0;
        let mut told = Vec::new();
        loop {
            let last_ns = match source.rx_burst().expect("frames") {
                Poll::Burst(burst) => {
                    frames += burst.frames().count();
                    burst.frames().map(|frame| frame.time_ns).max().expect("frames")
                }
                Poll::Idle => continue,
                Poll::Ended => break,
            };
            let is_new = source.has_new_loss();
            let lost = source.lost().map(|lost| lost.iter().map(|(_, count)| count).sum::<u64>());
            assert!(!source.has_new_loss());
            let before = captures.iter().flatten().filter(|(time, _)| u64::from(*time) * 1_000 <= last_ns);
            let expected = before.map(|(_, lost)| lost).sum::<u64>();
            // Nothing is known before a capture says that it counts.
            assert!(
                lost.is_none_or(|lost| lost == expected),
                "{burst}: {lost:?}, not {expected} at {last_ns}"
            );
            told.extend(lost.filter(|_| is_new));
        }
        // Read frame by frame, the second capture does not say before its loss that it counts.
        let expected = if burst == 256 { &[1, 8, 10][..] } else { &[8, 10] };
        assert_eq!((frames, &told[..]), (60, expected), "{burst}");
    }
    std::fs::remove_dir_all(folder).expect("removed");
}
