//! Figure 5: packets received, by design of the probe, and by argus and pmacct.

use super::PAPER;
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel, Spot};
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
    here: "Clusters take frames from the software wire, which offers the paper's rate, into flow tables; what is received and counted is their rate. argus and pmacct read a capture with frames \
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

/// A row of a design (`2x1_4`: with its threads) with its name alone, and the rate of what was received and counted.
fn received(mut row: FigureRow, frame: u32) -> FigureRow {
    row.series = row.series.split('_').next().unwrap_or_default().to_owned();
    let counted = 1.0 - row.value("ring_full") / row.value("packets");
    row.values.insert("received_mpps".to_owned(), row.value("mpps") * counted);
    row.with("frame", frame)
}

fn meters(scale: Scale, frame: u32, programs: Vec<(&'static str, PathBuf)>) -> StudyPoint {
    let (packets, flows) = scale.pick(("400k", "200k"), ("3M", "1.5M"));
    let rounds = scale.pick(1, 5);
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
            row.values.insert("received_mpps".to_owned(), row.value("mpps"));
            if row.series == "edison" {
                row.series = "Edison, capture".to_owned();
            }
            rows.push(row);
        })?;
        Ok(rows)
    })
}

fn panels(rows: &FigureRows) -> Vec<Panel> {
    let names: Vec<_> =
        DESIGNS.iter().map(|(name, _)| *name).chain(["Edison, capture", "argus", "pmacctd"]).collect();
    let curve = |frame: u32| Curve {
        name: format!("{frame} bytes"),
        of_paper: false,
        spots: (names.iter().enumerate())
            .filter_map(|(at, name)| {
                let row = rows.at(name, "frame", f64::from(frame))?;
                Some(Spot { x: at as f64, y: row.value("received_mpps"), spread: None })
            })
            .collect(),
    };
    vec![Panel {
        title: "Packets received and counted".to_owned(),
        x: Axis::Names {
            label: "clusters x workers; meters".to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        },
        y: Axis::Log { label: "million packets/s".to_owned() },
        curves: FRAMES.map(curve).to_vec(),
    }]
}

fn judge(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let finding = "2x2 receives about 9 times as many packets as argus and pmacct, and the rate rises linearly with workers and clusters";
    let rate = |name: &str| rows.at(name, "frame", 64.0).map(|row| row.value("received_mpps"));
    let best = METERS.iter().filter_map(|(name, _)| rate(name)).reduce(f64::max);
    let (Some(best), Some(one)) = (best, rate("1x1")) else {
        let missing = METERS.iter().find(|(name, _)| rate(name).is_none());
        let why = missing.map_or_else(
            || "nothing is measured".to_owned(),
            |(name, install)| {
                format!(
                    "there is nothing to compare with: {name} is missing ({install}), or nothing is measured"
                )
            },
        );
        return FindingResult::open(finding, machine.lacks_cores(2).unwrap_or(why));
    };
    let Some(two) = rate("2x2") else {
        let why = format!(
            "{}; 1x1 on two cores receives {:.1} times as many packets of 64 bytes as the faster of argus and pmacct",
            machine.lacks_cores(6).unwrap_or_else(|| "2x2 is not measured".to_owned()),
            one / best
        );
        return FindingResult::open(finding, why);
    };
    // As linear as the paper's plot may be read.
    let linear = two / one;
    let why = format!(
        "2x2 receives {:.1} times as many packets of 64 bytes as the faster of the two, and {linear:.1} times as many as 1x1",
        two / best
    );
    FindingResult::new(finding, two / best >= 9.0 && linear >= 2.5, why)
}
