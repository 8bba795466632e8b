//! Points that were measured before: one line of JSON for each, appended when it is measured.

use crate::folder::WritableFolder;
use crate::row::FigureRow;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A measured point. It answers for a point of the same key, by the same program, on the same machine and at the same scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MeasuredPoint {
    /// Version and kind of build of the program.
    pub(crate) program: String,
    pub(crate) machine: String,
    pub(crate) scale: String,
    /// The key.
    pub(crate) point: String,
    /// The time when the point was measured, RFC 3339.
    pub(crate) at: String,
    /// The duration of the measurement, seconds.
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<FigureRow>,
}

/// The properties that tell a study's points from those of other programs, machines and scales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) program: String,
    pub(crate) machine: String,
    pub(crate) scale: String,
}

impl Fingerprint {
    fn is_of(&self, kept: &MeasuredPoint) -> bool {
        (&self.program, &self.machine, &self.scale) == (&kept.program, &kept.machine, &kept.scale)
    }
}

/// The points that a folder has.
#[derive(Debug)]
pub(crate) struct PointStore<'a> {
    folder: &'a WritableFolder,
    fingerprint: Fingerprint,
    points: HashMap<String, MeasuredPoint>,
    /// Lines that cannot be read: what they had is not there.
    pub(crate) damaged: usize,
}

fn file(id: &str) -> String {
    format!("measured/{id}.jsonl")
}

impl<'a> PointStore<'a> {
    /// Reads the files of these figures.
    pub(crate) fn read(
        folder: &'a WritableFolder,
        fingerprint: Fingerprint,
        ids: &[String],
    ) -> Result<Self, String> {
        let mut measured = Self { folder, fingerprint, points: HashMap::new(), damaged: 0 };
        for id in ids {
            for line in folder.read(&file(id))?.unwrap_or_default().lines() {
                match serde_json::from_str::<MeasuredPoint>(line) {
                    Ok(kept) if measured.fingerprint.is_of(&kept) => {
                        measured.points.insert(kept.point.clone(), kept);
                    }
                    Ok(_) => {}
                    Err(_) => measured.damaged += 1,
                }
            }
        }
        Ok(measured)
    }

    /// The point with this key.
    pub(crate) fn get(&self, key: &str) -> Option<&MeasuredPoint> {
        self.points.get(key)
    }

    /// Forgets the points with these keys, in these figures' files too.
    pub(crate) fn forget(&mut self, ids: &[String], keys: &[String]) -> Result<(), String> {
        let is_meant = |line: &str| {
            serde_json::from_str::<MeasuredPoint>(line)
                .is_ok_and(|kept| self.fingerprint.is_of(&kept) && keys.contains(&kept.point))
        };
        for id in ids {
            let Some(text) = self.folder.read(&file(id))? else { continue };
            let left: String =
                text.lines().filter(|line| !is_meant(line)).map(|line| format!("{line}\n")).collect();
            if left.len() < text.len() {
                self.folder.write(&file(id), &left)?;
            }
        }
        self.points.retain(|key, _| !keys.contains(key));
        Ok(())
    }

    /// Keeps what a point of this figure gave.
    pub(crate) fn keep(
        &mut self,
        id: &str,
        point: &str,
        at: String,
        seconds: f64,
        rows: Vec<FigureRow>,
    ) -> Result<(), String> {
        let Fingerprint { program, machine, scale } = self.fingerprint.clone();
        let kept = MeasuredPoint { program, machine, scale, point: point.to_owned(), at, seconds, rows };
        let line = serde_json::to_string(&kept).map_err(|error| error.to_string())?;
        self.folder.append(&file(id), &line)?;
        self.points.insert(point.to_owned(), kept);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn fingerprint() -> Fingerprint {
        Fingerprint { program: "1".to_owned(), machine: "here".to_owned(), scale: "quick".to_owned() }
    }

    fn row(series: &str) -> Vec<FigureRow> {
        vec![FigureRow { series: series.to_owned(), checked: Some(true), ..FigureRow::default() }]
    }

    #[test]
    fn damaged_lines_are_not_read_and_harm_no_other() {
        let place = tempfile::tempdir().expect("a place");
        let folder = WritableFolder::open(place.path()).expect("a folder");
        let ids = ["p-f".to_owned()];
        let mut measured = PointStore::read(&folder, fingerprint(), &ids).expect("nothing");
        for key in ["a", "b"] {
            measured.keep("p-f", key, "now".to_owned(), 1.0, row(key)).expect("written");
        }
        let path = place.path().join("measured/p-f.jsonl");
        let whole = fs::read(&path).expect("read");
        // Cut off within the second line, as by a machine that went off.
        fs::write(&path, &whole[..whole.len() - 9]).expect("written");
        let mut measured = PointStore::read(&folder, fingerprint(), &ids).expect("read");
        assert_eq!((measured.damaged, measured.get("b")), (1, None));
        assert_eq!(measured.get("a").expect("kept").rows, row("a"));
        measured.keep("p-f", "b", "later".to_owned(), 1.0, row("b2")).expect("written");
        let measured = PointStore::read(&folder, fingerprint(), &ids).expect("read");
        assert_eq!(measured.get("b").expect("kept").rows, row("b2"));
        assert_eq!(measured.damaged, 1);
        // Bytes that are no text.
        fs::write(&path, b"\xff\xfe\n\0{}\n[1]\n").expect("written");
        assert_eq!(PointStore::read(&folder, fingerprint(), &ids).expect("read").damaged, 3);
    }

    #[test]
    fn other_programs_machines_and_scales_have_their_own() {
        let place = tempfile::tempdir().expect("a place");
        let folder = WritableFolder::open(place.path()).expect("a folder");
        let ids = ["p-f".to_owned(), "p-g".to_owned()];
        let mut measured = PointStore::read(&folder, fingerprint(), &ids).expect("nothing");
        measured.keep("p-f", "a", "now".to_owned(), 1.0, row("a")).expect("written");
        for other in [
            Fingerprint { program: "2".to_owned(), ..fingerprint() },
            Fingerprint { machine: "there".to_owned(), ..fingerprint() },
            Fingerprint { scale: "full".to_owned(), ..fingerprint() },
        ] {
            let mut others = PointStore::read(&folder, other, &ids).expect("read");
            assert_eq!((others.get("a"), others.damaged), (None, 0));
            others.forget(&ids, &["a".to_owned()]).expect("nothing to forget");
        }
        let mut measured = PointStore::read(&folder, fingerprint(), &ids).expect("read");
        assert!(measured.get("a").is_some());
        measured.forget(&ids, &["a".to_owned()]).expect("forgotten");
        assert_eq!(measured.get("a"), None);
        assert_eq!(PointStore::read(&folder, fingerprint(), &ids).expect("read").get("a"), None);
    }
}
