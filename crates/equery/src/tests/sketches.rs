//! `using` and `error`: which queries are counted in packets, and what is refused.

use super::{query, refused, said, said_with};
use crate::{CheckOptions, ExplainContext, SourceText, check, explain};
use model::Class;

const BYTES: &str = "select dst_addr, sum(total_byte) groupby dst_addr";

#[track_caller]
fn task(clauses: &str) -> String {
    let query = query(&format!("q: {clauses}"));
    assert_eq!((query.class, query.not_run.len()), (Class::Sketch, 0), "{clauses}");
    query.sketch.expect("a sketch").task.to_string()
}

#[test]
fn a_query_that_says_how_it_is_counted_is_a_task() {
    let heavy = "q: heavy-hitters:key=dst_addr,by=bytes";
    for (clauses, text) in [
        (
            format!("{BYTES} limit 10 using space_saving(memory=128KiB)"),
            format!("{heavy},top=10,structure=space-saving,memory=128KiB"),
        ),
        (
            format!("{BYTES} limit 10 using SPACE-SAVING(packets=60K, memory=64Ki)"),
            format!("{heavy},top=10,structure=space-saving,memory=64KiB,packets=60000"),
        ),
        (format!("{BYTES} limit 5 error 0.5%"), format!("{heavy},top=5,error=0.5%")),
        (
            format!("{BYTES} having sum(total_byte) > 1M using sample-and-hold(memory=1MiB) every 10s"),
            format!("{heavy},count=1000001,structure=sample-and-hold,memory=1MiB"),
        ),
        (
            "select src_addr/24, count(distinct dst_addr) as n groupby src_addr/24 having n >= 50 error 10%"
                .to_owned(),
            "q: super-spreaders:key=src_addr/24/96,of=dst_addr,count=50,error=10%".to_owned(),
        ),
        (
            "select entropy(dst_port) using size_array(memory=1MiB)".to_owned(),
            "q: entropy:key=dst_port,by=packets,structure=size-array,memory=1MiB".to_owned(),
        ),
        (
            "select entropy(src_addr, total_byte) using exact(memory=1GiB)".to_owned(),
            "q: entropy:key=src_addr,by=bytes,structure=exact,memory=1024MiB".to_owned(),
        ),
    ] {
        assert_eq!(task(&clauses), text);
    }
    let text = format!("let Size = 64KiB; {BYTES} limit 3 using space_saving(memory=Size)");
    let sketch = query(&text).sketch.expect("a sketch");
    assert!(sketch.task.to_string().ends_with("memory=64KiB"), "{}", sketch.task);
}

#[test]
fn without_a_size_an_exact_table_is_what_rows_are() {
    let query = query(&format!("{BYTES} using exact"));
    assert_eq!((query.class, query.sketch, query.not_run.len()), (Class::Row, None, 0));
    assert_eq!(query.class_reasons, ["'using exact' is what rows are"]);
}

#[test]
fn what_no_structure_answers_is_refused_where_it_stands() {
    let using = "using space_saving(memory=128KiB)";
    for (text, column, words) in [
        (
            format!("{BYTES} {using} where dst_port = 53"),
            85,
            &["'using space_saving'", "condition", "rows answer"][..],
        ),
        (format!("{BYTES} {using} limit 2000"), 85, &["1000 rows"]),
        (format!("{BYTES} {using} having sum(total_byte) < 5"), 85, &["threshold"]),
        (format!("{BYTES} {using} order by dst_addr"), 85, &["largest"]),
        (format!("{BYTES} over 20s every 10s error 1%"), 51, &["'error'", "overlap", "without 'error'"]),
        ("select count(*) error 1%".to_owned(), 1, &["count(*) counts flows"]),
        (
            "select dst_addr, sum(total_byte), sum(total_count) groupby dst_addr error 1%".to_owned(),
            1,
            &["several"],
        ),
        ("select addr, sum(total_byte) groupby addr error 1%".to_owned(), 30, &["not by addr"]),
        ("select quantile(dst_port, 0.5) error 1%".to_owned(), 1, &["of flows", "--task quantiles"]),
        ("select dst_addr, max(size_p50) groupby dst_addr error 1%".to_owned(), 49, &["'size_p50'"]),
        (format!("{BYTES} using dyadic"), 51, &["no structure \"dyadic\"", "space-saving"]),
        (format!("{BYTES} using mv_sketch"), 51, &["32 bits"]),
        (format!("{BYTES} using space_saving(memory=10)"), 51, &["memory=10 is too little"]),
        (format!("{BYTES} using space_saving(memry=1KiB)"), 76, &["'memory' may be meant"]),
        (format!("{BYTES} using space_saving(memory=5s)"), 77, &["a size such as 128KiB", "5s"]),
        (format!("{BYTES} using space_saving(memory=1KiB, memory=2KiB)"), 90, &["second time"]),
        (format!("{BYTES} using space_saving(memory=1MiB) error 1%"), 83, &["both say how large"]),
        (format!("{BYTES} using spacesaving(memory=1MiB)"), 57, &["'space_saving' may be meant"]),
    ] {
        refused(&text, column, words);
    }
}

#[test]
fn windows_are_those_of_the_run() {
    let options = |base: Option<u64>, packets| CheckOptions {
        base_window_ns: base,
        window_packets: packets,
        ..CheckOptions::default()
    };
    let text = format!("{BYTES} every 20s error 1%");
    assert_eq!(said_with(&text, &options(Some(20_000_000_000), None)), Vec::<String>::new());
    for options in [options(Some(10_000_000_000), None), options(None, Some(1_000_000))] {
        let said = said_with(&text, &options);
        assert!(said.len() == 1 && said[0].contains("in each window of the run"), "{said:?}");
    }
}

#[test]
fn queries_that_start_and_that_are_started_are_counted() {
    let text = "a: select dst_addr, sum(total_byte) as b groupby dst_addr limit 5 using space_saving(memory=64KiB); \
                b: select dst_addr, prev(sum(total_byte)) as b groupby dst_addr error 1% when each a.b > 5 run 20s; \
                c: select dst_addr, a.b / 2 as half from a; \
                d: select src_addr, sum(total_byte) groupby src_addr error 1% where node_id = b.node_id when b.b > 5;";
    assert_eq!(said(text), Vec::<String>::new());
    let checked = check(&SourceText { name: "q", text }, &CheckOptions::default());
    let tasks = checked.queries.iter().map(|query| {
        assert_eq!(query.not_run, [], "{}", query.label);
        assert_eq!(query.plan.counting, query.sketch.as_ref().map(|sketch| sketch.counting));
        query.sketch.as_ref().map(|sketch| sketch.task.to_string())
    });
    let expected = [
        Some("a: heavy-hitters:key=dst_addr,by=bytes,top=5,structure=space-saving,memory=64KiB"),
        Some("b of rows: heavy-hitters:key=dst_addr,by=bytes,top=1000,error=1%"),
        None,
        Some("d: heavy-hitters:key=src_addr,by=bytes,top=1000,error=1%"),
    ];
    assert_eq!(tasks.collect::<Vec<_>>(), expected.map(|task| task.map(str::to_owned)));
}

#[test]
fn what_is_not_the_packets_of_a_window_is_not_counted() {
    let parent = "a: select dst_addr, sum(total_byte) as b groupby dst_addr every 1s;";
    for (query, at, words) in [
        (
            "select src_addr, sum(total_byte) groupby src_addr where dst_addr = a.dst_addr error 1% every 1s when a.b > 5",
            "where",
            &["'error' is not possible here", "a firing of a pins no dst_addr"][..],
        ),
        (
            "select src_addr, sum(total_byte) groupby src_addr error 1% every 1s when a.b > 5 in same window",
            "in same",
            &["the rows of the window that fired", "without 'error'"],
        ),
        (
            "select src_addr, sum(total_byte) groupby src_addr error 1% every 1s while a.b > 5",
            "while",
            &["the rows of the window that fired"],
        ),
        ("select dst_addr, a.b as half from a error 1% every 1s", "error", &["reads answers"]),
    ] {
        let text = format!("{parent} {query}");
        let column = text.find(at).map_or(0, |at| at + 1);
        refused(&text, column, words);
    }
    let text = format!("{BYTES} error 1% last 1h");
    let query = query(&text);
    let reasons: Vec<&str> = query.not_run.iter().map(|not_run| not_run.reason.as_str()).collect();
    assert!(reasons.contains(&"files and stores have flows, and structures count packets"), "{reasons:?}");
    assert_eq!(query.sketch, None);
}

#[test]
fn it_is_explained_with_its_structure() {
    let text = format!("{BYTES} limit 5 using space_saving(memory=128KiB)");
    let checked = check(&SourceText { name: "q", text: &text }, &CheckOptions::default());
    let explanation = explain(&checked, &ExplainContext::default());
    let shown = explanation.to_string();
    for words in ["class    sketch", "structure=space-saving,memory=128KiB", "theory promises", "limit: 5"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let json = serde_json::to_value(&explanation).expect("JSON");
    let sketch = &json["queries"][0]["sketch"];
    assert_eq!(
        (&sketch["structure"], &json["queries"][0]["sql"]),
        (&"space-saving".into(), &serde_json::json!([]))
    );
    assert!(sketch["memory_bytes"].as_u64().is_some_and(|bytes| bytes >= 128 << 10), "{sketch}");
}
