//! What users type: specifications of traffic and lists of fields. What is accepted reads back as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::Selection;
use traffic::Spec;

/// An error is one line, unless the user's own line break stands in it.
fn check_error(text: &str, error: &dyn std::fmt::Display) {
    let message = error.to_string();
    assert!(!message.is_empty());
    assert!(text.contains('\n') || !message.contains('\n'), "{message}");
}

fuzz_target!(|text: &str| {
    match text.parse::<Spec>() {
        Ok(spec) => {
            let shown = spec.to_string();
            let again: Spec = shown.parse().unwrap_or_else(|error| panic!("{shown}: {error}"));
            assert_eq!(again.to_string(), shown);
            assert_eq!((again.packets(), again.flows()), (spec.packets(), spec.flows()));
            assert_eq!((again.rate(), again.start_ns()), (spec.rate(), spec.start_ns()));
            assert_eq!(again.events(), spec.events());
        }
        Err(error) => check_error(text, &error),
    }
    match Selection::parse(text) {
        Ok(selection) => {
            let names: Vec<_> = selection.fields().iter().map(|field| field.name).collect();
            assert_eq!(names.len(), text.split(',').count());
            let again = Selection::parse(&names.join(",")).unwrap_or_else(|error| panic!("{error}"));
            assert!(again.fields().iter().map(|field| field.name).eq(names));
        }
        Err(error) => check_error(text, &error),
    }
});
