//! Tasks as requested: `heavy-hitters:key=src_addr,share=0.2%`.

pub(crate) use crate::kind::IPV6_LEFT_OUT;
pub use crate::kind::{Quantity, TaskKind};

use crate::Structure;
use crate::catalog;
use crate::selection::Selection;
use crate::shape::Shape;
use crate::size_bins::SizeBins;
use notation::{SpecError, pairs, unknown_key};
use packet::KeySpec;
use serde::{Deserialize, Serialize};
use sketch::RowSizes;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Shares, and relative errors, are parts of a million.
pub(crate) const WHOLE_PPM: f64 = 1e6;
/// Rows of an answer, unless `top` is given.
pub(crate) const MOST_ROWS: usize = 1_000;
/// The weight of the last window in a forecast.
const DEFAULT_ALPHA_PPM: u32 = 300_000;
/// The weight of the last step in the trend of a forecast.
const DEFAULT_BETA_PPM: u32 = 100_000;
/// Windows of a moving average.
const MOST_WINDOWS: u64 = 16;
/// Rows of a structure.
const MOST_DEPTH: u64 = sketch::parts::MAX_ROWS as u64;
/// Lengths of prefixes in a hierarchy.
const MOST_PREFIXES: usize = 8;

/// The weight of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weight {
    /// The number of packets.
    Packets,
    /// The bytes of the packets by the IP header.
    Bytes,
}

/// The threshold for a flow to be in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The least share of the window's total, parts of a million.
    SharePpm(u32),
    /// The least weight.
    Count(u64),
    /// The absence of a threshold: `top` alone decides.
    Any,
}

/// The windows with which a window is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The last window.
    Last,
    /// The mean of this many windows before it: the forecast by a moving average (Krishnamurthy et al., IMC 2003).
    Average(usize),
    /// The forecast by exponential smoothing (EWMA) of the windows before it.
    Ewma,
    /// The forecast by smoothing of a level and of a trend (Holt-Winters without seasons).
    HoltWinters,
}

/// The size of the structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// The planner's own limit.
    #[default]
    Usual,
    /// A number of bytes for each address family.
    Memory(usize),
    /// The number needed for an error of this many parts per million.
    ErrorPpm(u32),
}

/// A task as requested.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSpec {
    /// The kind of the task.
    pub kind: TaskKind,
    /// The flows' key, or the fields whose distinct values are counted; `None`: the run's key.
    pub key: Option<KeySpec>,
    /// The key of the peers that are counted (super-spreaders).
    pub of: KeySpec,
    /// The values that quantiles are of.
    pub quantity: Quantity,
    /// The weight that is counted.
    pub weight: Weight,
    /// The threshold of the answer.
    pub limit: Limit,
    /// The most rows.
    pub top: usize,
    /// Lengths of IPv4 prefixes in a hierarchy, the longest first; IPv6 prefixes have four times as many bits.
    pub prefixes: Vec<u8>,
    /// The packets of the two streams of an inner product; `None`: all packets.
    pub sides: [Option<Selection>; 2],
    /// The classes of flow sizes.
    pub bins: SizeBins,
    /// The windows that changes are measured against.
    pub against: Against,
    /// The weight of the last window in a forecast by smoothing, parts of a million.
    pub alpha_ppm: u32,
    /// The weight of the last step in the trend of such a forecast, parts of a million.
    pub beta_ppm: u32,
    /// Shares of quantiles, parts of a million.
    pub at_ppm: Vec<u32>,
    /// The size of the structure.
    pub size: Size,
    /// The rows of the structure, as far as the user gives them.
    pub rows: RowSizes,
    /// The structure, if chosen by the user.
    pub structure: Option<Structure>,
    /// Packets that a window is expected to have, if given by the user.
    pub packets: Option<u64>,
    /// The text of the request.
    text: String,
    /// The query that it answers.
    pub(crate) shape: Option<Arc<Shape>>,
}

/// Reads the fields that stand behind `name=`.
fn key(name: &str, text: &str) -> Result<KeySpec, SpecError> {
    // Commas separate the pairs of a task, so fields are joined by a plus.
    KeySpec::parse(&text.replace('+', ",")).map_err(|error| {
        let line = error.to_string().lines().next().unwrap_or_default().to_owned();
        SpecError::new(format!(
            "{name}={text}: {line}; fields are src_addr, dst_addr, protocol, src_port, dst_port, vlan, ip_tos, joined by +, \
             addresses with prefixes as src_addr/24/64"
        ))
    })
}

/// The option keys that every task accepts.
const COMMON: [&str; 6] = ["structure", "memory", "depth", "width", "error", "packets"];

impl TaskSpec {
    /// Returns the reason why a sample of the packets does not tell the answer; `None` if it does, between bounds.
    pub fn why_not_sampled(&self) -> Option<String> {
        let what = match (self.kind, self.limit) {
            (TaskKind::HeavyHitters, Limit::SharePpm(_) | Limit::Any) => return None,
            (TaskKind::HeavyHitters, Limit::Count(_)) => {
                "flows above a number, of which a sample holds fewer"
            }
            (TaskKind::SuperSpreaders, _) => "how many peers a host has",
            (TaskKind::FlowSizes, _) => "how many flows of each size there are",
            (TaskKind::Change, _) => "by how much flows changed",
            (TaskKind::Entropy, _) => "the entropy",
            (TaskKind::Quantiles, _) => "quantiles",
            (TaskKind::Inner, _) => "the inner product of two streams",
            (TaskKind::Distinct, _) => "how many distinct values there are",
        };
        Some(format!(
            "{self}: a sample of the packets gives no bounds for {what}; heavy hitters by share are counted of a sample"
        ))
    }

    /// The usual task of a kind.
    fn with_defaults(kind: TaskKind, text: &str) -> Self {
        let field = |name| KeySpec::parse(name).unwrap_or_default();
        let is_spread = kind == TaskKind::SuperSpreaders;
        Self {
            kind,
            key: is_spread.then(|| field("src_addr")),
            of: field("dst_addr"),
            quantity: Quantity::SrcAddr,
            weight: Weight::Packets,
            limit: match kind {
                TaskKind::SuperSpreaders => Limit::Count(1_000),
                TaskKind::Change => Limit::SharePpm(5_000),
                _ => Limit::SharePpm(2_000),
            },
            top: MOST_ROWS,
            prefixes: Vec::new(),
            sides: [None; 2],
            bins: SizeBins::Powers,
            against: Against::Last,
            alpha_ppm: DEFAULT_ALPHA_PPM,
            beta_ppm: DEFAULT_BETA_PPM,
            at_ppm: vec![10_000, 250_000, 500_000, 750_000, 990_000],
            size: Size::Usual,
            rows: RowSizes::default(),
            structure: None,
            packets: None,
            text: text.to_owned(),
            shape: None,
        }
    }

    /// Makes this the task that answers a query, whose name stands before its text.
    pub(crate) fn into_query_task(self, shape: Shape) -> Self {
        Self { text: format!("{}: {}", shape.name, self.text), shape: Some(Arc::new(shape)), ..self }
    }

    /// Returns the packets that it counts: those of each of two streams, or of one.
    pub(crate) fn streams(&self) -> impl Iterator<Item = Option<Selection>> {
        let [a, b] = self.sides;
        // A stream that is joined with itself is counted once.
        std::iter::once(a).chain((a != b).then_some(b))
    }

    /// True where it answers a query, in the form of the query.
    pub fn is_of_query(&self) -> bool {
        self.query().is_some()
    }

    /// The name of the query that it answers, if it answers one.
    pub fn query(&self) -> Option<&str> {
        self.shape.as_ref().map(|shape| shape.name.as_str())
    }

    /// The number of earlier windows that it compares with, each for itself.
    pub(crate) fn windows_back(&self) -> usize {
        match (self.kind, self.against) {
            (TaskKind::Change, Against::Last) => 1,
            (TaskKind::Change, Against::Average(windows)) => windows,
            _ => 0,
        }
    }

    /// The windows whose memory it needs for what it compares with. A forecast is of numbers of 64 bits, twice the counters, in a level and a trend; a
    /// window waits for its report, and the difference is made of twice the counters too.
    pub(crate) fn windows_held(&self) -> usize {
        match (self.kind, self.against) {
            (TaskKind::Change, Against::Ewma) => 5,
            (TaskKind::Change, Against::HoltWinters) => 7,
            _ => self.windows_back(),
        }
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), SpecError> {
        let refused = |why: String| SpecError::new(format!("{}: {name}={text}: {why}", self.kind));
        let not = |expected: &str| refused(format!("not {expected}"));
        let known = self.kind.keys();
        if !COMMON.contains(&name) && !known.contains(&name) {
            let all: Vec<_> = known.iter().chain(&COMMON).copied().collect();
            return Err(unknown_key(&format!("{}: unknown key", self.kind), name, &all));
        }
        let count = |least: u64, most: u64| match notation::count(text) {
            Ok(count) if (least..=most).contains(&count) => Ok(count),
            Ok(_) => Err(refused(format!("must be from {least} to {most}"))),
            Err(error) => Err(not(error.expected())),
        };
        let share = || match notation::share_ppm(text) {
            Ok(0) => Err(refused("must be more than nothing; the least is 0.0001%".to_owned())),
            Ok(ppm) => Ok(ppm),
            Err(_) => Err(refused("not a share up to 100% such as 0.2% or 0.002".to_owned())),
        };
        match name {
            "key" if self.kind == TaskKind::Quantiles => {
                self.quantity = text.parse().map_err(|error: String| refused(error))?;
            }
            "key" => self.key = Some(key(name, text)?),
            "of" if self.kind == TaskKind::Distinct => self.key = Some(key(name, text)?),
            "of" => self.of = key(name, text)?,
            "by" => {
                self.weight = match flow::resolve_alias(text) {
                    "total_count" => Weight::Packets,
                    "total_byte" => Weight::Bytes,
                    _ => return Err(refused("by packets or by bytes".to_owned())),
                }
            }
            "share" => self.limit = Limit::SharePpm(share()?),
            "count" => self.limit = Limit::Count(count(1, u64::MAX)?),
            "top" => self.top = count(1, MOST_ROWS as u64)? as usize,
            "prefixes" => self.prefixes = prefixes(text).map_err(refused)?,
            "a" | "b" => self.sides[usize::from(name == "b")] = Some(text.parse().map_err(refused)?),
            "bins" => self.bins = text.parse().map_err(refused)?,
            "against" => {
                self.against = match text {
                    "last" => Against::Last,
                    "average" => match self.against {
                        average @ Against::Average(_) => average,
                        _ => Against::Average(4),
                    },
                    "ewma" => Against::Ewma,
                    "holt-winters" => Against::HoltWinters,
                    _ => {
                        let all = "against the last window, the average of some, or a forecast by ewma or holt-winters";
                        return Err(refused(all.to_owned()));
                    }
                }
            }
            "alpha" => self.alpha_ppm = share()?,
            "beta" => self.beta_ppm = share()?,
            "windows" => self.against = Against::Average(count(2, MOST_WINDOWS)? as usize),
            "at" => {
                let ppm =
                    |text: &str| notation::share_ppm(text).map_err(|_| not("shares such as 50%/99%/0.999"));
                self.at_ppm = text.split('/').map(ppm).collect::<Result<_, _>>()?;
            }
            "structure" => {
                let names: Vec<_> = catalog::structures(self.kind).map(Structure::name).collect();
                let found = catalog::structures(self.kind).find(|structure| structure.name() == text);
                let unknown = || unknown_key(&format!("{}: no structure", self.kind), text, &names);
                self.structure = Some(found.ok_or_else(unknown)?);
            }
            "memory" => {
                let bytes = notation::bytes(text).map_err(|error| not(error.expected()))?;
                self.size = Size::Memory(usize::try_from(bytes).unwrap_or(usize::MAX));
            }
            "depth" => self.rows.depth = Some(count(1, MOST_DEPTH)? as usize),
            "width" => self.rows.width = Some(count(1, u32::MAX.into())? as usize),
            "error" => self.size = Size::ErrorPpm(share()?),
            _ => self.packets = Some(count(1, 1_000_000_000_000)?),
        }
        Ok(())
    }

    /// Checks what depends on several keys.
    fn check(&mut self, given: &[(&str, &str)]) -> Result<(), SpecError> {
        let is_given = |key: &str| given.iter().any(|(given, _)| *given == key);
        let refused = |why: &str| Err(SpecError::new(format!("{}: {why}", self.kind)));
        if is_given("share") && is_given("count") {
            return refused("share and count both say who is in the answer: give one");
        }
        if is_given("memory") && is_given("error") {
            return refused("memory and error both say how large the structure is: give one");
        }
        for size in ["memory", "error"] {
            if is_given(size) && is_given("width") {
                return refused(&format!("{size} and width both say how large the structure is: give one"));
            }
        }
        self.check_rows()?;
        if is_given("windows") && is_given("against") && !given.contains(&("against", "average")) {
            return refused("windows are those of an average: against=average");
        }
        if is_given("alpha") && !matches!(self.against, Against::Ewma | Against::HoltWinters) {
            return refused("alpha is the smoothing of a forecast: against=ewma or against=holt-winters");
        }
        if is_given("beta") && self.against != Against::HoltWinters {
            return refused("beta is the smoothing of a trend: against=holt-winters");
        }
        if !self.prefixes.is_empty() {
            let columns: Vec<_> = self.key.iter().flat_map(KeySpec::columns).collect();
            if !matches!(columns[..], ["src_addr" | "dst_addr"]) {
                return refused("prefixes are of one address: key=src_addr or key=dst_addr");
            }
        }
        if let (Some(structure), Weight::Bytes) = (self.structure, self.weight)
            && let Some(why) = structure.why_not_bytes()
        {
            return refused(&format!("by=bytes is not for {}: {why}", structure.name()));
        }
        if let Some(structure) = self.structure
            && let Some(why) = self.bins.why_not(structure)
        {
            return refused(&format!("bins=exact is not for {}: {why}", structure.name()));
        }
        if is_given("top") && !is_given("share") && !is_given("count") {
            self.limit = Limit::Any;
        }
        Ok(())
    }
}

impl TaskSpec {
    /// Refuses rows of a structure that has none, or is not named.
    fn check_rows(&self) -> Result<(), SpecError> {
        if self.rows == RowSizes::default() || self.structure.is_some_and(Structure::has_rows) {
            return Ok(());
        }
        let names: Vec<_> = catalog::structures(self.kind)
            .filter(|structure| structure.has_rows())
            .map(Structure::name)
            .collect();
        let why = match self.structure {
            Some(structure) => format!("{} has no rows of counters", structure.name()),
            None => "depth and width are those of a structure that is named".to_owned(),
        };
        let what = match names[..] {
            [] => "no structure of this task has such rows: give memory= instead".to_owned(),
            _ => format!("structure= is one of {}", names.join(", ")),
        };
        Err(SpecError::new(format!("{}: {why}; {what}", self.kind)))
    }
}

/// `8/16/24/32`, the longest first.
fn prefixes(text: &str) -> Result<Vec<u8>, String> {
    let length = |text: &str| match text.parse::<u8>() {
        Ok(length @ 1..=32) => Ok(length),
        _ => Err(format!(
            "'{text}' is no length of an IPv4 prefix from 1 to 32 (IPv6 has four times as many bits)"
        )),
    };
    let mut lengths = text.split('/').map(length).collect::<Result<Vec<_>, _>>()?;
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    lengths.dedup();
    if lengths.len() > MOST_PREFIXES {
        return Err(format!("a hierarchy has at most {MOST_PREFIXES} lengths"));
    }
    Ok(lengths)
}

impl FromStr for TaskSpec {
    type Err = SpecError;

    /// Reads `kind:key=value,key=value,…`; omitted keys have their defaults.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let names = TaskKind::ALL.map(TaskKind::name);
        let kind = TaskKind::ALL.into_iter().find(|kind| kind.name() == name.trim());
        let kind = kind.ok_or_else(|| unknown_key("unknown task", name.trim(), &names))?;
        let mut spec = Self::with_defaults(kind, text);
        let pairs = pairs(rest)?;
        for (key, text) in &pairs {
            spec.set(key, text)?;
        }
        spec.check(&pairs)?;
        Ok(spec)
    }
}

/// Writes the text of the request; of a query, its name and the task that answers it.
impl fmt::Display for TaskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(text: &str) -> TaskSpec {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn reads_what_users_write() {
        let task = spec("heavy-hitters:key=src_addr,share=0.2%");
        assert_eq!((task.kind, task.limit), (TaskKind::HeavyHitters, Limit::SharePpm(2_000)));
        assert_eq!(task.key, Some(KeySpec::parse("src_addr").expect("a key")));
        let task = spec("heavy-hitters:key=src_addr+dst_port,top=10,memory=128KiB,structure=mv-sketch");
        assert_eq!((task.top, task.limit), (10, Limit::Any));
        assert_eq!((task.size, task.structure), (Size::Memory(128 << 10), Some(Structure::MvSketch)));
        let task = spec("change:against=holt-winters,alpha=0.4,beta=5%");
        assert_eq!((task.against, task.alpha_ppm, task.beta_ppm), (Against::HoltWinters, 400_000, 50_000));
        assert_eq!(spec("change:alpha=1,against=ewma").alpha_ppm, 1_000_000);
        let task = spec("change:windows=8,against=average,by=bytes,error=1%");
        assert_eq!((task.against, task.weight), (Against::Average(8), Weight::Bytes));
        assert_eq!(task.size, Size::ErrorPpm(10_000));
        assert_eq!(spec("heavy-hitters:key=dst_addr,prefixes=8/32/16/24/8").prefixes, [32, 24, 16, 8]);
        assert_eq!(spec("quantiles:key=size,at=50%/0.999").at_ppm, [500_000, 999_000]);
        assert_eq!(spec("entropy").to_string(), "entropy");
        let rows = |text| (spec(text).rows, spec(text).size);
        let makwana = "heavy-hitters:structure=count-min,key=src_addr+dst_addr,depth=3,width=1024,top=1";
        assert_eq!(rows(makwana), (RowSizes { depth: Some(3), width: Some(1024) }, Size::Usual));
        let deep = rows("change:structure=k-ary,depth=4,memory=1MiB");
        assert_eq!(deep, (RowSizes { depth: Some(4), width: None }, Size::Memory(1 << 20)));
    }

    #[test]
    fn refuses_in_one_line_and_says_what_is_possible() {
        for (text, says) in [
            ("", "There are: heavy-hitters"),
            ("heavyhitters", "did you mean"),
            ("heavy-hitters:shore=1%", "did you mean \"share\""),
            ("heavy-hitters:share=101%", "up to 100%"),
            ("heavy-hitters:share=0", "more than nothing"),
            ("heavy-hitters:key=scr_addr", "fields are src_addr"),
            ("heavy-hitters:key=src_addr/40", "no prefix length"),
            ("heavy-hitters:share=1%,count=5", "give one"),
            ("heavy-hitters:memory=1MiB,error=1%", "give one"),
            ("heavy-hitters:memory=much", "128KiB"),
            ("heavy-hitters:structure=count-min,width=1024,memory=1MiB", "memory and width both say"),
            ("heavy-hitters:structure=count-min,width=1024,error=1%", "error and width both say"),
            ("heavy-hitters:width=1024", "structure= is one of simple-hash-table, count-min"),
            ("heavy-hitters:structure=space-saving,depth=3", "space-saving has no rows of counters"),
            ("quantiles:structure=dyadic,width=9", "no structure of this task has such rows"),
            ("heavy-hitters:structure=count-min,depth=9", "from 1 to 8"),
            ("heavy-hitters:structure=count-min,width=0", "from 1 to"),
            ("heavy-hitters:top=0", "from 1 to 1000"),
            ("heavy-hitters:key=src_addr+dst_addr,prefixes=8/16", "one address"),
            ("heavy-hitters:key=src_addr,prefixes=8/33", "from 1 to 32"),
            ("heavy-hitters:structure=dyadic", "space-saving"),
            ("heavy-hitters:by=bytes,structure=mv-sketch", "32 bits"),
            ("entropy:share=1%", "unknown key \"share\""),
            ("super-spreaders:count=many", "whole number"),
            ("change:against=yesterday", "last window"),
            ("change:against=last,windows=3", "average"),
            ("flow-sizes:bins=linear", "powers"),
            ("flow-sizes:bins=exact,structure=size-array", "estimates"),
            ("flow-sizes:bins=exact,structure=packet-sample", "estimates"),
            ("entropy:bins=exact", "unknown key \"bins\""),
            ("change:windows=3,against=ewma", "average"),
            ("change:against=holt-winters,windows=3", "average"),
            ("change:alpha=0.5", "against=ewma or against=holt-winters"),
            ("change:against=ewma,beta=0.5", "against=holt-winters"),
            ("change:against=ewma,alpha=0", "more than nothing"),
            ("change:against=ewma,alpha=1.5", "up to 100%"),
            ("quantiles:key=protocol", "src_addr"),
            ("quantiles:at=150%", "50%/99%"),
            ("entropy:packets=0", "from 1"),
            ("inner:a=dst_port", "no condition"),
            ("inner:a=dst_port=80,b=vlan=5", "selected"),
            ("inner:a=dst_port=80,structure=mv-sketch", "count-sketch"),
            ("distinct:key=src_addr", "unknown key \"key\""),
            ("distinct:of=src_adr", "fields are src_addr"),
            ("distinct:of=src_adr", "of=src_adr: "),
            ("super-spreaders:of=dst_adr", "of=dst_adr: "),
            ("entropy:key=src_adr", "key=src_adr: "),
            ("distinct:structure=hyperloglog", "hyper-log-log"),
        ] {
            let error = text.parse::<TaskSpec>().expect_err(text).to_string();
            assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

        #[test]
        fn never_panics(text in "(heavy-hitters|super-spreaders|flow-sizes|change|entropy|quantiles|distinct|inner):[a-z=,%/+0-9._]{0,60}") {
            let _ = text.parse::<TaskSpec>();
        }
    }
}
