//! What files do not tell is unknown: it is null, and no number that was made up.

use crate::support::program::call;
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::path::PathBuf;

/// As nfdump 1.7.1 prints it: begin and end in whole seconds, the duration to the millisecond, no bytes on the wire.
const NFDUMP: &str = "\
ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt
2024-01-01 00:00:00,2024-01-01 00:00:01,1.250,10.0.0.1,10.0.0.2,50000,443,TCP,...AP.S.,0,0,10,5000,0,0
2024-01-01 00:00:02,2024-01-01 00:00:02,0.500,10.0.0.1,10.0.0.3,50001,443,TCP,...AP.S.,0,0,4,400,0,0
2024-01-01 00:00:05,2024-01-01 00:00:05,0.000,10.0.0.4,10.0.0.3,50002,53,UDP,........,0,0,1,60,0,0
";

fn only(stdout: &str) -> Value {
    let mut lines = stdout.lines();
    let answer = schema::of_line(lines.next().expect("an answer"));
    assert_eq!(lines.next(), None);
    answer
}

fn check(answer: &Value) {
    let row = &answer["rows"][0];
    assert_eq!(row["src_addr"], "10.0.0.1", "{answer}");
    assert_eq!(
        [&row["flows"], &row["total_count"], &row["total_byte"], &row["wire_byte"]],
        [&2.into(), &14.into(), &5400.into(), &Value::Null],
        "{answer}"
    );
    assert_eq!((&answer["status"], &answer["bounds"]), (&"complete".into(), &"exact".into()), "{answer}");
    assert!(
        answer["reason"].as_str().is_some_and(|reason| reason.contains("wire_byte not known")),
        "{answer}"
    );
}

#[test]
fn bytes_on_the_wire_that_are_not_told_are_null() {
    let scratch = Scratch::new();
    let file = scratch.file("nf.csv", NFDUMP.as_bytes());
    let asked = ["--by", "src_addr", "--json"];
    check(&only(&call(&[&["query", text(&file)], &asked[..]].concat()).expect(0).stdout));
    // Once imported, too; and next to rows that tell them the sum of all is not known.
    let store = scratch.path("store");
    call(&["import", text(&file), "--node", "n1", "--store", text(&store)]).expect(0);
    check(&only(&call(&[&["query", "--store", text(&store)], &asked[..]].concat()).expect(0).stdout));
    let hours = [
        "select src_addr, sum(total_byte) as total_byte, sum(wire_byte) as wire_byte groupby src_addr every 1h",
    ];
    let answer =
        only(&call(&[&["query", "--store", text(&store), "--json"], &hours[..]].concat()).expect(0).stdout);
    assert_eq!(answer["rows"][0]["wire_byte"], Value::Null, "{answer}");
    assert_eq!(answer["rows"][0]["total_byte"], 5400, "{answer}");
    // Asked for alone there is nothing to answer.
    call(&["query", text(&file), "select sum(wire_byte)"]).says(2, &["wire_byte", text(&file)]);
}

#[test]
fn another_engine_makes_up_no_bytes_on_the_wire() {
    let scratch = Scratch::new();
    let file = scratch.file("nf.csv", NFDUMP.as_bytes());
    let store = scratch.path("store");
    call(&["import", text(&file), "--node", "n1", "--store", text(&store)]).expect(0);
    // Were it asked, there would be no such program.
    let missing = scratch.path("missing");
    let engine = ["--engine", "duckdb", "--engine-program", text(&missing)];
    let ask =
        |asked| call(&[&["query", "--store", text(&store), "--json", "-q", asked], &engine[..]].concat());
    for asked in [
        "select src_addr, sum(total_byte) as b, sum(wire_byte) as w groupby src_addr",
        "select count(*) as n where wire_byte > 10",
        "select rate(wire_byte) every 1h",
    ] {
        ask(asked).says(2, &["wire_byte", "no bytes on the wire", "without --engine"]);
    }
    ask("select sum(total_byte) as b").says(2, &["there is no program"]);
}

#[test]
fn the_duration_of_nfdump_is_to_the_millisecond() {
    let scratch = Scratch::new();
    let file = scratch.file("nf.csv", NFDUMP.as_bytes());
    let asked = "select src_port, max(duration) as d, max(ltime) as e groupby src_port order by src_port";
    let answer = only(&call(&["query", text(&file), "--json", asked]).expect(0).stdout);
    let durations: Vec<f64> = answer["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["d"].as_f64().expect("a number"))
        .collect();
    assert_eq!(durations, [1.25e9, 0.5e9, 0.0]);
    assert_eq!(answer["rows"][0]["e"], "2024-01-01T00:00:01.250000000Z");
}

#[test]
fn a_null_address_is_in_no_group() {
    let scratch = Scratch::new();
    let lines = concat!(
        r#"{"src_addr":"10.0.0.1","dst_addr":"10.0.0.2","total_byte":100,"total_count":1,"ltime":"1704067200000000000"}"#,
        "\n",
        r#"{"src_addr":null,"dst_addr":"10.0.0.2","total_byte":2000,"total_count":20,"ltime":"1704067201000000000"}"#,
        "\n"
    );
    let file = scratch.file("foreign.jsonl", lines.as_bytes());
    for asked in [
        "select src_addr, count(*) as f, sum(total_byte) as b groupby src_addr",
        "select src_addr, sum(total_byte) as b groupby src_addr",
    ] {
        let ended = call(&["query", text(&file), "--json", asked]);
        let answer = only(&ended.stdout);
        let addresses: Vec<&Value> =
            answer["rows"].as_array().expect("rows").iter().map(|row| &row["src_addr"]).collect();
        assert!(!addresses.contains(&&Value::from("0.0.0.0")), "{answer}");
        assert_eq!(answer["rows"][0]["src_addr"], "10.0.0.1", "{answer}");
        assert_ne!(answer["reason"], Value::Null, "what is in no group is said: {answer}");
    }
}

/// What one node does not tell is not unknown of another one.
#[test]
fn bytes_on_the_wire_are_unknown_of_the_node_that_lacks_them() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let file = |name: &str, more: [&str; 2]| {
        let head = format!(
            "src_addr,dst_addr,src_port,dst_port,protocol,total_count,total_byte{},stime,ltime\n",
            more[0]
        );
        let times = "2024-01-01T00:00:00Z,2024-01-01T00:00:01Z";
        scratch.file(name, format!("{head}10.0.0.1,10.0.0.2,1,2,17,3,300{},{times}\n", more[1]))
    };
    for (node, more) in [("n1", ["", ""]), ("n2", [",wire_byte", ",342"])] {
        let file = file(&format!("{node}.csv"), more);
        call(&["import", text(&file), "--node", node, "--store", text(&store)]).expect(0);
    }
    let ask = |query: &str| {
        let ended = call(&["query", "--store", text(&store), "--json", "-q", query]).expect(0);
        let answers = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let of = |answer: Value| {
            let is_told = answer["reason"].as_str().is_some_and(|reason| reason.contains("not known"));
            (answer["node"].clone(), answer["rows"][0]["b"].clone(), answer["rows"][0]["w"].clone(), is_told)
        };
        answers.map(of).collect::<Vec<_>>()
    };
    let of = |node: &str, wire: Value| (Value::from(node), Value::from(300), wire.clone(), wire.is_null());
    let both = [of("n1", Value::Null), of("n2", 342.into())];
    let asked = "select sum(total_byte) as b, sum(wire_byte) as w";
    assert_eq!(ask(asked), both);
    assert_eq!(ask(&format!("{asked} where node_id = 'n2'")), both[1..]);
    assert_eq!(ask(&format!("{asked} where node_id = 'n1'")), both[..1]);
}

#[test]
fn a_file_without_flows_is_read() {
    let scratch = Scratch::new();
    let empty = scratch.file("empty.jsonl", b"");
    let answer = only(&call(&["query", text(&empty), "--json", "--by", "src_addr"]).expect(0).stdout);
    assert_eq!(
        (&answer["rows"], &answer["status"]),
        (&Value::Array(Vec::new()), &"complete".into()),
        "{answer}"
    );
    let sum = "select count(*) as f, sum(total_byte) as b";
    let answer = only(&call(&["query", text(&empty), "--json", sum]).expect(0).stdout);
    assert_eq!(answer["rows"][0], serde_json::json!({"f": 0, "b": 0}), "{answer}");
    // Next to a file with flows it changes nothing.
    let file = scratch.file("nf.csv", NFDUMP.as_bytes());
    let [one, both] = [vec![text(&file)], vec![text(&file), text(&empty)]]
        .map(|files| call(&[&["query"], &files[..], &["--json", "-q", sum]].concat()).expect(0).stdout);
    assert_eq!(one, both);
}

/// Counters that files of other programs leave open count as 0, and each answer that reads them says so.
#[test]
fn counters_that_are_not_told_leave_answers_partial() {
    let scratch = Scratch::new();
    let head = "src_addr,dst_addr,src_port,dst_port,protocol,total_count,total_byte,stime,ltime\n";
    let rows = [("10.0.0.1", "1,100"), ("10.0.0.3", "2,"), ("10.0.0.4", ",50")].map(|(source, counts)| {
        format!("{source},10.0.0.2,1,2,6,{counts},2024-01-01T00:00:00Z,2024-01-01T00:00:01Z\n")
    });
    let file = scratch.file("nulls.csv", (head.to_owned() + &rows.concat()).as_bytes());
    let store = scratch.path("store");
    call(&["import", text(&file), "--node", "n1", "--store", text(&store)]);
    let [bytes, packets] = ["total_byte", "total_count"]
        .map(|field| format!("1 record does not tell {field}, which counts as 0"));
    let ask = |query: &str, code: i32| {
        only(&call(&["query", text(&file), "--json", "-q", query]).expect(code).stdout)
    };
    let reason = |answer: &Value| answer["reason"].as_str().unwrap_or_default().to_owned();
    for (query, told) in [
        ("select avg(total_byte) as n", &bytes),
        ("select src_addr, total_byte", &bytes),
        ("select dst_addr, max(total_count) as n groupby dst_addr every 10s", &packets),
    ] {
        let answer = ask(query, 3);
        assert!(answer["status"] == "partial" && reason(&answer).starts_with(told), "{answer}");
        assert_eq!(answer["bounds"], "none", "{answer}");
    }
    let both = ask("select sum(total_byte) as b, sum(total_count) as p", 3);
    assert_eq!((&both["rows"][0]["b"], &both["rows"][0]["p"]), (&150.into(), &3.into()));
    let said = "1 record does not tell total_count, total_byte, which count as 0";
    assert!(reason(&both).contains(said), "{both}");
    // What reads neither is whole.
    let sources = ask("select count(distinct src_addr) as n", 0);
    assert_eq!((&sources["status"], &sources["rows"][0]["n"]), (&"complete".into(), &3.into()));
    let stored = ["query", "--store", text(&store), "--json", "-q", "select sum(total_byte) as b"];
    let stored = only(&call(&stored).expect(3).stdout);
    assert_eq!(stored["status"], "partial", "{stored}");
}

/// A row that does not tell a field of its key is in no group of a question that names the field, whatever else this reads.
#[test]
fn a_null_field_of_a_key_is_in_no_group() {
    let scratch = Scratch::new();
    let head = "src_addr,dst_addr,protocol,src_port,dst_port,stime,ltime,total_count,total_byte\n";
    let times = "2023-11-14T22:00:00,2023-11-14T22:00:10";
    let rows = ["10.0.0.1,10.0.0.9,6,1000,80", "10.0.0.1,10.0.0.9,,1001,80", ",10.0.0.9,6,1002,80"]
        .map(|key| format!("{key},{times},5,500\n"));
    let file = scratch.file("keys.csv", (head.to_owned() + &rows.concat()).as_bytes());
    for (query, code, count) in [
        ("select protocol, src_port, sum(total_byte) as b groupby protocol, src_port", 3, 2),
        ("select dst_addr, src_addr, sum(total_byte) as b groupby dst_addr, src_addr", 3, 1),
        ("select src_addr, protocol, src_port, total_byte", 3, 1),
        ("select src_port, sum(total_byte) as b groupby src_port", 0, 3),
    ] {
        let answer = only(&call(&["query", text(&file), "--json", "-q", query]).expect(code).stdout);
        assert_eq!(answer["rows"].as_array().map(Vec::len), Some(count), "{query}: {answer}");
        assert_eq!(answer["status"], if code == 0 { "complete" } else { "partial" }, "{query}: {answer}");
    }
    // What else is asked changes no answer.
    let both = "sources: select src_addr, sum(total_byte) as b groupby src_addr; \
                ends: select dst_addr, sum(total_byte) as b groupby dst_addr";
    let both = call(&["query", text(&file), "--json", "-q", both]).expect(3).stdout;
    for answer in both.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let (bytes, status) = if answer["query"] == "ends" { (1500, "complete") } else { (1000, "partial") };
        assert_eq!((&answer["rows"][0]["b"], &answer["status"]), (&bytes.into(), &status.into()), "{answer}");
    }
    // A row without packets, too.
    let rows = format!("{head}10.0.0.1,10.0.0.9,,1001,80,{times},0,500\n");
    let file = scratch.file("none.csv", rows.as_bytes());
    let query = "select protocol, sum(total_byte) as b groupby protocol";
    let answer = only(&call(&["query", text(&file), "--json", "-q", query]).expect(3).stdout);
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("1 row does not tell a field of its key"), "{answer}");
}

/// Fields that records leave open are 0 in rows, and answers that read them say of how many records.
#[test]
fn fields_that_records_do_not_tell_leave_answers_partial() {
    let scratch = Scratch::new();
    let head =
        "src_addr,dst_addr,src_port,dst_port,protocol,tcp_flags,ip_ttl,total_count,total_byte,stime,ltime\n";
    // TCP without flags, TCP without a port, UDP without both: it has no flags, and no record of ICMP has a port of its source.
    let rows = ["1,2,6,,64", ",2,6,2,64", ",2,17,,64", ",8,1,,64"].map(|fields| {
        format!("10.0.0.1,10.0.0.2,{fields},1,100,2024-01-01T00:00:00Z,2024-01-01T00:00:01Z\n")
    });
    let file = scratch.file("open.csv", (head.to_owned() + &rows.concat()).as_bytes());
    let store = scratch.path("store");
    call(&["import", text(&file), "--node", "n1", "--store", text(&store)]).expect(0);
    let ask = |from: &[&str], query: &str| {
        let ended = call(&[&["query"], from, &["--json", "-q", query]].concat());
        (ended.code, only(&ended.stdout))
    };
    let of = |count: u64, field: &str| {
        format!(
            "{count} record{} not tell {field}, which counts as 0",
            if count == 1 { " does" } else { "s do" }
        )
    };
    let (ports, flags) = (of(2, "src_port"), of(1, "tcp_flags"));
    for (query, told) in [
        // What a flow has of a field depends on which packets are one flow.
        ("select max(any_tcp_flags) as n", format!("{ports}; {flags}")),
        ("select max(last_ip_ttl) as n", ports.clone()),
        ("select src_port, sum(total_byte) as n groupby src_port", ports.clone()),
        ("select count(*) as n", ports.clone()),
        ("select dst_addr, sum(total_byte) as n groupby dst_addr", String::new()),
        ("select protocol, sum(total_count) as n groupby protocol", String::new()),
    ] {
        let (code, answer) = ask(&["--store", text(&store)], query);
        assert_eq!(answer["reason"].as_str().unwrap_or_default(), told, "{query}: {answer}");
        let is_partial = !told.is_empty();
        let expected = (Some(if is_partial { 3 } else { 0 }), is_partial);
        assert_eq!((code, answer["status"] == "partial"), expected, "{answer}");
        // The file itself answers the same, but for groups of what it does not tell.
        if !query.contains("groupby src_port") {
            let (code_of_file, of_file) = ask(&[text(&file)], query);
            let told = told.replace("tcp_flags, which counts as 0", "tcp_flags, which is left out");
            assert_eq!(
                (code_of_file, of_file["reason"].as_str().unwrap_or_default()),
                (code, &told[..]),
                "{query}"
            );
            assert_eq!(of_file["rows"], answer["rows"], "{query}");
        }
    }
    // A condition, a mean and a least value over what one record does not tell: null in the file, and 0 in the store.
    for (query, of_file, of_store) in [
        ("select count(*) as n where tcp_flags = 0", 2.0, 3.0),
        ("select min(any_tcp_flags) as n where protocol = tcp", 2.0, 0.0),
        ("select avg(any_tcp_flags) as n where protocol = tcp", 2.0, 1.0),
    ] {
        for (from, n) in [(&[text(&file)][..], of_file), (&["--store", text(&store)], of_store)] {
            let (code, answer) = ask(from, query);
            assert_eq!((code, answer["rows"][0]["n"].as_f64()), (Some(3), Some(n)), "{query}: {answer}");
            let said = answer["reason"].as_str().unwrap_or_default();
            assert!(said.contains("1 record does not tell tcp_flags"), "{query}: {answer}");
        }
    }
}

/// A record without a begin has that of its end, in a file and in a store, and answers that read it say so.
#[test]
fn the_end_counts_where_a_begin_is_not_told() {
    let scratch = Scratch::new();
    let head = "src_addr,dst_addr,src_port,dst_port,protocol,total_count,total_byte,stime,ltime\n";
    let rows = ["2024-01-01T00:00:03Z,2024-01-01T00:00:09Z", ",2024-01-01T00:00:02Z"]
        .map(|times| format!("10.0.0.1,10.0.0.2,{},2,6,1,100,{times}\n", times.len()));
    let file = scratch.file("ends.csv", (head.to_owned() + &rows.concat()).as_bytes());
    let store = scratch.path("store");
    call(&["import", text(&file), "--node", "n1", "--store", text(&store)]).expect(0);
    let said = "1 record does not tell stime: the end of a flow counts as its begin";
    for from in [&[text(&file)][..], &["--store", text(&store)]] {
        let ask = |query: &str| only(&call(&[&["query"], from, &["--json", "-q", query]].concat()).stdout);
        let answer = ask("select min(stime) as n");
        assert_eq!(answer["rows"][0]["n"], "2024-01-01T00:00:02.000000000Z", "{answer}");
        assert!(answer["reason"].as_str().unwrap_or_default().contains(said), "{answer}");
        let answer = ask("select sum(total_byte) as n");
        assert_eq!(
            (&answer["rows"][0]["n"], &answer["status"]),
            (&200.into(), &"complete".into()),
            "{answer}"
        );
    }
}

/// A file of IPFIX: records of numbers of four octets, each with its template of elements.
fn ipfix(records: &[(&[u16], &[u32])]) -> Vec<u8> {
    let set = |id: u16, content: &[u8]| {
        [&id.to_be_bytes()[..], &(content.len() as u16 + 4).to_be_bytes(), content].concat()
    };
    let mut sets = Vec::new();
    for (id, (elements, numbers)) in (256..).zip(records) {
        let fields = elements.iter().flat_map(|element| [element.to_be_bytes(), 4u16.to_be_bytes()].concat());
        let template = [id, elements.len() as u16].map(u16::to_be_bytes).concat().into_iter().chain(fields);
        sets.extend(set(2, &template.collect::<Vec<_>>()));
        sets.extend(set(id, &numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>()));
    }
    let head = [10, sets.len() as u16 + 16].map(u16::to_be_bytes).concat();
    [head, [1_704_067_300_u32, 0, 1].map(u32::to_be_bytes).concat(), sets].concat()
}

/// Sources 10.0.0.1 to 10.0.0.3, of which the second one's bytes on the wire are not told, as CSV, JSON lines and IPFIX.
fn wire_bytes_of_some(scratch: &Scratch) -> [PathBuf; 3] {
    let names = ["src_addr", "dst_addr", "total_count", "total_byte", "wire_byte", "stime", "ltime"];
    let rows: [(u32, u32, Option<u32>); 3] = [(1, 100, Some(142)), (2, 900, None), (3, 300, Some(342))];
    let times = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z"];
    let (mut csv, mut json) = (names.join(",") + "\n", String::new());
    for (source, bytes, wire) in rows {
        let told = wire.map_or(String::new(), |wire: u32| wire.to_string());
        csv += &format!("10.0.0.{source},10.0.0.9,1,{bytes},{told},{},{}\n", times[0], times[1]);
        let row = serde_json::json!({
            "src_addr": format!("10.0.0.{source}"), "dst_addr": "10.0.0.9", "total_count": 1,
            "total_byte": bytes, "wire_byte": wire, "stime": times[0], "ltime": times[1]
        });
        json += &format!("{row}\n");
    }
    let [begin, end] = [1_704_067_200, 1_704_067_201];
    let of = |source: u32, bytes: u32| vec![0x0a00_0000 + source, 0x0a00_0009, 1, bytes, begin, end];
    let records =
        rows.map(|(source, bytes, wire)| of(source, bytes).into_iter().chain(wire).collect::<Vec<_>>());
    let elements = [8, 12, 2, 1, 150, 151, 352];
    let records = records.each_ref().map(|numbers| (&elements[..numbers.len()], &numbers[..]));
    [
        scratch.file("wire.csv", csv.as_bytes()),
        scratch.file("wire.jsonl", json.as_bytes()),
        scratch.file("wire.ipfix", ipfix(&records)),
    ]
}

/// Bytes on the wire that some records do not tell: sums are null, and what leaves these records out says so, in a file and in a store.
#[test]
fn bytes_on_the_wire_that_some_records_do_not_tell_leave_answers_partial() {
    let scratch = Scratch::new();
    let said = "1 record does not tell wire_byte: a sum with it is null, and other values are without it";
    for file in wire_bytes_of_some(&scratch) {
        let store = scratch.path(&format!("store_{}", file.extension().expect("a suffix").display()));
        call(&["import", text(&file), "--node", "n1", "--store", text(&store)]).expect(0);
        for from in [&[text(&file)][..], &["--store", text(&store)]] {
            let ask = |query: &str| {
                let ended = call(&[&["query"], from, &["--json", "-q", query]].concat());
                (ended.code, only(&ended.stdout))
            };
            for query in [
                "select count(*) as n where wire_byte > 1",
                "select avg(wire_byte) as n",
                "select max(wire_byte) as n",
                "select src_addr, sum(total_byte) as b groupby src_addr order by sum(wire_byte) desc limit 2",
                "select src_addr, sum(wire_byte) as w groupby src_addr limit 2",
                "select src_addr, count(*) as n groupby src_addr having sum(wire_byte) > 1",
                "select top(2, src_addr, sum(wire_byte)) as t",
                "select src_addr, wire_byte",
            ] {
                let (code, answer) = ask(query);
                assert_eq!(
                    (code, &answer["status"]),
                    (Some(3), &"partial".into()),
                    "{from:?} {query}: {answer}"
                );
                assert!(
                    answer["reason"].as_str().is_some_and(|reason| reason.contains(said)),
                    "{query}: {answer}"
                );
            }
            // A sum says itself that it is not known; so does each value that is computed of it.
            for query in [
                "select sum(wire_byte) as n",
                "select rate(wire_byte) as n",
                "select sum(wire_byte) / 2 as n, count(*) as m",
            ] {
                let (code, answer) = ask(query);
                assert_eq!(
                    (code, &answer["rows"][0]["n"]),
                    (Some(0), &Value::Null),
                    "{from:?} {query}: {answer}"
                );
                assert_eq!(answer["reason"], said, "{from:?} {query}: {answer}");
            }
            let (code, answer) = ask("select sum(total_byte) as n");
            assert_eq!(
                (code, &answer["rows"][0]["n"], &answer["reason"]),
                (Some(0), &1300.into(), &Value::Null)
            );
        }
    }
}

/// Which rows are of a flow does not depend on what else is asked: one without protocol is, and one without any field of its key is not.
#[test]
fn other_questions_change_no_answer() {
    let scratch = Scratch::new();
    let names = [
        "src_addr",
        "dst_addr",
        "protocol",
        "src_port",
        "dst_port",
        "total_count",
        "total_byte",
        "stime",
        "ltime",
    ];
    let rows = [
        ["10.0.0.1", "10.0.0.9", "6", "1000", "80", "5", "500", "10", "20"],
        ["10.0.0.2", "", "", "", "", "2", "300", "05", "30"],
        ["", "", "", "", "", "50", "9000", "00", "40"],
    ];
    let value = |name: &str, value: &str| match name {
        _ if value.is_empty() => Value::Null,
        "stime" | "ltime" => format!("2024-01-01T00:00:{value}Z").into(),
        "src_addr" | "dst_addr" => value.into(),
        _ => value.parse::<u64>().expect("a number").into(),
    };
    let (mut csv, mut json) = (names.join(",") + "\n", String::new());
    for row in rows {
        let values = names.iter().zip(row).map(|(name, text)| value(name, text));
        let line: serde_json::Map<String, Value> =
            names.iter().map(|name| (*name).to_owned()).zip(values).collect();
        let cells = names.map(|name| {
            line[name].as_str().map_or(line[name].to_string(), str::to_owned).replace("null", "")
        });
        csv += &(cells.join(",") + "\n");
        json += &format!("{}\n", Value::Object(line));
    }
    let said = "50 packets are of records that do not tell a field of their key: they are in no group";
    for file in [scratch.file("rows.csv", csv.as_bytes()), scratch.file("rows.jsonl", json.as_bytes())] {
        for (query, n, is_told) in [
            ("select min(stime) as n", Value::from("2024-01-01T00:00:05.000000000Z"), false),
            ("select max(ltime) as n", "2024-01-01T00:00:30.000000000Z".into(), false),
            ("select max(total_byte) as n", 500.into(), false),
            ("select avg(total_count) as n", 3.5.into(), false),
            // These count what is in no group, over all of its time.
            ("select sum(total_byte) as n", 9800.into(), true),
            ("select rate(total_count) as n", (57.0 / 40.000_000_001).into(), true),
        ] {
            let alone = call(&["query", text(&file), "--json", "-q", query]);
            let answer = only(&alone.stdout);
            let number = |value: &Value| value.as_f64().map(|number| (number * 1e6).round());
            let is_right = answer["rows"][0]["n"] == n
                || number(&n).is_some() && number(&answer["rows"][0]["n"]) == number(&n);
            assert!(is_right, "{query}: {answer}");
            let reason = answer["reason"].as_str().unwrap_or_default();
            assert_eq!(
                (answer["status"] == "complete", reason.contains(said)),
                (is_told, !is_told),
                "{query}: {answer}"
            );
            assert_eq!(alone.code, Some(if is_told { 0 } else { 3 }), "{answer}");
            let others = format!(
                "a: {query}; b: select src_addr, dst_addr, protocol, src_port, dst_port, count(*) as n groupby src_addr, dst_addr, protocol, src_port, dst_port"
            );
            let both = call(&["query", text(&file), "--json", "-q", &others]).stdout;
            let mut answers = both.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            let again = answers.find(|answer| answer["query"] == "a").expect("the answer");
            for part in ["rows", "status", "bounds", "reason", "window"] {
                assert_eq!(again[part], answer[part], "{query}: {part}");
            }
        }
    }
}

/// A message of IPFIX with three records, of which the second tells no end.
fn message_without_an_end() -> Vec<u8> {
    const START: u32 = 1_704_067_200;
    let set = |number: u16, content: &[u8]| {
        [&number.to_be_bytes()[..], &(content.len() as u16 + 4).to_be_bytes(), content].concat()
    };
    // Addresses, packets, bytes, and the seconds of begin and end.
    let elements = [(8, 4), (12, 4), (2, 4), (1, 4), (150, 4), (151, 4)];
    let template = |number: u16, elements: &[(u16, u16)]| {
        let fields = elements.iter().flat_map(|(element, length)| [*element, *length]);
        [number, elements.len() as u16]
            .into_iter()
            .chain(fields)
            .flat_map(u16::to_be_bytes)
            .collect::<Vec<_>>()
    };
    let record = |source: u8, end: Option<u32>| {
        let numbers = [1, 100, START].into_iter().chain(end);
        [&[10, 0, 0, source, 10, 0, 0, 9], &numbers.flat_map(u32::to_be_bytes).collect::<Vec<_>>()[..]]
            .concat()
    };
    let templates = [template(256, &elements), template(257, &elements[..5])].concat();
    let sets = [
        set(2, &templates),
        set(256, &record(1, Some(START + 1))),
        set(257, &record(2, None)),
        set(256, &record(3, Some(START + 2))),
    ]
    .concat();
    let head = [10, sets.len() as u16 + 16].map(u16::to_be_bytes).concat();
    [head, [START + 9, 0, 7].map(u32::to_be_bytes).concat(), sets].concat()
}

/// A row without the time at which it counts is named by its line, or its message, and the others are answered, in a file and in a store.
#[test]
fn a_row_without_its_end_is_named_and_the_others_count() {
    let scratch = Scratch::new();
    let head = "src_addr,dst_addr,total_count,total_byte,stime,ltime\n";
    let row = |source: u8, end: &str| format!("10.0.0.{source},10.0.0.9,1,100,2024-01-01T00:00:00Z,{end}\n");
    let rows = [row(1, "2024-01-01T00:00:01Z"), row(2, ""), row(3, "2024-01-01T00:00:02Z")];
    let csv = scratch.file("ends.csv", (head.to_owned() + &rows.concat()).as_bytes());
    let object = |source: u8, end: &str| {
        let start = "2024-01-01T00:00:00Z";
        let row = serde_json::json!({
            "src_addr": format!("10.0.0.{source}"), "dst_addr": "10.0.0.9", "total_count": 1, "total_byte": 100, "stime": start, "ltime": end
        });
        format!("{row}\n")
    };
    let objects = [object(1, "2024-01-01T00:00:01Z"), object(2, ""), object(3, "2024-01-01T00:00:02Z")];
    let json = scratch.file("ends.jsonl", objects.concat().as_bytes());
    let ipfix = scratch.file("ends.ipfix", message_without_an_end());
    for (file, line) in [(csv, "line 3"), (json, "line 2"), (ipfix, "message 1")] {
        let said = format!("1 row has no time at which it counts (ltime): {line}");
        let last = ["query", text(&file), "--json", "-q", "select max(ltime) as n"];
        let answer = only(&call(&last).expect(3).stdout);
        assert_eq!(answer["rows"][0]["n"], "2024-01-01T00:00:02.000000000Z", "{answer}");
        assert_eq!(answer["reason"], "1 record does not tell ltime, which is left out", "{answer}");
        let query = "select count(*) as n, sum(total_byte) as b every 10s";
        let answer = only(&call(&["query", text(&file), "--json", "-q", query]).expect(3).stdout);
        assert_eq!((&answer["rows"][0]["n"], &answer["rows"][0]["b"]), (&2.into(), &200.into()), "{answer}");
        assert!(answer["reason"].as_str().is_some_and(|reason| reason.contains(&said)), "{answer}");
        let store = scratch.path(&line.replace(' ', "_"));
        let imported = call(&["import", text(&file), "--node", "n1", "--store", text(&store)]).expect(3);
        assert!(
            imported.stderr.contains(&said) && imported.stdout.contains("2 flow records"),
            "{}",
            imported.stderr
        );
        let answer = only(&call(&["query", "--store", text(&store), "--json", "-q", query]).expect(3).stdout);
        assert_eq!((&answer["rows"][0]["n"], &answer["status"]), (&2.into(), &"partial".into()), "{answer}");
    }
}

/// A file without flows goes into a store as any other.
#[test]
fn a_file_without_flows_is_imported() {
    let scratch = Scratch::new();
    let empty = scratch.file("empty.csv", b"src_addr,dst_addr,total_count,total_byte,stime,ltime\n");
    let store = scratch.path("store");
    let ended = call(&["import", text(&empty), "--store", text(&store)]).expect(0);
    assert!(ended.stdout.starts_with("0 flow records and 0 window rows"), "{}", ended.stdout);
}
