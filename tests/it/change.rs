//! `POST /change` of a run with a store: why traffic changed between two periods, against a reading of the frames.

use crate::page::address;
use crate::support::capture::{self, Frame};
use crate::support::program::{Running, edison};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_793_491_200;

/// Asks why it changed. Returns the status, and what is answered.
fn asks(address: &str, parameters: &str, condition: &str) -> (u16, Value) {
    let request = ureq::post(format!("{address}api/v1/change?{parameters}"));
    let answer = request.config().http_status_as_error(false).build().send(condition).expect("an answer");
    let status = answer.status().as_u16();
    let body = answer.into_body().read_to_string().expect("a text");
    (status, serde_json::from_str(&body).expect("JSON"))
}

/// The bits of each group in both periods.
type Sums = BTreeMap<String, [u64; 2]>;

/// Reads IPv4 frames: the bits of their packets by what `key` makes of source, destination and protocol.
fn sums(frames: &[Frame], periods: [[u64; 2]; 2], key: impl Fn(&str, &str, u8) -> Option<String>) -> Sums {
    let mut sums = Sums::new();
    for frame in frames.iter().filter(|frame| frame.data[12..14] == [8, 0]) {
        let header = &frame.data[14..];
        let address =
            |at: usize| format!("{}.{}.{}.{}", header[at], header[at + 1], header[at + 2], header[at + 3]);
        let bits = 8 * u64::from(u16::from_be_bytes([header[2], header[3]]));
        let is_in = |[from, to]: [u64; 2]| (from * SECOND..to * SECOND).contains(&frame.time_ns);
        let Some(key) = key(&address(12), &address(16), header[9]) else { continue };
        for (side, _) in periods.iter().enumerate().filter(|(_, period)| is_in(**period)) {
            sums.entry(key.clone()).or_default()[side] += bits;
        }
    }
    sums
}

fn number(of: &Value) -> u64 {
    of.as_u64().unwrap_or_else(|| panic!("{of} is no count"))
}

/// Compares a field of an answer with what the frames have.
fn check(change: &Value, field: &str, truth: &Sums) {
    let fields = change["fields"].as_array().expect("fields");
    let found =
        fields.iter().find(|found| found["field"] == field).unwrap_or_else(|| panic!("{field}: {change}"));
    let all = truth.values().fold([0; 2], |sum: [u64; 2], own| [sum[0] + own[0], sum[1] + own[1]]);
    assert_eq!([number(&change["before"]["total"]), number(&change["after"]["total"])], all);
    let difference = |[before, after]: [u64; 2]| after as i64 - before as i64;
    let mut rest = all;
    let mut names = Vec::new();
    for group in found["groups"].as_array().expect("groups") {
        let key = group["key"].as_object().expect("a key").values();
        let key = key.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let name = key.collect::<Vec<_>>().join(" ");
        let own = truth.get(&name).copied().unwrap_or_else(|| panic!("{field}: {group}"));
        assert_eq!([number(&group["before"]), number(&group["after"])], own, "{field} {name}");
        assert_eq!(group["difference"].as_i64(), Some(difference(own)), "{field} {name}");
        rest = [rest[0] - own[0], rest[1] - own[1]];
        names.push(name);
    }
    assert_eq!([number(&found["rest"]["before"]), number(&found["rest"]["after"])], rest, "{field}");
    assert_eq!(found["rest"]["difference"].as_i64(), Some(difference(rest)), "{field}");
    // The largest, in their order.
    let mut largest: Vec<(i64, &String)> = truth
        .iter()
        .map(|(name, own)| (difference(*own).abs(), name))
        .filter(|(size, _)| *size != 0)
        .collect();
    largest.sort_by_key(|one| std::cmp::Reverse(one.0));
    assert_eq!(found["is_certain"], true, "{field}");
    let sizes = |names: &mut dyn Iterator<Item = &String>| -> Vec<i64> {
        names.map(|name| difference(truth[name]).abs()).collect()
    };
    let expected: Vec<i64> = largest.iter().take(names.len()).map(|(size, _)| *size).collect();
    assert_eq!(sizes(&mut names.iter()), expected, "{field}");
    assert_eq!(names.len(), largest.len().min(3), "{field}");
}

#[test]
fn contributors_are_what_the_frames_have_and_add_up() {
    let scratch = Scratch::new();
    let made =
        capture::generate(&scratch, &format!("packets=20k,flows=900,rate=1k,zipf=1.1,seed=5,start={START}"));
    let store = scratch.path("store");
    let mut running = Running::start(edison().args([
        "run",
        text(&made.path),
        "--every",
        "1s",
        "--store",
        text(&store),
        "--web=127.0.0.1:0",
    ]));
    let address = address(&mut running, "stays at");
    let time = |second: u64| model::format_time((START + second) * SECOND);
    let asked = |[from, to]: [u64; 2], [before_from, before_to]: [u64; 2]| {
        let [from, to, before_from, before_to] = [from, to, before_from, before_to].map(time);
        format!("from={from}&to={to}&before_from={before_from}&before_to={before_to}&top=3")
    };
    let absolute = |period: [u64; 2]| period.map(|second| START + second);
    let [before, after] = [[2, 9], [11, 18]];
    let (status, change) = asks(&address, &asked(after, before), "");
    assert_eq!(status, 200, "{change}");
    assert_eq!(
        (&change["difference_is"], &change["compared"]),
        (&"exact".into(), &"sums".into()),
        "{change}"
    );
    let periods = [before, after].map(absolute);
    let of = |key: &dyn Fn(&str, &str, u8) -> Option<String>| sums(&made.frames, periods, key);
    check(&change, "source", &of(&|src, _, _| Some(src.to_owned())));
    check(&change, "destination", &of(&|_, dst, _| Some(dst.to_owned())));
    check(&change, "conversation", &of(&|src, dst, _| Some(format!("{dst} {src}"))));
    check(&change, "protocol", &of(&|_, _, protocol| Some(protocol.to_string())));
    let network = |address: &str| format!("{}.0/24", address.rsplit_once('.').expect("an address").0);
    check(&change, "source_network", &of(&|src, _, _| Some(network(src))));
    // The same of one protocol alone, and of a group: its condition is its flows.
    let (_, tcp) = asks(&address, &asked(after, before), "protocol = tcp");
    let is_tcp = |protocol: u8| protocol == 6;
    check(&tcp, "source", &of(&|src, _, protocol| is_tcp(protocol).then(|| src.to_owned())));
    let first = &change["fields"][0]["groups"][0];
    let (_, alone) = asks(&address, &asked(after, before), first["condition"].as_str().expect("a condition"));
    assert_eq!(alone["difference"], first["difference"]);
    // Of different length, by the second: exactly what the sums are.
    let (_, rates) = asks(&address, &asked(after, [2, 4]), "");
    assert_eq!(rates["compared"], "rates");
    let [sum, less] =
        [number(&rates["after"]["total"]) as f64 / 7.0, number(&rates["before"]["total"]) as f64 / 2.0];
    let difference = rates["difference"].as_f64().expect("a number");
    assert!((difference - (sum - less)).abs() < 1e-3, "{difference} {sum} {less}");
    // Nothing is remembered of a time before the capture: that is not zero.
    let (_, unknown) = asks(
        &address,
        &format!("from={}&to={}&before_from=2020-01-01&before_to=2020-01-02", time(2), time(9)),
        "",
    );
    assert_eq!(
        (&unknown["before"]["total"], &unknown["difference"]),
        (&Value::Null, &Value::Null),
        "{unknown}"
    );
    assert_eq!(
        (&unknown["before"]["status"], &unknown["difference_is"]),
        (&"not_known".into(), &"not_known".into())
    );
    assert_eq!(unknown["fields"].as_array().map(Vec::len), Some(0));
    // A half of it is less time than was asked about.
    let (_, half) = asks(
        &address,
        &format!(
            "from={}&to={}&before_from={}&before_to={}",
            time(11),
            time(18),
            "2026-10-31T23:59:55Z",
            time(2)
        ),
        "",
    );
    assert_eq!(
        (&half["before"]["status"], &half["difference_is"]),
        (&"partial".into(), &"at_most".into()),
        "{half}"
    );
    for (parameters, condition) in
        [("top=0", ""), ("by=colour", ""), ("", "protocol = tcp; select 1"), ("", "nothing = 1")]
    {
        let (status, refused) = asks(&address, parameters, condition);
        assert_eq!(status, 400, "{refused}");
        assert!(refused["error"].as_str().is_some_and(|error| !error.contains('\n')), "{refused}");
    }
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}
