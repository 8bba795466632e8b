//! Stores that are made for the bench, and the sums of what is in them.

use ::store::{Level, Manifest, ManifestChange, StoredFile, place};
use flow::{Rows, WindowRow};
use packet::{KeySpec, KeyV4, MaskedKey};
use record::{RecordedWindows, RowParts, RowWindow, RowWriter, WindowFacts};
use std::collections::HashMap;
use std::path::Path;

pub(super) const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
/// The begin of an hour.
pub(super) const START: u64 = 497_000 * HOUR;
/// The windows of rows.
pub(super) const WINDOW: u64 = 10 * SECOND;
/// Rows of a window.
const OF_WINDOW: u64 = 10_000;
/// Services, the first the most frequent.
const SERVICES: [u16; 8] = [443, 443, 443, 80, 53, 53, 22, 8080];
pub(super) const NODE: &str = "bench";

/// A store, and what is in it.
#[derive(Debug, Default)]
pub(super) struct BenchStore {
    pub(super) rows: u64,
    pub(super) files: u64,
    pub(super) file_bytes: u64,
    /// Bytes and packets to the port.
    pub(super) bytes: u64,
    pub(super) packets: u64,
    /// Bytes of each network of sources.
    pub(super) networks: HashMap<u32, u64>,
}

/// Sebastiano Vigna's SplitMix64.
pub(super) struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Numbers that are the same in every run.
pub(super) fn random(seed: u64) -> SplitMix {
    SplitMix(seed)
}

/// Rows of a window, by destination and source, as compaction leaves them.
pub(super) fn window(random: &mut SplitMix, start_ns: u64, count: u64, ports: bool) -> Vec<WindowRow<KeyV4>> {
    let row = |_| {
        let (one, other) = (random.next(), random.next());
        let packets = 1 + (one >> 40) % 16;
        // Few networks of clients have the most: the square of a number between 0 and 1.
        let share = (one as u32 as f64 / f64::from(u32::MAX)).powi(2);
        let source = 0x0a00_0000 | (share * 4_000_000.0) as u32;
        let destination = 0xc000_0000 | (other as u32 % 5_000);
        let [src, dst] = [source, destination].map(u32::to_be_bytes);
        let addresses = [src[0], src[1], src[2], src[3], dst[0], dst[1], dst[2], dst[3]];
        let to = SERVICES[(other >> 32) as usize % SERVICES.len()];
        let from = 1024 + ((other >> 40) % 60_000) as u16;
        let [from, to] = if ports { [from, to].map(u16::to_be_bytes) } else { [[0; 2]; 2] };
        let protocol = if to == [0, 53] { 17 } else { 6 };
        let key = KeyV4::new(addresses, [from[0], from[1], to[0], to[1]], protocol);
        WindowRow {
            packets,
            bytes: packets * (40 + other % 1400),
            wire_bytes: packets * (54 + other % 1400),
            tcp_win: (one >> 20) as u16,
            tcp_seq: one as u32,
            tcp_ack: other as u32,
            tcp_flags: 0x18,
            ip_ttl: 57,
            ..WindowRow::without_packets(
                key,
                start_ns + one % (WINDOW / 2),
                start_ns + WINDOW / 2 + other % (WINDOW / 2),
            )
        }
    };
    let mut rows: Vec<_> = (0..count).map(row).collect();
    rows.sort_unstable_by_key(addresses_of);
    rows
}

/// Destination and source.
fn addresses_of(row: &WindowRow<KeyV4>) -> [u128; 2] {
    let [source, destination] = row.key.addresses();
    [destination, source]
}

impl BenchStore {
    /// Window rows, an hour a file.
    pub(super) fn rows(folder: &Path, count: u64, port: u16) -> Result<Self, String> {
        let mut made = Self::default();
        let mut manifest = Manifest::open(folder)?;
        let mut random = random(11);
        let of_hour = OF_WINDOW * HOUR / WINDOW;
        for hour in 0..count.div_ceil(of_hour) {
            let start_ns = START + hour * HOUR;
            let rest = (count - hour * of_hour).min(of_hour);
            let windows = (0..rest.div_ceil(OF_WINDOW))
                .map(|number| (start_ns + number * WINDOW, (rest - number * OF_WINDOW).min(OF_WINDOW)));
            made.file(&mut manifest, Level::Rows, WINDOW, windows, &mut random, &mut |made, row| {
                if row.key.ports()[1] == port {
                    made.bytes += row.bytes;
                    made.packets += row.packets;
                }
            })?;
        }
        Ok(made)
    }

    /// Rollups of an hour, and nothing else.
    pub(super) fn week(folder: &Path, hours: u64, of_hour: u64) -> Result<Self, String> {
        let mut made = Self::default();
        let mut manifest = Manifest::open(folder)?;
        let mut random = random(12);
        for hour in 0..hours {
            let windows = std::iter::once((START + hour * HOUR, of_hour));
            made.file(&mut manifest, Level::Hour, HOUR, windows, &mut random, &mut |made, row| {
                let [_, source] = addresses_of(row);
                *made.networks.entry(source as u32 >> 8).or_default() += row.bytes;
            })?;
        }
        let until = vec![(Level::Hour, NODE.to_owned(), START + hours * HOUR)];
        manifest.commit(&ManifestChange { until, ..ManifestChange::default() })?;
        Ok(made)
    }

    fn file(
        &mut self,
        manifest: &mut Manifest,
        level: Level,
        window_ns: u64,
        windows: impl Iterator<Item = (u64, u64)>,
        random: &mut SplitMix,
        count: &mut dyn FnMut(&mut Self, &WindowRow<KeyV4>),
    ) -> Result<(), String> {
        let key = match level {
            Level::Rows => KeySpec::FIVE_TUPLE,
            _ => KeySpec::parse("src_addr,dst_addr,protocol").map_err(|error| error.to_string())?,
        };
        let number = manifest.take_number();
        let mut list = RecordedWindows::new(window_ns, window_ns);
        let mut file: Option<(RowWriter, StoredFile)> = None;
        for (start_ns, rows) in windows {
            let failed = |error: std::io::Error| error.to_string();
            if file.is_none() {
                let path = manifest.folder().join(place(level, NODE, start_ns, number));
                path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
                let parts = RowParts { has_means: level == Level::Rows, ..RowParts::ALL };
                let writer = RowWriter::create_stored(&path, NODE, key, flow::TrackedParts::PLAIN, parts);
                let stored = StoredFile {
                    number,
                    path,
                    level,
                    node: NODE.to_owned(),
                    first_ns: start_ns,
                    last_ns: start_ns,
                    window_ns,
                    rows: 0,
                    bytes: 0,
                    key: key.parts().join(","),
                    created_ns: start_ns,
                    is_compacted: true,
                    is_rolled: true,
                };
                file = Some((writer.map_err(failed)?, stored));
            }
            let Some((writer, stored)) = &mut file else { continue };
            let rows = window(random, start_ns, rows, level == Level::Rows);
            rows.iter().for_each(|row| count(self, row));
            (stored.last_ns, stored.rows) = (start_ns, stored.rows + rows.len() as u64);
            list.push(start_ns, WindowFacts::default());
            let window = RowWindow { start_ns, end_ns: start_ns + window_ns };
            writer.write(window, &Rows { rows, ..Rows::default() }).map_err(failed)?;
        }
        let Some((mut writer, mut stored)) = file else { return Ok(()) };
        let written = writer.describe_windows(&list).and_then(|()| writer.finish());
        written.map_err(|error| error.to_string())?;
        stored.bytes = std::fs::metadata(&stored.path).map_err(|error| error.to_string())?.len();
        self.rows += stored.rows;
        self.files += 1;
        self.file_bytes += stored.bytes;
        manifest.commit(&ManifestChange { added: vec![stored], ..ManifestChange::default() })
    }
}
