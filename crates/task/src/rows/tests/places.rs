//! Autonomous systems and countries of addresses.

use super::*;
use crate::query::ValueWeight;
use crate::row_refusal::Refusal;
use geo::Databases;
use std::sync::Arc;
use testbed::mmdb::{Database, MmdbValue as Data};

/// 10.0.0.0/8 and one half of 2001:db8::/32 are in Germany, 11.0.0.0/8 is in France; of 12.0.0.0/8 the system alone is known.
fn databases() -> Databases {
    let place = |asn, country| Data::Map(vec![("asn", Data::Number(asn)), ("country", Data::Text(country))]);
    let networks = vec![
        ("10.0.0.0", 8, place(10, "DE")),
        ("11.0.0.0", 8, place(11, "FR")),
        ("12.0.0.0", 8, place(12, "")),
        ("2001:db8::", 33, place(13, "DE")),
    ];
    let mut databases = Databases::default();
    databases.add(Database { record_bits: 24, ip_version: 6, networks }.encode()).expect("a database");
    databases
}

fn plain(src: &str, dst: &str, packets: u64) -> Plain {
    let address = |text: &str| text.parse().expect("an address");
    Plain {
        src: address(src),
        dst: address(dst),
        ports: [1, 2],
        protocol: 6,
        packets,
        bytes: packets * 100,
        vlan: None,
        rtt: None,
        lost: 0,
    }
}

fn answered(query: &Query) -> Vec<Vec<Value>> {
    let site = PlanContext { geo: Some(Arc::new(databases())), ..site(1 << 30) };
    let queries =
        RowQueries::plan(Generation::default(), std::slice::from_ref(query), &site).expect("a query");
    let rows = [
        plain("10.0.0.1", "11.0.0.1", 1),
        plain("10.0.0.2", "12.0.0.1", 2),
        plain("11.0.0.1", "10.0.0.1", 4),
        plain("13.0.0.1", "10.0.0.1", 8),
        plain("2001:db8::1", "2001:db8:8000::1", 16),
    ];
    let (v4, v6) = blocks(&rows);
    let (mut partials, mut scratch) = (queries.window(), RowScratch::default());
    partials.add_v4(&queries, &v4, &mut scratch);
    partials.add_v6(&queries, &v6, &mut scratch);
    let answers = partials.window_answers(&queries, SPAN, SPAN, &Unplaced::default());
    for row in &answers[0].rows {
        let fits = answers[0].columns.iter().zip(row).all(|(column, value)| value.fits(column.kind));
        assert!(fits, "{:?}", answers[0]);
    }
    answers[0].rows.clone()
}

fn sum_where(condition: Condition) -> Value {
    let query = Query { filter: Some(condition), ..query(&[], vec![OutputColumn::sum("total_count")], None) };
    answered(&query)[0][0].clone()
}

#[test]
fn conditions_read_places() {
    let text = |text: &str| Expression::Text(text.to_owned());
    let is =
        |field: &str, value| Condition::Compare(Expression::field(field), Comparison::Equal, text(value));
    assert_eq!(sum_where(is("src_country", "DE")), Value::Unsigned(19));
    assert_eq!(sum_where(is("dst_country", "fr")), Value::Unsigned(1));
    let not = Condition::Compare(Expression::field("src_country"), Comparison::NotEqual, text("DE"));
    assert_eq!(sum_where(not), Value::Unsigned(4));
    let both = Condition::In(Expression::field("src_country"), vec![text("DE"), text("FR")]);
    assert_eq!(sum_where(both), Value::Unsigned(23));
    assert_eq!(sum_where(Condition::Like("src_country".to_owned(), "_r".to_owned())), Value::Unsigned(4));
    assert_eq!(sum_where(Condition::IsNull(Expression::field("dst_country"))), Value::Unsigned(18));
    assert_eq!(sum_where(Condition::compare("dst_asn", Comparison::Greater, 11)), Value::Unsigned(2));
}

#[test]
fn groups_and_sets_are_of_places() {
    let by = Query {
        order: vec![Order { by: Expression::field("src_asn"), descending: false }],
        ..query(&["src_asn", "src_country"], vec![OutputColumn::sum("total_count")], None)
    };
    let row = |asn: u64, country: &str, packets: u64| vec![asn.into(), country.into(), packets.into()];
    let mut rows = answered(&by);
    rows.retain(|row| row[0] != Value::Null);
    assert_eq!(rows, [row(10, "DE", 3), row(11, "FR", 4), row(13, "DE", 16)]);
    let aggregate = |name, aggregate| OutputColumn::new(name, Expression::Aggregate(aggregate));
    let of = |field| GroupField::from_field(field);
    let all = answered(&query(
        &[],
        vec![
            aggregate("n", Aggregate::CountDistinct(of("src_country"))),
            aggregate(
                "top",
                Aggregate::Top(1, of("dst_country"), ValueWeight::Sum("total_count".to_owned())),
            ),
            aggregate("e", Aggregate::Entropy(of("dst_asn"), ValueWeight::Rows)),
        ],
        None,
    ));
    assert_eq!(all[0][0], Value::Unsigned(2));
    let Value::Heaviest(top) = &all[0][1] else { panic!("{:?}", all[0]) };
    assert_eq!(top.values[0].0, "DE".into());
    assert!(matches!(all[0][2], Value::Float(bits) if bits > 0.0), "{:?}", all[0]);
}

#[test]
fn a_site_without_databases_refuses_their_fields_by_name() {
    for field in ["src_asn", "dst_asn", "src_country", "dst_country"] {
        let refused = query(&[field], vec![OutputColumn::count("n")], None);
        let refusals =
            RowQueries::plan(Generation::default(), &[refused], &site(1 << 20)).expect_err("no databases");
        assert_eq!(refusals[0].1, Refusal::NeedsGeo { field: field.to_owned() });
        assert!(refusals[0].1.to_string().contains(field));
    }
}
