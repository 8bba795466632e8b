//! Rotation: a run's records in a sequence of files, each of which gets its name when it is complete.

use crate::fault::with_earlier;
use crate::target::{self, LateName, WriteTarget};
use crate::writer::WriterReport;
use crate::{Format, MeasurementTotals, RecordWriter, Selection, Shortfall};
use flow::FlowRecord;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// The rule by which one file ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rotation {
    /// The end of a file at multiples of this many nanoseconds since the epoch, in stream time: the latest time that records or accounts have.
    Time(u64),
    /// The end of a file at multiples of this many nanoseconds since the epoch, by the times of records alone. Accounts of a replay come before
    /// or after records of their time, as its threads run.
    RecordTime(u64),
    /// The end of a file once it has this many bytes.
    Size(u64),
    /// The end of a file when [`RecordWriter::rotate`] is called, as always, and only then.
    OnDemand,
}

impl Rotation {
    /// Returns the length of the rule's periods, if it has any.
    fn period(self) -> Option<u64> {
        match self {
            Self::Time(length) | Self::RecordTime(length) => Some(length),
            Self::Size(_) | Self::OnDemand => None,
        }
    }
}

/// Records between two checks of a file's size.
const BETWEEN_LOOKS: usize = 64;

/// Opens a writer for files next to `path`: `flows.csv` gives `flows-20261122-101500.csv` and so on, by the
/// time (UTC) of the first packet of the flows in it. A file of a name that is taken gets the suffix `-2`, and so on, whatever made it:
/// no file is replaced. The first file is opened at the first record; without records there is no file.
///
/// # Errors
/// If it is no regular file, has an unknown suffix, is in a directory without write access, or is rotated by
/// nothing.
pub fn create_rotating(
    path: &Path,
    rotation: Rotation,
    node: &str,
    selection: &Selection,
) -> Result<Box<dyn RecordWriter>> {
    let refused =
        |reason: &str| Err(Error::new(ErrorKind::InvalidInput, format!("{}: {reason}", path.display())));
    if rotation.period() == Some(0) || rotation == Rotation::Size(0) {
        return refused("rotation needs a time or a size above zero");
    }
    if target::is_stdout(path) || target::is_special(path) {
        return refused("rotation makes several files, and this is none: name a file, or leave rotation out");
    }
    let format = Format::from_output_path(path)?;
    // If no file can be created here, that is reported now, not at the first record.
    let probe = WriteTarget::open(path)?;
    probe.discard()?;
    Ok(Box::new(Rotating {
        rotation,
        stem: path.with_extension(""),
        suffix: path.extension().map(|suffix| suffix.to_string_lossy().into_owned()).unwrap_or_default(),
        format,
        node: node.to_owned(),
        selection: selection.clone(),
        current: None,
        end_ns: 0,
        latest_ns: 0,
        first_ns: u64::MAX,
        file_name: LateName::default(),
        last_account: None,
        shortfall: Shortfall::default(),
        name: path.display().to_string(),
        taken: 0,
        complete: 0,
    }))
}

struct Rotating {
    rotation: Rotation,
    /// The path without its suffix.
    stem: PathBuf,
    suffix: String,
    format: Format,
    node: String,
    selection: Selection,
    current: Option<Box<dyn RecordWriter>>,
    /// The time at which the current period ends.
    end_ns: u64,
    /// The stream time.
    latest_ns: u64,
    /// The time of the first packet of the current file's flows.
    first_ns: u64,
    /// The current file's name when it is complete.
    file_name: LateName,
    last_account: Option<MeasurementTotals>,
    /// The shortfall of the current file's records, or of those of the next one.
    shortfall: Shortfall,
    /// The name of all files, as the user calls them.
    name: String,
    /// Records that the current file took.
    taken: u64,
    /// Records in complete files.
    complete: u64,
}

impl Rotating {
    /// Sets where the next file ends.
    fn begin_period(&mut self) {
        if let Some(length) = self.rotation.period() {
            self.end_ns = (self.latest_ns - self.latest_ns % length).saturating_add(length);
        }
    }

    /// The path of a file whose first packet had this time; the number tells apart those of one second.
    fn path(&self, first_ns: u64, number: u32) -> PathBuf {
        let time = utc(first_ns / 1_000_000_000);
        let mut path = self.stem.clone().into_os_string();
        let suffix = &self.suffix;
        path.push(if number == 1 {
            format!("-{time}.{suffix}")
        } else {
            format!("-{time}-{number}.{suffix}")
        });
        path.into()
    }

    /// Makes an empty file of the first free name, which the current file then takes.
    fn reserve_name(&self) -> Result<PathBuf> {
        for number in 1.. {
            let path = self.path(self.first_ns, number);
            match File::create_new(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::new(error.kind(), format!("{}: {error}", path.display()))),
            }
        }
        Err(Error::other("no name is free"))
    }

    fn writer(&mut self) -> Result<&mut Box<dyn RecordWriter>> {
        if self.current.is_none() {
            self.begin_period();
            // Until it is complete, by the first record.
            let target = WriteTarget::open(&self.path(self.first_ns, 1))?.named_late(self.file_name.clone());
            let writer = self.format.to_target(target, &self.node, &self.selection)?;
            return Ok(self.current.insert(writer));
        }
        // Its existence was just checked.
        self.current.as_mut().ok_or_else(|| Error::other("no file is open"))
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(mut writer) = self.current.take() else { return Ok(()) };
        if let Some(account) = &self.last_account {
            writer.account(account)?;
        }
        writer.add_shortfall(&std::mem::take(&mut self.shortfall));
        let name = self.reserve_name()?;
        *self.file_name.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.clone());
        if let Err(error) = writer.finish() {
            // The name was made for this file, which keeps that of a part.
            let _ = std::fs::remove_file(name);
            return Err(error);
        }
        self.first_ns = u64::MAX;
        self.complete += std::mem::take(&mut self.taken);
        Ok(())
    }

    /// Returns an error of the current file with the number of records that are in all files.
    fn count_earlier_files(&self, result: Result<()>) -> Result<()> {
        result.map_err(|error| with_earlier(error, self.complete))
    }

    fn write_records(&mut self, mut records: &[FlowRecord]) -> Result<()> {
        while let Some(first) = records.first() {
            self.advance(first.ltime)?;
            self.first_ns = self.first_ns.min(first_packet(first));
            self.writer()?;
            let (now, later) = records.split_at(self.count_in_period(records).max(1));
            for record in now {
                self.latest_ns = self.latest_ns.max(record.ltime);
                self.first_ns = self.first_ns.min(first_packet(record));
            }
            let writer = self.writer()?;
            writer.write(now)?;
            let size = writer.size();
            self.taken += now.len() as u64;
            if matches!(self.rotation, Rotation::Size(most) if size >= most) {
                self.end_file()?;
            }
            records = later;
        }
        Ok(())
    }

    /// Advances stream time: ends the file whose period is over.
    fn advance(&mut self, time_ns: u64) -> Result<()> {
        self.latest_ns = self.latest_ns.max(time_ns);
        let is_over = self.rotation.period().is_some() && self.latest_ns >= self.end_ns;
        if is_over { self.end_file() } else { Ok(()) }
    }

    /// Returns how many of the first records go into the current file by their time; 0 if none does.
    fn count_in_period(&self, records: &[FlowRecord]) -> usize {
        match self.rotation {
            Rotation::Time(_) | Rotation::RecordTime(_) => {
                records.iter().take_while(|record| record.ltime < self.end_ns).count()
            }
            Rotation::Size(_) => records.len().min(BETWEEN_LOOKS),
            Rotation::OnDemand => records.len(),
        }
    }
}

impl RecordWriter for Rotating {
    fn write(&mut self, records: &[FlowRecord]) -> Result<()> {
        let written = self.write_records(records);
        self.count_earlier_files(written)
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = self.current.as_mut().map_or(Ok(()), |writer| writer.flush());
        self.count_earlier_files(flushed)
    }

    /// Adds a shortfall without the time that was watched, which is that of all files together: no file tells it.
    fn add_shortfall(&mut self, shortfall: &Shortfall) {
        self.shortfall.add(&Shortfall { watched: None, ..shortfall.clone() });
    }

    /// Takes an account, whose time ends files too: when no flow ends for a while, the last period's file is completed nevertheless.
    fn account(&mut self, account: &MeasurementTotals) -> Result<()> {
        self.last_account = Some(*account);
        let advanced = match self.rotation {
            Rotation::RecordTime(_) => Ok(()),
            _ => self.advance(account.time_ns),
        };
        let accounted = advanced.and_then(|()| match &mut self.current {
            Some(writer) => writer.account(account),
            None => Ok(()),
        });
        self.count_earlier_files(accounted)
    }

    fn rotate(&mut self) -> Result<()> {
        let ended = self.end_file();
        self.count_earlier_files(ended)
    }

    fn size(&self) -> u64 {
        self.current.as_ref().map_or(0, |writer| writer.size())
    }

    fn finish(mut self: Box<Self>) -> Result<WriterReport> {
        let ended = self.end_file();
        self.count_earlier_files(ended)?;
        Ok(WriterReport::default())
    }
}

/// The time of the first packet of a record, of either direction.
fn first_packet(record: &FlowRecord) -> u64 {
    record.reverse().map_or(record.stime, |reverse| reverse.stime.min(record.stime))
}

/// A time as `20261122-101500`, by the proleptic Gregorian calendar.
fn utc(seconds: u64) -> String {
    /// The days in 400 years, after which the calendar repeats itself.
    const DAYS_OF_ERA: u64 = 146_097;
    let is_leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970 + days / DAYS_OF_ERA * 400;
    days %= DAYS_OF_ERA;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let months = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}{:02}{:02}-{hour:02}{minute:02}{second:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn times_are_those_that_date_prints() {
        // date -u -d @SECONDS +%Y%m%d-%H%M%S
        for (seconds, text) in [
            (0, "19700101-000000"),
            (951_782_400, "20000229-000000"),
            (951_868_799, "20000229-235959"),
            (951_868_800, "20000301-000000"),
            (1_700_000_000, "20231114-221320"),
            (1_795_342_500, "20261122-101500"),
            (4_107_542_400, "21000301-000000"),
            (4_107_542_399, "21000228-235959"),
            (16_725_225_600, "25000101-000000"),
            (18_446_744_073, "25540721-233433"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
