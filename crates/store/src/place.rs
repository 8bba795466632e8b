//! The places of files: folders of a level, date, hour and node, as engines read partitions.

use crate::Level;
use crate::level::{HOUR, SECOND};
use crate::schema::MANIFEST;
use std::path::{Path, PathBuf};

/// The folder of the store of which a file of flow records is, by its path; `None` if it is of none.
pub fn store_of_records(path: &Path) -> Option<&Path> {
    let folder = path.ancestors().find(|folder| folder.ends_with(Level::Flows.folder()))?.parent()?;
    let manifest =
        if folder.as_os_str().is_empty() { PathBuf::from(MANIFEST) } else { folder.join(MANIFEST) };
    manifest.is_file().then_some(folder)
}

/// The path of a file in the store: of the hour in which its first window begins.
pub fn place(level: Level, node: &str, first_ns: u64, number: u64) -> PathBuf {
    let (date, hour) = date_and_hour(first_ns);
    PathBuf::from(format!(
        "{}/date={date}/hour={hour:02}/node={}/{number:04}.parquet",
        level.folder(),
        escaped(node)
    ))
}

/// A date as `2026-11-22`, by the proleptic Gregorian calendar, and an hour; UTC.
fn date_and_hour(time_ns: u64) -> (String, u64) {
    let days = time_ns / (24 * HOUR);
    // Days of a year that begins in March, so that a leap day is its last: Howard Hinnant, "chrono-compatible low-level date algorithms".
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    (format!("{year:04}-{month:02}-{day:02}"), time_ns / (3600 * SECOND) % 24)
}

/// A name as part of a path, with `%` and digits for what could be read as something else, as engines write partitions.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_alphanumeric() || ['-', '_', '.'].contains(&letter) {
            text.push(letter);
        } else {
            let mut bytes = [0; 4];
            let bytes = letter.encode_utf8(&mut bytes).bytes();
            bytes.for_each(|byte| text.push_str(&format!("%{byte:02X}")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_that_date_prints() {
        // date -u -d @SECONDS '+%Y-%m-%d %H'
        for (seconds, date, hour) in [
            (0, "1970-01-01", 0),
            (951_782_399, "2000-02-28", 23),
            (951_782_400, "2000-02-29", 0),
            (951_868_800, "2000-03-01", 0),
            (1_700_000_000, "2023-11-14", 22),
            (1_795_342_500, "2026-11-22", 10),
            (4_107_542_400, "2100-03-01", 0),
            (18_446_744_073, "2554-07-21", 23),
        ] {
            assert_eq!(date_and_hour(seconds * SECOND), (date.to_owned(), hour));
        }
    }

    #[test]
    fn a_name_cannot_leave_its_folder() {
        let at = |node: &str| place(Level::Minute, node, 1_795_342_500 * SECOND, 7).display().to_string();
        assert_eq!(at("Node1"), "rollup=1min/date=2026-11-22/hour=10/node=Node1/0007.parquet");
        assert_eq!(
            at("a/../b=c:%"),
            "rollup=1min/date=2026-11-22/hour=10/node=a%2F..%2Fb%3Dc%3A%25/0007.parquet"
        );
        assert_eq!(at("Zürich 1"), "rollup=1min/date=2026-11-22/hour=10/node=Zürich%201/0007.parquet");
    }
}
