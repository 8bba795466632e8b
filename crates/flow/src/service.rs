//! Names of services by port (IANA's registry of service names and port numbers, RFC 6335).

/// A service's port and name.
pub type Service = (u16, &'static str);

/// The services that have names, by port.
pub const SERVICES: &[Service] = &[
    (7, "echo"),
    (9, "discard"),
    (13, "daytime"),
    (19, "chargen"),
    (20, "ftp-data"),
    (21, "ftp"),
    (22, "ssh"),
    (23, "telnet"),
    (25, "smtp"),
    (37, "time"),
    (43, "whois"),
    (49, "tacacs"),
    (53, "domain"),
    (67, "bootps"),
    (68, "bootpc"),
    (69, "tftp"),
    (70, "gopher"),
    (79, "finger"),
    (80, "http"),
    (88, "kerberos"),
    (102, "iso-tsap"),
    (110, "pop3"),
    (111, "sunrpc"),
    (113, "ident"),
    (119, "nntp"),
    (123, "ntp"),
    (135, "epmap"),
    (137, "netbios-ns"),
    (138, "netbios-dgm"),
    (139, "netbios-ssn"),
    (143, "imap"),
    (161, "snmp"),
    (162, "snmptrap"),
    (177, "xdmcp"),
    (179, "bgp"),
    (194, "irc"),
    (264, "bgmp"),
    (319, "ptp-event"),
    (320, "ptp-general"),
    (389, "ldap"),
    (427, "svrloc"),
    (443, "https"),
    (445, "microsoft-ds"),
    (464, "kpasswd"),
    (465, "submissions"),
    (500, "isakmp"),
    (502, "mbap"),
    (512, "exec"),
    (513, "login"),
    (514, "syslog"),
    (515, "printer"),
    (520, "rip"),
    (521, "ripng"),
    (540, "uucp"),
    (546, "dhcpv6-client"),
    (547, "dhcpv6-server"),
    (548, "afp"),
    (554, "rtsp"),
    (563, "nntps"),
    (587, "submission"),
    (623, "asf-rmcp"),
    (631, "ipp"),
    (636, "ldaps"),
    (639, "msdp"),
    (646, "ldp"),
    (853, "domain-s"),
    (860, "iscsi"),
    (873, "rsync"),
    (989, "ftps-data"),
    (990, "ftps"),
    (992, "telnets"),
    (993, "imaps"),
    (995, "pop3s"),
    (1080, "socks"),
    (1194, "openvpn"),
    (1433, "ms-sql-s"),
    (1521, "oracle"),
    (1645, "radius-old"),
    (1701, "l2tp"),
    (1723, "pptp"),
    (1812, "radius"),
    (1813, "radius-acct"),
    (1883, "mqtt"),
    (1900, "ssdp"),
    (2049, "nfs"),
    (2055, "netflow"),
    (3128, "squid"),
    (3260, "iscsi-target"),
    (3306, "mysql"),
    (3389, "ms-wbt-server"),
    (3478, "stun"),
    (3784, "bfd-control"),
    (4500, "ipsec-nat-t"),
    (4739, "ipfix"),
    (4789, "vxlan"),
    (5060, "sip"),
    (5061, "sips"),
    (5201, "iperf3"),
    (5222, "xmpp-client"),
    (5269, "xmpp-server"),
    (5353, "mdns"),
    (5355, "llmnr"),
    (5432, "postgresql"),
    (5671, "amqps"),
    (5672, "amqp"),
    (5900, "rfb"),
    (6081, "geneve"),
    (6343, "sflow"),
    (6379, "redis"),
    (6514, "syslog-tls"),
    (6667, "ircd"),
    (8080, "http-alt"),
    (8443, "https-alt"),
    (8883, "secure-mqtt"),
    (9092, "kafka"),
    (9418, "git"),
    (11211, "memcache"),
    (27017, "mongodb"),
    (51820, "wireguard"),
];

/// The number in [`SERVICES`] of a flow's service: that of its destination port, else that of its source port. `None` where neither
/// has a name, and for protocols other than TCP, UDP, SCTP and UDP-Lite.
pub fn service(protocol: u8, src_port: u16, dst_port: u16) -> Option<usize> {
    let of = |port: u16| SERVICES.binary_search_by_key(&port, |(port, _)| *port).ok();
    match protocol {
        6 | 17 | 132 | 136 => of(dst_port).or_else(|| of(src_port)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_in_order_and_the_destination_is_first() {
        assert!(SERVICES.is_sorted_by(|a, b| a.0 < b.0));
        let name = |protocol, src, dst| service(protocol, src, dst).map(|at| SERVICES[at].1);
        assert_eq!(name(6, 50_000, 443), Some("https"));
        assert_eq!(name(17, 53, 50_000), Some("domain"));
        assert_eq!(name(6, 80, 22), Some("ssh"));
        assert_eq!((name(6, 50_000, 50_001), name(1, 0, 53)), (None, None));
    }
}
