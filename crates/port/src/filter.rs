//! tcpdump's filter language, compiled and run by libpcap.

use crate::libpcap::{CompiledProgram, Handle, pcap_open_dead};
use crate::{Frame, SourceError};
use packet::LinkType;
use std::ffi::CString;
use std::sync::atomic::{AtomicU16, Ordering};

/// Any snap length does: it only becomes what the program returns for a match.
const SNAPLEN: i32 = 256 << 10;

const LINK_TYPES: [LinkType; 10] = [
    LinkType::Ethernet,
    LinkType::Raw,
    LinkType::RawIpv4,
    LinkType::RawIpv6,
    LinkType::LinuxCooked,
    LinkType::LinuxCooked2,
    LinkType::BsdNull,
    LinkType::BsdLoop,
    LinkType::Ppp,
    LinkType::CiscoHdlc,
];

/// A filter expression, compiled for every link type that it makes sense for.
///
/// It examines the bytes of a frame. A VLAN tag that a driver removed from the frame is not among them:
/// `vlan` does not match such a frame, and an expression without `vlan` sees it as untagged. Capture files
/// and interfaces measured by libpcap have their tags in the bytes.
pub struct Filter {
    expression: String,
    /// One for each of `LINK_TYPES`, or libpcap's reason why there is none.
    programs: [Result<CompiledProgram, String>; LINK_TYPES.len()],
    /// Bit `n`: frames of `LINK_TYPES[n]` arrived, and the expression cannot be compiled for them.
    refused: AtomicU16,
}

fn compile(link: LinkType, expression: &CString) -> Result<CompiledProgram, String> {
    let number = link.number().ok_or("the link type is not supported")?;
    // SAFETY: no condition on the arguments; the handle is owned here.
    unsafe { Handle::new(pcap_open_dead(number.into(), SNAPLEN)) }.ok_or("out of memory")?.compile(expression)
}

impl Filter {
    /// Compiles `expression`.
    ///
    /// # Errors
    /// [`SourceError::Open`] with libpcap's message, if it can be compiled for no link type at all.
    pub fn new(expression: &str) -> Result<Self, SourceError> {
        let refused = |reason: &str| {
            SourceError::Open(format!(
                "filter '{expression}': {reason}: see `man pcap-filter` for what can be asked"
            ))
        };
        let text = CString::new(expression).map_err(|_| refused("it has a zero byte"))?;
        let programs = LINK_TYPES.map(|link| compile(link, &text));
        match &programs[0] {
            Err(reason) if programs.iter().all(Result::is_err) => Err(refused(reason)),
            _ => Ok(Self { expression: expression.into(), programs, refused: AtomicU16::new(0) }),
        }
    }

    /// True if the frame passes. Frames of an unsupported link type never do, nor do those of a link type
    /// that the expression cannot be compiled for, which [`Filter::warnings`] reports.
    #[inline]
    pub fn matches(&self, frame: &Frame<'_>) -> bool {
        let link = match frame.link {
            // The family number is in the byte order of the host that captured. If that differs from this
            // machine's, the frame looks like OpenBSD's kind, which has it in network order.
            LinkType::BsdNull if is_network_order(frame.data) => LinkType::BsdLoop,
            link => link,
        };
        let Some(at) = LINK_TYPES.iter().position(|known| *known == link) else {
            return false;
        };
        match &self.programs[at] {
            Ok(program) => program.matches(frame.data, frame.wire_len),
            Err(_) => {
                self.refused.fetch_or(1 << at, Ordering::Relaxed);
                false
            }
        }
    }

    /// One line for each link type that was first seen since the last call and that the expression cannot be
    /// compiled for.
    pub fn warnings(&self) -> Vec<String> {
        let refused = self.refused.swap(0, Ordering::Relaxed);
        let refused =
            self.programs.iter().zip(LINK_TYPES).enumerate().filter(|(at, _)| refused >> at & 1 == 1);
        refused
            .filter_map(|(_, (program, link))| {
                let reason = program.as_ref().err()?;
                Some(format!("filter '{}' matches no frame of link type {link:?}: {reason}", self.expression))
            })
            .collect()
    }
}

/// True for a BSD protocol family (a small number) in network byte order.
fn is_network_order(data: &[u8]) -> bool {
    matches!(data, [0, 0, 0, family, ..] if *family != 0)
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Filter").field(&self.expression).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(data: &[u8], wire_len: u32, link: LinkType) -> Frame<'_> {
        Frame { data, wire_len, time_ns: 0, link, stripped_vlan: None }
    }

    /// IPv4, UDP from port 1000 to 53, after `link_header`.
    fn udp(link_header: &[u8]) -> Vec<u8> {
        let ip =
            [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 3, 0xe8, 0, 53, 0, 8, 0, 0];
        [link_header, &ip].concat()
    }

    fn ethernet() -> Vec<u8> {
        udp(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0])
    }

    #[test]
    fn one_expression_for_every_link_type() {
        let filter = Filter::new("udp and dst port 53 and src host 10.0.0.1").unwrap();
        let other = Filter::new("tcp or dst port 54").unwrap();
        let mut sll = vec![0; 16];
        sll[14] = 8;
        let mut sll2 = vec![0; 20];
        sll2[0] = 8;
        for (link, header) in [
            (LinkType::Ethernet, vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]),
            (LinkType::Raw, vec![]),
            (LinkType::RawIpv4, vec![]),
            (LinkType::LinuxCooked, sll),
            (LinkType::LinuxCooked2, sll2),
            (LinkType::BsdNull, vec![2, 0, 0, 0]),
            (LinkType::BsdNull, vec![0, 0, 0, 2]),
            (LinkType::BsdLoop, vec![0, 0, 0, 2]),
            (LinkType::Ppp, vec![0xff, 3, 0, 0x21]),
            (LinkType::CiscoHdlc, vec![0x0f, 0, 8, 0]),
        ] {
            let data = udp(&header);
            let wire_len = data.len() as u32;
            assert!(filter.matches(&frame(&data, wire_len, link)), "{link:?}");
            assert!(!other.matches(&frame(&data, wire_len, link)), "{link:?}");
        }
        let data = ethernet();
        assert!(!filter.matches(&frame(&data, 42, LinkType::Unsupported)));
        assert!(!filter.matches(&frame(&data[..20], 42, LinkType::Ethernet)), "cut before the ports");
        assert!(!filter.matches(&frame(&[], 0, LinkType::BsdNull)));
        assert_eq!(filter.warnings(), Vec::<String>::new());
    }

    #[test]
    fn length_is_that_on_the_wire() {
        let filter = Filter::new("greater 1000").unwrap();
        let data = ethernet();
        assert!(filter.matches(&frame(&data, 1000, LinkType::Ethernet)));
        assert!(!filter.matches(&frame(&data, 999, LinkType::Ethernet)));
    }

    #[test]
    fn a_bad_expression_is_an_error_with_its_text() {
        for bad in ["udp and and", "host", "prot 53", "ud\0p"] {
            let Err(SourceError::Open(text)) = Filter::new(bad) else { panic!("{bad} was accepted") };
            assert!(text.contains(bad) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn an_expression_for_some_link_types_only_warns_once() {
        let filter = Filter::new("ether src 02:00:00:00:00:02").unwrap();
        let data = ethernet();
        assert!(filter.matches(&frame(&data, 42, LinkType::Ethernet)));
        assert!(!filter.matches(&frame(&data[14..], 28, LinkType::Raw)));
        let warnings = filter.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("Raw"), "{warnings:?}");
        assert_eq!(filter.warnings(), Vec::<String>::new());
    }
}
