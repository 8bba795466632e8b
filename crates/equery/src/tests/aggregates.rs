//! Aggregates whose arguments are more than a field.

use super::{checked, query, refused, said};
use crate::{Dialect, RowTable, sql};
use task::query::Comparison::Greater;
use task::query::{Aggregate, Condition, Expression, OutputColumn};

fn count_if(condition: Condition) -> Expression {
    Expression::Aggregate(Aggregate::CountIf(Box::new(condition)))
}

/// The SQL of a query in each dialect.
fn written(text: &str) -> [String; 3] {
    let key = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"].map(str::to_owned);
    let plan = query(text).plan;
    Dialect::ALL
        .map(|dialect| sql(&plan, &RowTable { name: "rows", key: &key, base_window_ns: None, dialect }))
}

#[test]
fn a_condition_counts_flows_within_their_group() {
    let large = count_if(Condition::compare("total_byte", Greater, 1_000_000));
    let ports = [80, 443].map(Expression::Integer).to_vec();
    let web = count_if(Condition::In(Expression::field("dst_port"), ports));
    let plan = query(
        "select dst_addr, COUNT_IF(bytes > 1M), count_if(dst_port in (80, 443)) as web groupby dst_addr \
         having count_if(total_byte > 1M) > 5 order by web desc",
    )
    .plan;
    let columns = [
        OutputColumn::field("dst_addr"),
        OutputColumn::new("count_if(total_byte > 1000000)", large.clone()),
        OutputColumn::new("web", web.clone()),
    ];
    assert_eq!(plan.columns, columns);
    assert_eq!(plan.having, Some(Condition::Compare(large, Greater, Expression::Integer(5))));
    assert_eq!(plan.order[0].by, web);
    // It is a number of flows, and no filter.
    let found = query(
        "select count_if(protocol = tcp and first_vlan is not null) / count(*) as share where dst_port = 80",
    );
    assert!(found.plan.filter.is_some(), "{:?}", found.plan);
    assert_eq!(
        query("select count_if(src_addr in 10.0.0.0/8)").columns[0].kind.to_string(),
        "a number of flows"
    );
}

#[test]
fn items_of_other_queries_may_count_by_a_condition() {
    let text = "q1: select dst_addr, count_if(total_byte > 1M) groupby dst_addr every 1s; \
                q2: select count(*) every 1s when q1.count_if(bytes > 1M) > 5; \
                q3: select dst_addr, q1.count_if(total_byte > 1M) * 2 as twice from q1;";
    let found = checked(text);
    assert!(!found.has_errors(), "{:#?}", found.diagnostics);
    let across = "select count_if(dst_port = 53) every 1s across nodes by sum";
    assert!(!checked(across).has_errors(), "{:#?}", checked(across).diagnostics);
}

#[test]
fn a_condition_is_one_on_rows() {
    refused("select count_if(total_byte)", 17, &["expected a condition", "compare it"]);
    refused("select count_if()", 8, &["wrong arguments", "count_if(CONDITION)"]);
    refused("select count_if(vlan = 1, vlan = 2)", 8, &["wrong arguments"]);
    refused("select count_if(*)", 17, &["expected a condition"]);
    refused("select count_if(sum(total_byte) > 1)", 17, &["aggregates do not nest"]);
    refused(
        "select count(distinct vlan), count_if(distinct vlan = 1)",
        30,
        &["'distinct' belongs into count"],
    );
    refused("select src_addr where count_if(total_byte > 1) > 2", 23, &["where filters rows before that"]);
    refused("select count_if(nothing > 1)", 17, &["'nothing' is neither a field nor defined"]);
    refused("select count_if(vlan = 1)", 1, &["count_if does not weigh them", "first_vlan"]);
    refused("select sum(total_byte > 1)", 12, &["expected a value, but found a condition"]);
    refused(
        "select countif(dst_port = 80)",
        8,
        &["there is no function 'countif'", "write 'count_if(dst_port = 80)'"],
    );
    refused("select countif(dst_port)", 8, &["count_if(CONDITION), such as"]);
    let dropped = said("select count_if(first_vlan != 1)");
    assert!(dropped.iter().any(|line| line.contains("drops rows without first_vlan")), "{dropped:?}");
}

#[test]
fn engines_count_rows_for_which_a_condition_is_true() {
    let [duckdb, clickhouse, spark] =
        written("select count_if(dst_port in (80, 443)) as web groupby dst_addr");
    assert!(duckdb.contains("count(*) FILTER (WHERE \"dst_port\" IN (80, 443))"), "{duckdb}");
    assert!(spark.contains("count(*) FILTER (WHERE `dst_port` IN (80, 443))"), "{spark}");
    assert!(clickhouse.contains("coalesce(countIf(`dst_port` IN (80, 443)), 0)"), "{clickhouse}");
}

#[test]
fn a_geometric_mean_is_of_numbers() {
    let found = query(
        "select dst_addr, geomean(total_byte / total_count) as size, geomean(total_byte) groupby dst_addr having size > 100",
    );
    let mean = Expression::Aggregate(Aggregate::GeometricMean(Box::new(Expression::field("total_byte"))));
    assert_eq!(found.plan.columns[2], OutputColumn::new("geomean(total_byte)", mean));
    assert_eq!(found.columns[2].kind.to_string(), "a number of bytes");
    refused(
        "select geomean(src_addr)",
        16,
        &["'geomean' of it has no meaning", "count(src_addr) counts its values"],
    );
    refused("select geomean(stime)", 16, &["'geomean' of it has no meaning"]);
    refused("select geomean(total_byte, 2)", 8, &["wrong arguments", "geomean(VALUE)"]);
    refused("select geomean(ip_ttl)", 1, &["geomean does not weigh them", "last_ip_ttl"]);
    let noted = said("select geomean(dst_port)");
    assert!(noted[0].contains("'dst_port' is a port: geomean computes with it as a number"), "{noted:?}");
    let across = "select geomean(total_byte) every 1s across nodes by sum; a: select geomean(duration) every 1s; \
                  b: select count(*) every 1s when a.geomean(duration) > 1s";
    assert!(!checked(across).has_errors(), "{:#?}", checked(across).diagnostics);
}

#[test]
fn engines_are_not_asked_for_the_logarithm_of_zero() {
    for (at, text) in written("select geomean(total_byte) as mean groupby dst_addr").iter().enumerate() {
        let column = if at == 0 { "\"total_byte\"" } else { "`total_byte`" };
        let zero = if at == 2 { "0e0" } else { "0.0" };
        let mean = format!(
            "CASE WHEN min({column}) > 0 THEN exp(avg(ln(CASE WHEN {column} > 0 THEN {column} END))) WHEN min({column}) = 0 THEN {zero} END"
        );
        assert!(text.contains(&mean), "{text}");
    }
}
