//! What users type: specifications of traffic, of paths and of tasks, lists of fields and statistics, keys,
//! collectors. What is accepted is printed and parsed back to the same value.
#![no_main]

use flowtable::StatisticSpec;
use libfuzzer_sys::fuzz_target;
use packet::KeySpec;
use record::{Collector, RecordContents, Selection};
use task::TaskSpec;
use traffic::{PathSpec, TrafficSpec};

/// An error is one line, unless it contains the user's own line break.
fn check_error(text: &str, error: &dyn std::fmt::Display) {
    let message = error.to_string();
    assert!(!message.is_empty());
    assert!(text.contains('\n') || !message.contains('\n'), "{message}");
}

fuzz_target!(|text: &str| {
    match text.parse::<TrafficSpec>() {
        Ok(spec) => {
            let shown = spec.to_string();
            let again: TrafficSpec = shown.parse().unwrap_or_else(|error| panic!("{shown}: {error}"));
            assert_eq!(again.to_string(), shown);
            assert_eq!((again.packets(), again.flows()), (spec.packets(), spec.flows()));
            assert_eq!((again.rate(), again.start_ns()), (spec.rate(), spec.start_ns()));
            assert_eq!(again.events(), spec.events());
        }
        Err(error) => check_error(text, &error),
    }
    let parts =
        RecordContents { tracked: flow::TrackedParts::ALL, biflow: true, ..RecordContents::default() };
    match Selection::parse(text, &parts) {
        Ok(selection) => {
            let names: Vec<_> = selection.columns().iter().map(|column| column.name()).collect();
            assert_eq!(names.len(), text.split(',').count());
            let again = Selection::parse(&names.join(","), &parts).unwrap_or_else(|error| panic!("{error}"));
            assert!(again.columns().iter().map(|column| column.name()).eq(names));
        }
        Err(error) => check_error(text, &error),
    }
    match text.parse::<PathSpec>() {
        Ok(spec) => assert_eq!(spec.to_string().parse(), Ok(spec)),
        Err(error) => check_error(text, &error),
    }
    match text.parse::<StatisticSpec>() {
        Ok(spec) => assert_eq!(spec.to_string().parse(), Ok(spec)),
        Err(error) => check_error(text, &error),
    }
    match KeySpec::parse(text) {
        Ok(spec) => assert_eq!(spec.columns().count(), text.split(',').count()),
        // The one error of several lines: it underlines.
        Err(error) => assert!(error.to_string().contains('^')),
    }
    match text.parse::<TaskSpec>() {
        Ok(spec) => assert_eq!(spec.to_string().parse(), Ok(spec)),
        Err(error) => check_error(text, &error),
    }
    if let Err(error) = text.parse::<Collector>() {
        check_error(text, &error);
    }
});
