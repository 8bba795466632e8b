//! `edison rfc2544`: throughput, latency, frame loss rate and back-to-back frames of a device between two ports.

use crate::commands::Rfc2544Options;
use notation::{grouped, how_long, scaled};
use rfc2544::{
    Addressing, CHECK_SEQUENCE, Rfc2544Report, SCHEMA, SMALLEST, Test, TestSettings, Tester, TrialEnd,
    TrialStep,
};
use runtime::assembly::test_ports::{self, TestPorts};
use runtime::exit::{self, EARLY, Failure, say, say_error};
use runtime::signals;
use signal_hook::consts::SIGHUP;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Tests the device as the options say.
pub(crate) fn rfc2544(options: &Rfc2544Options) -> Result<ExitCode, Failure> {
    let addressing = addressing(options)?;
    let largest = options.procedure.sizes.iter().copied().max().unwrap_or(SMALLEST);
    let longest = (largest.max(SMALLEST) - CHECK_SEQUENCE) as usize;
    let TestPorts { tx, rx, learning } =
        test_ports::open(&options.tx, &options.rx, options.eal.as_deref(), longest)?;
    let link = options.link.or_else(|| tx.link_speed()).ok_or_else(|| {
        Failure::usage(format!(
            "{} does not tell the speed of its link, from which the theoretical maximum follows: give --link, such as --link 1Gbps",
            options.tx
        ))
    })?;
    let settings = settings(options, link)?;
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    signals::stop_on(&[SIGHUP], &stop, &stop)?;
    let mut tester = Tester::new(tx, rx, learning, addressing, &settings, stop)?;
    let shown = io::stderr().is_terminal();
    if shown {
        say(&format!(
            "about {} at the most, on a link of {}",
            how_long(settings.longest_run_ns()),
            scaled(link as f64, "bps")
        ));
    }
    let (sizes, end) = rfc2544::run(&mut tester, &settings, &mut |step| show(shown, step));
    if shown {
        eprint!("\r\x1b[K");
    }
    tester.warnings().iter().for_each(|line| say(line));
    let fault = match &end {
        Err(TrialEnd::Fault(reason)) => Some(reason.clone()),
        Err(TrialEnd::NothingArrived { sent, foreign }) => {
            Some(nothing_arrived(options, &addressing, *sent, *foreign))
        }
        Ok(()) | Err(TrialEnd::Stopped) => None,
    };
    let report = Rfc2544Report {
        schema: SCHEMA,
        tx: options.tx.clone(),
        rx: options.rx.clone(),
        settings,
        sizes,
        ended_early: end.is_err(),
        fault: fault.clone(),
    };
    print(options, &report)?;
    match (fault, end) {
        (Some(fault), _) => Err(Failure::fault(fault)),
        (None, Err(_)) => {
            say_error("ended before the last trial: the figures are those of the trials until then");
            Ok(ExitCode::from(EARLY))
        }
        (None, Ok(())) => Ok(ExitCode::SUCCESS),
    }
}

/// Prints what was measured, if anything was.
fn print(options: &Rfc2544Options, report: &Rfc2544Report) -> Result<(), Failure> {
    if options.json {
        exit::print(&(serde_json::to_string(report).map_err(Failure::fault)? + "\n"))?;
    } else if report.sizes.iter().any(|size| size.trials().next().is_some()) {
        exit::print(&rfc2544::report_text(report))?;
    }
    Ok(())
}

fn settings(options: &Rfc2544Options, link_bits_per_second: u64) -> Result<TestSettings, Failure> {
    let procedure = &options.procedure;
    let nanoseconds = |option: &str, time: Duration| {
        u64::try_from(time.as_nanos()).map_err(|_| Failure::usage(format!("{option}: the time is too long")))
    };
    let mut tests = procedure.tests.clone();
    tests.sort();
    tests.dedup();
    let mut sizes = procedure.sizes.clone();
    sizes.dedup();
    let settings = TestSettings {
        tests,
        sizes,
        link_bits_per_second,
        trial_ns: nanoseconds("--trial", procedure.trial)?,
        latency_trial_ns: nanoseconds("--latency-trial", procedure.latency_trial)?,
        latency_repeats: procedure.latency_repeats,
        burst_ns: nanoseconds("--burst", procedure.burst)?,
        burst_repeats: procedure.burst_repeats,
        tolerance_ppm: procedure.tolerance,
        resolution_ppm: procedure.resolution,
        loss_step_ppm: procedure.loss_step,
        settle_ns: nanoseconds("--settle", procedure.settle)?,
        pause_ns: nanoseconds("--pause", procedure.pause)?,
    };
    settings.check().map_err(Failure::usage)?;
    Ok(settings)
}

fn addressing(options: &Rfc2544Options) -> Result<Addressing, Failure> {
    let addresses = &options.addresses;
    let others = [("--dst-mac", Some(addresses.dst_mac)), ("--next-hop", addresses.next_hop)];
    if let Some((option, _)) = others.into_iter().find(|(_, address)| *address == Some(addresses.src_mac)) {
        return Err(Failure::usage(format!(
            "--src-mac and {option} are the same address: a device knows the port of a frame's destination by its address, and would \
             send test frames back"
        )));
    }
    Ok(Addressing {
        src_mac: addresses.src_mac,
        dst_mac: addresses.dst_mac,
        next_hop: addresses.next_hop,
        src_addr: addresses.src_addr,
        dst_addr: addresses.dst_addr,
        router_addr: addresses.router_addr,
    })
}

/// Shows on a terminal which trial begins.
fn show(shown: bool, step: &TrialStep) {
    if !shown {
        return;
    }
    let plan = &step.plan;
    eprint!(
        "\r\x1b[Ktrial {}, {}: {} frames of {} bytes at {}/s, {}",
        step.performed + 1,
        step.test.map_or("does anything arrive", Test::name),
        grouped(plan.frames),
        plan.frame_size,
        grouped(plan.rate),
        how_long(plan.length_ns())
    );
}

fn nothing_arrived(options: &Rfc2544Options, addressing: &Addressing, sent: u64, foreign: u64) -> String {
    let mac = |address: [u8; 6]| address.map(|byte| format!("{byte:02x}")).join(":");
    format!(
        "none of {sent} test frames that {} sent arrived at {} ({foreign} other frames did): does the device forward UDP from {} to {}, \
         to the MAC address {}? A router needs --next-hop and --router-addr",
        options.tx,
        options.rx,
        addressing.src_addr,
        addressing.dst_addr,
        mac(addressing.next_hop.unwrap_or(addressing.dst_mac)),
    )
}
