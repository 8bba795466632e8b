use super::super::element::{NumericElement, TimeEncoding, ValueTarget};
use super::super::field_plan::FieldPlan;
use super::super::template::{ExportProtocol, Octets, Template, TemplateRecord as Said};
use super::super::totals::{COUNTERS, RunningTotals};
use super::time::{EPOCH, SECOND};
use super::{ExportTimes, RecordOf, RecordValues, SamplingStatement};
use flow::NULL;

fn template(fields: &[(u16, u16)]) -> Template {
    let mut octets = vec![1, 0, 0, fields.len() as u8];
    fields.iter().for_each(|(number, length)| {
        octets.extend(number.to_be_bytes());
        octets.extend(length.to_be_bytes());
    });
    let told = Template::read(&mut Octets(&octets), false, ExportProtocol::Ipfix).expect("a template");
    let Some(Said::Definition(256, template)) = told else { panic!("a definition") };
    template
}

#[test]
fn each_value_is_read_from_the_field_of_the_least_rank() {
    // 150 seconds, 152 milliseconds, 23 octets out, 1 octets, 12, and 27 and 28 next to it.
    let template = template(&[(150, 4), (152, 8), (23, 4), (1, 4), (12, 4), (27, 16), (28, 16)]);
    let plan = FieldPlan::from_template(&template);
    let expected = [
        (1, false, ValueTarget::Start(TimeEncoding::Milliseconds)),
        (2, false, ValueTarget::Number(NumericElement::OutBytes)),
        (3, false, ValueTarget::Number(NumericElement::Bytes)),
        (4, false, ValueTarget::Destination),
        (5, false, ValueTarget::Source),
        (6, false, ValueTarget::Destination),
    ];
    assert_eq!((plan.fields, plan.key.len()), (expected.to_vec(), 0));
}

#[test]
fn what_is_no_value_of_its_element_is_not_read_and_told() {
    let plan = FieldPlan::from_template(&template(&[(8, 3), (7, 4), (2, 1)]));
    let values = RecordValues::read(&plan, &[1, 2, 3, 0, 1, 0, 0, 9], &[0..3, 3..7, 7..8]);
    assert_eq!((values.addresses, values.ports()), ([None; 2], [None; 2]));
    assert_eq!(values.plain_counts()[0], [9, NULL, NULL]);
    assert_eq!(values.unfit.expect("a field").to_string(), "a value of 3 octets is none of src_addr");
}

/// The values of a record of pairs of an element and a number of an octet.
fn values(fields: &[(u16, u8)]) -> RecordValues {
    let template = template(&fields.iter().map(|(number, _)| (*number, 1)).collect::<Vec<_>>());
    let set: Vec<u8> = fields.iter().map(|(_, value)| *value).collect();
    let at: Vec<_> = (0..set.len()).map(|at| at..at + 1).collect();
    RecordValues::read(&FieldPlan::from_template(&template), &set, &at)
}

/// The counters of both directions, of pairs of an element and a number of an octet.
fn counts(fields: &[(u16, u8)]) -> [[u64; COUNTERS]; 2] {
    let template = template(&fields.iter().map(|(number, _)| (*number, 1)).collect::<Vec<_>>());
    let (plan, set): (_, Vec<u8>) =
        (FieldPlan::from_template(&template), fields.iter().map(|(_, value)| *value).collect());
    let at: Vec<_> = (0..set.len()).map(|at| at..at + 1).collect();
    let values = RecordValues::read(&plan, &set, &at);
    let of = RecordOf { plan: &plan, set: &set, fields: &at, session: 0, export_ns: 0 };
    values.counts(&mut RunningTotals::default(), &of)
}

#[test]
fn a_counter_is_the_first_that_is_not_zero() {
    let of = |fields: &[(u16, u8)]| counts(fields)[0];
    assert_eq!(of(&[(1, 0), (2, 0), (23, 50), (24, 5)]), [5, 50, NULL]);
    assert_eq!(of(&[(23, 50), (24, 5)]), [5, 50, NULL]);
    assert_eq!(of(&[(1, 70), (2, 7), (23, 50), (24, 5)]), [7, 70, NULL]);
    // Zero next to a total; a counter from each.
    assert_eq!(of(&[(1, 0), (85, 90), (2, 3), (86, 9)]), [3, 90, NULL]);
    assert_eq!(of(&[(171, 80), (172, 8), (353, 99)]), [8, 80, 99]);
    assert_eq!(of(&[(1, 0), (2, 0)]), [0, 0, NULL]);
    assert_eq!(counts(&[(231, 5), (298, 1), (232, 6), (299, 2)]), [[1, 5, NULL], [2, 6, NULL]]);
}

#[test]
fn a_rate_of_zero_hides_no_other() {
    let of = |fields: &[(u16, u8)]| values(fields).sampling();
    let one_of = |packets| Some(SamplingStatement::Rate { packets, counted: 1 });
    assert_eq!(of(&[(305, 0), (306, 0), (34, 100)]), one_of(100));
    assert_eq!(of(&[(305, 0), (34, 100)]), one_of(100));
    assert_eq!(of(&[(305, 0), (306, 0), (309, 1), (310, 50), (34, 100)]), one_of(50));
    assert_eq!(of(&[(309, 1), (310, 0), (34, 100)]), one_of(100));
    assert_eq!(of(&[(305, 0), (306, 0), (34, 0)]), None);
}

/// Both times of a record with these times: element, octets.
fn times(fields: &[(u16, Vec<u8>)]) -> [Option<u64>; 2] {
    let template =
        template(&fields.iter().map(|(number, of)| (*number, of.len() as u16)).collect::<Vec<_>>());
    let set: Vec<u8> = fields.iter().flat_map(|(_, octets)| octets.clone()).collect();
    let mut end = 0;
    let at: Vec<_> = fields
        .iter()
        .map(|(_, octets)| {
            end += octets.len();
            end - octets.len()..end
        })
        .collect();
    let facts = ExportTimes { export_ns: 1_000_000 * SECOND, uptime_ms: None };
    RecordValues::read(&FieldPlan::from_template(&template), &set, &at).times(false, facts, None)
}

#[test]
fn what_is_not_told_of_time_follows_from_the_duration_or_the_event() {
    let seconds = |number, seconds: u32| (number, seconds.to_be_bytes().to_vec());
    let milliseconds = |number, time: u64| (number, time.to_be_bytes().to_vec());
    let at = |start: u64, end: u64| [Some(start * SECOND), Some(end * SECOND)];
    assert_eq!(times(&[seconds(150, 500), seconds(161, 18_000)]), at(500, 518));
    assert_eq!(times(&[seconds(151, 500), seconds(162, 18_000_000)]), at(482, 500));
    assert_eq!(times(&[milliseconds(323, 900_000), milliseconds(152, 500_000)]), at(500, 900));
    assert_eq!(times(&[seconds(322, 900), seconds(161, 18_000)]), at(882, 900));
    // What is told counts, whatever the duration is.
    assert_eq!(
        times(&[seconds(150, 500), seconds(151, 510), seconds(161, 18_000), seconds(322, 999)]),
        at(500, 510)
    );
    // An event alone; a time of zero, which is none.
    assert_eq!(times(&[seconds(322, 900)]), [None, Some(900 * SECOND)]);
    assert_eq!(
        times(&[seconds(150, 0), seconds(151, 0), milliseconds(258, 900_000)]),
        [None, Some(900 * SECOND)]
    );
    assert_eq!(times(&[seconds(161, 1000)]), at(999_999, 1_000_000));
    assert_eq!(times(&[seconds(265, 400), seconds(261, 410)]), at(400, 410));
    let ntp = ((500 + EPOCH) << 32 | 1 << 31).to_be_bytes().to_vec();
    for number in [324, 325] {
        assert_eq!(times(&[(number, ntp.clone())])[1], Some(500 * SECOND + SECOND / 2), "{number}");
    }
}
