//! Sampling: whose rate is known, and whose is not.

use crate::support::*;
use router::{Decoder, DecoderSettings, SamplingRate};

/// A record of NetFlow v9 through these interfaces.
fn through(interfaces: [u16; 2]) -> Vec<u8> {
    [record(1, 2, 200), numbers(&interfaces)].concat()
}

/// The fields of such a record.
fn with_interfaces() -> Vec<u16> {
    [&FIELDS[..], &[10, 2, 14, 2]].concat()
}

/// The packets of the flows of a message.
fn packets(test: &mut Test, message: &[u8]) -> Vec<(u64, Option<SamplingRate>)> {
    test.take(1, message).iter().map(|flow| (flow.record.total_count, flow.rate)).collect()
}

fn one_of(packets: u64) -> Option<SamplingRate> {
    Some(SamplingRate::one_of(packets).expect("a rate"))
}

#[test]
fn interfaces_have_rates_of_their_own() {
    let mut test = Test::new();
    // NetFlow v9: what options are about is the interface (scope 2), which has a rate, or the sampler that it has.
    let of_interface = numbers(&[260, 4, 4, 2, 2, 34, 4]);
    let of_sampler = numbers(&[261, 4, 8, 1, 4, 48, 1, 50, 4]);
    let mapping = numbers(&[262, 4, 4, 2, 4, 48, 1]);
    let options = [of_interface, of_sampler, mapping].concat();
    let told = [
        set(260, &[[0, 7, 0, 0, 0, 10], [0, 8, 0, 0, 0, 20]].concat()),
        set(261, &[0, 0, 0, 1, 3, 0, 0, 0, 100]),
        set(262, &[[0, 0, 0, 9, 3], [0, 0, 0, 5, 4]].concat()),
    ];
    let sets = [vec![set(0, &template(256, &with_interfaces())), set(1, &options)], told.to_vec()].concat();
    test.take(1, &v9(0, 0, &sets));
    let data =
        [through([7, 8]), through([99, 8]), through([9, 7]), through([5, 1]), through([1, 2])].concat();
    assert_eq!(
        packets(&mut test, &v9(1, 0, &[set(256, &data)])),
        // The sampler of interface 5 is not known, nor is what interfaces 1 and 2 do.
        [(20, one_of(10)), (40, one_of(20)), (200, one_of(100)), (2, None), (2, None)]
    );
    let counts = test.0.counts();
    assert_eq!((counts.sampling.unknown_rate, counts.sampling.wrong_sampling), (2, 0));
    let exporter = &test.0.exporters()[0];
    assert_eq!((exporter.sampled, exporter.unknown_rate, exporter.rates.len()), (5, 2, 3));
}

#[test]
fn interfaces_of_ipfix_and_directions() {
    let mut test = Test::new();
    let fields: Vec<u16> = [&FIELDS[..14], &[10, 4, 14, 4, 61, 1]].concat();
    // ingressInterface, and egressInterface, which the options are about.
    let options =
        [numbers(&[260, 2, 1, 10, 4, 34, 4]), numbers(&[261, 3, 1, 14, 4, 309, 1, 310, 2])].concat();
    let told = [set(260, &[0, 0, 0, 7, 0, 0, 0, 10]), set(261, &[0, 0, 0, 8, 2, 0, 100])];
    test.take(1, &ipfix(0, 0, &[set(2, &template(256, &fields)), set(3, &options), told.concat()]));
    let record = |direction| [&record(1, 2, 200)[..21], &[0, 0, 0, 7, 0, 0, 0, 8, direction]].concat();
    let data = set(256, &[record(0), record(1)].concat());
    assert_eq!(packets(&mut test, &ipfix(2, 0, &[data])), [(20, one_of(10)), (100, one_of(50))]);
}

#[test]
fn a_sequence_of_selectors_names_its_sampler() {
    let mut test = Test::new();
    let fields: Vec<u16> = [&FIELDS[..], &[301, 2]].concat();
    let options =
        [numbers(&[260, 3, 1, 302, 2, 304, 2, 311, 4]), numbers(&[261, 2, 1, 301, 2, 302, 2])].concat();
    let selector = [&[0, 5, 0, 4][..], &0.25f32.to_be_bytes()].concat();
    let other = [&[0, 6, 0, 4][..], &0.5f32.to_be_bytes()].concat();
    let told = [set(260, &[selector, other].concat()), set(261, &[0, 77, 0, 5, 0, 78, 0, 6])];
    test.take(1, &ipfix(0, 0, &[set(2, &template(256, &fields)), set(3, &options), told.concat()]));
    let data = [[record(1, 2, 200), vec![0, 77]].concat(), [record(1, 2, 200), vec![0, 78]].concat()];
    let flows = packets(&mut test, &ipfix(4, 0, &[set(256, &data.concat())]));
    assert_eq!(flows, [(8, one_of(4)), (4, one_of(2))]);
}

#[test]
fn sampling_of_a_rate_that_is_not_told_is_not_exact() {
    // A mode and no interval: NetFlow v5, and options of NetFlow v9.
    let mut test = Test::new();
    assert_eq!(packets(&mut test, &v5(0, 0x4000, &[v5_record(1, 2, 200)])), [(2, None)]);
    assert_eq!(packets(&mut test, &v5(1, 0, &[v5_record(1, 2, 200)])), [(2, one_of(1))]);
    assert_eq!(packets(&mut test, &v5(2, 0x4000 | 10, &[v5_record(1, 2, 200)])), [(20, one_of(10))]);
    let plain = set(0, &template(256, &FIELDS));
    let data = set(256, &record(1, 2, 200));
    let of = |options: &[u16], told: &[u8]| {
        let sets = [plain.clone(), set(1, &numbers(options)), set(260, told), data.clone()];
        packets(&mut Test::new(), &v9(0, 0, &sets))
    };
    // SAMPLING_INTERVAL 0 and SAMPLING_ALGORITHM 2; an interval of 1 is no sampling.
    assert_eq!(of(&[260, 4, 8, 1, 4, 34, 4, 35, 1], &[0, 0, 0, 9, 0, 0, 0, 0, 2]), [(2, None)]);
    assert_eq!(of(&[260, 4, 8, 1, 4, 34, 4, 35, 1], &[0, 0, 0, 9, 0, 0, 0, 0, 0]), [(2, one_of(1))]);
    assert_eq!(of(&[260, 4, 8, 1, 4, 34, 4, 35, 1], &[0, 0, 0, 9, 0, 0, 0, 1, 1]), [(2, one_of(1))]);
    // A sampler whose rate is told later.
    assert_eq!(of(&[260, 4, 4, 1, 4, 48, 1], &[0, 0, 0, 9, 3]), [(2, None)]);
    // The rate of the user is for those.
    let settings = DecoderSettings { sampling: one_of(1000), ..DecoderSettings::default() };
    let mut test = Test(Decoder::new(settings));
    assert_eq!(packets(&mut test, &v5(0, 0x4000, &[v5_record(1, 2, 200)])), [(2000, one_of(1000))]);
}

#[test]
fn a_record_that_names_no_sampler_of_several_has_no_rate() {
    let mut test = Test::new();
    let options = numbers(&[260, 2, 1, 302, 2, 34, 4]);
    let told = |rates: [u8; 2]| set(260, &[[0, 5, 0, 0, 0, rates[0]], [0, 6, 0, 0, 0, rates[1]]].concat());
    let data = set(256, &record(1, 2, 200));
    test.take(1, &ipfix(0, 0, &[set(2, &template(256, &FIELDS)), set(3, &options), told([10, 20])]));
    assert_eq!(packets(&mut test, &ipfix(2, 0, std::slice::from_ref(&data))), [(2, None)]);
    // Unless they are alike.
    assert_eq!(packets(&mut test, &ipfix(3, 0, &[told([20, 20]), data])), [(40, one_of(20))]);
}

#[test]
fn options_of_the_message_that_brings_a_template_are_of_the_data_that_waited() {
    let mut test = Test::new();
    assert!(test.take(1, &ipfix(0, 0, &[set(256, &record(1, 2, 200))])).is_empty());
    let options = numbers(&[260, 2, 1, 302, 2, 34, 4]);
    let sets = [set(2, &template(256, &FIELDS)), set(3, &options), set(260, &[0, 5, 0, 0, 0, 10])];
    assert_eq!(packets(&mut test, &ipfix(1, 0, &sets)), [(20, one_of(10))]);
}

#[test]
fn a_field_of_options_that_is_no_value_is_counted() {
    let mut test = Test::new();
    // A sampling interval of nine octets; one of four.
    let options = [numbers(&[260, 4, 4, 1, 4, 34, 9]), numbers(&[261, 4, 4, 1, 4, 34, 4])].concat();
    let told = [set(260, &[7; 13]), set(261, &[0, 0, 0, 9, 0, 0, 0, 10])];
    let sets =
        [set(0, &template(256, &FIELDS)), set(1, &options), told.concat(), set(256, &record(1, 2, 200))];
    assert_eq!(packets(&mut test, &v9(0, 0, &sets)), [(20, one_of(10))]);
    assert_eq!((test.0.counts().records.unfit_fields, test.0.counts().records.option_records), (1, 2));
}

#[test]
fn sampler_0_hides_no_rate_of_an_interface() {
    let fields = [&with_interfaces()[..], &[48, 1]].concat();
    let of = |interfaces: [u16; 2], sampler: u8| [through(interfaces), vec![sampler]].concat();
    let options = [numbers(&[260, 4, 4, 2, 2, 34, 4]), numbers(&[261, 4, 8, 1, 4, 48, 1, 50, 4])].concat();
    let start = vec![set(0, &template(256, &fields)), set(1, &options), set(260, &[0, 7, 0, 0, 0, 10])];
    let data = set(256, &[of([7, 8], 0), of([8, 7], 0), of([1, 2], 0), of([7, 8], 5)].concat());
    let mut test = Test::new();
    test.take(1, &v9(0, 0, &start));
    // By neither interface it is no sample. A sampler that is named and not known has no rate.
    let expected = [(20, one_of(10)), (20, one_of(10)), (2, one_of(1)), (2, None)];
    assert_eq!(packets(&mut test, &v9(1, 0, std::slice::from_ref(&data))), expected);
    assert_eq!(test.0.counts().sampling.unknown_sampler, 1);
    // One that is known by number 0 is of the other interfaces.
    let told = set(261, &[0, 0, 0, 1, 0, 0, 0, 0, 100]);
    let expected = [(20, one_of(10)), (20, one_of(10)), (200, one_of(100)), (2, None)];
    assert_eq!(packets(&mut test, &v9(2, 0, &[told, data])), expected);
}

#[test]
fn sampler_0_is_no_sampler_of_an_interface() {
    let fields = [&with_interfaces()[..], &[48, 1]].concat();
    let of = |interface: u16| [through([interface, 99]), vec![0]].concat();
    // An interface with its sampler and its rate, with a sampler alone, and the rate of the exporter.
    let options = [
        numbers(&[260, 4, 8, 2, 2, 48, 1, 34, 4]),
        numbers(&[261, 4, 4, 2, 2, 48, 1]),
        numbers(&[262, 4, 4, 1, 4, 34, 4]),
    ];
    let told = [
        set(260, &[[0, 7, 0, 0, 0, 0, 20], [0, 8, 0, 0, 0, 0, 2]].concat()),
        set(261, &[0, 9, 0]),
        set(262, &[0, 0, 0, 1, 0, 0, 0, 5]),
    ];
    let templates = [set(0, &template(256, &fields)), set(0, &template(257, &with_interfaces()))];
    let options = set(1, &options.concat());
    let named = set(256, &[of(7), of(8), of(9), of(1)].concat());
    let unnamed = set(257, &[through([7, 99]), through([8, 99]), through([1, 99])].concat());
    let mut test = Test::new();
    test.take(1, &v9(0, 0, &[templates.concat(), options.clone(), told.concat()]));
    let data = [named.clone(), unnamed];
    // Where an interface has none, the sampler has the rate that was told of it last.
    let expected = [20, 2, 2, 2, 20, 2, 5].map(|rate| (2 * rate, one_of(rate)));
    assert_eq!(packets(&mut test, &v9(1, 0, &data)), expected);
    // Of a sampler 0 of which nothing is known an interface has the exporter's.
    let mut test = Test::new();
    test.take(1, &v9(0, 0, &[templates.concat(), options, told[1..].concat()]));
    assert_eq!(packets(&mut test, &v9(1, 0, &[named])), [(10, one_of(5)); 4]);
}
