//! `edison rfc2544`: tests a device between two ports.

use clap::Args;
use notation::{QuantityError, Rate};
use rfc2544::{LARGEST, SIZES, SMALLEST, Test};
use std::net::Ipv4Addr;
use std::time::Duration;

pub(super) const RFC2544_EXAMPLES: &str = "\
Examples:
  edison rfc2544 --tx eth0 --rx eth1
  edison rfc2544 --tx 0000:01:00.0 --rx 0000:01:00.1 --sizes 64,1518 --tests throughput,latency
  edison rfc2544 --tx eth0 --rx eth1 --trial 5s --resolution 1% --tolerance 0.001% --json
  edison rfc2544 --tx eth0 --rx eth1 --next-hop 52:54:00:00:00:01 --router-addr 198.19.0.1

Without options that set lengths and repetitions all is as RFC 2544 has it, which takes many hours.
Exit codes: 0 well, 1 a fault while running, 2 wrong usage, 3 ended by Ctrl-C; what was measured
until then is printed.";

/// Options of `edison rfc2544`.
#[derive(Debug, Args)]
#[command(after_help = RFC2544_EXAMPLES)]
pub(crate) struct Rfc2544Options {
    /// The port by which test frames leave: an interface of the kernel, or a DPDK port (a PCI address, net_af_packet0,iface=eth0)
    #[arg(long, value_name = "PORT")]
    pub(crate) tx: String,
    /// The port by which test frames come back
    #[arg(long, value_name = "PORT")]
    pub(crate) rx: String,
    /// Arguments for DPDK's EAL, in one string
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) eal: Option<String>,
    /// The speed of the link, from which the theoretical maximum follows [default: what --tx tells]
    #[arg(long, value_name = "RATE", value_parser = link)]
    pub(crate) link: Option<u64>,
    #[command(flatten)]
    pub(crate) procedure: ProcedureOptions,
    #[command(flatten)]
    pub(crate) addresses: AddressOptions,
    /// Print the report as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of the procedure: tests, frame sizes, and lengths.
#[derive(Debug, Args)]
pub(crate) struct ProcedureOptions {
    /// The tests: throughput, latency (which needs throughput), frame-loss, back-to-back
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = test, default_values_t = Test::ALL)]
    pub(crate) tests: Vec<Test>,
    /// Frame sizes, bytes with check sequence
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size, default_values_t = SIZES)]
    pub(crate) sizes: Vec<u32>,
    /// Length of a trial of throughput and frame loss
    #[arg(long, value_name = "TIME", value_parser = notation::duration, default_value = "60s")]
    pub(crate) trial: Duration,
    /// Length of a trial of latency
    #[arg(long, value_name = "TIME", value_parser = notation::duration, default_value = "120s")]
    pub(crate) latency_trial: Duration,
    /// Trials of latency at each size
    #[arg(long, value_name = "N", value_parser = repeats, default_value = "20")]
    pub(crate) latency_repeats: u32,
    /// The longest burst of back-to-back frames, as the time that it takes at the rate of the link
    #[arg(long, value_name = "TIME", value_parser = notation::duration, default_value = "2s")]
    pub(crate) burst: Duration,
    /// Searches for the longest burst at each size
    #[arg(long, value_name = "N", value_parser = repeats, default_value = "50")]
    pub(crate) burst_repeats: u32,
    /// Share of the frames of a trial that may be lost
    #[arg(long, value_name = "SHARE", value_parser = tolerance, default_value = "0%")]
    pub(crate) tolerance: u32,
    /// Resolution of the searches, as a share of the maximum
    #[arg(long, value_name = "SHARE", value_parser = step, default_value = "0.1%")]
    pub(crate) resolution: u32,
    /// Step between two rates of the frame loss test, as a share of the maximum
    #[arg(long, value_name = "SHARE", value_parser = step, default_value = "10%")]
    pub(crate) loss_step: u32,
    /// Wait for the device to learn before a trial, and for frames in flight after it, from 50ms
    #[arg(long, value_name = "TIME", value_parser = settle, default_value = "2s")]
    pub(crate) settle: Duration,
    /// Wait between two trials
    #[arg(long, value_name = "TIME", value_parser = notation::duration, default_value = "5s")]
    pub(crate) pause: Duration,
}

/// The addresses of frames.
#[derive(Debug, Args)]
pub(crate) struct AddressOptions {
    /// MAC address of the sending port in test frames
    #[arg(long, value_name = "MAC", value_parser = mac, default_value = "02:00:00:00:00:01")]
    pub(crate) src_mac: [u8; 6],
    /// MAC address of the receiving port: where test frames go through a bridge, and where learning frames come from
    #[arg(long, value_name = "MAC", value_parser = mac, default_value = "02:00:00:00:00:02")]
    pub(crate) dst_mac: [u8; 6],
    /// MAC address of a router at --tx, to which test frames are sent
    #[arg(long, value_name = "MAC", value_parser = mac)]
    pub(crate) next_hop: Option<[u8; 6]>,
    /// Source address of test frames
    #[arg(long, value_name = "IPV4", default_value = "198.18.0.2")]
    pub(crate) src_addr: Ipv4Addr,
    /// Destination address of test frames, which is that of the receiving port
    #[arg(long, value_name = "IPV4", default_value = "198.19.0.2")]
    pub(crate) dst_addr: Ipv4Addr,
    /// Address of a router at --rx, which learning frames ask for
    #[arg(long, value_name = "IPV4")]
    pub(crate) router_addr: Option<Ipv4Addr>,
}

fn link(text: &str) -> Result<u64, QuantityError> {
    match text.parse()? {
        Rate::Bits(bits) => Ok(bits),
        Rate::Packets(_) => Err(QuantityError::new(text, "the speed of a link such as 10Gbps")),
    }
}

fn test(text: &str) -> Result<Test, String> {
    let names = Test::ALL.map(Test::name);
    Test::ALL.into_iter().find(|test| test.name() == text).ok_or_else(|| {
        let hint = notation::nearest(text, names).map_or_else(
            || format!("tests are {}", names.join(", ")),
            |nearest| format!("did you mean '{nearest}'?"),
        );
        format!("there is no test '{text}'; {hint}")
    })
}

fn size(text: &str) -> Result<u32, String> {
    let size = text.parse().ok().filter(|size| (SMALLEST..=LARGEST).contains(size));
    size.ok_or_else(|| {
        format!("'{text}' is no size of a frame with check sequence, {SMALLEST} to {LARGEST} bytes, such as 64 or 1518")
    })
}

fn repeats(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=10_000).contains(number));
    number.ok_or_else(|| format!("'{text}' is not a number from 1 to 10000"))
}

fn step(text: &str) -> Result<u32, String> {
    match notation::share_ppm(text) {
        Ok(0) => Err(format!("'{text}' is no step: give a share above 0, such as 1%")),
        share => share.map_err(|error| error.to_string()),
    }
}

fn tolerance(text: &str) -> Result<u32, String> {
    match notation::share_ppm(text) {
        Ok(1_000_000..) => Err(format!(
            "'{text}' lets every trial pass, also one of which no frame arrives: give less than 100%"
        )),
        share => share.map_err(|error| error.to_string()),
    }
}

fn settle(text: &str) -> Result<Duration, String> {
    match notation::duration(text) {
        Ok(time) if time < Duration::from_millis(50) => Err(format!(
            "'{text}' is too short: the kernel hands frames over after some milliseconds, 50ms is the least"
        )),
        time => time.map_err(|error| error.to_string()),
    }
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    let wrong = || format!("'{text}' is no MAC address such as 02:00:00:00:00:01");
    let parts: Vec<&str> = text.split([':', '-']).collect();
    let bytes = parts.iter().map(|part| {
        let is_hex = part.len() == 2 && part.bytes().all(|letter| letter.is_ascii_hexdigit());
        u8::from_str_radix(part, 16).ok().filter(|_| is_hex)
    });
    let bytes = bytes.collect::<Option<Vec<u8>>>().ok_or_else(wrong)?;
    let address: [u8; 6] = bytes.try_into().map_err(|_| wrong())?;
    if address[0] & 1 != 0 {
        return Err(format!("'{text}' is the address of a group: a port has an address of its own"));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_or_refused_with_a_reason() {
        assert_eq!(
            (link("10Gbps"), mac("02:00:5e-00:00:Ff")),
            (Ok(10_000_000_000), Ok([2, 0, 0x5e, 0, 0, 255]))
        );
        assert_eq!((test("frame-loss"), size("64"), step("0.0001%")), (Ok(Test::FrameLoss), Ok(64), Ok(1)));
        assert_eq!((repeats("20"), settle("50ms")), (Ok(20), Ok(Duration::from_millis(50))));
        assert!(link("10Mpps").is_err() && link("10").is_err());
        assert!(test("latecy").unwrap_err().contains("did you mean 'latency'?"));
        for wrong in ["63", "9217", "-1", "64B", ""] {
            assert!(size(wrong).unwrap_err().contains("64 to 9216"), "{wrong}");
        }
        for wrong in ["", "02:00:00:00:00", "02:00:00:00:00:1", "02:00:00:00:00:0g", "02:00:00:00:00:01:02"] {
            assert!(mac(wrong).unwrap_err().contains("no MAC address"), "{wrong}");
        }
        assert!(mac("ff:ff:ff:ff:ff:ff").unwrap_err().contains("group"));
        assert!(tolerance("100%").unwrap_err().contains("less than 100%") && tolerance("1.01").is_err());
        assert_eq!((tolerance("99.9999%"), tolerance("0%")), (Ok(999_999), Ok(0)));
        assert!(
            repeats("0").is_err() && step("0").is_err() && step("101%").is_err() && settle("49ms").is_err()
        );
    }
}
