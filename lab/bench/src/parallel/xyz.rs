//! The designs that Wu et al. (2016) call X-Y-Z: parallel design, state, sketch. Their Tables 3 and 4, for `edison-lab bench designs`.

use super::point::{TallyKind, WirePoint};
use super::sketches::SketchKind;
use engine::{OfferedLoad, Preset};

/// A row's name, its design and sketch, and the paper's share of packets dropped and seconds of an update. SYNC and ASYNC give each
/// worker portions of a burst (Algorithms 1 and 2). The paper has no Count-Min for them, where one flow's packets reach several
/// sketches: rows are added before they answer here.
type PublishedResult = (&'static str, &'static str, SketchKind, Option<[f64; 2]>);

/// Table 3, and Table 4 with Count-Min.
const TABLES: [PublishedResult; 18] = {
    use SketchKind::{CountMin as Cms, Reversible as Rs, SimpleHashTable as Sht};
    [
        ("RSS-Separate-SHT", "rss", Sht, Some([1.66e-1, 3.80e-8])),
        ("RSS-Shared-SHT", "rss shared", Sht, Some([2.02e-1, 4.95e-8])),
        ("RSS-Separate-CMS", "rss", Cms, Some([3.86e-1, 8.29e-8])),
        ("RSS-Shared-CMS", "rss shared", Cms, Some([9.44e-1, 1.48e-6])),
        ("RSS-Separate-RS", "rss", Rs, Some([9.61e-1, 2.14e-6])),
        ("RSS-Shared-RS", "rss shared", Rs, Some([9.91e-1, 9.15e-6])),
        ("SYNC-Separate-SHT", "sync position", Sht, Some([8.06e-1, 7.90e-8])),
        ("SYNC-Shared-SHT", "sync position shared", Sht, Some([8.04e-1, 1.04e-7])),
        ("ASYNC-Separate-SHT", "async position", Sht, Some([8.03e-1, 6.66e-8])),
        ("ASYNC-Shared-SHT", "async position shared", Sht, Some([8.02e-1, 9.72e-8])),
        ("SYNC-Separate-RS", "sync position", Rs, Some([9.93e-1, 7.83e-6])),
        ("SYNC-Shared-RS", "sync position shared", Rs, Some([9.92e-1, 7.70e-6])),
        ("ASYNC-Separate-RS", "async position", Rs, Some([9.93e-1, 7.19e-6])),
        ("ASYNC-Shared-RS", "async position shared", Rs, Some([9.92e-1, 8.54e-6])),
        ("SYNC-Separate-CMS", "sync position", Cms, None),
        ("SYNC-Shared-CMS", "sync position shared", Cms, None),
        ("ASYNC-Separate-CMS", "async position", Cms, None),
        ("ASYNC-Shared-CMS", "async position shared", Cms, None),
    ]
};
/// Cores of the paper (section 4.1).
const CORES: usize = 6;

/// Returns all designs at a load of these settings, on the cores that there are: first those of Table 3, then those of Table 4, then Count-Min
/// under SYNC and ASYNC.
pub(super) fn points(preset: &Preset, load: OfferedLoad) -> impl Iterator<Item = WirePoint> {
    TABLES.iter().map(move |&(name, design, sketch, paper)| {
        let queues = if design.starts_with("rss") { CORES } else { 1 };
        WirePoint {
            variant: name.to_owned(),
            counting: TallyKind::Sketch(sketch, sketch.default_width()),
            paper: paper.map(|[dropped, seconds]| [dropped, seconds * 1e9]),
            ..WirePoint::at(preset, (design, Some(CORES), queues), load)
        }
    })
}

/// Returns all designs of Wu et al. (2016) with their sketches at the first load of these settings, as [`measure_wire`](super::measure_wire)
/// compares them. `paper` has the values of Tables 3 and 4.
pub fn wu_designs(preset: &Preset) -> Vec<WirePoint> {
    points(preset, preset.loads[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::PRESETS;

    #[test]
    fn names_say_what_is_measured() {
        let points = wu_designs(&PRESETS[0]);
        assert_eq!(points.len(), 18);
        for point in points {
            let mut parts = point.variant.split('-');
            let mut part = || parts.next().unwrap_or_default();
            assert_eq!(point.design.split(' ').next().map(str::to_uppercase).as_deref(), Some(part()));
            assert_eq!(point.design.ends_with(" shared"), part() == "Shared", "{}", point.variant);
            let sketch = match part() {
                "CMS" => SketchKind::CountMin,
                "RS" => SketchKind::Reversible,
                _ => SketchKind::SimpleHashTable,
            };
            assert_eq!(point.counting, TallyKind::Sketch(sketch, sketch.default_width()));
            // "Portions" of a burst (Algorithms 1 and 2).
            assert_eq!(point.design.contains("position"), !point.design.starts_with("rss"));
        }
    }
}
