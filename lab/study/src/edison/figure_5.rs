//! Figure 5: packets received, by design of the probe, and by argus and pmacct.

use super::PAPER;
use crate::deciding::{Claim, RoundedValue, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Guide, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;
use std::path::PathBuf;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-5",
    title: "packets received by clusters of Ares, by argus and by pmacct",
    section: "section III.C",
    shows: "The rate of received packets by N clusters of a receiver and M workers each, for 78 million packets/s of 64 bytes and 16 million of 750, of 1.5 million flows. It rises \
            linearly with workers and with clusters; 2x2 receives about 9 times as many packets as argus and pmacct.",
    here: "Clusters take frames from the software wire, which offers the paper's rate, into flow tables; their rate is what arrives without what is lost. argus and pmacct read a capture with frames \
           of the same size and uniform flows from memory and write records; Edison, on one core, reads the same capture: rates of these are by processor time of whole processes. A cluster of one \
           worker has two cores.",
    said: &[
        PaperClaim { what: "sent with 64 bytes", value: "78 Mpps", place: "section III.B" },
        PaperClaim { what: "sent with 750 bytes", value: "16 Mpps", place: "section III.B" },
        PaperClaim { what: "2x2 over argus and pmacct", value: "about 9 times", place: "section III.C" },
        PaperClaim { what: "argus and pmacct", value: "10 to 20 Gbit/s at most", place: "section I" },
    ],
    points,
    panels,
    judge,
};

/// Clusters by workers of each, and the cores of both together.
const DESIGNS: [(&str, usize); 6] = [("1x1", 2), ("1x2", 3), ("1x4", 5), ("2x1", 4), ("2x2", 6), ("3x1", 6)];
const FRAMES: [u32; 2] = [64, 750];
/// Edison where it reads a capture, as the meters do.
const CAPTURE: &str = "Edison, capture";
/// Bytes of preamble and gap of each frame on a wire.
const GAP: u32 = 20;
const RECEIVED: &str = "received_mpps";
const LOSS: &str = "loss_clock_stopped";
/// The share of a linear rise that counts as one, and how many times the rate of argus and pmacct is the paper's.
const LINEAR: f64 = 0.75;
const TIMES: f64 = 9.0;
/// The other meters, and what installs them.
const METERS: [(&str, &str); 2] =
    [("argus", "apt-get install argus-server argus-client"), ("pmacctd", "apt-get install pmacct")];

/// Finds the file of a program: Debian keeps daemons where a user's shell does not look.
fn place(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn points(machine: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let mut points: Vec<StudyPoint> =
        FRAMES.iter().flat_map(|frame| clusters(machine, scale, *frame)).collect();
    let there: Vec<_> = METERS.iter().filter_map(|(name, _)| Some((*name, place(name)?))).collect();
    for frame in FRAMES {
        points.push(meters(scale, frame, there.clone()));
    }
    for (name, install) in METERS {
        if place(name).is_none() {
            let missing = Some(format!("{name} is not installed: {install}"));
            points.push(StudyPoint::new(format!("meter {name}"), || Ok(Vec::new())).unless(missing));
        }
    }
    points
}

/// The designs that there are cores for, in turn; each other one says what it lacks.
fn clusters(machine: &MachineProfile, scale: Scale, frame: u32) -> Vec<StudyPoint> {
    let fits: Vec<_> =
        DESIGNS.iter().filter(|(_, cores)| *cores <= machine.cores).map(|(name, _)| *name).collect();
    let seconds = scale.pick(2.0, 10.0) * fits.len().max(1) as f64;
    let packets = scale.pick(Some(3_000_000), None);
    let lacks = machine.lacks_cores(2);
    let key = format!("ares frame={frame} designs={} seconds={seconds}", fits.join("+"));
    let measured = StudyPoint::new(key, move || {
        let mut rows = Vec::new();
        bench::figures::designs("ares", frame, &fits, packets, seconds, &mut |line| {
            rows.push(received(FigureRow::from_line(&line), frame));
        })?;
        Ok(rows)
    });
    let less = DESIGNS.iter().filter(|(_, cores)| *cores > machine.cores.max(2)).map(|(name, cores)| {
        StudyPoint::new(format!("ares frame={frame} design={name}"), || Ok(Vec::new()))
            .unless(machine.lacks_cores(*cores))
    });
    [measured.unless(lacks)].into_iter().chain(less).collect()
}

/// A row of a design (`2x1_4`: with its threads) with its name alone, and the rate of what was received and counted: what arrived without
/// what was lost.
fn received(mut row: FigureRow, frame: u32) -> FigureRow {
    row.series = row.series.split('_').next().unwrap_or_default().to_owned();
    let counted = |lost: f64| (1.0 - lost) * sent(frame);
    row.values.insert(RECEIVED.to_owned(), counted(row.value(LOSS)));
    if let Some([least, most]) = row.spread(LOSS) {
        row.values.insert("received_mpps_least".to_owned(), counted(most));
        row.values.insert("received_mpps_most".to_owned(), counted(least));
    }
    row.with("frame", frame)
}

/// Million packets a second that arrive of a frame size.
fn sent(frame: u32) -> f64 {
    if frame == FRAMES[0] { 78.0 } else { 16.0 }
}

fn meters(scale: Scale, frame: u32, programs: Vec<(&'static str, PathBuf)>) -> StudyPoint {
    let (packets, flows) = scale.pick(("400k", "200k"), ("3M", "1.5M"));
    let rounds = scale.pick(3, 5);
    let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
    let key = format!(
        "meters frame={frame} packets={packets} flows={flows} rounds={rounds} of={}",
        names.join("+")
    );
    StudyPoint::new(key, move || {
        let mut rows = Vec::new();
        let spec = format!("packets={packets},flows={flows},zipf=0,size={frame},snap=96,seed=1");
        bench::figures::meters(&spec, rounds, &programs, &mut |line| {
            let mut row = FigureRow::from_line(&line).with("frame", frame);
            row.values.insert(RECEIVED.to_owned(), row.value("mpps"));
            if let Some([least, most]) = row.spread("mpps") {
                row.values.insert("received_mpps_least".to_owned(), least);
                row.values.insert("received_mpps_most".to_owned(), most);
            }
            if row.series == "edison" {
                row.series = CAPTURE.to_owned();
            }
            rows.push(row);
        })?;
        Ok(rows)
    })
}

fn panels(rows: &FigureRows, machine: &MachineProfile) -> Vec<Panel> {
    let names: Vec<_> = DESIGNS.iter().map(|(name, _)| *name).chain([CAPTURE, "argus", "pmacctd"]).collect();
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap_or_default() as f64;
    let panel = |frame: u32| {
        let rate = |name: &str| rows.at(name, "frame", f64::from(frame));
        let spots = names.iter().filter_map(|name| {
            let row = rate(name)?;
            Some(Spot { x: place(name), y: row.value(RECEIVED), spread: row.spread(RECEIVED) })
        });
        let spots: Vec<_> = spots.filter(|spot| spot.y.is_finite()).collect();
        let missing = names.iter().filter(|name| rate(name).is_none()).map(|name| {
            let cores = DESIGNS.iter().find(|(design, _)| design == name);
            let why = cores.map(|(_, cores)| machine.remark(*cores));
            let is_meter = METERS.iter().any(|(meter, _)| meter == name);
            let absent =
                if is_meter && self::place(name).is_none() { "not installed" } else { "not measured" };
            (place(name), why.unwrap_or_else(|| absent.to_owned()))
        });
        let mut curves = vec![Curve { name: "here".to_owned(), of_paper: false, spots }];
        // 10 to 20 Gbit/s at most, of frames with preamble and gap.
        let meters = METERS.map(|(name, _)| {
            let [least, most] = [10e3, 20e3].map(|mbit_s| mbit_s / (8.0 * f64::from(frame + GAP)));
            Spot { x: place(name), y: most, spread: Some([least, most]) }
        });
        curves.push(Curve {
            name: "10 to 20 Gbit/s at most".to_owned(),
            of_paper: true,
            spots: meters.into(),
        });
        let best = METERS.iter().filter_map(|(name, _)| Some(rate(name)?.value(RECEIVED))).reduce(f64::max);
        if let Some(best) = best {
            curves.push(Curve::from_paper("9 times the meters here", &[(place("2x2"), TIMES * best)]));
        }
        if let Some(one) = rate("1x1").map(|row| row.value(RECEIVED)) {
            let linear = [("1x2", 2.0), ("1x4", 4.0), ("2x1", 2.0), ("3x1", 3.0)];
            let linear = linear.map(|(name, times)| (place(name), sent(frame).min(times * one)));
            curves.push(Curve::from_paper("linear from 1x1 here", &linear));
        }
        let x = Axis::Names {
            label: "clusters x workers; meters".to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let y = Axis::Log { label: "million packets/s".to_owned() };
        Panel::new(format!("Received and counted, {frame} bytes"), x, y, curves)
            .with_guides([Guide::across(sent(frame), &format!("{} Mpps are sent", sent(frame)))])
            .with_remarks(missing.collect::<Vec<_>>())
    };
    FRAMES.map(panel).into()
}

/// The comparisons of the paper's text: more workers, then more clusters, of the design that they are compared with.
const RISES: [(&str, &str, f64); 5] =
    [("1x1", "1x2", 2.0), ("1x1", "1x4", 4.0), ("2x1", "2x2", 2.0), ("1x1", "2x1", 2.0), ("1x1", "3x1", 3.0)];

fn judge(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let finding = "the rate rises linearly with workers and with clusters, to three quarters of it at least, and 2x2 receives at least 9 times as many \
                   packets of 64 bytes as argus and pmacct";
    let rate = |name: &str| value_at(rows, name, ("frame", 64.0), RECEIVED);
    let lacking = |name: &str| {
        let design = DESIGNS.iter().find(|(design, _)| *design == name);
        design.and_then(|(_, cores)| machine.lacks_cores(*cores)).map(|lacks| format!("{name}: {lacks}"))
    };
    let (mut claims, mut missing): (Vec<Claim>, Vec<String>) = (Vec::new(), Vec::new());
    let mut need = |name: &str| {
        let why = match rate(name) {
            Ok(rate) => return Some(rate),
            Err(why) => lacking(name).unwrap_or(why),
        };
        // Several comparisons need it.
        if !missing.contains(&why) {
            missing.push(why);
        }
        None
    };
    for (few, many, times) in RISES {
        let (Some(few_rate), Some(many_rate)) = (need(few), need(many)) else { continue };
        // More than what arrives cannot be received.
        let expected = few_rate.times(LINEAR * times);
        let most = RoundedValue::exact(LINEAR * sent(FRAMES[0]));
        let expected = if expected.value > most.value { most } else { expected };
        let text = format!("{few} receives {}, {many} {}", few_rate.text("Mpps"), many_rate.text("Mpps"));
        claims.push(Claim::new(expected.is_at_most(many_rate, 0.0), text));
    }
    for (name, install) in METERS {
        let Ok(other) = rate(name) else {
            missing.push(format!("there is no {name} to compare with ({install})"));
            continue;
        };
        // With fewer cores the one cluster that fits is said, and decides nothing.
        match (rate("2x2"), rate("1x1")) {
            (Ok(two), _) => {
                let text = format!("2x2 receives {}, {name} {}", two.text("Mpps"), other.text("Mpps"));
                claims.push(Claim::new(other.times(TIMES).is_at_most(two, 0.0), text));
            }
            (_, Ok(one)) => missing.push(format!(
                "1x1 on two cores receives {} times as many as {name}",
                one.over(other).text("")
            )),
            _ => {}
        }
    }
    let fails = claims.iter().any(|claim| claim.holds == Some(false));
    let claims = if missing.is_empty() || fails { Ok(claims) } else { Err(missing.join("; ")) };
    conclude(finding, claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row, spread_out};

    /// Rates that rise linearly, and meters of a Mpps.
    fn rows() -> FigureRows {
        let rates = [
            ("1x1", 10.0),
            ("1x2", 19.0),
            ("1x4", 38.0),
            ("2x1", 20.0),
            ("2x2", 38.0),
            ("3x1", 29.0),
            ("argus", 1.0),
            ("pmacctd", 2.0),
        ];
        let of = |(name, rate): (&str, f64)| row(name, &[(RECEIVED, rate)]).with("frame", 64);
        FigureRows(rates.into_iter().map(of).collect())
    }

    #[test]
    fn a_linear_rise_and_nine_times_decide() {
        let machine = |cores| MachineProfile { cores, ..MachineProfile::here() };
        let judged = |rows: &FigureRows| judge(rows, &machine(6));
        assert_eq!(judged(&rows()).holds, Some(true), "{}", judged(&rows()));
        let falls = judged(&changed(&rows(), "1x2", RECEIVED, 9.0));
        assert_eq!((falls.holds, falls.why.as_str()), (Some(false), "1x1 receives 10 Mpps, 1x2 9 Mpps"));
        assert_eq!(judged(&changed(&rows(), "pmacctd", RECEIVED, 5.0)).holds, Some(false));
        assert_eq!(judged(&spread_out(&rows(), "3x1", RECEIVED)).holds, None);
        // All that arrives is received: no more can be.
        let mut all = changed(&rows(), "1x2", RECEIVED, 78.0);
        all = changed(&changed(&all, "1x1", RECEIVED, 70.0), "1x4", RECEIVED, 78.0);
        all = changed(&changed(&all, "2x1", RECEIVED, 78.0), "2x2", RECEIVED, 78.0);
        assert_eq!(judged(&changed(&all, "3x1", RECEIVED, 78.0)).holds, Some(true));
        let without =
            |name: &str| FigureRows(rows().0.into_iter().filter(|row| row.series != name).collect());
        let open = judged(&without("argus"));
        assert!(open.holds.is_none() && open.why.contains("no argus"), "{open}");
        let few = FigureRows(
            rows().0.into_iter().filter(|row| !row.series.contains('x') || row.series == "1x1").collect(),
        );
        let open = judge(&few, &machine(2));
        assert!(open.holds.is_none() && open.why.contains("2x2: it needs 6 cores"), "{open}");
        assert!(open.why.contains("1x1 on two cores receives 5 times as many as pmacctd"), "{open}");
    }

    #[test]
    fn what_is_received_is_what_arrives_without_the_loss() {
        let of = row(
            "2x1_4",
            &[(LOSS, 0.5), ("loss_clock_stopped_least", 0.4), ("loss_clock_stopped_most", 0.75)],
        );
        let row = received(of, 64);
        assert_eq!((row.series.as_str(), row.value(RECEIVED)), ("2x1", 39.0));
        let [least, most] = row.spread(RECEIVED).expect("rounds");
        assert!((least - 19.5).abs() < 1e-9 && (most - 46.8).abs() < 1e-9, "{least} {most}");
    }
}
