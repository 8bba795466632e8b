//! The SQL of one plan in each dialect.

use super::query;
use crate::{Dialect, RowPart, RowTable, answer_columns, engine_sql, sql};
use std::path::PathBuf;

const KEY: [&str; 5] = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"];

fn of(text: &str, dialect: Dialect) -> String {
    let key = KEY.map(str::to_owned);
    let table = RowTable { name: "rows", key: &key, base_window_ns: Some(10_000_000_000), dialect };
    sql(&query(text).plan, &table)
}

/// Expects texts that each dialect alone writes, in the order of [`Dialect::ALL`].
#[track_caller]
fn differ(text: &str, own: [&str; 3]) {
    for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
        let written = of(text, dialect);
        for (other, part) in own.iter().enumerate() {
            assert_eq!(written.contains(part), at == other, "{dialect:?}: {part}\n{written}");
        }
    }
}

#[test]
fn each_difference_is_written_as_the_engine_has_it() {
    differ(
        "select src_addr/20/52, sum(total_byte) groupby src_addr/20/52 every 1min",
        [
            "::BIT & CASE ip_version",
            "bitAnd(`src_addr`, CASE",
            "concat(substring(`src_addr`, 1, 14), unhex(lpad(",
        ],
    );
    differ(
        "select port, count(*) groupby port",
        [
            "unnest(list_distinct([struct_pack(port := src_port)",
            "ARRAY JOIN arrayDistinct([tuple(src_port)",
            "LATERAL VIEW explode(",
        ],
    );
    differ(
        "select quantile(total_byte, 0.9) every 1min over 5min",
        [
            "quantile_disc(\"total_byte\", 0.9)",
            "arraySort(groupArray(`total_byte`))",
            "try_element_at(array_sort(collect_list(",
        ],
    );
    differ(
        "select top(3, src_addr, total_byte), stddev(total_byte) every 1h",
        ["list(struct_pack(", "arraySlice(arraySort(", "slice(array_sort(collect_list(named_struct('less'"],
    );
}

#[test]
fn texts_and_names_stay_within_their_quotes() {
    let hostile = "it's \\ \" `x`; DROP";
    let texts = Dialect::ALL.map(|dialect| dialect.text(hostile));
    assert_eq!(
        texts,
        ["'it''s \\ \" `x`; DROP'", "'it\\'s \\\\ \" `x`; DROP'", "'it\\'s \\\\ \" `x`; DROP'"]
    );
    let names = Dialect::ALL.map(|dialect| dialect.identifier(hostile));
    assert_eq!(
        names,
        ["\"it's \\ \"\" `x`; DROP\"", "`it's \\\\ \" \\`x\\`; DROP`", "`it's \\ \" ``x``; DROP`"]
    );
}

#[test]
fn equal_groups_are_ordered_as_their_keys_are() {
    let order = |text: &str| {
        let text = of(text, Dialect::DuckDb);
        let from = text.find("ORDER BY ").expect("an order") + "ORDER BY ".len();
        text[from..from + text[from..].find(") AS answer_place").expect("a place")].to_owned()
    };
    assert_eq!(
        order("select dst_port, src_addr, count(*) groupby dst_port, src_addr order by src_addr desc"),
        "selected.k2 DESC NULLS LAST, min(selected.ip_version), selected.k2 NULLS FIRST, selected.k1 NULLS FIRST"
    );
    let names =
        order("select service, protocol_name, dst_port, count(*) groupby service, protocol_name, dst_port");
    let rest =
        names.strip_prefix("count(*) DESC NULLS LAST, selected.k3 NULLS FIRST, min(CASE WHEN protocol IN");
    assert!(rest.is_some_and(|rest| rest.ends_with(") NULLS LAST, min(protocol) NULLS LAST")), "{names}");
    let of_both = order("select conversation, count(*) groupby conversation");
    assert!(
        of_both.starts_with("count(*) DESC NULLS LAST, min(selected.ip_version), min(CASE WHEN (src_addr")
    );
    assert!(of_both.ends_with("min(protocol)"), "{of_both}");
    assert_eq!(
        order("select dst_port, count(*) groupby dst_port"),
        "count(*) DESC NULLS LAST, selected.k1 NULLS FIRST"
    );
}

#[test]
fn numbers_without_sign_are_made_wide_before_they_are_calculated_with() {
    let duckdb = |text: &str| of(text, Dialect::DuckDb);
    let written = duckdb("select src_port - dst_port as lower every 10s");
    assert!(written.contains("(\"src_port\"::HUGEINT - \"dst_port\"::HUGEINT)"), "{written}");
    let written = duckdb("select max(total_byte) - min(total_byte) as spread every 1min");
    assert!(written.contains("(max(\"total_byte\")::HUGEINT - min(\"total_byte\")::HUGEINT)"), "{written}");
    let written = duckdb("select src_addr where duration > 1s every 10s");
    assert!(written.contains("CASE WHEN ltime_ns >= stime_ns THEN ltime_ns - stime_ns"), "{written}");
}

#[test]
fn the_port_of_either_end_may_stand_on_either_side() {
    let written = of("select count(*) where src_port = port every 10s", Dialect::DuckDb);
    let expected = "(\"src_port\" = \"src_port\" OR \"src_port\" = \"dst_port\")";
    assert!(written.contains(expected), "{written}");
}

#[test]
fn names_of_columns_are_none_of_the_table_s() {
    let plan =
        query("select src_port as window_start, sum(total_byte) as nobody groupby src_port every 1h").plan;
    let key = KEY.map(str::to_owned);
    let columns = answer_columns(&plan, Some(&key)).expect("columns");
    let parts = [RowPart { files: vec![PathBuf::from("/a/1.parquet")], times: [0, u64::MAX] }];
    for dialect in Dialect::ALL {
        let asked = engine_sql(&plan, &key, &parts, &columns, [0, 1], dialect).expect("asked").statement;
        assert!(
            asked.contains(" AS v1, ") && asked.contains(" AS v2,") && !asked.contains("nobody"),
            "{asked}"
        );
    }
    let plan =
        query("select conversation, count(*) groupby conversation order by conversation every 1h").plan;
    let columns = answer_columns(&plan, Some(&key)).expect("columns");
    let refused = engine_sql(&plan, &key, &parts, &columns, [0, 1], Dialect::DuckDb).expect_err("refused");
    assert!(refused.contains("orders conversations"), "{refused}");
}

#[test]
fn files_are_named_as_they_are() {
    let plan = query("select sum(total_byte) every 1h").plan;
    let key = KEY.map(str::to_owned);
    let columns = answer_columns(&plan, Some(&key)).expect("columns");
    let asked = |files: &[&str], dialect| {
        let parts = [RowPart { files: files.iter().map(PathBuf::from).collect(), times: [1_500, u64::MAX] }];
        engine_sql(&plan, &key, &parts, &columns, [0, 1], dialect).map(|asked| asked.statement)
    };
    let files = ["/a's/x=1/1.parquet", "/a's/x=1/2.parquet", "/a's/[b]/3.parquet"];
    let duckdb = asked(&files, Dialect::DuckDb).expect("asked");
    assert!(duckdb.contains("'/a''s/x=1/2.parquet', '/a''s/[[]b]/3.parquet'], union_by_name"), "{duckdb}");
    assert!(duckdb.contains("WHERE epoch_us(window_start) >= 2\n"), "{duckdb}");
    let clickhouse = asked(&files, Dialect::ClickHouse).expect("asked");
    assert!(clickhouse.contains("file('/a\\'s/x=1/{1.parquet,2.parquet}', 'Parquet')"), "{clickhouse}");
    assert!(clickhouse.contains("UNION ALL"), "{clickhouse}");
    let spark = asked(&files, Dialect::Spark).expect("asked");
    assert!(
        spark.contains("parquet.`file:/{a's/x=1/1.parquet,a's/x=1/2.parquet,a's/\\[b\\]/3.parquet}`"),
        "{spark}"
    );
    let refused = asked(&["/a/{b}/1.parquet"], Dialect::ClickHouse).expect_err("refused");
    assert!(refused.starts_with("/a/{b}/1.parquet: ClickHouse"), "{refused}");
}

#[test]
fn queries_of_the_cookbook_are_printed_in_each_dialect() {
    let pages = ["cookbook.md", "equery.md"];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut printed = 0;
    for page in pages {
        let text = std::fs::read_to_string(folder.join(page)).expect("a page");
        for line in text.lines() {
            let quoted = line.strip_prefix("edison query ").and_then(|line| {
                let from = line.find("'select ")?;
                Some(&line[from + 1..from + 1 + line[from + 1..].find('\'')?])
            });
            let Some(asked) = quoted.or(line.starts_with("select ").then_some(line)) else { continue };
            let checked = super::checked(asked);
            if checked.has_errors() {
                continue;
            }
            for dialect in Dialect::ALL {
                let site = crate::ExplainContext { dialect, ..crate::ExplainContext::default() };
                for explained in crate::explain(&checked, &site).queries {
                    let statement = explained.statement();
                    let is_whole = statement.trim_end().ends_with(';') && statement.contains("ORDER BY");
                    let says_why = statement.lines().all(|line| line.starts_with("-- "));
                    assert!(is_whole || says_why, "{asked}\n{statement}");
                    printed += usize::from(is_whole);
                }
            }
        }
    }
    assert!(printed >= 60, "only {printed} statements");
}

#[test]
fn questions_by_packets_say_so_and_have_sql_where_rows_of_flows_answer_them() {
    let explained = |text: &str, key: &[&str]| {
        let key: Vec<String> = key.iter().map(|field| (*field).to_owned()).collect();
        let site = crate::ExplainContext { key, ..crate::ExplainContext::default() };
        let explanation = crate::explain(&super::checked(text), &site);
        explanation.queries.into_iter().next().expect("one query")
    };
    let tagged = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port", "vlan"];
    let step = "count packets by flow and vlan, in a table of their own: its rows are these";
    let none = "none: the table of rows does not have vlan of each packet: ask for first_vlan, or measure with it in --key";
    for (text, has_sql) in [
        ("select vlan, sum(total_byte) groupby vlan", true),
        ("select src_addr, sum(total_byte) where vlan = 5 groupby src_addr", false),
        ("select count(vlan) every 1min", false),
        ("select max(vlan)", false),
        ("select src_addr, count(*) groupby src_addr having min(vlan) > 3", false),
    ] {
        let by_packets = explained(text, &KEY);
        assert_eq!(by_packets.probe[0], step, "{text}");
        assert_eq!(by_packets.no_sql.as_deref(), (!has_sql).then_some(none), "{text}");
        assert_eq!(!by_packets.sql.is_empty(), has_sql, "{text}");
        assert_eq!(by_packets.statement().contains("WITH "), has_sql, "{text}");
        let as_one = "take rows of a flow in a group as one, but in aggregates of vlan".to_owned();
        let has_both = text.contains("(vlan)");
        assert_eq!(by_packets.probe.contains(&as_one), has_both, "{text}");
        let by_flows = explained(text, &tagged);
        assert!(by_flows.probe[0] != step && by_flows.no_sql.is_none(), "{text}: {by_flows}");
    }
    // What any packet of a flow had is the flow's.
    let of_flows = explained("select count(*) where tcp_flags = 2", &KEY);
    assert!(!of_flows.probe[0].contains("packets by flow") && of_flows.no_sql.is_none(), "{of_flows}");
}
