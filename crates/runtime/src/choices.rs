//! Values that a shell completes, of options that take others too: lists, and designs with numbers.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use engine::PRESETS;
use flow::FIELDS;
use flowtable::by_hash::HashTableKind;
use packet::KeySpec;
use std::ffi::OsStr;
use task::TaskKind;

/// A parser, and the values that are completed.
#[derive(Clone)]
pub struct Completed<P> {
    parser: P,
    values: fn() -> Vec<String>,
}

impl<P: TypedValueParser> TypedValueParser for Completed<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.values)().into_iter().map(PossibleValue::new)))
    }
}

/// The parser, with these values for a shell.
pub fn completed<P: TypedValueParser>(parser: P, values: fn() -> Vec<String>) -> Completed<P> {
    Completed { parser, values }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Returns the names of the fields of flow records.
pub fn fields() -> Vec<String> {
    FIELDS.iter().map(|field| field.name.to_owned()).collect()
}

/// Returns the fields of keys.
pub fn key_fields() -> Vec<String> {
    KeySpec::field_names().map(str::to_owned).collect()
}

/// Returns designs, some of those with numbers among them.
pub fn designs() -> Vec<String> {
    owned(&["rss", "sync", "async", "pipeline", "cooperative", "1x2", "2x2"])
}

/// Returns the roles of tokens.
pub fn roles() -> Vec<String> {
    web::Role::ALL.iter().map(web::Role::to_string).collect()
}

/// Returns policies by which the kernel schedules threads.
pub fn schedulers() -> Vec<String> {
    owned(&["other", "fifo", "deadline:900us/1ms/1ms"])
}

/// Returns how bursts are shared out.
pub fn splits() -> Vec<String> {
    owned(&["hash", "position"])
}

/// Returns the tables that know flows by a hash.
pub fn tables() -> Vec<String> {
    HashTableKind::ALL.iter().map(ToString::to_string).collect()
}

/// Returns where flows are kept.
pub fn states() -> Vec<String> {
    owned(&["separate", "shared"])
}

/// Returns statistics that are often asked for.
pub fn statistics() -> Vec<String> {
    owned(&["mean", "stddev", "p50", "p95", "p99", "p99.9"])
}

/// Returns the names of presets.
pub fn presets() -> Vec<String> {
    PRESETS.iter().map(|preset| preset.name.to_owned()).collect()
}

/// Returns the kinds of tasks.
pub fn tasks() -> Vec<String> {
    TaskKind::ALL.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Scheduler;
    use engine::{Design, Split, StatePlacement};
    use flowtable::StatisticSpec;
    use task::TaskSpec;

    #[test]
    fn what_is_completed_can_be_used() {
        let all = |values: Vec<String>, is_valid: &dyn Fn(&str) -> bool| {
            assert!(!values.is_empty() && values.iter().all(|value| is_valid(value)), "{values:?}");
        };
        all(designs(), &|text| text.parse::<Design>().is_ok());
        all(schedulers(), &|text| text.parse::<Scheduler>().is_ok());
        all(splits(), &|text| text.parse::<Split>().is_ok());
        all(tables(), &|text| text.parse::<HashTableKind>().is_ok());
        all(states(), &|text| text.parse::<StatePlacement>().is_ok());
        all(statistics(), &|text| text.parse::<StatisticSpec>().is_ok());
        all(tasks(), &|text| text.parse::<TaskSpec>().is_ok());
        all(key_fields(), &|text| KeySpec::parse(text).is_ok());
    }
}
