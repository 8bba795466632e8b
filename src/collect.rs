//! `edison collect`: routers instead of frames, measured as a run is.

use crate::cli::{CollectOptions, RunOptions};
use crate::config_file;
use crate::exit::Failure;
use crate::routers::RouterOptions;
use crate::run;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Receives what the options say.
pub(crate) fn collect(options: &CollectOptions) -> Result<ExitCode, Failure> {
    let Some(listener) = options.url.clone() else {
        return Err(Failure::usage("nothing to receive: name where to listen, as ipfix://:4739"));
    };
    let routers = RouterOptions {
        listener,
        from: options.from.clone(),
        sampling: options.sampling,
        wait_ns: nanoseconds(options.wait.unwrap_or_default()),
    };
    // What is not an option of this command is as in a run without options, or as the environment says.
    let (usual, origins) = config_file::run_options(toml::Table::new(), Path::new("the environment"))?;
    let given = options.clone();
    let run = RunOptions {
        routers: Some(routers),
        every: given.every.unwrap_or(usual.every),
        top: given.top.unwrap_or(usual.top),
        key: given.key.unwrap_or(usual.key),
        query: or_usual(given.query, usual.query),
        file: or_usual(given.file, usual.file),
        by: given.by.or(usual.by),
        sort: given.sort.or(usual.sort),
        set: or_usual(given.set, usual.set),
        flows: given.flows.or(usual.flows),
        export: given.export.or(usual.export),
        rows: given.rows.or(usual.rows),
        store: given.store.or(usual.store),
        store_keep: given.store_keep.or(usual.store_keep),
        report: given.report.or(usual.report),
        web: given.web.or(usual.web),
        json: given.json || usual.json,
        node: given.node.or(usual.node),
        duration: given.duration.or(usual.duration),
        idle_exit: given.idle_exit.or(usual.idle_exit),
        memory: given.memory.or(usual.memory),
        ..usual
    };
    run::run(&run, &origins)
}

fn or_usual<T>(given: Vec<T>, usual: Vec<T>) -> Vec<T> {
    if given.is_empty() { usual } else { given }
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
