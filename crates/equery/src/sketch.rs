//! `using` and `error`: the structure that counts the packets of a query, and what is promised of it.

use crate::ast::{Expr, ExprNode, QueryText, Using};
use crate::diagnostic::Diagnostics;
use crate::lexer::shortened;
use crate::literal::{Literal, duration_text};
use crate::names;
use crate::options::CheckOptions;
use crate::variables::{VariableValue, Variables};
use packet::{KeySpec, Seed};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use task::query::Query;
use task::sketched::{Counting, NotSketched, QueryClause, task_of};
use task::{RunProperties, Size, Structure, TaskSpec, Tasks, catalog};

/// The way in which the packets of a query are counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sketch {
    /// The task that answers the query.
    #[serde(serialize_with = "as_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub task: TaskSpec,
    /// The structure that counts.
    pub structure: &'static str,
    /// The memory that it takes on one core, of both address families and two windows, bytes.
    pub memory_bytes: u64,
    /// The reason for this structure, and the error that is promised.
    pub why: String,
    /// What the query says of the structure.
    #[serde(skip)]
    pub counting: Counting,
}

fn as_text<S: Serializer>(task: &TaskSpec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(task)
}

/// Settings of `using`.
const SETTINGS: [&str; 4] = ["memory", "depth", "width", "packets"];
/// Parts of a million in a percent.
const PPM_OF_PERCENT: f64 = 10_000.0;

/// Returns true if the query says that its packets are to be counted. An exact table without a size is what rows are.
pub(crate) fn is_asked(text: &QueryText) -> bool {
    let is_exact = |using: &Using| {
        named(&using.structure.value) == Some(Structure::Exact)
            && !using.settings.iter().any(|(name, _)| name.eq_ignore_ascii_case("memory"))
    };
    text.error.is_some() || text.using.as_ref().is_some_and(|using| !is_exact(&using.value))
}

/// The name of a structure as queries write it.
pub(crate) fn written(structure: Structure) -> String {
    structure.name().replace('-', "_")
}

/// The names of all structures.
pub(crate) fn structures() -> Vec<String> {
    let all: BTreeSet<String> =
        catalog::ENTRIES.iter().flat_map(|entry| entry.built).map(|structure| written(*structure)).collect();
    all.into_iter().collect()
}

/// The structure of this name.
fn named(name: &str) -> Option<Structure> {
    let mut all = catalog::ENTRIES.iter().flat_map(|entry| entry.built).copied();
    all.find(|structure| written(*structure).eq_ignore_ascii_case(name))
}

/// Plans the structure that counts the packets of a query. `of_packets`: the statistics of packets that it reads.
/// `None` where an error was reported.
pub(crate) fn sketch(
    text: &QueryText,
    (plan, of_packets): (&Query, &BTreeMap<String, Range<usize>>),
    variables: &Variables,
    options: &CheckOptions,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Sketch> {
    let counting = counting(text, variables, diagnostics)?;
    has_windows_of_the_run(text, options, diagnostics)?;
    if let Some(statistic) = of_packets.keys().next() {
        let reason = format!("no structure counts '{statistic}', a statistic of each flow's packets");
        refuse(text, &NotSketched { part: QueryClause::Counting, reason }, diagnostics);
        return None;
    }
    let key = options.key.as_ref().and_then(|key| KeySpec::parse(&key.join(",")).ok());
    let key = key.unwrap_or(KeySpec::FIVE_TUPLE);
    let task = match task_of(plan, &counting, &key) {
        Ok(task) => task,
        Err(refused) => {
            refuse(text, &refused, diagnostics);
            return None;
        }
    };
    let setting = usual_run(key, options.window_packets);
    let tasks = match Tasks::plan(std::slice::from_ref(&task), &setting) {
        Ok(tasks) => tasks,
        Err(reason) => {
            let reason = reason.strip_prefix(&format!("{task}: ")).unwrap_or(&reason).to_owned();
            refuse(text, &NotSketched { part: QueryClause::Counting, reason }, diagnostics);
            return None;
        }
    };
    let (_, choice) = tasks.choices().next()?;
    let (structure, why) = (choice.structure.name(), choice.why.clone());
    Some(Sketch { structure, why, memory_bytes: tasks.bytes(1) as u64, task, counting })
}

/// A run of which only its keys and the packets of its windows are known.
pub(crate) fn usual_run(key: KeySpec, packets: Option<u64>) -> RunProperties {
    let seed = Seed::new(0);
    RunProperties { key, is_paired: false, packets, workers: 1, scatters: false, shares: false, seed }
}

/// Structures are read and emptied when a window of the run ends.
fn has_windows_of_the_run(
    text: &QueryText,
    options: &CheckOptions,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<()> {
    let Some(every) = &text.every else { return Some(()) };
    let other = match (options.base_window_ns, options.window_packets) {
        (_, Some(packets)) => format!("{packets} packets"),
        (Some(base), None) if base != every.value => duration_text(base),
        _ => return Some(()),
    };
    let message = format!(
        "packets are counted in each window of the run, {other}, not every {}",
        duration_text(every.value)
    );
    let help = "remove 'every', or give --every the same length";
    diagnostics.error_with_help("not_sketched", &every.span, message, help);
    None
}

fn counting(text: &QueryText, variables: &Variables, diagnostics: &mut Diagnostics<'_>) -> Option<Counting> {
    let mut counting = Counting::default();
    if let Some(using) = &text.using {
        counting.structure = named(&using.value.structure.value);
        let mut given: Vec<&str> = Vec::new();
        for (name, value) in &using.value.settings {
            let Some(known) = SETTINGS.into_iter().find(|known| known.eq_ignore_ascii_case(name)) else {
                unknown_setting(name, &value.span, diagnostics);
                return None;
            };
            if given.contains(&known) {
                let message = format!("'{known}' stands in using for the second time");
                diagnostics.error("duplicate_setting", &value.span, message);
                return None;
            }
            given.push(known);
            let number = number(value, variables, known, diagnostics)?;
            let size = usize::try_from(number).unwrap_or(usize::MAX);
            match known {
                "memory" => counting.size = Size::Memory(size),
                "depth" => counting.depth = Some(size),
                "width" => counting.width = Some(size),
                _ => counting.packets = Some(number),
            }
        }
    }
    if let Some(error) = &text.error {
        if counting.size != Size::Usual {
            let message = "memory and error both say how large the structure is";
            diagnostics.error_with_help("two_sizes", &error.span, message, "remove one of them");
            return None;
        }
        // The grammar has percentages up to 100.
        let ppm = (error.value * PPM_OF_PERCENT).round() as u32;
        if ppm == 0 {
            diagnostics.error("error_too_small", &error.span, "the least error is 0.0001%");
            return None;
        }
        counting.size = Size::ErrorPpm(ppm);
    }
    Some(counting)
}

fn unknown_setting(name: &str, span: &Range<usize>, diagnostics: &mut Diagnostics<'_>) {
    let message = format!("using has no setting '{}'", shortened(name));
    let near = names::nearest(name, SETTINGS).map(|near| format!("'{near}' may be meant; "));
    let help = format!("{}settings are {}", near.unwrap_or_default(), SETTINGS.join(", "));
    diagnostics.error_with_help("unknown_setting", span, message, help);
}

/// The number of a setting.
fn number(
    value: &ExprNode,
    variables: &Variables,
    name: &str,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<u64> {
    let literal = match &*value.value {
        Expr::Literal(literal) => Some(literal),
        Expr::Name(name) => match variables.get(name) {
            Some(VariableValue::Constant(constant)) if !constant.is_negative => Some(&constant.literal),
            _ => None,
        },
        _ => None,
    };
    match (literal, name) {
        (Some(Literal::Integer(number)), _) if *number != 0 => return Some(*number),
        (Some(Literal::Size(bytes)), "memory") if *bytes != 0 => return Some(*bytes),
        _ => {}
    }
    let example = match name {
        "memory" => "a size such as 128KiB",
        "depth" => "a number of rows such as 3",
        "width" => "a number of counters in a row such as 1024",
        _ => "a number of packets such as 1M",
    };
    let found = shortened(&value.value.to_string()).to_string();
    diagnostics.error("setting", &value.span, format!("{name} is {example}, but found {found}"));
    None
}

/// Reports that no structure answers a query, at the clause that none can answer.
pub(crate) fn refuse(text: &QueryText, refused: &NotSketched, diagnostics: &mut Diagnostics<'_>) {
    fn span_of<T>(clause: &Option<crate::ast::Spanned<T>>) -> Option<&Range<usize>> {
        clause.as_ref().map(|clause| &clause.span)
    }
    let clause = span_of(&text.using).or(span_of(&text.error));
    let (name, asked) = match &text.using {
        Some(using) => ("using", format!("'using {}'", using.value.structure.value)),
        None => ("error", "'error'".to_owned()),
    };
    let part = match refused.part {
        QueryClause::Columns => span_of(&text.select),
        QueryClause::Filter => span_of(&text.filter),
        QueryClause::Group => span_of(&text.group),
        QueryClause::Having => span_of(&text.having),
        QueryClause::Order => span_of(&text.order),
        QueryClause::Limit => span_of(&text.limit),
        QueryClause::Over => span_of(&text.over),
        QueryClause::Window => span_of(&text.same_window).or(span_of(&text.trigger)),
        QueryClause::Counting => {
            let span = clause.unwrap_or(&text.span.0);
            return diagnostics.error(
                "not_sketched",
                span,
                format!("{asked} is not possible here: {refused}"),
            );
        }
    };
    let span = part.or(clause).unwrap_or(&text.span.0);
    let message = format!("{asked} is not possible here: {refused}");
    let help = format!("without '{name}' rows answer the query exactly");
    diagnostics.error_with_help("not_sketched", span, message, help);
}
