//! Against a table that tracks all flows, and sees packets only while they are to be followed.

use super::*;
use crate::{FlowTable, MeasuredParts, TableConfig};
use flow::{FlowRecord, WindowRow};
use packet::{
    KeyParts, KeyV4, KeyV6, KeyedPacket, MaskedKey, Numbers, PacketFields, Pin, TcpSegment, split_mix,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::IpAddr;

const MS: u64 = 1_000_000;

fn seed() -> Seed {
    Seed::new(3)
}

fn timeouts() -> Timeouts {
    Timeouts { idle_ns: 400 * MS, active_ns: u64::MAX }
}

/// Addresses and ports of a row's key.
type Name = ([IpAddr; 2], [u16; 2]);

fn name<K: Key>(key: &K) -> Name {
    let key = key.flow_key(&packet::KeySpec::FIVE_TUPLE);
    let both = |one: Option<_>, other: Option<_>| [one.expect("a member"), other.expect("a member")];
    let addresses = [key.src_addr.expect("an address"), key.dst_addr.expect("an address")];
    (addresses, both(key.src_port, key.dst_port))
}

/// Packets and losses of a row; no losses where they were not tracked.
type Row = (u64, Option<LossCounts>);

/// Rows by window and key, those of one key and window together.
#[derive(Default)]
struct Rows {
    zoom: Option<Zoom>,
    rows: BTreeMap<(u16, Name), Row>,
    no_place: u64,
}

impl FlowSink for Rows {
    fn window_sealed<K: Key>(&mut self, window: u16, row: WindowRow<K>, loss: Option<&LossCounts>) {
        let zoomed = self.zoom.as_mut().and_then(|zoom| zoom.found(row.key).and_then(|found| found.loss));
        let (packets, sum) = self.rows.entry((window, name(&row.key))).or_default();
        *packets += row.packets;
        for loss in loss.copied().into_iter().chain(zoomed) {
            sum.get_or_insert_default().add(&loss);
        }
    }
    fn flow_ended(&mut self, _: FlowRecord) {}
    fn takes_records(&self) -> bool {
        false
    }
    fn table_full<K: Key>(&mut self, _: &K, _: &PacketFields) {
        self.no_place += 1;
    }
}

/// A flow table, with zoom or with losses of all flows.
struct Table<K: Key> {
    table: FlowTable<K>,
    sink: Rows,
    is_paired: bool,
    refused: u64,
}

impl<K: MaskedKey + PartialEq> Table<K> {
    fn new(loss: bool, limits: &Limits) -> Self {
        let parts = MeasuredParts { loss, ..MeasuredParts::default() };
        let config = TableConfig { parts, ..TableConfig::plain(seed(), timeouts()) };
        let table = FlowTable::new(config, limits).expect("address space");
        Self { table, sink: Rows::default(), is_paired: loss, refused: 0 }
    }

    fn set_pins(&mut self, pins: &Arc<Pins>, limits: &Limits) {
        let zoom = self.sink.zoom.get_or_insert_with(|| Zoom::new(seed(), timeouts(), limits));
        zoom.set_pins(pins, RequestedMetrics { losses: true, statistics: &[] });
    }

    /// Counts a burst, of which these pins name packets; with losses of all flows all have segments.
    fn count(&mut self, sent: &[Sent<K>], pins: Option<&Pins>) {
        let mut bursts = Bursts::with_capacity(sent.len());
        bursts.set_numbers(Numbers::near(1));
        let burst = of_family::<K>(&mut bursts);
        for Sent { key, fields, segment } in sent {
            let packet = KeyedPacket::new(*key, *fields, self.is_paired, &seed());
            burst.push_keyed(&packet, self.is_paired.then_some(segment));
            if pins.is_some_and(|pins| pins.may_have(packet.hash) && pins.have(key)) {
                burst.pin(*segment);
            }
        }
        self.table.prefetch_index(burst.packets());
        self.table.update_burst(burst, &mut self.sink);
        if let Some(zoom) = &mut self.sink.zoom {
            self.refused += zoom.count(&bursts);
        }
    }

    fn turn(&mut self) {
        self.table.turn();
        self.sink.zoom.iter_mut().for_each(Zoom::turn);
    }

    fn sweep(&mut self, now: u64) {
        self.table.advance(now);
        while !self.table.sweep(3, &mut self.sink) {}
        self.sweep_zoom(now);
    }

    fn sweep_zoom(&mut self, now: u64) {
        if let Some(mut zoom) = self.sink.zoom.take() {
            while !zoom.sweep(2, now, &mut self.sink) {}
            self.sink.zoom = Some(zoom);
        }
    }

    fn end(&mut self, now: u64) {
        self.sink.zoom.iter_mut().for_each(Zoom::end);
        self.table.end_all(&mut self.sink);
        self.sweep_zoom(now);
    }
}

/// The burst of a key's family.
fn of_family<K: MaskedKey>(bursts: &mut Bursts) -> &mut packet::KeyBurst<K> {
    let burst: &mut dyn std::any::Any =
        if K::WORDS == KeyV4::WORDS { &mut bursts.v4 } else { &mut bursts.v6 };
    burst.downcast_mut().expect("the family's burst")
}

/// A packet that passes.
#[derive(Clone, Copy, Debug)]
struct Sent<K> {
    key: K,
    fields: PacketFields,
    segment: TcpSegment,
}

/// A key of connection `number`, seen from its client or its server.
trait Sends: MaskedKey + PartialEq {
    fn of(number: u8, direction: usize) -> Self;
}

fn parts(number: u8, direction: usize) -> KeyParts {
    let (client, server) = (5000 + u16::from(number), 443);
    let ports = if direction == 0 { [client, server] } else { [server, client] };
    KeyParts { ports, protocol: 6, ..KeyParts::default() }
}

/// Connections with even numbers are those of one client.
fn client(number: u8) -> u8 {
    1 + number % 2
}

impl Sends for KeyV4 {
    fn of(number: u8, direction: usize) -> Self {
        let mut ends = [[10, 0, 0, client(number)], [192, 0, 2, 200]];
        ends.rotate_left(direction);
        Self::from_parts(ends, parts(number, direction))
    }
}

impl Sends for KeyV6 {
    fn of(number: u8, direction: usize) -> Self {
        let address = |last| [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
        let mut ends = [address(client(number)), address(200)];
        ends.rotate_left(direction);
        Self::from_parts(ends, parts(number, direction))
    }
}

/// Transfers in both directions of some connections, of which segments are lost, late, or come twice, with pauses.
fn traffic<K: Sends>(connections: u8, packets: usize, seed: u64) -> Vec<Sent<K>> {
    let mut state = seed;
    let mut below = |most: u64| split_mix(&mut state) % most;
    let mut next = vec![[1000u32, 5_000_000]; usize::from(connections)];
    let mut acked = next.clone();
    let mut time = 7_000 * MS;
    let mut sent = Vec::new();
    for _ in 0..packets {
        time += match below(200) {
            0 => 450 * MS,
            1..20 => 20 * MS,
            _ => MS,
        };
        let number = below(connections.into()) as u8;
        let (at, direction) = (usize::from(number), below(2) as usize);
        let length = 100 * below(4) as u32;
        let seq = match below(20) {
            // Lost before the tap.
            0 | 1 => {
                next[at][direction] += 300;
                next[at][direction]
            }
            // Sent again, or late.
            2 | 3 => next[at][direction].wrapping_sub(300 * (1 + below(3) as u32)),
            _ => next[at][direction],
        };
        if below(3) != 0 {
            acked[at][1 - direction] = next[at][1 - direction];
        }
        next[at][direction] = next[at][direction].max(seq.wrapping_add(length));
        let is_start = below(50) == 0;
        let fields = PacketFields {
            time_ns: time,
            total_byte: 40 + length,
            wire_byte: 54 + length,
            number: sent.len() as u32 + 1,
            tcp_seq: seq,
            tcp_ack: acked[at][1 - direction],
            tcp_win: if below(30) == 0 { 0 } else { 1000 },
            tcp_flags: if is_start { 0x12 } else { 0x10 },
            direction: K::of(number, direction).direction() as u8,
            ..PacketFields::default()
        };
        let segment = if below(40) == 0 { TcpSegment::UNPARSED } else { TcpSegment::from_payload(length) };
        sent.push(Sent { key: K::of(number, direction), fields, segment });
    }
    sent
}

/// Pins the connections of the first client by a prefix of the address that is its source, or whole keys of `connections`.
fn pins<K: Sends>(connections: &[u8], by_prefix: bool) -> Arc<Pins> {
    let whole = |number: &u8| {
        let (addresses, ports) = name(&K::of(*number, 1));
        let networks = addresses.map(|address| Some((address, if address.is_ipv4() { 32 } else { 128 })));
        Pin { networks, ports: ports.map(Some), protocol: Some(6) }
    };
    let first = name(&K::of(0, 0)).0[0];
    let prefix = Pin { networks: [Some((first, if first.is_ipv4() { 31 } else { 127 })), None], ..Pin::ANY };
    let all: Vec<Pin> = if by_prefix { vec![prefix] } else { connections.iter().map(whole).collect() };
    // 10.0.0.0/31 has 10.0.0.1, which is the client of even numbers.
    Arc::new(Pins::new(all, seed()).expect("few"))
}

/// Runs windows, of which those in `zoomed` have pins, and compares them with a table that sees the packets of these windows alone.
fn check<K: Sends>(seed: u64, windows: usize, zoomed: std::ops::Range<usize>, by_prefix: bool) {
    const CONNECTIONS: u8 = 6;
    let limits = Limits::new(1 << 30, 1000);
    let all = traffic::<K>(CONNECTIONS, 300 * windows, seed);
    let pins = pins::<K>(&[0, 3, 4], by_prefix);
    let nothing = Arc::new(Pins::none(super::tests::seed()));
    let (mut table, mut oracle) = (Table::<K>::new(false, &limits), Table::<K>::new(true, &limits));
    let last = all.last().expect("packets").fields.time_ns;
    for window in 0..windows {
        let is_zoomed = zoomed.contains(&window);
        if window == zoomed.start {
            table.set_pins(&pins, &limits);
        } else if window == zoomed.end {
            table.set_pins(&nothing, &limits);
        }
        let part = &all[300 * window..300 * (window + 1)];
        // The sweep comes in the midst of the window that follows.
        for (number, burst) in part.chunks(50).enumerate() {
            table.count(burst, is_zoomed.then_some(&pins));
            if is_zoomed {
                oracle.count(burst, None);
            }
            if number % 3 == 2 {
                let now = burst[burst.len() - 1].fields.time_ns;
                table.sweep(now);
                oracle.sweep(now);
            }
        }
        table.turn();
        oracle.turn();
    }
    let is_to_the_end = zoomed.end >= windows;
    table.end(last);
    oracle.end(last);
    // Rows of losses that the end decided: the engine has them in the last window.
    let decided = oracle.sink.rows.split_off(&(windows as u16, name(&K::default())));
    for ((_, name), (packets, loss)) in decided {
        let row = oracle.sink.rows.entry((windows as u16 - 1, name)).or_default();
        row.0 += packets;
        loss.iter().for_each(|loss| row.1.get_or_insert_default().add(loss));
    }
    let mut tracked = 0;
    for (at @ (window, name), (packets, loss)) in &table.sink.rows {
        let is_zoomed = zoomed.contains(&usize::from(*window));
        let number = name.1[0].max(name.1[1]) - 5000;
        let is_pinned = if by_prefix { number % 2 == 0 } else { [0, 3, 4].contains(&number) };
        assert_eq!(loss.is_some(), is_zoomed && is_pinned, "{at:?}");
        let Some(loss) = loss else { continue };
        let (expected_packets, expected) = &oracle.sink.rows[at];
        assert_eq!((packets, Some(loss)), (expected_packets, expected.as_ref()), "{at:?}");
        tracked += 1;
    }
    // What the oracle has besides are rows of other keys, and what it decides after the last zoomed window.
    for ((window, name), (_, loss)) in &oracle.sink.rows {
        let is_zoomed = usize::from(*window) < zoomed.end.min(windows);
        let number = name.1[0].max(name.1[1]) - 5000;
        let is_pinned = if by_prefix { number % 2 == 0 } else { [0, 3, 4].contains(&number) };
        if (is_zoomed || is_to_the_end) && is_pinned && loss.is_some_and(|loss| !loss.is_empty()) {
            assert!(table.sink.rows.contains_key(&(*window, *name)), "{window} {name:?}");
        }
    }
    assert!(tracked > 0 && table.refused == 0 && table.sink.no_place == 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(48)))]
    #[test]
    fn losses_are_those_of_a_table_that_begins_with_the_first_pinned_window(
        seed in any::<u64>(), begin in 0usize..4, length in 1usize..4, by_prefix in any::<bool>(), is_v6 in any::<bool>(),
    ) {
        match is_v6 {
            false => check::<KeyV4>(seed, 6, begin..begin + length, by_prefix),
            true => check::<KeyV6>(seed, 6, begin..begin + length, by_prefix),
        }
    }
}

#[test]
fn what_is_pinned_again_is_followed_anew() {
    let limits = Limits::new(1 << 30, 1000);
    let pins = pins::<KeyV4>(&[0], false);
    let nothing = Arc::new(Pins::none(seed()));
    let mut table = Table::<KeyV4>::new(false, &limits);
    let mut time = 0;
    let mut send = |table: &mut Table<KeyV4>, seq: u32, pins: Option<&Pins>| {
        time += MS;
        let fields = PacketFields { time_ns: time, tcp_seq: seq, tcp_flags: 0x10, ..PacketFields::default() };
        let segment = TcpSegment::from_payload(100);
        table.count(&[Sent { key: KeyV4::of(0, 0), fields, segment }], pins);
    };
    for (window, is_pinned) in [true, false, true, true].into_iter().enumerate() {
        table.set_pins(if is_pinned { &pins } else { &nothing }, &limits);
        // A hole of 100 bytes opens in each window.
        let first = 1000 + 1000 * window as u32;
        send(&mut table, first, is_pinned.then_some(&pins));
        send(&mut table, first + 200, is_pinned.then_some(&pins));
        table.turn();
        table.sweep(0);
    }
    table.end(0);
    let holes: Vec<_> = table.sink.rows.values().map(|row| row.1.map(|loss| loss.hole_count)).collect();
    // Between the windows of the two that are pinned together lies one more, of 700 bytes.
    assert_eq!(holes[..4], [Some(1), None, Some(1), Some(2)]);
}

#[test]
fn what_finds_no_memory_is_counted_and_has_no_losses() {
    let (limits, none) = (Limits::new(1 << 30, 1000), Limits::new(0, 0));
    let pins = pins::<KeyV4>(&[0, 1, 2, 3], false);
    let mut table = Table::<KeyV4>::new(false, &limits);
    table.set_pins(&pins, &none);
    let all = traffic::<KeyV4>(4, 500, 1);
    table.count(&all, Some(&pins));
    table.turn();
    table.end(all[499].fields.time_ns);
    assert_eq!((table.refused, table.sink.rows.len()), (500, 8));
    assert!(table.sink.rows.values().all(|row| row.1.is_none()));
    assert_eq!(table.sink.zoom.expect("zoom").bytes(), 0);
}

#[test]
fn a_connection_that_is_over_gives_its_place_to_another() {
    let limits = Limits::new(1 << 30, 1000);
    let all: Vec<u8> = (0..200).collect();
    let pins = pins::<KeyV4>(&all, false);
    let mut table = Table::<KeyV4>::new(false, &limits);
    table.set_pins(&pins, &limits);
    let mut places = 0;
    for round in 0..50u64 {
        let now = (1 + round) * 1_000 * MS;
        for number in 0..4 {
            let fields = PacketFields { time_ns: now, tcp_flags: 0x10, ..PacketFields::default() };
            let key = KeyV4::of((4 * round % 200) as u8 + number, 0);
            table.count(&[Sent { key, fields, segment: TcpSegment::from_payload(1) }], Some(&pins));
        }
        table.turn();
        table.sweep(now);
        places = table.sink.zoom.as_ref().and_then(|zoom| zoom.losses.as_ref()).expect("losses").v4.places();
    }
    assert!(places <= 12, "{places}");
    assert_eq!((table.refused, table.sink.rows.len()), (0, 200));
}
