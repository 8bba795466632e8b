//! Routers that send flow records, in the place of sources of frames.

mod quality;
mod reception;
mod windows;

pub(crate) use quality::Qualities;

use crate::exit::Failure;
use crate::spec::{Listener, RouterOptions};
use engine::{Control, Every, MeasurementConfig, Observer, Outputs, RunOutcome};
use model::ExporterReport;
use reception::RouterReception;
use router::{DatagramIntake, Decoder, DecoderSettings, Inlet};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use windows::RouterWindows;

/// Routers, ready to be received.
pub(crate) struct Routers {
    inlet: Inlet,
    decoder: Decoder,
    name: String,
    wait_ns: u64,
    qualities: Qualities,
}

/// The result of receiving: the outcome, the exporters, and the qualities of windows.
pub(crate) struct CollectionOutcome {
    pub(crate) outcome: RunOutcome<Outputs>,
    pub(crate) exporters: Vec<ExporterReport>,
    pub(crate) qualities: Qualities,
}

impl Routers {
    /// Listens at an address, and receives as the options say.
    pub(crate) fn open(listener: &Listener, options: &RouterOptions) -> Result<Self, Failure> {
        let RouterOptions { from, sampling, wait, .. } = options.clone();
        let wait_ns = u64::try_from(wait.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX);
        let (inlet, address) = listen(listener).map_err(Failure::usage)?;
        Ok(Self {
            inlet,
            decoder: Decoder::new(DecoderSettings { from, sampling }),
            name: format!("{}://{address}", listener.scheme()),
            wait_ns,
            qualities: Qualities::default(),
        })
    }

    /// Returns the address where datagrams are received, with its scheme.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns what is known of the records of windows, for their answers.
    pub(crate) fn qualities(&self) -> Qualities {
        self.qualities.clone()
    }

    /// Receives until `stop` is set, or the limits of the run are reached.
    pub(crate) fn measure(
        self,
        config: &MeasurementConfig,
        control: &Control,
        outputs: Outputs,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> CollectionOutcome {
        let Self { inlet, decoder, wait_ns, qualities, .. } = self;
        let intake = DatagramIntake::start(inlet);
        let mut clock = MonotonicClock::start();
        let began = Instant::now();
        let window_ns = match config.every {
            Every::Time(length) => length,
            // Refused before.
            Every::Packets(_) => 0,
        };
        let setting = windows::RouterWindowSetting {
            window_ns,
            wait_ns,
            key: config.key,
            limits: config.limits.clone(),
        };
        let windows =
            RouterWindows::new(setting, control.clone(), outputs, qualities.clone(), clock.now_ns());
        let mut reception = RouterReception::new(config, decoder, windows, clock, began);
        match intake {
            Err(error) => reception.fail(format!("there is no thread to read the socket: {error}")),
            Ok(intake) => reception.receive(&intake, stop, observer),
        }
        let (outcome, exporters) = reception.finish(observer);
        CollectionOutcome { outcome, exporters, qualities }
    }
}

/// A socket at the first address of a listener that there is on this machine.
fn listen(listener: &Listener) -> Result<(Inlet, SocketAddr), String> {
    let addresses =
        listener.addresses().map_err(|error| format!("{listener}: the host is not known: {error}"))?;
    let mut reason = "the host has no address".to_owned();
    for address in addresses {
        let error = match Inlet::open(address).and_then(|inlet| inlet.address().map(|own| (inlet, own))) {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let advice = match error.kind() {
            ErrorKind::AddrInUse => "; another program has the port: end it, or name another port",
            ErrorKind::AddrNotAvailable => "; name an address of this machine",
            ErrorKind::PermissionDenied => {
                "; ports below 1024 need rights (CAP_NET_BIND_SERVICE): name another port"
            }
            _ => "",
        };
        reason = format!("{error}{advice}");
        // One family alone is not what was asked for.
        if error.kind() == ErrorKind::AddrInUse {
            break;
        }
    }
    Err(format!("{listener}: cannot listen there: {reason}"))
}

/// The machine's clock. Where it is set back, it goes on from where it was, as fast as time goes, until the machine's is there again.
struct MonotonicClock {
    last_ns: u64,
    at: Instant,
}

impl MonotonicClock {
    fn start() -> Self {
        Self { last_ns: wall_ns(), at: Instant::now() }
    }

    fn now_ns(&mut self) -> u64 {
        self.at(wall_ns(), Instant::now())
    }

    fn at(&mut self, wall_ns: u64, now: Instant) -> u64 {
        let passed = u64::try_from(now.saturating_duration_since(self.at).as_nanos()).unwrap_or(u64::MAX);
        self.last_ns = if wall_ns < self.last_ns { self.last_ns.saturating_add(passed) } else { wall_ns };
        self.at = now;
        self.last_ns
    }
}

fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_clock_that_is_set_back_goes_on() {
        let began = Instant::now();
        let mut clock = MonotonicClock { last_ns: 1_000, at: began };
        let after = |ns| began + Duration::from_nanos(ns);
        assert_eq!(clock.at(1_010, after(10)), 1_010);
        // Set back by 500, then as fast as time goes, and with the machine's once that is there.
        assert_eq!([clock.at(520, after(20)), clock.at(530, after(30))], [1_020, 1_030]);
        assert_eq!([clock.at(2_000, after(40)), clock.at(2_010, after(50))], [2_000, 2_010]);
    }
}
