//! Designs over the software wire, as points of figures.

use crate::panel::{Axis, Curve, Panel, Spot};
use crate::row::{FigureRow, FigureRows};
use bench::{Effort, WirePoint, measure_wire};
use engine::Preset;

/// Loss in percent, without what the wire missed while a thread was off its core.
pub(crate) const DROP: &str = "drop_percent_clock_stopped";
/// The time to update what a worker keeps: the papers' packet processing time.
pub(crate) const PROCESSING: &str = "processing_ns";
/// The time of all steps of a packet.
pub(crate) const DELAY: &str = "delay_ns";

/// A paper's settings.
///
/// # Panics
/// If there are none of this name.
pub(crate) fn preset(name: &str) -> &'static Preset {
    Preset::find(name).expect("the settings of a paper")
}

/// Measures points that are compared, in turn; a row for each, in order, with `more` as parameters.
pub(crate) fn measured(
    points: &[WirePoint],
    effort: &Effort,
    more: impl Fn(usize, FigureRow) -> FigureRow,
) -> Result<Vec<FigureRow>, String> {
    let lines = measure_wire(points, effort)?;
    Ok(lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let mut row = more(at, FigureRow::from_line(line));
            if row.value("oversubscribed") == 1.0 {
                let note = row.note.take().map_or(String::new(), |note| note + "; ");
                row.note = Some(note + "oversubscribed: more threads than cores, decides nothing");
            }
            row
        })
        .collect())
}

/// The effort within a point's key.
pub(crate) fn effort_text(effort: &Effort) -> String {
    let packets = effort.packets.map_or_else(|| "all".to_owned(), |packets| packets.to_string());
    format!("packets={packets} rounds={} ms={}", effort.rounds, effort.milliseconds)
}

/// A diagram with a bar for each series in the order of `names`, and what the paper's text says of them.
pub(crate) fn bars(
    rows: &FigureRows,
    title: &str,
    y: Axis,
    names: &[&str],
    value: &str,
    paper: Option<&str>,
) -> Panel {
    let place = |series: &str| names.iter().position(|name| *name == series).map(|at| at as f64);
    let curve = |name: &str, value: &str, of_paper: bool| Curve {
        name: name.to_owned(),
        of_paper,
        spots: rows
            .0
            .iter()
            .filter_map(|row| {
                Some(Spot { x: place(&row.series)?, y: row.value(value), spread: row.spread(value) })
            })
            .filter(|spot| spot.y.is_finite())
            .collect(),
    };
    let here = curve("here", value, false);
    let curves = [Some(here), paper.map(|paper| curve("paper", paper, true))];
    let curves: Vec<_> = curves.into_iter().flatten().filter(|curve| !curve.spots.is_empty()).collect();
    let is_missing = |at: &usize| {
        let has = |curve: &Curve| !curve.of_paper && curve.spots.iter().any(|spot| spot.x == *at as f64);
        !curves.is_empty() && !curves.iter().any(has)
    };
    let missing: Vec<_> =
        (0..names.len()).filter(is_missing).map(|at| (at as f64, "not measured".to_owned())).collect();
    let x = Axis::Names { label: String::new(), names: names.iter().map(|&name| name.to_owned()).collect() };
    Panel::new(title, x, y, curves).with_remarks(missing)
}

/// `drop rate, %`.
pub(crate) fn percent(label: &str) -> Axis {
    Axis::Linear { label: format!("{label}, %") }
}

/// `loss, %`, by the logarithm: for the papers' losses of a few packets of a million.
pub(crate) fn small_percent(label: &str) -> Axis {
    Axis::Log { label: format!("{label}, %") }
}

/// Nanoseconds a packet, by the logarithm.
pub(crate) fn nanoseconds(label: &str) -> Axis {
    Axis::Log { label: format!("{label}, ns a packet") }
}
