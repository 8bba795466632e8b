//! Figure 9-(a): clients of an echo server, in a closed loop through a device.

use super::PAPER;
use crate::deciding::{Claim, RoundedValue, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use bench::{EchoLoop, EchoRun};
use std::sync::OnceLock;

/// The rate of the device's links, which some 270 clients fill whose server takes [`SERVICE_MS`] for each.
const MEGABITS: u32 = 20;
const SERVICE_MS: u32 = 100;
/// Runs of each number of clients.
const RUNS: usize = 3;
/// Clients with which links are full, in the paper.
const MANY: u16 = 400;
/// The share of the links' rate that is far from it, and the one that is close.
const FAR: f64 = 0.5;
const CLOSE: f64 = 0.9;

const TO_SERVER: &str = "to the server";
const FROM_SERVER: &str = "from the server";
const CLIENTS: &str = "clients";
const TOTAL: &str = "megabits";
const OF_FLOW: &str = "flow_megabits";

const SLOW_AT_FIRST: &str = "with few clients the throughput is less than half of the link's rate, and with 400 and more nine tenths of it at least";

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-9a",
    title: "throughput of clients of an echo server",
    section: "Section VI-C, Figure 9-(a)",
    shows: "Throughput of TCP clients of ClickNF that each send 512 bytes and get them back, in total and of each flow, by number of clients at a time.",
    here: "The clients and the server are those of the kernel's TCP, each in a network namespace, and Linux is the router between them, with links of 20 Mbit/s either way. A client sends 512 bytes from a port that the kernel draws, gets them back after the 100 ms that the server takes, closes, and begins again. Edison measures at the device's interface to the clients; the interface's counters, the ports of the clients and the bytes of their rounds agree with it. Few clients cannot fill the links because each waits for its echo; that of ClickNF, which handles small batches slowly, is another reason.",
    said: &[PaperClaim { what: "more than 400 clients", value: "9.8 Gbit/s of 10", place: "Section VI-C" }],
    points,
    panels,
    judge: |rows, _| conclude(SLOW_AT_FIRST, judge(rows)),
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    // Asked once: links are made to find out.
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(EchoLoop::missing);
    let clients: &[u16] =
        scale.pick(&[20, 100, MANY, 2 * MANY], &[10, 20, 50, 100, 200, 300, MANY, 600, 2 * MANY]);
    let seconds = scale.pick(3.0, 10.0);
    let point = |&clients: &u16| {
        let spec = EchoLoop { clients, megabits: MEGABITS, service_ms: SERVICE_MS, seconds };
        let key = format!("flowatcher echo {spec:?} runs={RUNS}");
        StudyPoint::new(key, move || {
            let runs: Vec<EchoRun> = (0..RUNS).map(|_| spec.run()).collect::<Result<_, _>>()?;
            Ok(rows_of(runs, clients))
        })
        .unless(missing.clone())
    };
    clients.iter().map(point).collect()
}

/// The run with the median throughput to the server, and the least and the most of all.
fn rows_of(mut runs: Vec<EchoRun>, clients: u16) -> Vec<FigureRow> {
    runs.sort_by(|one, other| one.megabits[0].total_cmp(&other.megabits[0]));
    let Some(run) = runs.get(runs.len() / 2) else { return Vec::new() };
    let row = |series: &str, direction: usize| {
        let mut row = FigureRow {
            series: series.to_owned(),
            checked: Some(runs.iter().all(|run| run.checked)),
            ..FigureRow::default().with(CLIENTS, clients)
        };
        let totals = || runs.iter().map(|run| run.megabits[direction]);
        for (name, value) in [
            (TOTAL, run.megabits[direction]),
            ("megabits_least", totals().fold(f64::INFINITY, f64::min)),
            ("megabits_most", totals().fold(f64::NEG_INFINITY, f64::max)),
            ("rounds_of_clients", run.rounds as f64),
            ("failed_connections", run.failed as f64),
            ("segments_sent_again", run.sent_again as f64),
            ("lost_by_capture", run.monitor_lost as f64),
            ("seconds", run.seconds),
        ] {
            row.values.insert(name.to_owned(), value);
        }
        row
    };
    let mut there = row(TO_SERVER, 0);
    there.values.insert(OF_FLOW.to_owned(), run.flow_megabits);
    vec![there, row(FROM_SERVER, 1)]
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let panel = |title: &str, curves: Vec<Curve>| {
        let x = Axis::Log { label: "clients at a time".to_owned() };
        Panel::new(title, x, Axis::Log { label: "Mbit/s".to_owned() }, curves)
    };
    let total = |series: &str| Curve::from_rows(rows, series, series, CLIENTS, TOTAL);
    vec![
        panel("Total throughput", vec![total(TO_SERVER), total(FROM_SERVER)]).with_guides([
            Guide::across(0.98 * f64::from(MEGABITS), "98 % of the link, with more than 400"),
            Guide::upright(MANY.into(), "400 clients"),
        ]),
        panel(
            "Throughput of a flow, median",
            vec![Curve::from_rows(rows, TO_SERVER, TO_SERVER, CLIENTS, OF_FLOW)],
        ),
    ]
}

/// The share of the links' rate that is used with the fewest clients, and with those that are many.
fn judge(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let measured = rows.rows_of_series(TO_SERVER).map(|row| row.param(CLIENTS));
    let clients: Vec<f64> = measured.filter(|clients| clients.is_finite()).collect();
    let percent = |clients: f64| {
        let total = value_at(rows, TO_SERVER, (CLIENTS, clients), TOTAL)?;
        Ok::<_, String>(total.times(100.0 / f64::from(MEGABITS)))
    };
    let few = clients.iter().copied().fold(f64::INFINITY, f64::min);
    let many: Vec<f64> = clients.into_iter().filter(|clients| *clients >= f64::from(MANY)).collect();
    if many.is_empty() {
        return Err(format!("{MANY} clients and more were not measured"));
    }
    let bound = |share: f64| RoundedValue::exact(100.0 * share);
    let text =
        |clients: f64, used: RoundedValue| format!("{clients} clients use {} of the link", used.text("%"));
    let of_few = percent(few)?;
    let mut claims = vec![Claim::new(of_few.is_below(bound(FAR)), text(few, of_few))];
    for clients in many {
        let used = percent(clients)?;
        claims.push(Claim::new(bound(CLOSE).is_at_most(used, 0.0), text(clients, used)));
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(totals: &[(u16, &[f64])], checked: bool) -> FigureRows {
        let run = |megabits: f64| EchoRun {
            rounds: 100,
            failed: 0,
            sent_again: 0,
            flows: 100,
            seconds: 4.0,
            megabits: [megabits; 2],
            flow_megabits: megabits / 100.0,
            monitor_lost: 0,
            checked,
        };
        let rows_of_one = |(clients, totals): &(u16, &[f64])| {
            rows_of(totals.iter().map(|total| run(*total)).collect(), *clients)
        };
        FigureRows(totals.iter().flat_map(rows_of_one).collect())
    }

    #[test]
    fn many_clients_have_to_fill_what_few_do_not() {
        let judged = |totals: &[(u16, &[f64])]| conclude("f", judge(&rows(totals, true))).holds;
        assert_eq!(judged(&[(20, &[1.5]), (400, &[19.0]), (800, &[19.5])]), Some(true));
        assert_eq!(judged(&[(20, &[11.0]), (400, &[19.0])]), Some(false));
        assert_eq!(judged(&[(20, &[1.5]), (400, &[19.0]), (800, &[12.0])]), Some(false));
        // One of three runs that was disturbed decides nothing.
        assert_eq!(judged(&[(20, &[1.5]), (400, &[19.0, 19.5, 12.0])]), None);
        assert_eq!((judged(&[(20, &[1.5])]), judged(&[])), (None, None));
        assert!(judge(&rows(&[(20, &[1.5]), (400, &[19.0])], false)).is_err());
        let rows = rows(&[(20, &[1.5]), (400, &[19.0])], true);
        assert_eq!(panels(&rows, &MachineProfile::here())[0].curves[0].spots.len(), 2);
    }
}
