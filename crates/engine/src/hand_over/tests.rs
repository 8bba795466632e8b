//! Parcels, lanes and refusals, with a receiver and workers that the tests move by hand.

use super::*;
use crate::config::Every;
use crate::receiver::Receiver;
use crate::steps::StepTiming;
use arena::Limits;
use flowtable::{MeasuredParts, Timeouts};
use packet::{KeySpec, KeyV4, KeyV6, KeyedPacket, PacketFields, ParserConfig, Seed, Tunnel};
use port::{PacketSource, Poll, SyntheticSource};
use std::sync::atomic::Ordering;
use std::thread;

const BURST: usize = 16;
const HAND_OVER: HandOver =
    HandOver { batches: 2, in_lock_step: false, waits: true, gives_up_after: None, split: Split::Hash };

fn config() -> MeasurementConfig {
    MeasurementConfig {
        every: Every::Packets(u64::MAX),
        timeouts: Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX },
        limits: Limits::new(1 << 30, usize::MAX),
        tunnel: Tunnel::Outer,
        key: KeySpec::FIVE_TUPLE,
        parts: MeasuredParts::default(),
        table: None,
        seed: Seed::new(3),
        control: None,
        sampling: None,
        worker_use: None,
        idle_timeout: None,
        adaption: None,
        burst: BURST,
        hand_over_batches: 2,
        timed: StepTiming::Off,
        thread_setup: None,
        duration: None,
        packets: None,
        idle_exit: None,
    }
}

fn parser() -> BurstParser {
    let config = ParserConfig { paired: true, ..Tunnel::Outer.into() };
    BurstParser::new(Seed::new(3), config, BURST)
}

fn unheard() -> GaveUp {
    Box::new(|_| ())
}

/// Packet number `number` of a stream of some flows in both directions and both families.
fn push(parser: &mut BurstParser, number: u64) {
    let seed = Seed::new(3);
    let fields = PacketFields { time_ns: number, ..PacketFields::default() };
    let flow = (number * number / 3 % 50) as u8;
    if number % 5 < 3 {
        let key = KeyV4::new([10, 0, 0, flow, 10, 9, 9, 9], [1, 2, 3, 4], 6);
        let key = if number.is_multiple_of(2) { key } else { key.reversed() };
        parser.bursts.v4.push_keyed(&KeyedPacket::new(key, fields, true, &seed), None);
    } else {
        let key = KeyV6::new(&[flow; 16], &[200; 16], [1, 2, 3, 4], 17);
        let key = if number.is_multiple_of(2) { key } else { key.reversed() };
        parser.bursts.v6.push_keyed(&KeyedPacket::new(key, fields, true, &seed), None);
    }
}

/// Keys (the lesser of the two directions) and numbers of the packets of a lane, and what was ordered after how many.
#[derive(Default)]
struct Seen {
    v4: Vec<(KeyV4, u64)>,
    v6: Vec<(KeyV6, u64)>,
    orders: Vec<(WorkerCommand, u64)>,
}

impl Seen {
    fn add(&mut self, parcel: &Parcel) {
        fn numbered<K: Key>(burst: &KeyBurst<K>) -> impl Iterator<Item = (K, u64)> + '_ {
            burst
                .packets()
                .iter()
                .map(|packet| (packet.key.min(packet.key.reversed()), packet.fields.time_ns))
        }
        self.v4.extend(numbered(&parcel.bursts.v4));
        self.v6.extend(numbered(&parcel.bursts.v6));
        if parcel.order != WorkerCommand::GoOn {
            self.orders.push((parcel.order, (self.v4.len() + self.v6.len()) as u64));
        }
    }
}

fn is_ascending<K>(packets: &[(K, u64)]) -> bool {
    packets.is_sorted_by(|(_, a), (_, b)| a < b)
}

#[test]
fn nothing_is_lost_doubled_or_out_of_order() {
    for (workers, in_lock_step, parcels) in
        [(1, false, 1), (1, true, 2), (3, false, 2), (3, true, 1), (5, false, 4)]
    {
        let hand_over = HandOver { batches: parcels, in_lock_step, ..HAND_OVER };
        let (mut fan, inboxes) = Fan::new(workers, hand_over, unheard(), &config(), TimeBase::Packets);
        let (mut handed_over, mut numbers) = (vec![0; workers], 0..);
        let seen: Vec<Seen> = thread::scope(|scope| {
            let serve = |mut inbox: WorkerRings| {
                scope.spawn(move || {
                    let mut seen = Seen::default();
                    assert!(inbox.serve(|parcel| seen.add(parcel)), "there was no end");
                    seen
                })
            };
            let threads: Vec<_> = inboxes.into_iter().map(serve).collect();
            let mut parser = parser();
            for burst in 0..300 {
                let length = burst % (BURST + 1);
                numbers.by_ref().take(length).for_each(|number| push(&mut parser, number));
                fan.count(&mut parser, burst as u64);
                assert!(parser.bursts.is_empty());
                if burst % 100 == 99 {
                    fan.turn(WindowId::new(burst as u64 / 100), burst as u64);
                    handed_over.iter_mut().zip(fan.take_handed_over()).for_each(|(sum, more)| *sum += more);
                }
            }
            fan.end(300);
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let sent = numbers.start;
        let mut all: Vec<u64> = Vec::new();
        for (lane, lane_handed_over) in seen.iter().zip(handed_over) {
            assert!(is_ascending(&lane.v4) && is_ascending(&lane.v6));
            let packets = (lane.v4.len() + lane.v6.len()) as u64;
            assert_eq!(packets, lane_handed_over);
            let turn = |window| WorkerCommand::Turn(WindowId::new(window));
            let orders: Vec<_> = lane.orders.iter().map(|(order, _)| *order).collect();
            assert_eq!(orders, [turn(0), turn(1), turn(2), WorkerCommand::End]);
            assert_eq!(lane.orders[3].1, packets);
            all.extend(
                lane.v4.iter().map(|(_, number)| number).chain(lane.v6.iter().map(|(_, number)| number)),
            );
            // All of a flow, in either direction, come to one lane.
            for other in seen.iter().filter(|other| !std::ptr::eq(*other, lane)) {
                assert!(!lane.v4.iter().any(|(key, _)| other.v4.iter().any(|(their, _)| their == key)));
                assert!(!lane.v6.iter().any(|(key, _)| other.v6.iter().any(|(their, _)| their == key)));
            }
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(0..sent), "{workers} workers");
        let has_share = |lane: &Seen| !lane.v4.is_empty() && !lane.v6.is_empty();
        assert!(seen.iter().all(has_share), "a lane gets nothing of 100 flows");
        assert_eq!(fan.refused(), UncountedPackets::default());
    }
}

#[test]
fn portions_of_a_burst_go_round() {
    for (workers, length) in [(2, 16), (3, 16), (3, 2), (5, 7)] {
        let hand_over = HandOver { batches: 64, split: Split::Position, ..HAND_OVER };
        let (mut fan, mut inboxes) = Fan::new(workers, hand_over, unheard(), &config(), TimeBase::Packets);
        let mut parser = parser();
        let bursts = 30;
        for burst in 0..bursts {
            let key = KeyV4::new([10, 0, 0, 1, 10, 9, 9, 9], [1, 2, 3, 4], 6);
            for at in 0..length {
                let fields = PacketFields { time_ns: burst * 100 + at, ..PacketFields::default() };
                parser.bursts.v4.push_keyed(&KeyedPacket { key, hash: 7, fields }, None);
            }
            fan.count(&mut parser, burst);
        }
        fan.end(bursts);
        let mut all = Vec::new();
        let mut portions = vec![0; workers];
        for (inbox, portions) in inboxes.iter_mut().zip(&mut portions) {
            inbox.serve(|parcel| {
                let numbers: Vec<_> = parcel.bursts.v4.packets().iter().map(|p| p.fields.time_ns).collect();
                // What lies together stays together, in portions that differ by one at the most.
                assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
                let least = length as usize / workers;
                assert!(numbers.is_empty() || (least..=least + 1).contains(&numbers.len()));
                *portions += numbers.len();
                all.extend(numbers);
            });
        }
        all.sort_unstable();
        let sent = (0..bursts).flat_map(|burst| (0..length).map(move |at| burst * 100 + at));
        assert!(all.into_iter().eq(sent), "{workers} workers, bursts of {length}");
        let (least, most) = (portions.iter().min(), portions.iter().max());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= bursts as usize), "{portions:?}");
        assert!(least.is_some_and(|&least| least > 0), "{portions:?}");
    }
}

/// What a worker got: the numbers of each parcel's frames, the time that it carried, and the order.
fn received(inbox: &mut WorkerRings) -> Vec<(Vec<u32>, u64, WorkerCommand)> {
    let mut all = Vec::new();
    inbox.serve(|parcel| {
        let v4 = parcel.bursts.v4.packets().iter().map(|packet| packet.fields.number);
        let v6 = parcel.bursts.v6.packets().iter().map(|packet| packet.fields.number);
        let mut numbers: Vec<_> = v4.chain(v6).collect();
        numbers.sort_unstable();
        all.push((numbers, parcel.now, parcel.order));
    });
    all
}

/// A live receiver with one worker, frames for it, and a time after all of theirs.
struct Live {
    receiver: Receiver<'static>,
    source: SyntheticSource,
    fan: Fan,
}

const NOW: u64 = 1 << 62;

impl Live {
    fn new(hand_over: HandOver, burst: usize) -> (Self, WorkerRings) {
        let config = MeasurementConfig { burst, ..config() };
        let (mut fan, mut inboxes) = Fan::new(1, hand_over, unheard(), &config, TimeBase::Clock);
        fan.told = NOW;
        let source = SyntheticSource::open("packets=100k,flows=50,ipv6=40%", burst).expect("it is right");
        (Self { receiver: Receiver::new(&config, TimeBase::Clock, None), source, fan }, inboxes.remove(0))
    }

    /// This many frames come, at this time.
    fn burst(&mut self, frames: u64, now: u64) {
        self.receiver.tick(now, &mut self.fan);
        match self.source.rx_burst() {
            Ok(Poll::Burst(burst)) => {
                self.receiver.burst(burst, frames, None, &mut self.fan);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn small_bursts_go_together_in_time_and_before_orders() {
    /// Bursts as (packets, time), the last time, and the packets of the parcels that come.
    type Case = (&'static [(u64, u64)], u64, &'static [u64]);
    let cases: [Case; 5] = [
        // Full, then what is left, with the order.
        (&[(3, 10), (3, 11), (3, 12), (3, 13), (3, 14), (3, 15)], 16, &[15, 3]),
        (&[(16, 10), (1, 11), (15, 12), (2, 13)], 14, &[16, 16, 2]),
        // The next burst does not fit.
        (&[(9, 10), (9, 11)], 12, &[9, 9]),
        // Held for too long, by the next burst's time or without one.
        (&[(2, 10), (3, 10 + HELD_NS)], 11 + HELD_NS, &[2, 3]),
        (&[(2, 10)], 10 + HELD_NS, &[2]),
    ];
    for (bursts, last, parcels) in cases {
        let (mut live, mut inbox) = Live::new(HandOver { batches: 8, ..HAND_OVER }, BURST);
        let (mut number, mut firsts) = (1, Vec::new());
        for &(packets, now) in bursts {
            firsts.push((number, NOW + now));
            number += packets as u32;
            live.burst(packets, NOW + now);
        }
        live.receiver.tick(NOW + last, &mut live.fan);
        let handed_over_before_end = live.fan.take_handed_over()[0];
        live.receiver.end(None, &mut live.fan);
        live.fan.end(NOW + last);
        let all = bursts.iter().map(|(packets, _)| packets).sum::<u64>();
        let at_end: u64 = live.receiver.take_headers().flat_map(|header| header.handed_over).sum();
        assert_eq!(handed_over_before_end + at_end, all);
        let got = received(&mut inbox);
        let (orders, packets): (Vec<_>, Vec<_>) =
            got.into_iter().partition(|(_, _, order)| *order != WorkerCommand::GoOn);
        assert_eq!(packets.iter().map(|(packets, ..)| packets.len() as u64).collect::<Vec<_>>(), parcels);
        assert!(packets.iter().flat_map(|(packets, ..)| packets).copied().eq(1..number));
        for (packets, now, _) in &packets {
            let first = firsts.iter().rev().find(|(number, _)| *number <= packets[0]);
            assert_eq!(first.map(|(_, now)| now), Some(now), "the time before its first packet");
        }
        assert!(orders.iter().all(|(packets, ..)| packets.is_empty()));
        assert_eq!(
            orders.iter().map(|order| order.2).collect::<Vec<_>>(),
            [WorkerCommand::Turn(WindowId::default()), WorkerCommand::End]
        );
        // Held for too long, the last ones are gone before anything is ordered.
        let is_late = bursts.iter().all(|(_, now)| last >= now + HELD_NS);
        assert!(!is_late || handed_over_before_end == all);
    }
}

#[test]
fn a_worker_that_is_behind_gets_full_parcels() {
    let (mut live, mut inbox) = Live::new(HandOver { batches: 4, waits: false, ..HAND_OVER }, 256);
    (0..200).for_each(|at| live.burst(10, NOW + at));
    // Two of 70, the others as far as they go; the next ones find no room, and the last ones wait for more.
    assert_eq!(live.fan.take_handed_over(), [2 * (70 + 250)]);
    assert_eq!(live.fan.refused().ring_full, 5 * 250);
    drop(live);
    let lengths: Vec<_> = received(&mut inbox).iter().map(|(packets, ..)| packets.len()).collect();
    assert_eq!(lengths, [70, 70, 250, 250]);
}

#[test]
fn what_is_held_when_the_window_turns_waits_for_room_as_the_order_does() {
    let (mut live, mut inbox) = Live::new(HandOver { waits: false, ..HAND_OVER }, 256);
    // Two of 70 are all that there are.
    (0..20).for_each(|at| live.burst(10, NOW + at));
    let got = thread::scope(|scope| {
        let serving = scope.spawn(move || received(&mut inbox));
        live.receiver.end(None, &mut live.fan);
        live.fan.end(NOW + 20);
        serving.join().expect("no panic")
    });
    assert_eq!(live.fan.refused(), UncountedPackets::default());
    let got: Vec<_> = got.iter().map(|(packets, _, order)| (packets.len(), *order)).collect();
    let packets = [70, 70, 60].map(|packets| (packets, WorkerCommand::GoOn));
    assert_eq!(
        got,
        [&packets[..], &[(0, WorkerCommand::Turn(WindowId::default())), (0, WorkerCommand::End)]].concat()
    );
}

#[test]
fn what_finds_no_room_is_refused() {
    for workers in [1, 3] {
        let hand_over = HandOver { waits: false, ..HAND_OVER };
        let (mut fan, inboxes) = Fan::new(workers, hand_over, unheard(), &config(), TimeBase::Clock);
        let mut parser = parser();
        for burst in 0..10 {
            (burst * 16..burst * 16 + 16).for_each(|number| push(&mut parser, number));
            fan.count(&mut parser, 0);
        }
        let handed_over: u64 = fan.take_handed_over().iter().sum();
        assert!((1..=32 * workers as u64).contains(&handed_over));
        assert_eq!(fan.refused(), UncountedPackets { ring_full: 160 - handed_over, worker_failed: 0 });
        assert!(fan.take_failed().is_empty());
        // The receiver goes without a word of an end: what is in the rings still comes.
        drop(fan);
        let mut seen = Seen::default();
        for mut inbox in inboxes {
            assert!(!inbox.serve(|parcel| seen.add(parcel)));
        }
        assert_eq!((seen.v4.len() + seen.v6.len()) as u64, handed_over);
    }
}

#[test]
fn a_worker_that_is_gone_is_told_of_once() {
    for waits in [true, false] {
        let hand_over = HandOver { waits, ..HAND_OVER };
        let (mut fan, mut inboxes) = Fan::new(2, hand_over, unheard(), &config(), TimeBase::Clock);
        let alive = inboxes.remove(0);
        drop(inboxes);
        let mut parser = parser();
        let mut handed_over = 0;
        thread::scope(|scope| {
            let mut alive = alive;
            scope.spawn(move || alive.serve(|_| ()));
            for burst in 0..20 {
                (burst * 16..burst * 16 + 16).for_each(|number| push(&mut parser, number));
                fan.count(&mut parser, 0);
            }
            fan.turn(WindowId::default(), 0);
            handed_over += fan.take_handed_over().iter().sum::<u64>();
            assert_eq!(fan.take_failed(), [1]);
            assert!(fan.take_failed().is_empty());
            fan.end(0);
        });
        let UncountedPackets { ring_full, worker_failed } = fan.refused();
        assert_eq!(handed_over + ring_full + worker_failed, 320);
        assert!(worker_failed > 0 && (ring_full == 0 || !waits));
    }
}

/// A living thread of a loaded machine runs at least once in this time.
const GIVEN_UP: Duration = Duration::from_secs(2);

#[test]
fn a_worker_that_leaves_its_ring_as_it_is_counts_as_failed() {
    // It waits for a worker's ring, for its orders, or for a burst to be done: whichever comes first.
    for (waits, in_lock_step) in [(true, false), (false, false), (true, true)] {
        let hand_over = HandOver { waits, in_lock_step, gives_up_after: Some(GIVEN_UP), ..HAND_OVER };
        let (mut fan, mut inboxes) = Fan::new(2, hand_over, unheard(), &config(), TimeBase::Clock);
        // Alive, and never at its ring.
        let stalled = inboxes.remove(1);
        let mut alive = inboxes.remove(0);
        thread::scope(|scope| {
            scope.spawn(move || assert!(alive.serve(|_| ()), "there was no end"));
            let mut parser = parser();
            for burst in 0..20 {
                (burst * 16..burst * 16 + 16).for_each(|number| push(&mut parser, number));
                fan.count(&mut parser, 0);
            }
            fan.turn(WindowId::default(), 0);
            assert_eq!(fan.take_failed(), [1]);
            assert!(fan.take_failed().is_empty());
            fan.end(0);
        });
        let handed_over = fan.take_handed_over();
        let UncountedPackets { ring_full, worker_failed } = fan.refused();
        assert_eq!(handed_over.iter().sum::<u64>() + ring_full + worker_failed, 320);
        // The other one continues: nothing of its share is missing where rings are waited for.
        assert!(handed_over[1] > 0 && (ring_full == 0 || !waits));
        assert_eq!(worker_failed > 0, waits);
        drop(stalled);
    }
}

#[test]
fn a_worker_that_waits_for_one_that_hangs_is_not_given_up() {
    for in_lock_step in [false, true] {
        let hand_over = HandOver { in_lock_step, gives_up_after: Some(GIVEN_UP), ..HAND_OVER };
        let (tell, heard) = std::sync::mpsc::channel();
        let gave_up = Box::new(move |worker| tell.send(worker).expect("the test receives"));
        let (mut fan, mut inboxes) = Fan::new(2, hand_over, gave_up, &config(), TimeBase::Clock);
        // Alive, and never at its ring; the other one waits until the test releases it.
        let hung = inboxes.remove(1);
        let mut waiting = inboxes.remove(0);
        let (handed_over, seen) = thread::scope(|scope| {
            let serving = scope.spawn(move || {
                let mut seen = Seen::default();
                let flag = waiting.waiting_flag();
                flag.store(true, Ordering::Relaxed);
                let has_ended = waiting.serve(|parcel| {
                    if flag.load(Ordering::Relaxed) {
                        let given_up = heard.recv_timeout(Duration::from_secs(60));
                        assert_eq!(given_up, Ok(1), "who hangs is told of while others are waited for");
                        flag.store(false, Ordering::Relaxed);
                    }
                    seen.add(parcel);
                });
                assert!(has_ended, "there was no end");
                seen
            });
            let mut parser = parser();
            for burst in 0..20 {
                (burst * 16..burst * 16 + 16).for_each(|number| push(&mut parser, number));
                fan.count(&mut parser, 0);
            }
            fan.turn(WindowId::default(), 0);
            fan.end(0);
            (fan.take_handed_over(), serving.join().expect("no panic"))
        });
        assert_eq!(fan.take_failed(), [1]);
        assert_eq!((seen.v4.len() + seen.v6.len()) as u64, handed_over[0]);
        let UncountedPackets { ring_full, worker_failed } = fan.refused();
        assert_eq!((handed_over.iter().sum::<u64>() + worker_failed, ring_full), (320, 0));
        assert!(worker_failed > 0);
        drop(hung);
    }
}
