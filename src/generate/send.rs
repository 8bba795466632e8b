//! `edison generate -i` and `--port`: sends generated frames from an interface or a port, and the truth about
//! what was sent.

use super::{fault, write_json};
use crate::commands::GenerateOptions;
use notation::{grouped, scaled};
use port::{InterfaceSink, Pacing, PacketSink, SystemSendClock, TransmitReport};
use runtime::assembly::port_drivers;
use runtime::exit::{self, EARLY, Failure, say, say_error};
use runtime::signals;
use serde::Serialize;
use signal_hook::consts::SIGHUP;
use std::collections::BTreeMap;
use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use traffic::{Generator, TrafficSpec, Truth};

/// The truth about a run that was sent.
#[derive(Serialize)]
struct SentTruth {
    /// The truth about what was sent; its times are the specification's.
    #[serde(flatten)]
    truth: Truth,
    sending: Sending,
}

#[derive(Serialize)]
struct Sending {
    to: String,
    frames: u64,
    wire_byte: u64,
    seconds: f64,
    /// Frames that were generated and not handed over, by reason.
    not_sent: BTreeMap<&'static str, u64>,
    /// The device's own counters of what it lost of the frames that it had accepted.
    lost: BTreeMap<&'static str, u64>,
    packets_per_second: Option<f64>,
    /// The rate on the link, with preamble, check sequence and gap.
    bits_per_second: Option<f64>,
    /// True if the requested rate was kept; null without one.
    kept_rate: Option<bool>,
    /// True if sending was ended before the last frame.
    stopped: bool,
}

/// Sends as the options request.
pub(super) fn send(options: &GenerateOptions, spec: TrafficSpec) -> Result<ExitCode, Failure> {
    let snap = spec.snap();
    let mut generator = Generator::with_truth(spec);
    if generator.longest_capture() < generator.longest_frame() {
        return Err(Failure::usage(format!(
            "snap={snap} cuts frames, and what is sent is whole: leave snap out"
        )));
    }
    let truth_file = options.truth.as_deref().map(|path| {
        let file = File::create(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())));
        file.map(|file| (path, file))
    });
    let truth_file = truth_file.transpose()?;
    let mut sink = open(options, generator.longest_frame())?;
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    signals::stop_on(&[SIGHUP], &stop, &stop)?;
    let mut clock = SystemSendClock::default();
    let sent = port::transmit(&mut generator, sink.as_mut(), options.rate, &mut clock, &stop);

    let lost: BTreeMap<_, _> = sink.lost().into_iter().collect();
    describe(sink.name(), &sent, &lost);
    let truth = generator.truth().ok_or_else(|| Failure::fault("the generator kept no truth"))?;
    let truth = SentTruth { truth, sending: sending(sink.name(), options.rate, &sent, lost) };
    if let Some((path, file)) = truth_file {
        write_json(file, &truth).map_err(|error| fault(path, error))?;
    }
    if options.json {
        exit::print(&(serde_json::to_string(&truth).map_err(Failure::fault)? + "\n"))?;
    }
    match sent.fault {
        Some(error) => Err(error.into()),
        None if sent.stopped => Ok(ExitCode::from(EARLY)),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn sending(to: &str, pacing: Pacing, sent: &TransmitReport, lost: BTreeMap<&'static str, u64>) -> Sending {
    Sending {
        to: to.to_owned(),
        frames: sent.frames,
        wire_byte: sent.wire_byte,
        seconds: sent.elapsed_ns as f64 / 1e9,
        not_sent: BTreeMap::from([("too_long", sent.too_long)]),
        lost,
        packets_per_second: sent.packets_per_second(),
        bits_per_second: sent.bits_per_second(),
        kept_rate: (pacing != Pacing::Unlimited).then(|| sent.kept_rate()),
        stopped: sent.stopped || sent.fault.is_some(),
    }
}

/// Prints the result.
fn describe(name: &str, sent: &TransmitReport, lost: &BTreeMap<&'static str, u64>) {
    let (pps, bps) = (sent.packets_per_second().unwrap_or(0.0), sent.bits_per_second().unwrap_or(0.0));
    say(&format!(
        "sent {} frames of {} bytes from {name} in {:.3} s: {}, {} on the link",
        grouped(sent.frames),
        grouped(sent.wire_byte),
        sent.elapsed_ns as f64 / 1e9,
        scaled(pps, "pps"),
        scaled(bps, "bps"),
    ));
    if !sent.kept_rate() {
        let wanted = pps * sent.elapsed_ns as f64 / sent.scheduled_ns.max(1) as f64;
        say(&format!(
            "the rate was not kept: {} were asked for and {} reached",
            scaled(wanted, "pps"),
            scaled(pps, "pps")
        ));
    }
    if sent.too_long > 0 {
        say(&format!("too_long: {} frames are longer than {name} takes and were left out", sent.too_long));
    }
    for (counter, value) in lost.iter().filter(|(_, value)| **value > 0) {
        say(&format!("{counter}: {name} counts {} frames that it lost after it had taken them", value));
    }
    if sent.stopped {
        say_error("stopped before the last frame");
    }
}

fn open(options: &GenerateOptions, longest: usize) -> Result<Box<dyn PacketSink>, Failure> {
    match (&options.interface, &options.port) {
        (Some(name), _) => Ok(Box::new(InterfaceSink::open(name)?)),
        (None, Some(devargs)) => {
            (port_drivers::find("--port")?.sink)(options.eal.as_deref(), devargs, longest)
        }
        (None, None) => Err(Failure::usage("nowhere to send to: give -i NAME or --port DEVARGS")),
    }
}
