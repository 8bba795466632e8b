//! Answers from the stores of all nodes of a controller.

use super::printer::AnswerPrinter;
use crate::client::http::Api;
use crate::commands::{ApiOptions, QueryOptions};
use model::{HistoryAnswers, HistoryNode};
use runtime::exit::{EARLY, FAULT, Failure, say, say_error};
use runtime::questions::periods;
use runtime::questions::query_text::NamedText;
use serde::Deserialize;
use std::process::ExitCode;
use std::time::Duration;

/// The longest time that nodes may take where the options do not say it.
const DEFAULT_TIME: Duration = Duration::from_secs(30);
/// The time that the controller may take in addition.
const MORE: Duration = Duration::from_secs(60);

/// Asks the controller at this address.
pub(super) fn ask(options: &QueryOptions, address: &str, texts: &[NamedText]) -> Result<ExitCode, Failure> {
    check(options)?;
    let client = ApiOptions {
        controller: address.to_owned(),
        token_file: options.remote.token_file.clone(),
        ca: options.remote.ca.clone(),
    };
    let time = options.remote.time.unwrap_or(DEFAULT_TIME);
    let api = Api::patient(&client, time.saturating_add(MORE))?;
    let parameters = parameters(options, time)?;
    let printer = AnswerPrinter::new(options);
    let texts: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
    // Without a text: what the first screen shows.
    let texts = if texts.is_empty() { vec![""] } else { texts };
    let mut missing = Vec::new();
    for text in texts {
        let json = api.post("/history", &parameters, text)?;
        let answered = HistoryAnswers::deserialize(json);
        let HistoryAnswers { answers, nodes, warnings } = answered
            .map_err(|error| Failure::fault(format!("{address}: its answer is not understood: {error}")))?;
        warnings.iter().for_each(|line| say(line));
        answers.into_iter().for_each(|answer| printer.print(answer));
        let lacking = |node: HistoryNode| {
            node.missing.map(|reason| format!("{}: no whole answer: {reason}", node.name))
        };
        missing.extend(nodes.into_iter().filter_map(lacking));
    }
    printer.finish();
    // Of several texts a node may lack the same.
    missing.dedup();
    missing.iter().for_each(|line| say_error(line));
    printer.withheld().iter().for_each(|line| say(line));
    Ok(match printer.fault() {
        Some(fault) => {
            say_error(&fault);
            ExitCode::from(FAULT)
        }
        None if missing.is_empty() && !printer.is_partial() => ExitCode::SUCCESS,
        None => ExitCode::from(EARLY),
    })
}

/// Refuses options that are of files on this machine.
fn check(options: &QueryOptions) -> Result<(), Failure> {
    let mut refused = Vec::new();
    let mut refuse = |is_given: bool, line: &str| {
        if is_given {
            refused.push(format!("{line} with --controller"));
        }
    };
    refuse(options.store.is_some(), "--store is not possible");
    refuse(!options.diff.is_empty(), "--diff is not possible");
    refuse(!options.set.is_empty(), "--set is not possible: write 'let NAME = VALUE;' in the query");
    refuse(!options.enrich.geo.is_empty(), "--geo is not possible: the probes have their own");
    if refused.is_empty() { Ok(()) } else { Err(Failure::usages(refused)) }
}

/// The parameters of the request.
fn parameters(options: &QueryOptions, time: Duration) -> Result<Vec<(&'static str, String)>, Failure> {
    let milliseconds = |time: Duration| format!("{}ms", time.as_millis());
    let mut parameters = vec![("time", milliseconds(time)), ("top", options.top.to_string())];
    if let Some(period) = periods::parse_options(options.from.as_deref(), options.to.as_deref())? {
        parameters.push(("from", model::format_time(period.from_ns)));
        parameters.push(("to", model::format_time(period.to_ns)));
    }
    parameters.extend(options.per.map(|per| ("per", milliseconds(per))));
    parameters.extend(options.memory.map(|bytes| ("memory", bytes.to_string())));
    if !options.remote.nodes.is_empty() {
        parameters.push(("nodes", options.remote.nodes.join(",")));
    }
    Ok(parameters)
}
