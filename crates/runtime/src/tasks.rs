//! Tasks: from options to what a run counts.

use crate::exit::Failure;
use task::TaskSpec;

/// The values of `--task`.
pub(crate) fn specs(texts: &[String]) -> Result<Vec<TaskSpec>, Failure> {
    let parsed =
        texts.iter().map(|text| text.parse::<TaskSpec>().map_err(|error| format!("--task {text}: {error}")));
    let (specs, wrong): (Vec<_>, Vec<_>) = parsed.partition(Result::is_ok);
    match wrong.is_empty() {
        true => Ok(specs.into_iter().flatten().collect()),
        false => Err(Failure::usages(wrong.into_iter().filter_map(Result::err))),
    }
}
