//! Packets that a stream of a task consists of: `dst_port=80+protocol=tcp`.

use packet::{KeyParts, KeySpec, KeyV4, KeyV6, MaskedKey};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The packets whose keys have these values: addresses or their networks, ports, protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The fields that are compared.
    spec: KeySpec,
    /// The values of an IPv4 key; `None` if an address of IPv6 is asked for.
    v4: Option<KeyV4>,
    /// The values of an IPv6 key; `None` if an address of IPv4 is asked for.
    v6: Option<KeyV6>,
}

/// The fields that packets are selected by.
const FIELDS: [&str; 5] = ["src_addr", "dst_addr", "src_port", "dst_port", "protocol"];

impl Selection {
    /// The fields that keys must have.
    pub(crate) fn spec(&self) -> KeySpec {
        self.spec
    }

    /// True for a key of a packet that belongs to the stream.
    #[inline(always)]
    pub(crate) fn takes_v4(&self, key: &KeyV4) -> bool {
        self.v4 == Some(key.masked(&self.spec))
    }

    /// True for a key of a packet that belongs to the stream.
    #[inline(always)]
    pub(crate) fn takes_v6(&self, key: &KeyV6) -> bool {
        self.v6 == Some(key.masked(&self.spec))
    }
}

/// An address, or the network that it is the first address of, with the length of its prefix.
fn network(value: &str) -> Result<(IpAddr, u8), String> {
    let (address, length) = value.split_once('/').map_or((value, None), |(a, length)| (a, Some(length)));
    let not = || format!("'{value}' is neither an address nor a network such as 10.0.0.0/8");
    let address: IpAddr = address.parse().map_err(|_| not())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    match length.map(str::parse::<u8>) {
        None => Ok((address, most)),
        Some(Ok(length)) if length <= most => Ok((address, length)),
        Some(_) => Err(not()),
    }
}

impl FromStr for Selection {
    type Err = String;

    /// Reads `FIELD=VALUE+FIELD=VALUE…`, all of which must hold.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut fields, mut addresses, mut parts) = (Vec::new(), [None; 2], KeyParts::default());
        for condition in text.split('+') {
            let (name, value) = condition.split_once('=').ok_or_else(|| {
                format!("'{condition}' is no condition such as dst_port=80 or src_addr=10.0.0.0/8")
            })?;
            let field = flow::resolve_alias(name.trim());
            let port = || value.parse::<u16>().map_err(|_| format!("'{value}' is no port from 0 to 65535"));
            let mut text = field.to_owned();
            match field {
                "src_addr" | "dst_addr" => {
                    let (address, length) = network(value)?;
                    // Of the other family, no packet is taken whatever the length.
                    text = match address {
                        IpAddr::V4(_) => format!("{field}/{length}/128"),
                        IpAddr::V6(_) => format!("{field}/32/{length}"),
                    };
                    addresses[usize::from(field == "dst_addr")] = Some(address);
                }
                "src_port" => parts.ports[0] = port()?,
                "dst_port" => parts.ports[1] = port()?,
                "protocol" => {
                    let number = value.parse().ok().or_else(|| flow::protocol_number(value));
                    parts.protocol =
                        number.ok_or_else(|| format!("'{value}' is no protocol such as tcp or 6"))?;
                }
                _ => {
                    return Err(format!(
                        "'{name}' is not among {}, by which packets are selected",
                        FIELDS.join(", ")
                    ));
                }
            }
            fields.push(text);
        }
        let spec = KeySpec::parse(&fields.join(","))
            .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())?;
        let has = |is_v4: bool| addresses.iter().flatten().any(|address| address.is_ipv4() == is_v4);
        if has(true) && has(false) {
            return Err("no packet has an address of IPv4 and one of IPv6".to_owned());
        }
        let octets_v4 = addresses.map(|address| match address {
            Some(IpAddr::V4(address)) => address.octets(),
            _ => [0; 4],
        });
        let octets_v6 = addresses.map(|address| match address {
            Some(IpAddr::V6(address)) => address.octets(),
            _ => [0; 16],
        });
        let v4 = (!has(false)).then(|| KeyV4::from_parts(octets_v4, parts).masked(&spec));
        let v6 = (!has(true)).then(|| KeyV6::from_parts(octets_v6, parts).masked(&spec));
        Ok(Self { spec, v4, v6 })
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spec.parts().join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(src: [u8; 4], dst: [u8; 4], ports: [u16; 2], protocol: u8) -> KeyV4 {
        KeyV4::from_parts([src, dst], KeyParts { ports, protocol, ..KeyParts::default() })
    }

    fn v6(src: &str, ports: [u16; 2]) -> KeyV6 {
        let src: std::net::Ipv6Addr = src.parse().expect("an address");
        KeyV6::from_parts([src.octets(), [9; 16]], KeyParts { ports, protocol: 17, ..KeyParts::default() })
    }

    #[test]
    fn takes_the_packets_that_have_all_values() {
        let web = v4([10, 1, 2, 3], [192, 0, 2, 1], [5_000, 80], 6);
        let dns = v6("2001:db8::7", [5_000, 53]);
        for (text, takes_web, takes_dns) in [
            ("dst_port=80", true, false),
            ("dst_port=53", false, true),
            ("src_port=5000", true, true),
            ("protocol=tcp", true, false),
            ("protocol=17+dst_port=53", false, true),
            ("protocol=udp+dst_port=80", false, false),
            ("src_addr=10.0.0.0/8", true, false),
            ("src_addr=10.1.2.99/24+dst_port=80", true, false),
            ("src_addr=10.1.2.4", false, false),
            ("dst_addr=192.0.2.1", true, false),
            ("dst_addr=0.0.0.0/0", true, false),
            ("src_addr=2001:db8::/32", false, true),
            ("src_addr=::/0", false, true),
        ] {
            let selection: Selection = text.parse().expect(text);
            assert_eq!(
                (selection.takes_v4(&web), selection.takes_v6(&dns)),
                (takes_web, takes_dns),
                "{text}"
            );
        }
    }

    #[test]
    fn says_what_it_cannot_read() {
        for (text, says) in [
            ("", "no condition"),
            ("dst_port", "no condition"),
            ("dst_port=http", "no port"),
            ("dst_port=65536", "no port"),
            ("protocol=tpc", "no protocol"),
            ("src_addr=10.0.0.0/33", "network such as"),
            ("src_addr=example.org", "network such as"),
            ("vlan=5", "src_addr, dst_addr"),
            ("dst_port=80+dst_port=443", "twice"),
            ("src_addr=10.0.0.1+dst_addr=::1", "IPv6"),
        ] {
            let error = text.parse::<Selection>().expect_err(text);
            assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
