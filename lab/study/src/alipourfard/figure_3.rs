//! Figure 3: the skew of the traffic.

use super::{COUNT_MIN, HEAP, PAPER, SIMPLE, sizes};
use crate::deciding::{Claim, RoundedValue, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-3",
    title: "throughput by the skew of the traffic",
    section: "section 3.3",
    shows: "(a) Three structures of 32 MB: the throughput of all rises with the skew from 0.5 to 2, the heap's most. (b) The simple hash table of 0.125, 2 and 32 MB: with more \
            skew the throughput rises at every size.",
    here: "As figure-1, with packets of 10 million flows drawn by other exponents.",
    said: &[
        PaperClaim {
            what: "hash table of 2 MB at a skew of 0.5",
            value: "above 10 Mpps",
            place: "section 4",
        },
        PaperClaim {
            what: "skew from which 32 MB are served from L3 by 95 %",
            value: "1.5",
            place: "section 3.3",
        },
    ],
    points,
    panels,
    judge,
};

const LARGE: u64 = 32 << 20;
const SIZES: [(u64, &str); 3] = [(128 << 10, "0.125 MiB"), (2 << 20, "2 MiB"), (LARGE, "32 MiB")];

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let skews: &[f64] = scale.pick(&[0.5, 1.0, 1.5, 2.0], &[0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]);
    let seconds = scale.pick(1.0, 5.0);
    skews.iter().flat_map(|skew| SIZES.map(|(bytes, _)| sizes(bytes, *skew, seconds))).collect()
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let panel = |title: &str, curves: Vec<Curve>| {
        let x = Axis::Linear { label: "skew (Zipf exponent)".to_owned() };
        Panel::new(title, x, Axis::Log { label: "million packets/s".to_owned() }, curves)
    };
    let large = rows.only("bytes", LARGE as f64);
    let of_three =
        [(SIMPLE, "simple hash table"), (COUNT_MIN, "Count-Min, 3 rows"), (HEAP, "SpaceSaving heap")]
            .map(|(series, name)| Curve::from_rows(&large, series, name, "zipf", "mpps"));
    let mut by_size: Vec<_> = SIZES
        .map(|(bytes, name)| {
            Curve::from_rows(&rows.only("bytes", bytes as f64), SIMPLE, name, "zipf", "mpps")
        })
        .to_vec();
    by_size.push(Curve::from_paper("2 MB: above", &[(0.5, 10.0)]));
    vec![
        panel("(a) Three structures of 32 MiB", of_three.to_vec())
            .with_guides([Guide::upright(1.5, "from here 95 % from L3")]),
        panel("(b) Simple hash table by size", by_size),
    ]
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding = "the throughput of every structure and size rises with the skew, that of the heap most";
    let decide = || {
        // From a skew of 0.5 to one of 2.
        let rise = |series: &str, bytes: u64| {
            let of_size = rows.only("bytes", bytes as f64);
            let ns = |skew: f64| value_at(&of_size, series, ("zipf", skew), "ns_per_packet");
            Ok::<_, String>(ns(0.5)?.over(ns(2.0)?))
        };
        let claim = |name: &str, rise: RoundedValue| {
            let text = format!(
                "from a skew of 0.5 to 2 the throughput of {name} is {} times as high",
                rise.text("")
            );
            Claim::new(RoundedValue::exact(1.0).is_below(rise), text)
        };
        let mut claims = Vec::new();
        for (bytes, name) in SIZES {
            claims.push(claim(&format!("the hash table of {name}"), rise(SIMPLE, bytes)?));
        }
        let (simple, count_min, heap) = (rise(SIMPLE, LARGE)?, rise(COUNT_MIN, LARGE)?, rise(HEAP, LARGE)?);
        claims.push(claim("Count-Min of 32 MiB", count_min));
        for (name, other) in [("the hash table", simple), ("Count-Min", count_min)] {
            let text = format!(
                "from a skew of 0.5 to 2 the throughput of the heap is {} times as high, of {name} {} times",
                heap.text(""),
                other.text("")
            );
            claims.push(Claim::new(other.is_below(heap), text));
        }
        Ok(claims)
    };
    conclude(finding, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{row, spread_out};

    #[test]
    fn all_have_to_rise_and_the_heap_most() {
        let rows = |heap: f64| {
            let of = |series: &str, bytes: u64, zipf: f64, ns: f64| {
                row(series, &[("ns_per_packet", ns)]).with("bytes", bytes).with("zipf", zipf)
            };
            let both =
                |series, bytes, ns: f64| [of(series, bytes, 0.5, 3.0 * ns), of(series, bytes, 2.0, ns)];
            let mut rows: Vec<_> =
                SIZES.into_iter().flat_map(|(bytes, _)| both(SIMPLE, bytes, 10.0)).collect();
            rows.extend(both(COUNT_MIN, LARGE, 12.0));
            rows.extend([of(HEAP, LARGE, 0.5, 100.0), of(HEAP, LARGE, 2.0, heap)]);
            FigureRows(rows)
        };
        let judged = |rows: &FigureRows| judge(rows, &MachineProfile::here()).holds;
        assert_eq!(judged(&rows(20.0)), Some(true));
        assert_eq!(judged(&rows(50.0)), Some(false));
        assert_eq!(judged(&spread_out(&rows(20.0), HEAP, "ns_per_packet")), None);
        assert_eq!(judged(&FigureRows::default()), None);
    }
}
