//! What is written is read back.

use crate::strategies::{answer, event, run_report, window};
use model::{Answer, Column, ColumnKind, Event, RunReport, Value, Window};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// As text, and as a tree whose members have lost their order.
fn back<T: Serialize + DeserializeOwned>(value: &T) -> [T; 2] {
    let text = serde_json::to_string(value).expect("JSON");
    let tree = serde_json::to_value(value).expect("JSON");
    [serde_json::from_str(&text).expect("read back"), serde_json::from_value(tree).expect("read back")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    #[test]
    fn answers(written in answer()) {
        let text = serde_json::to_string(&written).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Answer>(&text).expect("read back"), written);
    }

    #[test]
    fn events(written in event()) {
        let text = serde_json::to_string(&written).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Event>(&text).expect("read back"), written);
    }

    #[test]
    fn windows(written in window()) {
        let text = serde_json::to_string(&written).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Window>(&text).expect("read back"), written);
    }

    #[test]
    fn reports(written in run_report()) {
        let text = serde_json::to_string(&written).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<RunReport>(&text).expect("read back"), written);
    }
}

fn table(kind: ColumnKind, values: Vec<Value>) -> Answer {
    let rows = values.into_iter().map(|value| vec![value]).collect();
    Answer::new("q", None, vec![Column::new("v", kind, "")], rows)
}

#[test]
fn values_at_the_edges() {
    let address = |text: &str| text.parse().expect("an address");
    let prefix = |text, length| Value::Prefix { address: address(text), length };
    let unknown = Value::Estimate { value: 7.0, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    let cases = [
        (ColumnKind::Unsigned, vec![Value::Unsigned(0), Value::Unsigned(u64::MAX), Value::Null, unknown]),
        (ColumnKind::Unsigned, vec![Value::Unsigned(1 << 53), Value::Unsigned((1 << 53) + 1)]),
        (ColumnKind::Signed, vec![Value::Signed(i64::MIN), Value::Signed(-1), Value::Signed(i64::MAX)]),
        (ColumnKind::Float, vec![Value::Float(f64::MIN_POSITIVE), Value::Float(f64::MAX), Value::Float(0.1)]),
        (ColumnKind::Text, vec![Value::Text("null".to_owned()), Value::Text(String::new()), Value::Null]),
        (
            ColumnKind::Address,
            ["::", "::ffff:192.0.2.1", "2001:db8::1"].map(|a| Value::Address(address(a))).into(),
        ),
        (ColumnKind::Prefix, vec![prefix("::", 0), prefix("2001:db8::", 32), prefix("0.0.0.0", 0)]),
        (ColumnKind::Time, vec![Value::Time(0), Value::Time(u64::MAX)]),
    ];
    for (kind, values) in cases {
        let written = table(kind, values);
        for read in back(&written) {
            assert_eq!(read, written);
        }
    }
}

#[test]
fn a_float_that_is_not_finite_is_null() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for read in back(&table(ColumnKind::Float, vec![Value::Float(number)])) {
            assert_eq!(read.rows, [[Value::Null]]);
        }
    }
}

#[test]
fn a_row_that_does_not_fit_is_not_written() {
    let error = |answer: &Answer| serde_json::to_string(answer).expect_err("an error").to_string();
    let wrong_kind = table(ColumnKind::Unsigned, vec![Value::Text("x".to_owned())]);
    assert!(error(&wrong_kind).contains("column v"), "{}", error(&wrong_kind));
    let mut short = table(ColumnKind::Unsigned, vec![]);
    short.rows.push(vec![]);
    assert_eq!(error(&short), "a row has 0 values for 1 columns");
    let mut twice = table(ColumnKind::Unsigned, vec![]);
    twice.columns.push(twice.columns[0].clone());
    assert_eq!(error(&twice), "two columns have the name v");
}

#[test]
fn what_does_not_fit_is_not_read() {
    let good = serde_json::to_value(table(ColumnKind::Unsigned, vec![Value::Unsigned(7)])).expect("JSON");
    let wrong = [
        ("/rows/0/v", "-7"),
        ("/rows/0/v", "7.5"),
        ("/rows/0/v", "\"x\""),
        ("/rows/0/v", "{\"value\":7}"),
        ("/rows/0", "{}"),
        ("/rows/0", "{\"w\":7}"),
        ("/rows/0", "{\"v\":7,\"w\":7}"),
        ("/columns", "[]"),
        ("/columns/0/kind", "\"integer\""),
        ("/rest", "{}"),
        ("/rest/groups", "-1"),
        ("/window", "{\"start\":\"2026-11-24T15:40:02Z\",\"end\":\"2026-11-24T15:40:02.000000001Z\"}"),
        ("/status", "\"ok\""),
    ];
    assert!(serde_json::from_value::<Answer>(good.clone()).is_ok());
    for (place, json) in wrong {
        let mut changed = good.clone();
        *changed.pointer_mut(place).expect("a member") = serde_json::from_str(json).expect("JSON");
        assert!(serde_json::from_value::<Answer>(changed).is_err(), "{place}: {json}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    #[test]
    fn addresses_are_replaced_and_prefixes_keep_their_length(mut window in window()) {
        let before = window.clone();
        window.map_addresses(&mut |address| match address {
            std::net::IpAddr::V4(address) => (!address).into(),
            std::net::IpAddr::V6(address) => (!address).into(),
        });
        for (before, after) in before.answers.iter().zip(&window.answers) {
            let values = |answer: &Answer| -> Vec<Value> {
                let each = answer.rows.iter().flatten().flat_map(|value| match value {
                    Value::Heaviest(heaviest) => {
                        heaviest.values.iter().map(|(value, _)| value.clone()).collect()
                    }
                    value => vec![value.clone()],
                });
                each.collect()
            };
            for (before, after) in values(before).iter().zip(&values(after)) {
                match (before, after) {
                    (Value::Address(before), Value::Address(after)) => {
                        let all = |a: &std::net::IpAddr| match a {
                            std::net::IpAddr::V4(a) => u128::from(a.to_bits()),
                            std::net::IpAddr::V6(a) => a.to_bits(),
                        };
                        let ones = if before.is_ipv4() { u128::from(u32::MAX) } else { u128::MAX };
                        prop_assert_eq!(all(before) ^ all(after), ones);
                    }
                    (Value::Prefix { length, .. }, Value::Prefix { address, length: after }) => {
                        prop_assert_eq!(length, after);
                        prop_assert_eq!(model::network(*address, *length), *address);
                    }
                    _ => prop_assert_eq!(before, after),
                }
            }
        }
    }
}

#[test]
fn addresses_that_are_bounds_become_null() {
    let address = |last| Value::Address(std::net::IpAddr::from([192, 0, 2, last]));
    let columns = ["src_addr", "lower", "upper"].map(|name| Column::new(name, ColumnKind::Address, ""));
    let rows = vec![vec![address(1), address(0), address(9)]];
    let mut answer = Answer::new("quantiles", None, columns.into(), rows);
    answer.map_addresses(&mut |_| std::net::IpAddr::from([10, 0, 0, 1]));
    assert_eq!(answer.rows, [[Value::Address([10, 0, 0, 1].into()), Value::Null, Value::Null]]);
}
