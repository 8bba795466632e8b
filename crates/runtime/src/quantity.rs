//! Quantities on the command line that are of the engine or of files: windows and rotations.

use engine::{Every, Snap};
use flow::Share;
use notation::{bytes, count, duration};
use record::Rotation;
use router::SamplingRate;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

/// Reads the length of a window: `10s`, or `1Mp` for packets.
pub fn every(text: &str) -> Result<Every, String> {
    if let Some(Ok(packets)) = text.strip_suffix('p').map(count) {
        return match packets {
            0 => Err("a window of no packets never ends".to_owned()),
            packets => Ok(Every::Packets(packets)),
        };
    }
    let duration = duration(text).map_err(|error| format!("{error}; or packets, 1Mp"))?;
    nanoseconds(text, duration).map(Every::Time)
}

/// The share of packets that are sampled: `15%`, or `0.15`.
pub fn share(text: &str) -> Result<Share, String> {
    const POSSIBLE: &str = "a share above 0 and up to 100%, in steps of a millionth: 15%, 0.15";
    notation::share_ppm(text)
        .ok()
        .and_then(Share::from_ppm)
        .ok_or_else(|| format!("'{text}' is not {POSSIBLE}"))
}

/// The coverage below which an answer is not judged: `99.9%`, or `0.999`.
pub fn coverage(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|number| number / unit);
    share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| format!("'{text}' is no share, as 99.9%"))
}

/// Reads the time after which something is drawn again, such as `1s`.
pub fn pace(text: &str) -> Result<Duration, String> {
    const LEAST: Duration = Duration::from_millis(100);
    match duration(text) {
        Ok(pace) if pace < LEAST => Err(format!("'{text}' is too often: 100ms is the least")),
        Ok(pace) => Ok(pace),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads an address and a port: `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`; of a file of settings also `true`.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let address = match text.strip_prefix("localhost:") {
        _ if text == "true" => return Ok(DEFAULT_ADDRESS),
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    address.parse().map_err(|_| format!("'{text}' is not an address and a port, as {DEFAULT_ADDRESS}"))
}

/// The usual address of the page and the API.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080));

/// Returns true if a word is an address rather than a source or a filter.
pub fn is_address(text: &str) -> bool {
    text.contains(':') && address(text).is_ok()
}

/// Reads the number of lines of a ranking.
pub fn lines(text: &str) -> Result<usize, String> {
    let number = count(text).map_err(|error| error.to_string())?;
    usize::try_from(number).map_err(|_| format!("'{text}' is out of range"))
}

/// Reads how much of a captured packet is kept: `headers`, or bytes: `1514`, `64KiB`.
pub fn snap(text: &str) -> Result<Snap, String> {
    if text == "headers" {
        return Ok(Snap::Headers);
    }
    match bytes(text).map(u32::try_from) {
        Ok(Ok(bytes)) if bytes != 0 => Ok(Snap::Bytes(bytes)),
        _ => Err(format!("'{text}' is neither a number of bytes, as 1514, nor headers")),
    }
}

/// A sampling rate, `1:1000` or `1000`: one packet of this number.
pub fn sampling(text: &str) -> Result<SamplingRate, String> {
    let number = count(text.strip_prefix("1:").unwrap_or(text)).map_err(|error| error.to_string())?;
    SamplingRate::one_of(number)
        .ok_or_else(|| format!("'{text}' is no sampling rate, as 1000 for one packet of 1000"))
}

/// Reads a number of packets in a second.
pub fn capture_rate(text: &str) -> Result<u32, String> {
    let number = count(text).map_err(|error| error.to_string())?;
    let rate = u32::try_from(number).ok().filter(|rate| *rate != 0);
    rate.ok_or_else(|| format!("'{text}' is out of range"))
}

/// Reads when a new file begins: `1h`, or `100MiB`, or `hup`.
pub fn rotation(text: &str) -> Result<Rotation, String> {
    if text == "hup" {
        return Ok(Rotation::OnDemand);
    }
    match (bytes(text), duration(text)) {
        (Ok(size), _) if size != 0 => Ok(Rotation::Size(size)),
        (_, Ok(time)) => nanoseconds(text, time).map(Rotation::Time),
        _ => Err(format!("'{text}' is neither a time (10min, 1h) nor a size (100MiB, 1G), nor hup")),
    }
}

fn nanoseconds(text: &str, duration: Duration) -> Result<u64, String> {
    u64::try_from(duration.as_nanos()).map_err(|_| format!("'{text}' is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_windows() {
        assert_eq!(every("10s"), Ok(Every::Time(10_000_000_000)));
        assert_eq!(every("500ms"), Ok(Every::Time(500_000_000)));
        assert_eq!(every("1Mp"), Ok(Every::Packets(1_000_000)));
        for bad in ["", "10", "0s", "0p", "-1s", "1e9999s", "10parsecs", "nans"] {
            assert!(every(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reads_rotations() {
        assert!(matches!(rotation("1h"), Ok(Rotation::Time(3_600_000_000_000))));
        assert!(matches!(rotation("100MiB"), Ok(Rotation::Size(size)) if size == 100 << 20));
        assert!(matches!(rotation("hup"), Ok(Rotation::OnDemand)));
        for bad in ["", "0", "0s", "often"] {
            assert!(rotation(bad).is_err(), "{bad}");
        }
    }
}
