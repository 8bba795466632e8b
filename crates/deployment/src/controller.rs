//! `edison controller`: the controller of a deployment.

mod access;
mod archived;
mod config;
mod dry_runs;
mod faults;
mod history;
mod lacks;
mod past;
pub(crate) mod provision;
mod publishers;
mod queries;
mod senders;
mod service;
pub(crate) mod token;
mod unsettled;

use crate::options::ControllerSettings;
use archive::{Archive, ArchiveError};
use config::ControllerConfig;
use protocol::MessageId;
use protocol::amqp;
use queries::ControllerQueries;
use runtime::exit::{Failure, say};
use runtime::signals::{self, HungUp};
use service::ControllerService;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The interval at which a standby looks whether it may take over.
const STANDBY_LOOK: Duration = Duration::from_millis(250);

/// Makes the allocator return each block of a mebibyte or more to the system when it is freed. By default glibc raises this limit to the size of the
/// largest block that was freed, up to 32 MiB. With a thousand nodes the heap then grew in steps of 10 MB.
fn return_large_blocks() {
    const LARGE: libc::c_int = 1 << 20;
    // SAFETY: mallopt takes any values, and no other thread runs yet. That it refuses them changes nothing.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

/// Joins the probes until a signal.
pub(crate) fn run(settings: &ControllerSettings) -> Result<ExitCode, Failure> {
    return_large_blocks();
    let (config, web) = ControllerConfig::from_settings(settings)?;
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    let hung_up = HungUp::watch()?;
    let Some(archive) = open_archive(&config, &stop)? else { return Ok(ExitCode::SUCCESS) };
    let hub = web::Hub::new(archive);
    hub.log_to(say);
    let queries = ControllerQueries::restore(&config, &hub)?;
    let asked = counted(queries.continuous().queries().len(), "query", "queries");
    let marks = hub.archive().marks().map_err(Failure::fault)?;
    let boots = marks.into_iter().filter_map(|mark| {
        let boot = mark.boot.parse().ok()?;
        Some(MessageId { node: mark.node, boot, sequence: mark.sequence })
    });
    let settings = amqp::ControllerLinkSettings {
        marks: boots.collect(),
        ..amqp::ControllerLinkSettings::new(config.broker.clone(), config.nodes.clone())
    };
    let link = amqp::controller_link(settings).map_err(Failure::usage)?;
    let mut service = ControllerService::new(&config, queries, hub.clone(), Box::new(link), hung_up)?;
    // Who asks first is told of all nodes, too.
    service.show();
    let (requests, from_clients) = channel();
    let server = web::serve_with(hub, web, Some(requests)).map_err(Failure::usage)?;
    say(&format!(
        "the page and the API are at {}; {asked} on {}, through the broker at {}",
        server.url(),
        counted(config.nodes.len(), "node", "nodes"),
        config.broker.place()
    ));
    service.run(&from_clients, &stop)
}

/// Opens the archive; as a standby, once the controller that has it open has ended. `None` if `stop` is set before.
///
/// Two controllers never work at the same time: SQLite's lock on the archive is held to the end of the process, by whatever it ends.
fn open_archive(config: &ControllerConfig, stop: &AtomicBool) -> Result<Option<Archive>, Failure> {
    let mut waits = false;
    while !stop.load(Relaxed) {
        match Archive::open(&config.state, config.keep) {
            Ok(archive) => {
                if waits {
                    say("the other controller has ended: this one takes over");
                }
                return Ok(Some(archive));
            }
            Err(ArchiveError::Locked(path)) if config.is_standby => {
                if !waits {
                    say(&format!(
                        "another controller has {} open: this one waits, and takes over when it ends",
                        path.display()
                    ));
                }
                waits = true;
                std::thread::sleep(STANDBY_LOOK);
            }
            Err(error) => return Err(Failure::usage(error)),
        }
    }
    Ok(None)
}

fn counted(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
