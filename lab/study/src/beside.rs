//! The results of another machine, which the page shows next to those of this one.

use crate::csv;
use crate::figure::Figure;
use crate::machine::MachineProfile;
use crate::row::FigureRow;
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file of a study's folder that describes the machine.
pub(crate) const MACHINE: &str = "machine.json";
/// The file that lists its figures.
pub(crate) const FIGURES_FILE: &str = "figures.json";

/// The folder of a study on another machine: its values, of any version of the program.
#[derive(Debug)]
pub(crate) struct OtherMachine {
    path: PathBuf,
    /// The machine that measured.
    pub(crate) machine: MachineProfile,
}

/// The part of a measured point that names its machine.
#[derive(Deserialize)]
struct PointMachine {
    machine: String,
}

impl OtherMachine {
    /// Reads which machine measured: from `machine.json`, or from the measured points of versions that did not write it.
    ///
    /// # Errors
    /// One line: there is no such folder, or it does not say.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let file = path.join(MACHINE);
        let machine = match read(&file)? {
            Some(text) => {
                serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?
            }
            None => Self::of_points(path)?,
        };
        Ok(Self { path: path.to_owned(), machine })
    }

    fn of_points(path: &Path) -> Result<MachineProfile, String> {
        let folder = path.join("measured");
        let files = fs::read_dir(&folder).map_err(|error| {
            format!(
                "{}: no results of a study are there: neither {MACHINE} nor measured ({error})",
                path.display()
            )
        })?;
        let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        files.sort();
        for file in files {
            let text = read(&file)?.unwrap_or_default();
            let machine = text.lines().find_map(|line| {
                let point: PointMachine = serde_json::from_str(line).ok()?;
                MachineProfile::from_fingerprint(&point.machine)
            });
            if let Some(machine) = machine {
                return Ok(machine);
            }
        }
        Err(format!("{}: no measured point names its machine, and there is no {MACHINE}", folder.display()))
    }

    /// Returns the rows of a figure, and of each point that the machine could not measure its key and the reason. `None` if it has none.
    ///
    /// # Errors
    /// One line: its values cannot be read.
    pub(crate) fn rows(&self, figure: &Figure) -> Result<Option<OtherRows>, String> {
        let file = self.path.join(format!("{}.csv", figure.id()));
        let Some(text) = read(&file)? else { return Ok(None) };
        let rows = csv::parsed(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let reason =
            |row: &FigureRow| row.note.as_deref()?.strip_prefix(csv::NOT_MEASURED).map(str::to_owned);
        let impossible = rows.iter().filter_map(|row| Some((row.series.clone(), reason(row)?))).collect();
        let rows = rows.into_iter().filter(|row| reason(row).is_none()).collect();
        Ok(Some(OtherRows { rows, impossible, missing: self.missing(figure)? }))
    }

    /// Returns the number of points that were not measured though the machine could, by `figures.json`; 0 where it does not say.
    fn missing(&self, figure: &Figure) -> Result<u64, String> {
        let file = self.path.join(FIGURES_FILE);
        let Some(text) = read(&file)? else { return Ok(0) };
        let listed: Vec<Value> =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let is_it = |one: &&Value| one["paper"] == figure.paper.name && one["figure"] == figure.name;
        let Some(one) = listed.iter().find(is_it) else { return Ok(0) };
        let number = |name: &str| one["points"][name].as_u64().unwrap_or(0);
        Ok(number("of").saturating_sub(number("measured") + number("impossible_here")))
    }
}

/// A figure's values on another machine.
#[derive(Debug)]
pub(crate) struct OtherRows {
    pub(crate) rows: Vec<FigureRow>,
    pub(crate) impossible: Vec<(String, String)>,
    /// Points that were not measured though the machine could.
    pub(crate) missing: u64,
}

fn read(path: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::FIGURES;

    #[test]
    fn results_of_any_version_are_read() {
        let place = tempfile::tempdir().expect("a place");
        let path = place.path();
        let error = OtherMachine::open(path).expect_err("nothing is there");
        assert!(error.contains("no results of a study are there") && !error.contains('\n'), "{error}");
        fs::create_dir(path.join("measured")).expect("a folder");
        assert!(OtherMachine::open(path).expect_err("no point").contains("names its machine"));
        // As versions before machine.json have it.
        let line = "{\"damaged\n{\"machine\":\"A CPU, of two parts, 16 cores, 126 GiB\",\"rows\":[]}\n";
        fs::write(path.join("measured/wu-figure-7.jsonl"), line).expect("written");
        let other = OtherMachine::open(path).expect("a machine");
        assert_eq!((other.machine.cores, other.machine.cpu.as_str()), (16, "A CPU, of two parts"));
        assert!(other.rows(FIGURES[0]).expect("no values").is_none());
        let csv = "series,frame,drop,checked,note\r\nRSS,64,1.5,true,\r\nthe other socket,,,,not measured: no card\r\n";
        fs::write(path.join("wu-figure-7.csv"), csv).expect("written");
        let found = other.rows(FIGURES[0]).expect("values").expect("rows");
        assert_eq!((found.rows.len(), found.rows[0].value("drop")), (1, 1.5));
        assert_eq!(found.impossible, [("the other socket".to_owned(), "no card".to_owned())]);
        fs::write(path.join("wu-figure-7.csv"), "x").expect("written");
        let error = other.rows(FIGURES[0]).expect_err("no rows");
        assert!(error.contains("wu-figure-7.csv: line 1: "), "{error}");
        let machine = MachineProfile::here();
        fs::write(path.join(MACHINE), serde_json::to_string(&machine).expect("JSON")).expect("written");
        assert_eq!(OtherMachine::open(path).expect("a machine").machine, machine);
    }
}
