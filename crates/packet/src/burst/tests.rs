//! Bursts that are filled, cleared and filled again.

use super::*;
use crate::KeyV4;
use flow::HEADER_FIELDS;
use proptest::prelude::*;

#[test]
fn a_number_is_whole_again_on_either_side_of_a_wrap() {
    for near in [0, 1 << 31, (1 << 32) - 1, 1 << 32, (7 << 32) + 5, u64::MAX - 3] {
        for distance in [0, 1, -1, 1000, -1000, i64::from(i32::MAX), i64::from(i32::MIN)] {
            let Some(number) = near.checked_add_signed(distance) else { continue };
            let fields = PacketFields { number: number as u32, ..PacketFields::default() };
            assert_eq!(Numbers::near(near).number_of(&fields), number);
        }
    }
}

#[test]
fn header_fields_are_those_of_the_burst() {
    let mut burst = KeyBurst::<KeyV4>::with_capacity(2);
    for packets in [3, 1, 0, 4] {
        burst.clear();
        let values: Vec<_> =
            (0..packets).map(|value| HeaderValues::new([Some(value); HEADER_FIELDS])).collect();
        for values in &values {
            burst.push_keyed(&KeyedPacket::default(), None);
            burst.add_headers(*values);
        }
        assert_eq!(burst.headers(), values);
    }
}

#[test]
fn segments_are_those_of_the_burst() {
    let mut burst = KeyBurst::<KeyV4>::with_capacity(2);
    for packets in [3, 1, 0, 4] {
        burst.clear();
        let segments: Vec<_> = (0..packets).map(TcpSegment::from_payload).collect();
        segments.iter().for_each(|segment| burst.push_keyed(&KeyedPacket::default(), Some(segment)));
        assert_eq!((burst.packets().len(), burst.segments()), (segments.len(), &segments[..]));
        assert!(burst.headers().is_empty());
    }
}

proptest! {
    #[test]
    fn what_is_appended_is_what_one_packet_after_the_other_gives(
        (has_segments, has_headers) in any::<(bool, bool)>(),
        rounds in prop::collection::vec(prop::collection::vec((0..3_usize, any::<u32>(), 0..4_u8), 0..20), 1..6),
    ) {
        let mut lanes = [0; 3].map(|_| KeyBurst::<KeyV4>::with_capacity(4));
        let mut one_by_one = [0; 3].map(|_| KeyBurst::<KeyV4>::with_capacity(4));
        for (round, packets) in rounds.iter().enumerate() {
            // Parcels are emptied after some rounds only.
            if round % 3 == 2 {
                lanes.iter_mut().chain(&mut one_by_one).for_each(KeyBurst::clear);
            }
            let mut from = KeyBurst::<KeyV4>::with_capacity(1);
            from.set_numbers(Numbers::near(round as u64));
            let mut places = [const { Vec::new() }; 3];
            for (at, &(lane, value, late)) in packets.iter().enumerate() {
                let fields = PacketFields { number: value, time_ns: at as u64, ..PacketFields::default() };
                let packet = KeyedPacket { key: KeyV4::default(), hash: value.into(), fields };
                let segment = TcpSegment::from_payload(value % 1500);
                let headers = HeaderValues::new([Some(value % 200); HEADER_FIELDS]);
                for burst in [&mut from, &mut one_by_one[lane]] {
                    burst.push_keyed(&packet, has_segments.then_some(&segment));
                    if has_headers {
                        burst.add_headers(headers);
                    }
                    if late == 0 {
                        burst.set_arrival(u64::from(value) + 1);
                    }
                }
                one_by_one[lane].set_numbers(from.numbers());
                places[lane].push(at as u32);
            }
            for (lane, places) in lanes.iter_mut().zip(&places).filter(|(_, places)| !places.is_empty()) {
                lane.append(&from, places);
            }
        }
        for (lane, expected) in lanes.iter().zip(&one_by_one) {
            let packets = |burst: &KeyBurst<KeyV4>| -> Vec<_> {
                burst.packets().iter().map(|packet| (packet.key, packet.hash, packet.fields)).collect()
            };
            assert_eq!(packets(lane), packets(expected));
            assert_eq!(lane.segments(), expected.segments());
            assert_eq!(lane.headers(), expected.headers());
            assert_eq!(lane.out_of_order(), expected.out_of_order());
            assert_eq!(lane.numbers(), expected.numbers());
        }
    }
}
