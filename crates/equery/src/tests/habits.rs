//! Tests that Equery takes the text that an error gives in the place of what is written in SQL.

use super::checked;
use crate::{Diagnostic, Severity};

/// Values as SQL has them of a field. Those that Equery has are among them: their errors give texts, too.
const VALUES: [&str; 45] = [
    "mean(F)",
    "average(F)",
    "median(F)",
    "percentile(F, 95)",
    "percentile(F, 99.9)",
    "approx_quantile(F, 0.5)",
    "percentile_cont(0.9) within group (order by F desc)",
    "mode() within group (order by F)",
    "mode(F)",
    "std(F)",
    "stddev_pop(F)",
    "stddev_samp(F)",
    "approx_count_distinct(F)",
    "uniq(F)",
    "total(F)",
    "first(F)",
    "last_value(F)",
    "any_value(F)",
    "lag(F)",
    "lag(sum(F))",
    "coalesce(F, 0)",
    "coalesce(max(F), 0)",
    "coalesce(mean(F), 0)",
    "round(F)",
    "round(avg(F), 2)",
    "round(mean(F), 2)",
    "if(F > 5, 1, 0)",
    "rank()",
    "row_number() over (partition by F order by F desc)",
    "sum(F) over (partition by src_addr)",
    "lag(F) over (order by stime)",
    "sum(F) filter (where dst_port = 80)",
    "date_trunc('hour', F)",
    "time_bucket('5 minutes', F)",
    "cast(F as float)",
    "case when F = 5 then 1 else 0 end",
    "F & 2",
    "sum(F)",
    "avg(F)",
    "min(F)",
    "stddev(F)",
    "rate(F)",
    "quantile(F, 0.5)",
    "count(distinct F)",
    "F",
];
/// Queries that have such a value in the place of V.
const QUERIES: [&str; 12] = [
    "select V",
    "select src_addr, V groupby src_addr",
    "select src_addr, V, count(*) group by src_addr",
    "select vlan, V groupby vlan",
    "select src_addr, count(*) groupby src_addr having V is not null",
    "select src_addr, count(*) where V > 5 groupby src_addr",
    "select src_addr, count(*) group by src_addr order by V desc",
    "select V as v, count(*) group by v",
    "select V, count(*) group by 1",
    "select count(*) group by V",
    "select V where vlan = 5",
    "select src_addr, V where ip_ttl > 5 and dst_port = 53 groupby src_addr",
];

/// The texts in quotes that an error has behind its `; `.
fn quoted(help: &str) -> Vec<&str> {
    // A quote within a word or a text is none.
    let mut parts = help.split('\'');
    parts.next();
    std::iter::from_fn(|| {
        let text = parts.next()?;
        parts.next();
        Some(text)
    })
    .collect()
}

/// The query that follows an advice: `span` is where the error is.
fn followed(query: &str, span: &std::ops::Range<usize>, advice: &str) -> String {
    let advice = &advice.replace("> …", "is not null");
    let has = |clause: &str| advice.starts_with(&format!("{clause} "));
    match () {
        () if has("select") || advice.contains(": select ") => advice.clone(),
        () if has("where") => format!("select count(*) {advice}"),
        () if ["having", "limit", "every", "last", "from"].into_iter().any(has) => {
            format!("select src_addr, count(*) groupby src_addr {advice}")
        }
        () if has("groupby") => format!("{} {advice}", query.split(" group").next().unwrap_or_default()),
        () => format!("{}{advice}{}", &query[..span.start], &query[span.end..]),
    }
}

/// The first error of a query, and the texts that it says to write.
fn error(query: &str) -> Option<(Diagnostic, Vec<String>)> {
    let error = checked(query).diagnostics.into_iter().find(|found| found.severity == Severity::Error)?;
    // A word alone names what the text speaks of; a definition is of what was meant.
    let names = |text: &&&str| {
        !["where", "having", "select"].contains(text) && !text.starts_with("let ") && **text != "as NAME"
    };
    let texts = quoted(error.help.as_deref().unwrap_or_default())
        .iter()
        .filter(names)
        .map(|text| (*text).to_owned())
        .collect();
    Some((error, texts))
}

#[test]
fn what_an_error_says_to_write_is_taken() {
    let fields: Vec<&str> = crate::language().fields.into_iter().map(|field| field.name).collect();
    assert!(fields.len() > 40, "{fields:?}");
    let (mut advised, mut wrong) = (0, Vec::new());
    for value in VALUES {
        for field in &fields {
            for frame in QUERIES {
                // What is a list of values is a column alone.
                if value.starts_with("mode") && frame.contains("V desc") | frame.contains("having V") {
                    continue;
                }
                let query = frame.replace('V', &value.replace('F', field));
                let Some((first, texts)) = error(&query) else { continue };
                for text in texts {
                    advised += 1;
                    let mut fixed = followed(&query, &first.span, &text);
                    // A second error may be of another part of the query; what it says to write is taken.
                    let mut next = error(&fixed);
                    if let Some((second, texts)) = &next
                        && let Some(text) = texts.first()
                    {
                        fixed = followed(&fixed, &second.span, text);
                        next = error(&fixed);
                    }
                    // A column that is there already is another error.
                    if let Some((found, _)) = next.filter(|(found, _)| found.code != "duplicate_column") {
                        wrong.push(format!("{query}\n  {:?} → {fixed}\n  {found:?}", first.help));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {advised}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(advised > 5000, "{advised}");
}

#[test]
fn what_sql_has_in_another_way_has_one_error_with_the_text_to_write() {
    let cases = [
        ("select mean(vlan)", "write 'avg(first_vlan)'"),
        (
            "select count(*) filter (where dst_port = 80 and protocol = tcp) / count(*)",
            "write 'count_if(dst_port = 80 and protocol = tcp)'",
        ),
        ("select vlan, mean(vlan) groupby vlan", "avg(VALUE) is the mean"),
        ("select src_addr, median(ip_ttl) group by src_addr", "write 'quantile(last_ip_ttl, 0.5)'"),
        ("select mean(src_addr)", "avg(VALUE) is the mean"),
        ("select count(*) where mean(vlan) > 5", "use 'having', as in 'having avg(first_vlan) > …'"),
        (
            "select src_addr, percentile(total_byte, 99.9) group by src_addr",
            "write 'quantile(total_byte, 99.9%)'",
        ),
        ("select src_addr, rank() over (order by total_byte desc)", "'limit 10' has the first 10"),
        ("select sum(total_byte) over (partition by src_addr) where dst_port = 80", "leave it out"),
        ("select date_trunc('minute', stime) as m, count(*) group by m", "write 'every 1min'"),
        ("select time_bucket('15 minutes', stime), count(*) group by 1", "write 'every 15min'"),
        ("select count(*) group by date_trunc('day', stime)", "write 'every 1d'"),
        ("select time_bucket('10s', stime), count(*) group by 1", "write 'every 10s'"),
        ("select time_bucket('1h30m', stime), count(*) group by 1", "write 'every 90min'"),
        ("select time_bucket('1 hour 30 minutes', stime), count(*) group by 1", "write 'every 90min'"),
        ("select time_bucket('500ms', stime), count(*) group by 1", "write 'every 500ms'"),
        ("select time_bucket('nothing', stime), count(*) group by 1", "write 'every 1h'"),
        ("select src_addr, count(*) group by src_addr qualify rank() <= 3", "'limit 10' has the first 10"),
        (
            "select src_addr, total_byte qualify row_number() over (partition by src_addr order by total_byte) = 1",
            "the column 'top(3, dst_port)'",
        ),
        (
            "select src_addr, dst_addr, count(*) group by rollup(src_addr, dst_addr)",
            "write 'src_addr, dst_addr'",
        ),
        ("select src_addr, count(*) group by cube(src_addr)", "write 'src_addr', and ask another query"),
        ("select src_addr, count(*) group by src_addr with rollup", "leave it out, and ask another query"),
        ("select src_addr, count(*) group by grouping sets ((src_addr), ())", "ask a query for each of them"),
        ("select src_addr, count(*) groupby src_addr having vlan = 5", "'where vlan = 5'"),
        (
            "select src_addr, count(*) where src_port = 1 or src_port = 2 groupby src_addr having count(*) > 2 and dst_port = 53",
            "'where (src_port = 1 or src_port = 2) and dst_port = 53'",
        ),
        ("select count(*) from packets", "without from a query reads the traffic"),
        ("select src_addr limit 3 offset 2", "write 'limit 5'"),
        ("select src_addr limit 2, 3", "write 'limit 5'"),
        ("select src_addr offset 2 rows fetch next 3 rows only", "write 'limit 5'"),
        ("select src_addr offset 2", "leave it out"),
        ("select src_addr fetch first 7 rows only", "write 'limit 7'"),
        ("select src_addr fetch first row only", "write 'limit 1'"),
        ("select distinct src_addr, count(*)", "write 'select src_addr, count(*) groupby src_addr'"),
        ("select distinct src_addr, pps where dst_port = 80", "write 'select src_addr, pps'"),
        ("select first(vlan)", "write 'first_vlan'"),
        (
            "select src_addr, first(vlan) group by src_addr",
            "'min(first_vlan)' is the least of what its flows have, as the order of packets is not kept",
        ),
        ("select last(ip_ttl), count(*)", "'max(last_ip_ttl)' is the greatest of what its flows have"),
        // What whole flows have is in no question by what each packet has.
        ("select mean(ip_ttl) where ip_ttl > 5", "write 'select avg(last_ip_ttl) where last_ip_ttl > 5'"),
        ("select mean(vlan) where vlan = 5", "write 'select avg(first_vlan) where first_vlan = 5'"),
        ("select first(vlan) where vlan = 5", "write 'select first_vlan where first_vlan = 5'"),
        (
            "select src_addr, last(ip_ttl) as t where ip_ttl > 5 and dst_port = 53 limit 3",
            "write 'select src_addr, last_ip_ttl as t where last_ip_ttl > 5 and dst_port = 53 limit 3'",
        ),
        ("select distinct conversation, src_addr", "write 'select conversation, src_addr'"),
        (
            "select distinct conversation, vlan",
            "write 'select conversation, vlan groupby conversation, vlan'",
        ),
        ("select date_trunc(minute, stime), count(*) group by 1", "write 'every 1min'"),
        ("select date(stime), count(*) group by 1", "write 'every 1d'"),
        (
            "select count(*) where date(stime) = '2026-01-31'",
            "which time behind the query: 'last 1h', or 'from \"2026-01-31\" to",
        ),
        (
            "select src_addr, coalesce(avg(total_byte), 0) group by src_addr",
            "'having avg(total_byte) is not null'",
        ),
        ("select src_addr, coalesce(vlan, 0)", "'where vlan is not null'"),
        ("select addr, src_addr, count(*) groupby addr", "aggregate it: 'count(src_addr)'"),
        // What whole flows have is not asked for next to what packets have.
        ("select avg(ip_ttl) where vlan = 5", "'select avg(last_ip_ttl) where first_vlan = 5'"),
        ("select avg(last_ip_ttl) where vlan = 5", "'select avg(last_ip_ttl) where first_vlan = 5'"),
        (
            "select src_addr, quantile(ip_ttl, 0.5) where vlan = 5 or dst_port = 80 groupby src_addr",
            "'select src_addr, quantile(last_ip_ttl, 0.5) where first_vlan = 5 or dst_port = 80 groupby src_addr'",
        ),
        (
            "select vlan, avg(ip_ttl) groupby vlan order by avg(ip_ttl) limit 3",
            "'select first_vlan, avg(last_ip_ttl) groupby first_vlan order by avg(last_ip_ttl) limit 3'",
        ),
        (
            "select count(*) where vlan = 5 or total_byte > 1000",
            "'select count(*) where first_vlan = 5 or total_byte > 1000'",
        ),
        (
            "select distinct first_vlan, ip_ttl",
            "write 'select first_vlan, last_ip_ttl groupby first_vlan, last_ip_ttl'",
        ),
        (
            "select distinct on (src_addr) src_addr, dst_addr, total_byte order by src_addr, total_byte desc",
            "write 'select src_addr, top(1, dst_addr), max(total_byte) groupby src_addr'",
        ),
        ("select distinct on (src_addr, vlan) stime", "write 'select max(stime) groupby src_addr, vlan'"),
        (
            "select percentile_cont(0.9) within group (order by total_byte desc)",
            "write 'quantile(total_byte, 0.1)'",
        ),
        (
            "select percentile_disc(0.95) within group (order by duration desc)",
            "write 'quantile(duration, 0.05)'",
        ),
        (
            "select percentile_cont(99) within group (order by total_byte desc)",
            "write 'quantile(total_byte, 1%)'",
        ),
        (
            "select percentile_cont(0) within group (order by total_byte desc)",
            "write 'quantile(total_byte, 1)'",
        ),
        ("select mode() within group (order by dst_port)", "write 'top(1, dst_port, count(*))'"),
        (
            "select date_trunc('month', stime), count(*) group by 1",
            "'from \"2026-01-01\" to \"2026-02-01\"' behind the query",
        ),
        ("select count(*) group by date_trunc(year, stime)", "windows are of one length, and these are not"),
        ("select count(*) where stime > now() - interval '7 days'", "write 'last 1w', or 'from -2w to -1w'"),
        ("select count(*) where stime > interval '7 days'", "write 'last 1w', or 'from -2w to -1w'"),
        ("select count(*) where ip_tos & 0xfc = 184", "write 'ip_tos between 184 and 187'"),
        ("select count(*) where stime > now()", "write 'last 1h', or 'from -2h to -1h'"),
        ("select count(*) where stime > current_timestamp - interval 1 hour", "write 'last 1h'"),
        ("select count(*) where duration > interval '1 month'", "write one of days, such as 30d"),
        ("select count(*) where duration > interval 'long'", "write a length of time, such as 7d"),
        ("select count(*) where src_addr like '10.0.%'", "write 'src_addr in 10.0.0.0/16'"),
        ("select count(*) where addr not like '192.168.1.%'", "write 'addr not in 192.168.1.0/24'"),
        ("select count(*) where src_addr like '10.%.%.%'", "write 'src_addr in 10.0.0.0/8'"),
        ("select count(*) where src_addr like '10.0.0.7'", "write 'src_addr in 10.0.0.7'"),
        ("select count(*) where src_addr like '2001:db8:%'", "write 'src_addr in 2001:db8::/32'"),
        ("select count(*) where src_addr like '10.1%'", "an example of a range of addresses is"),
        ("select count(*) where src_addr like '%.1'", "an example of a range of addresses is"),
        ("select count(*) where src_addr like '10.%.1'", "an example of a range of addresses is"),
        ("select count(*) where src_addr like '2001:0:%'", "an example of a range of addresses is"),
        ("select count(*) where ip_tos & 252 = 184", "write 'ip_tos between 184 and 187'"),
        ("select count(*) where (ip_tos & 252) != 184", "write 'ip_tos not between 184 and 187'"),
        ("select count(*) where ip_ttl & 255 = 64", "write 'ip_ttl = 64'"),
        ("select count(*) where ip_tos & 252 = 1", "no value is like this"),
        ("select count(*) where ip_tos & 63 = 1", "write 'ip_tos in (1, 65, 129, 193)'"),
        ("select count(*) where ip_tos & 63 != 1", "write 'ip_tos not in (1, 65, 129, 193)'"),
        ("select count(*) where tcp_flags & 4 = 4", "tcp_flags in (4, 20)"),
        ("select ip_tos & 252, count(*) group by 1", "a group by ip_tos has each of its values"),
        (
            "select count(*) where src_addr & 255 = 10",
            "name the prefix that is meant: src_addr in 10.0.0.0/8",
        ),
        ("select src_addr & 255, count(*) group by 1", "a group by src_addr/24 has each prefix"),
        ("select count(*) where tcp_flags & 2 = 2", "'where tcp_flags in (2, 18) groupby tcp_flags'"),
    ];
    for (query, expected) in cases {
        let found: Vec<_> = checked(query).diagnostics;
        let errors: Vec<_> = found.iter().filter(|found| found.severity == Severity::Error).collect();
        let help = errors.first().and_then(|error| error.help.as_deref()).unwrap_or_default();
        assert!(errors.len() == 1 && help.contains(expected), "{query}: {errors:#?}");
    }
}

#[test]
fn what_sql_has_in_another_way_is_taken_where_it_has_one_meaning() {
    for (query, same) in [
        ("select count(*) where duration > interval '7 days'", "select count(*) where duration > 1w"),
        ("select count(*) where duration > interval '90' minute", "select count(*) where duration > 90min"),
        ("select count(*) where duration < INTERVAL 2 HOURS", "select count(*) where duration < 2h"),
        (
            "select src_addr as \"my name\", count(*) group by \"my name\"",
            "select src_addr as \"my name\", count(*) groupby src_addr",
        ),
        (
            "select src_addr/24 \"net\", count(*) n group by \"net\" order by \"n\"",
            "select src_addr/24 as net, count(*) as n groupby src_addr/24 order by n",
        ),
    ] {
        let [found, meant] = [query, same].map(checked);
        assert_eq!(found.diagnostics, [], "{query}");
        assert_eq!(found.queries[0].plan, meant.queries[0].plan, "{query}");
    }
}

/// A number without a unit is of nanoseconds next to a duration, which few mean.
#[test]
fn a_plain_number_next_to_a_duration_is_warned_of() {
    for (query, help) in [
        ("select count(*) where duration > 60", Some("write 60s if seconds are meant, 60ns if not")),
        ("select count(*) where 60 < duration", Some("write 60s if seconds are meant, 60ns if not")),
        ("select count(*) where duration between 1s and 5", Some("write 5s if seconds are meant")),
        ("select count(*) where duration in (1ms, 2)", Some("write 2s if seconds are meant")),
        ("select src_addr, max(duration) as d groupby src_addr having d > 0.5", Some("write 0.5s if")),
        ("select count(*) where duration > 5000000000", Some("write 5s")),
        ("select src_addr, avg(duration) / 1000000 as ms groupby src_addr having ms > 5", None),
        ("select src_addr, avg(duration / 1000) as us groupby src_addr having us > 5", None),
        ("select count(*) where ltime - stime > 60", Some("write 60s if seconds are meant")),
        ("let K = 60; select count(*) where duration > K", Some("write 60s if seconds are meant")),
        ("select count(*) where duration > 60s", None),
        ("select count(*) where duration > 0", None),
        ("select count(*) where total_byte > 60", None),
        ("select count(*) where duration / 1s > 60", None),
    ] {
        let found = checked(query).diagnostics;
        let helps: Vec<_> = found.iter().filter_map(|found| found.help.as_deref()).collect();
        assert_eq!(helps.len(), usize::from(help.is_some()), "{query}: {found:#?}");
        assert!(helps.iter().zip(help).all(|(found, help)| found.contains(help)), "{query}: {found:#?}");
        assert!(found.iter().all(|found| found.severity == Severity::Warning), "{query}: {found:#?}");
    }
}

/// The check refuses each question by packets that a run refuses.
#[test]
fn a_condition_on_packets_or_on_their_flow_is_refused() {
    for (query, is_refused) in [
        ("select count(*) where vlan = 5 or total_byte > 1000", true),
        ("select sum(total_count) where not (ip_ttl > 5 and duration > 1s)", true),
        ("select count(*) where vlan = 5 and total_byte > 1000", false),
        ("select count(*) where vlan = 5 or dst_port = 53", false),
        ("select vlan, count(*) where vlan = 5 or total_byte > 1000 groupby vlan", false),
    ] {
        let found = checked(query).diagnostics;
        let refused: Vec<_> = found.iter().filter(|found| found.severity == Severity::Error).collect();
        let is_said = refused.iter().any(|found| found.message.contains("can stand in one query only"));
        assert_eq!((is_said, refused.is_empty()), (is_refused, !is_refused), "{query}: {found:#?}");
    }
}

#[test]
fn nulls_that_an_alternative_keeps_are_not_said_to_be_dropped() {
    for (condition, drops) in [
        ("vlan != 5", true),
        ("vlan != 5 or vlan is null", false),
        ("vlan is null or vlan not in (5, 6)", false),
        ("vlan != 5 or dst_port = 80 or vlan is null", false),
        ("(vlan != 5 and dst_port = 80) or vlan is null", false),
        ("(vlan != 5 or vlan is null) and dst_port = 80", false),
        ("vlan != 5 or vlan is not null", true),
        ("vlan != 5 or dst_port = 80", true),
        ("(vlan = 5 or vlan is null) and vlan != 6", true),
    ] {
        let found = checked(&format!("select count(*) where {condition}")).diagnostics;
        assert!(found.iter().all(|found| found.severity != Severity::Error), "{condition}: {found:#?}");
        assert_eq!(found.iter().any(|found| found.code == "drops_nulls"), drops, "{condition}: {found:#?}");
    }
}
