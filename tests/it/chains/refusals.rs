//! What is refused, each in words that tell what was wrong.

use super::chained::udp;
use crate::support::capture::{self, ETHERNET};
use crate::support::program::call;
use crate::support::scratch::{Scratch, text};

/// Expects exit code 2, nothing on standard output, and a message with these words.
#[track_caller]
pub(super) fn refused(arguments: &[&str], words: &[&str]) {
    let ended = call(arguments).expect(2);
    let mut messages = ended.stderr.lines().filter(|line| line.starts_with("edison: "));
    let said = messages.any(|line| words.iter().all(|word| line.contains(word)));
    assert!(said, "no message with {words:?}:\n{}", ended.stderr);
    assert_eq!(ended.stdout, "", "{arguments:?}");
}

fn capture(scratch: &Scratch) -> String {
    let frames: Vec<_> = udp(1000, 0..3).collect();
    text(&scratch.file("t.pcap", capture::pcap(ETHERNET, &frames))).to_owned()
}

const PARENT: &str = "a: select src_addr, sum(total_byte) as b groupby src_addr every 1s;";

#[test]
fn queries_with_mistakes_are_refused_where_they_are() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let cases: [(&str, &[&str]); 7] = [
        ("c: select count(*) when x.b > 1", &["--query:2:25: error", "no query 'x'", "queries are a, c"]),
        ("c: select count(*) when a.z > 1", &["--query:2:27: error", "'a' has no item 'z'", "its items are"]),
        (
            "c: select count(*) when a.b > 10.0.0.1",
            &["--query:2:31: error", "a number of bytes", "found 10.0.0.1"],
        ),
        ("c: select count(*) when a.b > 5Mbps", &["--query:2:31: error", "found 5Mbps", "rate(a.b)"]),
        ("c: select count(*) when a.src_addr = 5", &["--query:2:38: error", "a.src_addr is an address"]),
        ("c: select count(*) as n when c.n > 1", &["--query:2:25: error", "circle: c → c"]),
        (
            "c: select count(*) as n when d.n > 1; d: select count(*) as n when c.n > 1",
            &["--query:2:25: error", "circle: c → d → c"],
        ),
    ];
    for (queries, words) in cases {
        refused(&["run", &capture, "-q", PARENT, "-q", queries], words);
    }
}

#[test]
fn what_is_not_run_yet_is_refused_by_name() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let other = "d: select count(*) as n every 2s; ";
    let cases: [(&str, &[&str]); 5] = [
        (
            "c: select count(*) every 2s while a.b > 5",
            &["c: ", "answers in the windows of a", "the same 'every'"],
        ),
        ("c: select count(*) every 2s when a.b > 5 in same window", &["c: ", "answers in the windows of a"]),
        (
            &format!("{other} c: select count(*) when a.b > 5 and d.n > 3"),
            &["c: ", "a, d answer windows of different lengths"],
        ),
        (
            "b: select dst_addr, sum(total_byte) as b groupby dst_addr every 1s; c: select count(*) when a.b > 5 and b.b > 3",
            &["c: ", "a groups by src_addr, but b by dst_addr"],
        ),
        (
            "c: select count(*) while a.b > 5 across nodes by sum",
            &["c: ", "across nodes", "in the window that fired"],
        ),
    ];
    for (queries, words) in cases {
        refused(&["run", &capture, "-q", PARENT, "-q", queries], words);
    }
    let using = "c: select dst_addr, sum(total_byte) where src_addr = a.src_addr groupby dst_addr using space_saving when a.b > 5";
    refused(
        &["run", &capture, "-q", PARENT, "-q", using],
        &["'using space_saving' is not possible here", "a firing of a pins no src_addr"],
    );
    // Recorded flows start nothing.
    let flows = scratch.path("flows.csv");
    call(&["run", &capture, "--flows", text(&flows)]).expect(0);
    let chain = [PARENT, "c: select count(*) when a.b > 5"].concat();
    refused(&["query", text(&flows), &chain], &["c: 'when' cannot be answered", "recorded windows"]);
}

#[test]
fn options_that_do_not_go_with_chains_are_refused() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let chain = [PARENT, "c: select count(*) when a.b > 5"].concat();
    refused(
        &["run", &capture, "-q", &chain, "--design", "rss", "--cores", "2"],
        &["--design rss", "2 receivers"],
    );
    let timeless = "b: select sum(total_byte) as b; c: select count(*) when b.b > 5";
    refused(&["run", &capture, "--every", "1Mp", "-q", timeless], &["--every", "windows of time"]);
    // All of them at once, each in a line of its own.
    let all = [
        "run", &capture, "-q", timeless, "--every", "1Mp", "--adapt", "loss=1%", "--rotate", "1h",
        "--fields", "stime",
    ];
    let refusals: [&[&str]; 4] = [
        &["--every in packets", "several nodes, or queries that start others", "windows of time"],
        &["--adapt", "a replay loses nothing"],
        &["--rotate", "give --flows PATH"],
        &["--fields", "flow records only"],
    ];
    refusals.iter().for_each(|words| refused(&all, words));
}

#[test]
fn sources_of_nodes_have_a_name_each() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let named = format!("Node1={capture}");
    let missing = format!("Node2={}", text(&scratch.path("missing.pcap")));
    let cases: [(&[&str], &[&str]); 10] = [
        (
            &[&missing],
            &[&missing, "no such file", "a capture file, '-', an interface, a DPDK port, or routers"],
        ),
        (&[&named, &missing], &[&missing, "no such file"]),
        (&["A=-", "B=-"], &["B=-", "standard input"]),
        (&["A=ipfix://:1", "A=ipfix://:2"], &["A=ipfix://:2", "a node listens at one address"]),
        (&[&named, &capture], &[&capture, "where sources are named (NAME=SOURCE), all of them are"]),
        (&[&capture, &named], &[&capture, "where sources are named (NAME=SOURCE), all of them are"]),
        (&["-r", &capture, &named], &["--read", "where sources are named (NAME=SOURCE), all of them are"]),
        (&["--node", "other", &named], &["--node other", "the sources name their nodes"]),
        (
            &["-i", "lo", &named],
            &["--interface lo", "where sources are named (NAME=SOURCE), all of them are"],
        ),
        (&["--synthetic", "packets=10", &named], &["--synthetic is one node", "NAME=SOURCE"]),
    ];
    for (sources, words) in cases {
        refused(&[&["run"], sources, &["-q", "select count(*)"]].concat(), words);
    }
    // A query of a node that is none.
    let of_other = "a: select count(*) as n where node_id = Node7; c: select count(*) when a.n > 5";
    refused(&["run", &named, "-q", of_other], &["Node7", "Node1"]);
}
