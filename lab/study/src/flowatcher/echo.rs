//! Figure 9-(a): clients of an echo server, in a closed loop through a device.

use super::PAPER;
use crate::deciding::{value_at, verdict};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use bench::{EchoLoop, EchoRun};
use std::sync::OnceLock;

/// The rate of the device's links, which some 270 clients fill whose server takes [`SERVICE_MS`] for each.
const MEGABITS: u32 = 20;
const SERVICE_MS: u32 = 100;
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

const SLOW_AT_FIRST: &str =
    "with few clients the throughput is far from the link's rate, and with 400 and more close to it";

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
    judge: |rows, _| verdict(SLOW_AT_FIRST, judge(rows)),
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    // Asked once: links are made to find out.
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(EchoLoop::missing);
    let clients: &[u16] =
        scale.pick(&[20, 100, MANY, 2 * MANY], &[10, 20, 50, 100, 200, 300, MANY, 600, 2 * MANY]);
    let seconds = scale.pick(4.0, 10.0);
    let point = |&clients: &u16| {
        let spec = EchoLoop { clients, megabits: MEGABITS, service_ms: SERVICE_MS, seconds };
        let key = format!("flowatcher echo {spec:?}");
        StudyPoint::new(key, move || Ok(rows_of(&spec.run()?, clients))).unless(missing.clone())
    };
    clients.iter().map(point).collect()
}

fn rows_of(run: &EchoRun, clients: u16) -> Vec<FigureRow> {
    let row = |series: &str, megabits: f64| {
        let mut row = FigureRow {
            series: series.to_owned(),
            checked: Some(run.checked),
            ..FigureRow::default().with(CLIENTS, clients)
        };
        for (name, value) in [
            (TOTAL, megabits),
            ("rounds", run.rounds as f64),
            ("failed_connections", run.failed as f64),
            ("segments_sent_again", run.sent_again as f64),
            ("lost_by_capture", run.monitor_lost as f64),
            ("seconds", run.seconds),
        ] {
            row.values.insert(name.to_owned(), value);
        }
        row
    };
    let mut there = row(TO_SERVER, run.megabits[0]);
    there.values.insert(OF_FLOW.to_owned(), run.flow_megabits);
    vec![there, row(FROM_SERVER, run.megabits[1])]
}

fn panels(rows: &FigureRows) -> Vec<Panel> {
    let panel = |title: &str, curves: Vec<Curve>| Panel {
        title: title.to_owned(),
        x: Axis::Log { label: "clients at a time".to_owned() },
        y: Axis::Log { label: "Mbit/s".to_owned() },
        curves,
    };
    let total = |series: &str| Curve::from_rows(rows, series, series, CLIENTS, TOTAL);
    vec![
        panel("Total throughput", vec![total(TO_SERVER), total(FROM_SERVER)]),
        panel(
            "Throughput of a flow, median",
            vec![Curve::from_rows(rows, TO_SERVER, TO_SERVER, CLIENTS, OF_FLOW)],
        ),
    ]
}

/// The share of the links' rate that is used with the fewest clients, and with those that are many.
fn judge(rows: &FigureRows) -> Result<(bool, String), String> {
    let measured = rows.rows_of_series(TO_SERVER).map(|row| row.param(CLIENTS));
    let clients: Vec<f64> = measured.filter(|clients| clients.is_finite()).collect();
    let share = |clients: f64| {
        Ok::<_, String>(value_at(rows, TO_SERVER, (CLIENTS, clients), TOTAL)? / f64::from(MEGABITS))
    };
    let few = clients.iter().copied().fold(f64::INFINITY, f64::min);
    let many: Vec<f64> = clients.into_iter().filter(|clients| *clients >= f64::from(MANY)).collect();
    if many.is_empty() {
        return Err(format!("{MANY} clients and more were not measured"));
    }
    let of_few = share(few)?;
    let of_many = many.iter().map(|clients| share(*clients)).collect::<Result<Vec<_>, _>>()?;
    let least = of_many.into_iter().fold(f64::INFINITY, f64::min);
    let why = format!(
        "{few} clients use {:.0} % of the links' rate, {MANY} and more at least {:.0} %",
        100.0 * of_few,
        100.0 * least
    );
    Ok((of_few < FAR && least >= CLOSE, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(totals: &[(u16, f64)], checked: bool) -> FigureRows {
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
        FigureRows(totals.iter().flat_map(|(clients, total)| rows_of(&run(*total), *clients)).collect())
    }

    #[test]
    fn many_clients_have_to_fill_what_few_do_not() {
        let judged = |totals: &[(u16, f64)]| judge(&rows(totals, true)).map(|(holds, _)| holds);
        assert_eq!(judged(&[(20, 1.5), (400, 19.0), (800, 19.5)]), Ok(true));
        assert_eq!(judged(&[(20, 11.0), (400, 19.0)]), Ok(false));
        assert_eq!(judged(&[(20, 1.5), (400, 19.0), (800, 12.0)]), Ok(false));
        assert!(judged(&[(20, 1.5)]).is_err() && judged(&[]).is_err());
        assert!(judge(&rows(&[(20, 1.5), (400, 19.0)], false)).is_err());
        assert_eq!(panels(&rows(&[(20, 1.5), (400, 19.0)], true))[0].curves[0].spots.len(), 2);
    }
}
