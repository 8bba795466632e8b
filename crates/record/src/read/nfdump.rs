//! CSV as nfdump prints it (`nfdump -o csv`): other names, other forms of values, and a summary behind the flows.
//!
//! Its times have no zone: they are taken as UTC, as nfdump prints them where `TZ=UTC` is set.

use super::text;
use flow::NULL;
use std::borrow::Cow;

/// nfdump's names, those of version 1.6 and 1.7.1, then those of later ones, and the columns that they are here.
const NAMES: [(&str, &str); 33] = [
    ("ts", "stime"),
    ("te", "ltime"),
    ("sa", "src_addr"),
    ("da", "dst_addr"),
    ("sp", "src_port"),
    ("dp", "dst_port"),
    ("pr", "protocol"),
    ("flg", "tcp_flags"),
    ("stos", "ip_tos"),
    ("ipkt", "total_count"),
    ("ibyt", "total_byte"),
    ("opkt", "reverse_total_count"),
    ("obyt", "reverse_total_byte"),
    ("svln", "vlan"),
    ("ismc", "smac"),
    ("odmc", "dmac"),
    ("firstSeen", "stime"),
    ("lastSeen", "ltime"),
    ("srcAddr", "src_addr"),
    ("dstAddr", "dst_addr"),
    ("srcPort", "src_port"),
    ("dstPort", "dst_port"),
    ("proto", "protocol"),
    ("flags", "tcp_flags"),
    ("srcTos", "ip_tos"),
    ("tos", "ip_tos"),
    ("packets", "total_count"),
    ("bytes", "total_byte"),
    ("inPackets", "total_count"),
    ("inBytes", "total_byte"),
    ("outPackets", "reverse_total_count"),
    ("outBytes", "reverse_total_byte"),
    ("srcVlan", "vlan"),
];
/// The names of the duration of a flow, seconds, to the millisecond: later versions print it in the place of its end, and earlier ones print
/// begin and end in whole seconds.
const DURATIONS: [&str; 2] = ["td", "duration"];
/// The beginning of the lines behind the flows.
const SUMMARY: &[u8] = b"Summary";
const NO_TIME: &str = "a flow has no time";
/// Protocols of ICMP, as they are printed.
const ICMP: [&[u8]; 6] = [b"ICMP", b"ICMP6", b"IPv6-ICMP", b"ICMPv6", b"1", b"58"];
/// Flags in the order in which they are printed.
const FLAGS: &[u8; 8] = b"CEUAPRSF";

/// The way in which lines of a file are read.
#[derive(Clone, Debug)]
pub(crate) struct Nfdump {
    /// The column of Edison that each column of the file is.
    columns: Vec<Option<&'static str>>,
    /// The column with the flow's duration.
    duration: Option<usize>,
    /// True if the file tells the end of a flow, too.
    has_end: bool,
    /// The column with the protocol.
    protocol: Option<usize>,
}

/// A line of the file.
pub(crate) enum NfdumpLine<'a> {
    /// The values of the columns of [`Nfdump::names`].
    Flow(Vec<Cow<'a, [u8]>>),
    /// The end of the flows.
    End,
}

impl Nfdump {
    /// Returns the reader for a header; `None` where it is not nfdump's.
    pub(crate) fn from_header(header: &[String]) -> Option<Self> {
        let has = |name: &str| header.iter().any(|column| column == name);
        let is_its = has("ts") && has("td") && has("sa") || has("firstSeen") && has("srcAddr");
        let of = |column: &String| NAMES.iter().find(|(name, _)| name == column).map(|(_, own)| *own);
        let columns: Vec<_> = header.iter().map(of).collect();
        let has_end = columns.contains(&Some("ltime"));
        let duration = header.iter().position(|column| DURATIONS.contains(&column.as_str()));
        let protocol = columns.iter().position(|column| *column == Some("protocol"));
        is_its.then_some(Self { columns, duration, has_end, protocol })
    }

    /// The columns of its lines.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let end = self.duration.filter(|_| !self.has_end).map(|_| "ltime");
        self.columns.iter().flatten().copied().chain(end).collect()
    }

    /// Reads a line, whose fields are these.
    pub(crate) fn line<'a>(&self, fields: &[&'a [u8]]) -> Result<NfdumpLine<'a>, String> {
        if fields.first().is_some_and(|first| *first == SUMMARY) {
            return Ok(NfdumpLine::End);
        }
        if fields.len() != self.columns.len() {
            return Err(format!("it has {} fields, the header {}", fields.len(), self.columns.len()));
        }
        let mut values = Vec::with_capacity(self.columns.len() + 1);
        let mut start = None;
        let protocol = self.protocol.map(|at| fields[at].trim_ascii());
        let is_icmp = protocol.is_some_and(|name| ICMP.iter().any(|own| own.eq_ignore_ascii_case(name)));
        for (name, field) in self.columns.iter().zip(fields) {
            let Some(name) = name else { continue };
            let field = field.trim_ascii();
            values.push(match *name {
                "tcp_flags" => Cow::Owned(flags(field)?.to_string().into_bytes()),
                "src_port" | "dst_port" if is_icmp => type_and_code(field),
                // A flow without an end would be of no window; 1970 is how no time is printed.
                "ltime" if matches!(text::time(field)?, 0 | NULL) => return Err(NO_TIME.to_owned()),
                "vlan" if field == b"0" => Cow::Borrowed(&b""[..]),
                "stime" => {
                    start = Some(text::time(field)?).filter(|start| !matches!(*start, 0 | NULL));
                    Cow::Borrowed(if start.is_some() { field } else { b"" })
                }
                _ => Cow::Borrowed(field),
            });
        }
        if let Some(field) =
            self.duration.map(|at| fields[at].trim_ascii()).filter(|field| !self.has_end || !field.is_empty())
        {
            let lasted = text::time(&seconds(field))?;
            let end = start.and_then(|start| start.checked_add(lasted));
            let end = end.map(|end| Cow::Owned(end.to_string().into_bytes()));
            match (self.columns.iter().flatten().position(|name| *name == "ltime"), end) {
                (Some(told), Some(end)) => values[told] = end,
                (None, Some(end)) => values.push(end),
                // An end that is told stands without a begin, too.
                (Some(_), None) => {}
                (None, None) => return Err(NO_TIME.to_owned()),
            }
        }
        Ok(NfdumpLine::Flow(values))
    }
}

/// A number of seconds with a fraction, as times are read: `25` becomes `25.0`.
fn seconds(field: &[u8]) -> Cow<'_, [u8]> {
    if field.contains(&b'.') {
        return Cow::Borrowed(field);
    }
    Cow::Owned([field, b".0"].concat())
}

/// Flags as letters, or as a number.
fn flags(field: &[u8]) -> Result<u64, String> {
    if field.starts_with(b"0x") {
        let digits = std::str::from_utf8(&field[2..]).ok();
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        return number.filter(|number| *number <= 0xff).ok_or_else(|| text::unreadable(field, "TCP flags"));
    }
    let is_letter = |letter: &u8| *letter == b'.' || FLAGS.contains(letter);
    if field.is_empty() || !field.iter().all(is_letter) {
        return text::number(field).map_err(|_| text::unreadable(field, "TCP flags, as ...AP.SF"));
    }
    let bit = |letter: &u8| FLAGS.iter().position(|flag| flag == letter).map_or(0, |at| 0x80 >> at);
    Ok(field.iter().map(bit).fold(0, |all, bit| all | bit))
}

/// The port of ICMP: it may be type and code, as `8.0`.
fn type_and_code(field: &[u8]) -> Cow<'_, [u8]> {
    let text = std::str::from_utf8(field).ok();
    let parts = text.and_then(|text| text.split_once('.'));
    let of = |part: &str| part.parse::<u8>().ok().map(u16::from);
    match parts.and_then(|(kind, code)| Some(of(kind)? << 8 | of(code)?)) {
        Some(both) => Cow::Owned(both.to_string().into_bytes()),
        None => Cow::Borrowed(field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<&[u8]> {
        line.split(',').map(str::as_bytes).collect()
    }

    fn read(header: &str, line: &str) -> Result<Vec<(&'static str, String)>, String> {
        let header: Vec<String> = header.split(',').map(str::to_owned).collect();
        let nfdump = Nfdump::from_header(&header).expect("nfdump's header");
        match nfdump.line(&split(line))? {
            NfdumpLine::End => Ok(Vec::new()),
            NfdumpLine::Flow(values) => {
                let text = |value: &Cow<'_, [u8]>| String::from_utf8_lossy(value).into_owned();
                Ok(nfdump.names().into_iter().zip(values.iter().map(text)).collect())
            }
        }
    }

    #[test]
    fn both_headers_are_read() {
        let old = "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,svln";
        let line = "2024-01-01 00:00:00,2024-01-01 00:00:26,25.749,10.0.0.1,10.0.0.2,51225,443,TCP,...AP.S.,0,0,6,258,0,0,0";
        let values = read(old, line).expect("a flow");
        let of = |values: &[(&str, String)], name: &str| {
            values.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone())
        };
        // To the millisecond: 25.749 s after the begin.
        assert_eq!(of(&values, "ltime").as_deref(), Some("1704067225749000000"));
        let without = read(old, &line.replace("25.749", "")).expect("a flow");
        assert_eq!(of(&without, "ltime").as_deref(), Some("2024-01-01 00:00:26"));
        for no_time in ["", "1970-01-01 00:00:00"] {
            let line = line.replace("2024-01-01 00:00:26", no_time);
            assert!(read(old, &line).is_err_and(|error| error.contains("no time")));
        }
        // Where the begin is not told, the end is the one that is.
        for no_time in ["", "1970-01-01 00:00:00"] {
            let line = line.replace("2024-01-01 00:00:00", no_time);
            let values = read(old, &line).expect("a flow");
            assert_eq!(of(&values, "ltime").as_deref(), Some("2024-01-01 00:00:26"));
            assert_eq!(of(&values, "stime").as_deref(), Some(""));
        }
        assert_eq!(
            (of(&values, "tcp_flags").as_deref(), of(&values, "vlan").as_deref()),
            (Some("26"), Some(""))
        );
        let new = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,bps,bpp,flows";
        let line = "2024-01-01 00:00:00.250,25.5,ICMP,10.0.0.1,0,10.0.0.2,8.0,6,258,1,43,1";
        let values = read(new, line).expect("a flow");
        assert_eq!(of(&values, "ltime").as_deref(), Some("1704067225750000000"));
        assert_eq!(of(&values, "dst_port").as_deref(), Some("2048"));
        // Of other protocols such a number is none.
        let wrong = line.replace("ICMP", "TCP");
        assert_eq!(of(&read(new, &wrong).expect("a line"), "dst_port").as_deref(), Some("8.0"));
        for no_time in ["", "1970-01-01 00:00:00"] {
            let line = line.replace("2024-01-01 00:00:00.250", no_time);
            assert!(read(new, &line).is_err_and(|error| error.contains("no time")));
        }
        assert!(read(old, "Summary").is_ok_and(|values| values.is_empty()));
        assert!(read(old, "1,2").is_err_and(|error| error.contains("2 fields")));
        assert!(Nfdump::from_header(&["src_addr".to_owned(), "bytes".to_owned()]).is_none());
    }

    #[test]
    fn flags_are_letters_or_numbers() {
        assert_eq!(flags(b"CEUAPRSF"), Ok(0xff));
        assert_eq!(
            (flags(b"......S."), flags(b"........"), flags(b"0x12"), flags(b"18")),
            (Ok(2), Ok(0), Ok(0x12), Ok(18))
        );
        assert!(flags(b"xyz").is_err() && flags(b"0x100").is_err());
    }
}
