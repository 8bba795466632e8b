//! The cost of ten queries to the measuring core: the instructions of its thread, counted by callgrind over a replay on the software wire.
//! Generating the frames, which the program's first thread does, is not in them.

use crate::callgrind::{self, CallgrindRun};
use crate::{BenchResult, Points};
use serde_json::{Value, json};

/// Packets per second of the traffic, whose windows last a second: one row for some twenty packets, several times as many as a link of
/// 100 Gbit/s has.
const RATE: u64 = 1_000_000;
/// Packets of the trace that the wire repeats.
const LAP: u64 = 1_000_000;

/// The ten questions, as a user asks them, of the run's windows.
const QUESTIONS: [&str; 10] = [
    "select addr, sum(total_byte) groupby addr order by sum(total_byte) desc limit 20",
    "select protocol, port, sum(total_byte) groupby protocol, port order by sum(total_byte) desc limit 20",
    "select protocol, sum(total_byte) groupby protocol",
    "select src_addr/24/64, sum(total_byte) groupby src_addr/24/64 order by sum(total_byte) desc limit 20",
    "select conversation, sum(total_byte) groupby conversation order by sum(total_byte) desc limit 20",
    "select dst_addr, count(src_addr) groupby dst_addr order by count(src_addr) desc limit 20",
    "select entropy(dst_port)",
    "select dst_addr, sum(total_byte) where dst_port in (80, 443) and total_byte > 1000 groupby dst_addr limit 20",
    "select protocol, sum(total_byte) / sum(total_count) groupby protocol",
    "select sum(total_count)",
];

/// Runs the program under callgrind, without and with the queries.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    if !callgrind::is_there("query") {
        return Ok(());
    }
    let packets = points.packets.unwrap_or(4_000_000).max(1);
    let flows = points.flows.unwrap_or(50_000).clamp(1, packets);
    for queries in [0, QUESTIONS.len()] {
        let counted = count(packets, flows, &QUESTIONS[..queries])?;
        if counted.packets != packets {
            return Err(format!("{} of {packets} packets were measured under callgrind", counted.packets));
        }
        out(BenchResult {
            bench: "query",
            variant: format!("queries_{queries}"),
            params: vec![("flows", json!(flows)), ("zipf", json!(1.0)), ("cores", json!(1))],
            packets,
            rounds_ns: Vec::new(),
            memory_bytes: None,
            checked: true,
            more: vec![("instructions_per_packet", json!(counted.per_packet()))],
        });
    }
    Ok(())
}

/// Measures with these queries, whose answers must have all packets.
fn count(packets: u64, flows: u64, queries: &[&str]) -> Result<CallgrindRun, String> {
    let lap = packets.min(LAP);
    let traffic = format!("packets={lap},flows={flows},zipf=1.0,rate={RATE},seed=1");
    let wire =
        ["--wire".to_owned(), format!("queues=1,packets={packets}"), "--synthetic".to_owned(), traffic];
    let asked = queries.iter().flat_map(|query| ["-q".to_owned(), format!("{query} every 1s")]);
    let counted = callgrind::count(wire.into_iter().chain(asked).map(Into::into))?;
    let (measured, answered) = (counted.packets, total_of_answers(&counted.lines));
    if !queries.is_empty() && answered != measured {
        return Err(format!("the answers under callgrind have {answered} of {measured} packets"));
    }
    Ok(counted)
}

/// The packets that the last question counted, of all windows.
fn total_of_answers(answers: &[Value]) -> u64 {
    answers.iter().filter_map(|answer| answer["rows"][0]["sum(total_count)"].as_u64()).sum()
}
