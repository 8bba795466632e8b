//! DPDK ports that are probed and not started yet: their capabilities are known, their configuration is not
//! yet fixed.

use super::eal::Eal;
use super::port::{Port, PortOptions};
use super::queue::RxQueue;
use super::source::{DpdkSource, Timestamps};
use super::spread::Spread;
use crate::{SourceError, SourceSetting};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The most receive queues of a port here: the number that a redirection table of 128 entries can address.
const MOST_QUEUES: u16 = 128;

/// The ports of one observation point, such as the two directions of an optical tap.
#[derive(Debug)]
pub struct ProbedPorts {
    name: String,
    ports: Vec<Port>,
    timestamps: Option<Timestamps>,
    eal: Arc<Eal>,
}

impl ProbedPorts {
    /// Finds the ports that these devargs name. PCI devices must have been named to [`Eal::init`].
    ///
    /// # Errors
    /// Returns `Open` with what is wrong and what to do.
    pub fn probe(eal: &Arc<Eal>, devargs: &[String]) -> Result<Self, SourceError> {
        if devargs.is_empty() {
            let text = "no DPDK port is named: give its devargs";
            return Err(SourceError::Refused(SourceSetting::Devargs, text.into()));
        }
        // Before the first port starts: net_pcap writes times only where the field is known.
        let timestamps = Timestamps::register();
        let mut ports = Vec::new();
        for devargs in devargs {
            ports.extend(Port::made(eal, devargs)?);
        }
        Ok(Self { name: devargs.join(" "), ports, timestamps, eal: eal.clone() })
    }

    /// Returns the numbers of receive queues that each of the ports can have.
    ///
    /// # Errors
    /// Returns `Open` where the ports cannot have the same number.
    pub fn queues(&self) -> Result<RangeInclusive<usize>, SourceError> {
        let mut common = 1..=MOST_QUEUES;
        for port in &self.ports {
            let possible = port.possible_queues()?;
            let both = *common.start().max(possible.start())..=*common.end().min(possible.end());
            if both.is_empty() {
                let of = |range: &RangeInclusive<u16>| match (range.start(), range.end()) {
                    (least, most) if least == most => format!("{least}"),
                    (least, most) => format!("{least} to {most}"),
                };
                return Err(SourceError::Open(format!(
                    "port {} has {} receive queue(s), the ports before it {}: give all of them the same number",
                    port.device().devargs,
                    of(&possible),
                    of(&common)
                )));
            }
            common = both;
        }
        Ok(usize::from(*common.start())..=usize::from(*common.end()))
    }

    /// The NUMA node that all of them are on; `None` if it is not known or they are on several.
    pub fn numa_node(&self) -> Option<usize> {
        let mut nodes = self.ports.iter().map(|port| usize::try_from(port.socket_id()).ok());
        let first = nodes.next().flatten()?;
        nodes.all(|node| node == Some(first)).then_some(first)
    }

    /// Starts each port with this many receive queues, and divides them among `receivers` sources: one for
    /// each thread that receives. Queues of one number belong to one source, so that both directions of a tap
    /// meet there. Also returns how frames are spread over the queues, by the weakest guarantee of any port.
    ///
    /// # Errors
    /// Returns `Open` with the driver's reason, and for more queues than possible.
    pub fn start(
        self,
        queues: usize,
        receivers: usize,
        options: &PortOptions,
    ) -> Result<(Vec<DpdkSource>, Spread), SourceError> {
        let possible = self.queues()?;
        let wanted = u16::try_from(queues).ok().filter(|_| possible.contains(&queues)).ok_or_else(|| {
            SourceError::Open(match (possible.start(), possible.end()) {
                (least, most) if least == most => {
                    format!("port {}: {queues} receive queues are not possible, but {least}", self.name)
                }
                (least, most) => {
                    format!(
                        "port {}: {queues} receive queues are not possible, but {least} to {most}",
                        self.name
                    )
                }
            })
        })?;
        let Self { name, mut ports, timestamps, eal } = self;
        let mut warnings = Vec::new();
        let mut spread = Spread::Symmetric;
        for port in &mut ports {
            spread = spread.max(port.start(wanted, options, &mut warnings)?);
            if port.device().is_virtual("net_af_xdp") {
                warnings.push(format!(
                    "port {}: AF_XDP takes the frames away from the kernel: the host no longer receives on this interface",
                    port.device().devargs
                ));
            }
        }
        let replay = if ports.iter().all(|port| port.device().is_replay()) { timestamps } else { None };
        let receivers = receivers.clamp(1, queues);
        let mut shares: Vec<Vec<RxQueue>> = (0..receivers).map(|_| Vec::new()).collect();
        for port in ports {
            for (number, queue) in port.into_queues().into_iter().enumerate() {
                shares[number % receivers].push(queue);
            }
        }
        let mut warnings = Some(warnings);
        let sources = shares
            .into_iter()
            .map(|queues| {
                let warnings = warnings.take().unwrap_or_default();
                DpdkSource::polling(&eal, queues, name.clone(), options.burst, replay, warnings)
            })
            .collect();
        Ok((sources, spread))
    }
}

impl DpdkSource {
    /// Opens the ports that these devargs name, all their queues as one source. PCI devices must have been named to
    /// [`Eal::init`].
    ///
    /// # Errors
    /// Returns `Open` with what is wrong and what to do.
    pub fn open(eal: &Arc<Eal>, devargs: &[String], options: &PortOptions) -> Result<Self, SourceError> {
        let ports = ProbedPorts::probe(eal, devargs)?;
        let possible = ports.queues()?;
        let queues = usize::from(options.queues).clamp(*possible.start(), *possible.end());
        let (mut sources, _) = ports.start(queues, 1, options)?;
        sources.pop().ok_or_else(|| SourceError::Open("the ports have no receive queue".into()))
    }
}
