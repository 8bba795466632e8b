//! A line of results.

use crate::compare::{median, spread};
use serde_json::{Map, Value, json};

/// The result of one variant at one point.
#[derive(Clone, Debug)]
pub struct BenchResult {
    /// Name of the bench.
    pub bench: &'static str,
    /// The structure, program or step.
    pub variant: String,
    /// The parameters: flows, skew, …
    pub params: Vec<(&'static str, Value)>,
    /// Packets (or records) of a round.
    pub packets: u64,
    /// Nanoseconds of each round.
    pub rounds_ns: Vec<f64>,
    /// The memory of the variant, bytes.
    pub memory_bytes: Option<u64>,
    /// True if the answer was compared with the truth and agreed. A line without rounds is a prediction,
    /// without an answer.
    pub checked: bool,
    /// The other values that were measured.
    pub more: Vec<(&'static str, Value)>,
}

impl BenchResult {
    /// A prediction: nothing was run for it.
    pub(crate) fn predicted(
        bench: &'static str,
        variant: &str,
        params: Vec<(&'static str, Value)>,
        more: Vec<(&'static str, Value)>,
    ) -> Self {
        Self {
            bench,
            variant: variant.to_owned(),
            params,
            packets: 0,
            rounds_ns: Vec::new(),
            memory_bytes: None,
            checked: false,
            more,
        }
    }

    /// Median time per packet, nanoseconds.
    pub fn ns_per_packet(&self) -> f64 {
        median(&self.rounds_ns) / self.packets as f64
    }

    /// Millions of packets per second, by the median.
    pub fn mpps(&self) -> f64 {
        1e3 / self.ns_per_packet()
    }

    /// False if nothing was run: a prediction.
    pub(crate) fn was_timed(&self) -> bool {
        !self.rounds_ns.is_empty()
    }

    /// True if something was timed whose answer was wrong, or compared with nothing.
    pub fn is_wrong(&self) -> bool {
        self.was_timed() && !self.checked
    }

    /// Fastest and slowest round, nanoseconds per packet.
    fn spread(&self) -> [f64; 2] {
        spread(&self.rounds_ns).map(|round| rounded(round / self.packets as f64))
    }

    /// The line as JSON (`docs/bench.md`).
    pub fn json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("bench", json!(self.bench));
        put("variant", json!(self.variant));
        put("params", Value::Object(self.params.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect()));
        put("packets", json!(self.packets));
        put("mpps", json!(rounded(self.mpps())));
        put("ns_per_packet", json!(rounded(self.ns_per_packet())));
        put("spread_ns", json!(self.spread()));
        put("rounds", json!(self.rounds_ns.len()));
        put("memory_bytes", json!(self.memory_bytes));
        put("checked", if self.was_timed() { json!(self.checked) } else { Value::Null });
        for (name, value) in &self.more {
            put(name, value.clone());
        }
        Value::Object(object)
    }
}

/// Four significant digits: more is noise.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// Rounds a value to this many decimal places. Shares have five: one flow in a million is significant.
pub(crate) fn to_digits(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}
