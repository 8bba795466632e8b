//! The wire as its users see it: which packets reach which queue, when it ends, and what is refused.

use crate::wire_fixture::{EPOCH_NS, Frames, LIMIT, Received, TestClock, drain, synthetic, udp};
use port::wire::{ReplayLength, Trace, Wire, WireSpec};
use port::{Frame, PacketSource, Poll, SourceError, SourceSetting, SyntheticSource, TimeBase};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const SPEC: &str = "packets=5000,flows=300,size=64:7/594:4/1518:1,ipv6=40%,plant=scan,snap=200";

fn open(text: &str, trace: &Arc<Trace>) -> Vec<port::wire::WireQueue<TestClock>> {
    let spec: WireSpec = text.parse().expect(text);
    Wire::open_with("wire", &spec, trace, 32, TestClock::default).expect("the wire opens")
}

#[test]
fn without_a_rate_the_queues_together_give_the_trace_once() {
    for queues in [1, 2, 3, 128] {
        let (trace, all) = synthetic(SPEC, queues);
        assert_eq!((trace.frames(), trace.queues()), (5000, queues));
        let spec = WireSpec { queues, ..WireSpec::default() };
        let mut together = Vec::new();
        for mut queue in Wire::open("a name", &spec, &trace, 32).unwrap() {
            assert_eq!((queue.name(), queue.time_base()), ("a name", TimeBase::Packets));
            let mut own = Vec::new();
            loop {
                match queue.rx_burst().unwrap() {
                    Poll::Burst(burst) => own.extend(Received::all(&burst)),
                    Poll::Idle => panic!("a replay has always something"),
                    Poll::Ended => break,
                }
            }
            assert!(matches!(queue.rx_burst(), Ok(Poll::Ended)));
            // Each with its own hash and time, and in the order of the trace.
            let number = queue.number();
            let expected: Vec<_> = all
                .iter()
                .filter(|frame| frame.rss_hash.unwrap_or(0) as usize % 128 % queues == number)
                .cloned()
                .collect();
            assert_eq!(own, expected);
            assert_eq!(queue.lost(), Some(Vec::new()));
            let counters = queue.counters();
            assert_eq!((counters.offered, counters.delivered), (own.len() as u64, own.len() as u64));
            assert_eq!(trace.queue_frames(number), own.len() as u64);
            let progress = queue.progress().unwrap();
            assert_eq!(progress.done, own.iter().map(|frame| u64::from(frame.wire_len)).sum::<u64>());
            assert_eq!(Some(progress.done), progress.total);
            together.extend(own);
        }
        let mut all = all;
        all.sort();
        together.sort();
        assert_eq!(together, all);
    }
}

/// Of two queues as many packets come as the laps up to that number have for each; times never go back from lap to lap.
#[test]
fn without_a_rate_laps_follow_one_another() {
    const FRAMES: u64 = 5000;
    for (queues, packets) in [(1, 12_345), (2, 12_345), (3, FRAMES), (2, 4), (2, 3 * FRAMES)] {
        let (trace, all) = synthetic(SPEC, queues);
        let span = all.iter().map(|frame| frame.time_ns).max().unwrap() - all[0].time_ns;
        let spec: WireSpec = format!("queues={queues},packets={packets}").parse().unwrap();
        for mut queue in Wire::open("wire", &spec, &trace, 32).unwrap() {
            let number = queue.number();
            let is_own = |frame: &Received| frame.rss_hash.unwrap_or(0) as usize % 128 % queues == number;
            let expected: Vec<_> = (0..packets)
                .map(|packet| {
                    let frame = all[(packet % FRAMES) as usize].clone();
                    Received { time_ns: frame.time_ns + packet / FRAMES * (span + 1), ..frame }
                })
                .filter(is_own)
                .collect();
            let total = queue.progress().unwrap().total;
            assert!(drain(&mut queue) == expected, "{queues} queues, {packets} packets, queue {number}");
            assert!(matches!(queue.rx_burst(), Ok(Poll::Ended)));
            let counters = queue.counters();
            assert_eq!(
                (counters.offered, counters.delivered),
                (expected.len() as u64, expected.len() as u64)
            );
            assert_eq!(Some(queue.progress().unwrap().done), total);
        }
    }
}

#[test]
fn a_trace_can_be_spread_anew() {
    let (one, _) = synthetic(SPEC, 1);
    let (three, _) = synthetic(SPEC, 3);
    let spread = Arc::new(one.spread(3, LIMIT).unwrap());
    let spec = WireSpec { queues: 3, ..WireSpec::default() };
    let queues = |trace| Wire::open("wire", &spec, trace, 32).unwrap();
    for (mut a, mut b) in queues(&three).into_iter().zip(queues(&spread)) {
        assert_eq!(drain(&mut a), drain(&mut b));
    }
    let back = spread.spread(1, LIMIT).unwrap();
    let spec = WireSpec::default();
    let whole = |trace: &Arc<Trace>| drain(&mut Wire::open("wire", &spec, trace, 32).unwrap()[0]);
    assert_eq!(whole(&Arc::new(back)), whole(&one));
}

#[test]
fn both_directions_come_to_one_queue_and_connections_to_all() {
    let mut frames = Vec::new();
    for connection in 0..1000_u32 {
        let (client, server) =
            ((0x0a00_0000 + connection * 7919, 1024 + connection as u16), (0xc000_0201, 443));
        frames.push((udp(client, server, 0x0800), 0));
        frames.push((udp(server, client, 0x0800), 0));
    }
    let trace = Arc::new(Trace::load(&mut Frames::new(frames), 4, LIMIT).unwrap());
    for queue in open("queues=4", &trace).iter_mut() {
        let own = drain(queue);
        assert!((300..700).contains(&own.len()), "{}", own.len());
        for pair in own.chunks(2) {
            assert_eq!(pair[0].data[26..30], pair[1].data[30..34], "both of a pair, one after the other");
            assert_eq!(pair[0].rss_hash, pair[1].rss_hash);
        }
    }
}

#[test]
fn frames_without_ip_come_to_the_first_queue_without_a_hash() {
    let frames = (0..10).map(|n| (udp((n, 1), (2, 3), 0x88b5), 0)).collect();
    let trace = Arc::new(Trace::load(&mut Frames::new(frames), 2, LIMIT).unwrap());
    let mut queues = open("queues=2", &trace);
    let Ok(Poll::Burst(burst)) = queues[0].rx_burst() else { panic!("all ten") };
    assert_eq!(burst.rss_hashes().collect::<Vec<_>>(), [None; 10]);
    assert!(matches!(queues[1].rx_burst(), Ok(Poll::Ended)));
}

#[test]
fn the_clock_starts_with_the_first_poll_of_any_queue() {
    let (trace, _) = synthetic("packets=1000,flows=100", 2);
    let spec: WireSpec = "rate=1Mpps,queues=2,packets=3000".parse().unwrap();
    let clock = TestClock::default();
    let mut queues = Wire::open_with("wire", &spec, &trace, 64, || clock.clone()).unwrap();
    assert_eq!(queues[0].time_base(), TimeBase::Clock);
    clock.now.store(7_000_000, Relaxed);
    assert_eq!(queues[1].counters().offered, 0);
    let _ = queues[1].rx_burst().unwrap();
    // Packet n comes after n microseconds.
    clock.now.store(7_000_000 + 999_000, Relaxed);
    let mut times = Vec::new();
    for queue in &mut queues {
        while let Poll::Burst(burst) = queue.rx_burst().unwrap() {
            times.extend(burst.frames().map(|frame| frame.time_ns - EPOCH_NS - 7_000_000));
        }
    }
    // The very first one may have gone in the poll before.
    times.sort_unstable();
    let first = u64::from(times[0] != 0) * 1000;
    assert_eq!(times, (first..1_000_000).step_by(1000).collect::<Vec<_>>());
    let total = queues[0].wire().total();
    assert_eq!((total.offered, total.delivered, total.imissed), (1000, 1000, 0));
}

#[test]
fn seconds_are_those_in_which_packets_arrive() {
    let (trace, _) = synthetic("packets=10", 1);
    for (text, packets) in [
        ("rate=1000pps,seconds=2", 2000),
        ("rate=3pps,seconds=1", 3),
        ("rate=10kpps,arrivals=bursts:7,seconds=1", 10_003),
        ("rate=10Gbps,seconds=1", 14_880_953),
        ("rate=1pps,packets=3", 3),
        ("rate=1pps", 10),
    ] {
        let mut queue = open(text, &trace).remove(0);
        let _ = queue.rx_burst().unwrap();
        let Poll::Burst(_) = queue.rx_burst().unwrap_or(Poll::Ended) else { continue };
        panic!("{text} {packets}: the clock stands still");
    }
    // The progress gives the end: all frames have 60 bytes.
    for (text, packets) in [("rate=1000pps,seconds=2", 2000), ("rate=10Gbps,seconds=1", 14_880_953)] {
        assert_eq!(open(text, &trace)[0].progress().unwrap().total, Some(packets * 60), "{text}");
    }
}

#[test]
fn the_machines_clock_drives_it_too() {
    let (trace, all) = synthetic("packets=20000,flows=100", 1);
    let spec: WireSpec = "rate=1Mpps,ring=65536,packets=20000".parse().unwrap();
    let mut queue = Wire::open("wire", &spec, &trace, 64).unwrap().remove(0);
    let before = std::time::Instant::now();
    queue.wire().start();
    let mut received = 0;
    loop {
        match queue.rx_burst().unwrap() {
            Poll::Burst(burst) => {
                for frame in burst.frames() {
                    assert_eq!(frame.data, all[received].data);
                    received += 1;
                }
            }
            Poll::Idle => std::hint::spin_loop(),
            Poll::Ended => break,
        }
    }
    let counters = queue.counters();
    assert_eq!((counters.offered, counters.delivered), (20_000, 20_000), "{counters:?}");
    assert!(before.elapsed().as_micros() >= 19_999, "the last one comes after so long");
    assert!(counters.longest_gap_ns <= counters.gap_ns);
}

#[test]
fn what_is_not_possible_is_refused_in_one_line() {
    let load = |source: &mut dyn PacketSource, limit| match Trace::load(source, 1, limit) {
        Err(SourceError::Refused(SourceSetting::Wire, line)) => {
            assert!(!line.contains('\n'));
            line
        }
        other => panic!("{other:?}"),
    };
    let mut synthetic = SyntheticSource::open("packets=100k,size=1518", 32).unwrap();
    let error = load(&mut synthetic, 10_000_000);
    assert!(error.contains("packets=100k") && error.contains("10 MB"), "{error}");
    assert!(load(&mut Frames::new(Vec::new()), LIMIT).contains("no frames"));
    let mut live = Frames::new(vec![(vec![0; 60], 0)]);
    live.base = TimeBase::Clock;
    assert!(load(&mut live, LIMIT).contains("live"));
    let mut frames = Frames::new(vec![(vec![0; 60], 0)]);
    assert!(Trace::load(&mut frames, 129, LIMIT).unwrap_err().to_string().contains("1 to 128"));

    let trace = Arc::new(Trace::load(&mut Frames::new(vec![(vec![0; 60], 0)]), 1, LIMIT).unwrap());
    let refused = |text: &str| {
        let spec: WireSpec = text.parse().expect(text);
        Wire::open("wire", &spec, &trace, 32).expect_err(text).to_string()
    };
    assert!(refused("queues=2").contains("spread over 1"));
    assert!(refused("mbufs=16k").contains("mbufs"));
    assert!(refused("rate=1pps,packets=1G").contains("there is time for 864001"));
    // Four laps of half of all time.
    let far = vec![(vec![0; 60], 1), (vec![0; 60], Frame::LATEST_NS / 2)];
    let far = Arc::new(Trace::load(&mut Frames::new(far), 1, LIMIT).unwrap());
    let laps = |packets| {
        let spec = WireSpec { length: ReplayLength::Packets(packets), ..WireSpec::default() };
        Wire::open("wire", &spec, &far, 32).map(|mut queues| drain(&mut queues[0]).len() as u64)
    };
    assert_eq!(laps(4).unwrap(), 4);
    assert!(laps(7).unwrap_err().to_string().contains("fewer packets"));
    let seconds = WireSpec { length: ReplayLength::Nanoseconds(5), ..WireSpec::default() };
    assert!(Wire::open("wire", &seconds, &far, 32).unwrap_err().to_string().contains("needs a rate"));
}
