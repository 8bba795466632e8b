//! Frames to exact flows to window rows: `cargo run -p flowtable --example flows`.

use arena::Limits;
use flow::{FlowRecord, LossCounts, WindowRow};
use flowtable::{FlowSink, FlowTable, TableConfig, Timeouts};
use packet::{BurstParser, Frame, Key, KeySpec, KeyV4, LinkType, PacketFields, Seed, Tunnel};
use traffic::{Generator, TrafficSpec};

/// Prints the rows of each window and counts the packets in them.
#[derive(Default)]
struct Printer {
    packets: u64,
}

impl FlowSink for Printer {
    fn window_sealed<K: Key>(&mut self, window: u16, row: WindowRow<K>, _: Option<&LossCounts>) {
        println!("window {window}: {:?} {} packets", row.key.flow_key(&KeySpec::FIVE_TUPLE), row.packets);
        self.packets += row.packets;
    }
    fn flow_ended(&mut self, _: FlowRecord) {}
    fn table_full<K: Key>(&mut self, _: &K, _: &PacketFields) {}
}

fn main() {
    let mut generator =
        Generator::new("packets=1000,flows=20,rate=1000".parse::<TrafficSpec>().expect("a specification"));
    let (seed, limits, mut rows) = (Seed::new(1), Limits::new(1 << 30, usize::MAX), Printer::default());
    let mut parser = BurstParser::new(seed, Tunnel::Outer, 1);
    let config = TableConfig::plain(seed, Timeouts::default());
    let mut table: FlowTable<KeyV4> = FlowTable::new(config, &limits).expect("memory for a table");
    let mut buffer = vec![0; generator.longest_frame()];
    for number in 0.. {
        let Some(frame) = generator.next_frame(&mut buffer) else { break };
        let data = &buffer[..frame.captured as usize];
        let (wire_len, time_ns) = (frame.wire_len, frame.time_ns);
        parser.push::<false>(
            &Frame { data, wire_len, time_ns, link: LinkType::Ethernet, stripped_vlan: None },
            number,
        );
        table.advance(time_ns);
        table.prefetch_index(parser.bursts.v4.packets());
        table.update_burst(&parser.bursts.v4, &mut rows);
        parser.clear();
        // A window is 500 packets here. All rows of the last one must be out before the next one ends.
        if number % 500 == 499 {
            table.turn();
            while !table.sweep(64, &mut rows) {}
        }
    }
    table.end_all(&mut rows);
    assert_eq!(rows.packets, 1000, "each packet is in one row");
}

#[cfg(test)]
#[test]
fn every_packet_is_in_a_row() {
    main();
}
