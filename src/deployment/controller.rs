//! `edison controller`: the controller of a deployment.

mod config;
mod past;
mod provision;
mod queries;
mod service;
mod unsettled;

use crate::cli::{ControllerCommand, ControllerOptions};
use crate::exit::{Failure, say};
use crate::signals;
use config::Config;
use protocol::MessageId;
use protocol::amqp::{self, ControllerSettings};
use queries::Queries;
use service::Service;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

/// Joins the probes until a signal, or sets the broker up for it.
pub(crate) fn run(options: &ControllerOptions) -> Result<ExitCode, Failure> {
    match &options.command {
        Some(ControllerCommand::Provision(options)) => provision::run(options),
        None => join(options.config.as_deref().ok_or_else(|| Failure::usage("--config is missing"))?),
    }
}

fn join(settings: &Path) -> Result<ExitCode, Failure> {
    let config = Config::read(settings)?;
    let archive = archive::Archive::open(&config.state, config.keep).map_err(Failure::usage)?;
    let hub = web::Hub::new(archive);
    hub.log_to(say);
    let queries = Queries::restore(&config, &hub)?;
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    let (requests, from_clients) = channel();
    let server = web::serve(hub.clone(), config.listen, Some(requests)).map_err(Failure::usage)?;
    let marks = hub.archive().marks().map_err(Failure::fault)?;
    let boots = marks.into_iter().filter_map(|mark| {
        let boot = mark.boot.parse().ok()?;
        Some(MessageId { node: mark.node, boot, sequence: mark.sequence })
    });
    let settings = ControllerSettings {
        marks: boots.collect(),
        ..ControllerSettings::new(config.broker.clone(), config.nodes.clone())
    };
    let link = amqp::controller_link(settings).map_err(Failure::usage)?;
    say(&format!(
        "the page and the API are at http://{}/; {} on {}, through the broker at {}",
        server.address(),
        counted(queries.standing().queries().len(), "query", "queries"),
        counted(config.nodes.len(), "node", "nodes"),
        config.broker.place()
    ));
    Service::new(&config, queries, hub, Box::new(link))?.run(&from_clients, &stop)
}

fn counted(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
