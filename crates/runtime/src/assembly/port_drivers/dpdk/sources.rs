//! The receive queues of DPDK ports as sources.

use super::eal;
use crate::assembly::parallel::{self, OpenPorts};
use crate::assembly::refusal;
use crate::exit::{Failure, say};
use crate::spec::RunSpec;
use engine::admission::{Directions, SourceProperties};
use engine::{MeasurementConfig, Nearness};
use packet::KeySpec;
use port::dpdk::{EalConfig, PortOptions, ProbedPorts, Spread};
use port::{PacketSource, TimeBase};
use std::any::Any;
use task::TaskSpec;

/// The receive queues of the ports, divided among the plan's receivers, the plan as resolved by the ports'
/// capabilities, and what is known of them.
pub(crate) fn open(
    options: &RunSpec,
    config: &MeasurementConfig,
    specs: &[TaskSpec],
) -> Result<OpenPorts, Failure> {
    let asked = parallel::asked_queues(options, config);
    let (port, eal_config) = settings(options, config)?;
    let ports = eal::with(&eal_config, |eal| ProbedPorts::probe(eal, &options.source.port))?;
    let possible = ports.queues()?;
    // Explicitly requested queues are provided or refused; otherwise there are as many as can be used.
    let queues = match options.machine.queues {
        Some(_) => asked,
        None => asked.min(*possible.end()),
    };
    let node = ports.numa_node();
    let topology = engine::NumaTopology::detect();
    let cores = topology.nearest_first(&engine::allowed_cores(), node);
    let mut plan = parallel::settle(options, config, queues, &cores)?;
    if let Some(nearness) = topology.nearness(&plan.cores, node) {
        plan.why = format!("{}; {}", plan.why, in_words(&nearness));
    }
    // Before a port is started.
    refusal::admit(config, &plan, specs, &parallel::site(options))?;
    let queues = match options.machine.queues {
        Some(_) => queues,
        None => plan.receivers.max(*possible.start()),
    };
    let (sources, spread) = ports.start(queues, plan.receivers, &port)?;
    let site = SourceProperties {
        scatters_flows: plan.receivers > 1 && !keeps_flows(spread, options.source.port.len()),
        directions: directions(spread),
        spread_by: match spread {
            Spread::Symmetric | Spread::Requested => parallel::site(options).spread_by,
            Spread::OneWay | Spread::Unknown => KeySpec::FIVE_TUPLE,
        },
        falls_silent: sources.iter().any(|source| source.time_base() == TimeBase::Packets),
        ..parallel::site(options)
    };
    if plan.receivers > 1 && spread == Spread::Unknown && !plan.merges() && !config.parts.are_paired() {
        say(&format!("{}: a flow with packets on several has a record for each", site.directions));
    }
    let boxed = |source| Box::new(source) as Box<dyn PacketSource>;
    Ok((sources.into_iter().map(boxed).collect(), plan, site))
}

/// Returns the options of the ports, and the configuration that DPDK's environment has to have for them.
fn settings(options: &RunSpec, config: &MeasurementConfig) -> Result<(PortOptions, EalConfig), Failure> {
    let usual = PortOptions::default();
    let port = PortOptions {
        burst: options.machine.burst,
        descriptors: options.machine.ring.unwrap_or(usual.descriptors),
        mbufs: u32::try_from(options.machine.mempool)
            .map_err(|_| Failure::usage(format!("--mempool {}: too many mbufs", options.machine.mempool)))?,
        queues: u16::try_from(parallel::asked_queues(options, config)).unwrap_or(u16::MAX),
        promiscuous: !options.source.no_promiscuous,
        rss: options.machine.rss_spec(),
        pools: options.machine.pools,
    };
    let eal =
        EalConfig::for_ports(&options.source.port, &port, &eal::arguments(options.source.eal.as_deref()));
    Ok((port, eal))
}

/// Starts DPDK for the ports of all of these nodes, before those of the first one are opened.
pub(crate) fn share(nodes: &[(RunSpec, MeasurementConfig)]) -> Result<Box<dyn Any>, Failure> {
    let mut all = EalConfig::default();
    for (options, config) in nodes {
        let (_, own) = settings(options, config)?;
        all.devices.extend(own.devices);
        all.memory_bytes = all.memory_bytes.saturating_add(own.memory_bytes);
        all.arguments = own.arguments;
    }
    Ok(Box::new(eal::share(&all)?))
}

/// Returns where the directions of a connection arrive at queues with this spreading.
fn directions(spread: Spread) -> Directions {
    match spread {
        Spread::Symmetric => Directions::Together,
        Spread::Requested | Spread::OneWay => Directions::Apart,
        Spread::Unknown => Directions::Unknown,
    }
}

/// Says how near the cores are to the port.
fn in_words(nearness: &Nearness) -> String {
    match nearness {
        Nearness::AnyCores { .. } => format!("{nearness}: --cores N takes cores there"),
        _ => nearness.to_string(),
    }
}

/// True if all packets of a flow arrive at queues of one number, whichever ports carry them. (But fragments
/// are spread by their addresses alone.)
fn keeps_flows(spread: Spread, ports: usize) -> bool {
    match spread {
        // By one hash on all ports.
        Spread::Symmetric | Spread::Requested => true,
        // By its own hash.
        Spread::OneWay => ports == 1,
        Spread::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::keeps_flows;
    use port::dpdk::Spread;

    #[test]
    fn a_flow_stays_where_that_is_known() {
        for (spread, of_one, of_two) in [
            (Spread::Symmetric, true, true),
            (Spread::Requested, true, true),
            (Spread::OneWay, true, false),
            (Spread::Unknown, false, false),
        ] {
            assert_eq!((keeps_flows(spread, 1), keeps_flows(spread, 2)), (of_one, of_two), "{spread:?}");
        }
    }
}
