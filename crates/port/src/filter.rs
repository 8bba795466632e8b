//! tcpdump's filter language, compiled and run by libpcap.

mod undecided;

use crate::libpcap::{CompiledProgram, Handle, pcap_open_dead};
use crate::{Frame, SourceError};
use packet::{LinkType, NotMeasured};
use std::ffi::CString;
use std::sync::atomic::{AtomicU16, Ordering};

/// The snap length for which programs are compiled. Any does: it only becomes what the program returns for a match.
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
    /// The program for each of `LINK_TYPES`, or libpcap's reason why there is none.
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
    /// Returns [`SourceError::Open`] with libpcap's message, if `expression` can be compiled for no link type at all.
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

    /// Returns why the filter does not let the frame pass; `None` if it does. Frames of an unsupported link type never pass, nor do those of
    /// a link type that the expression cannot be compiled for, which [`Filter::warnings`] reports.
    #[inline]
    pub fn refusal(&self, frame: &Frame<'_>) -> Option<NotMeasured> {
        let link = match frame.link {
            // The family number is in the byte order of the host that captured. If that differs from this
            // machine's, the frame looks like OpenBSD's kind, which has it in network order.
            LinkType::BsdNull if is_network_order(frame.data) => LinkType::BsdLoop,
            link => link,
        };
        let Some(at) = LINK_TYPES.iter().position(|known| *known == link) else {
            return Some(NotMeasured::Filter);
        };
        let Ok(program) = &self.programs[at] else {
            self.refused.fetch_or(1 << at, Ordering::Relaxed);
            return Some(NotMeasured::Filter);
        };
        if program.matches(frame.data, frame.wire_len) {
            return None;
        }
        let is_cut = frame.data.len() < frame.wire_len as usize;
        Some(if is_cut { refusal_of_cut(program, frame) } else { NotMeasured::Filter })
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

/// Returns why a truncated frame does not pass.
#[cold]
fn refusal_of_cut(program: &CompiledProgram, frame: &Frame<'_>) -> NotMeasured {
    match undecided::reads_cut_bytes(program.instructions(), frame.data, frame.wire_len as usize) {
        true => NotMeasured::FilterUndecided,
        false => NotMeasured::Filter,
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

    fn passes(filter: &Filter, frame: &Frame<'_>) -> bool {
        filter.refusal(frame).is_none()
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
            assert!(passes(&filter, &frame(&data, wire_len, link)), "{link:?}");
            assert!(!passes(&other, &frame(&data, wire_len, link)), "{link:?}");
        }
        let data = ethernet();
        assert!(!passes(&filter, &frame(&data, 42, LinkType::Unsupported)));
        assert_eq!(
            filter.refusal(&frame(&data[..20], 42, LinkType::Ethernet)),
            Some(NotMeasured::FilterUndecided)
        );
        assert_eq!(filter.refusal(&frame(&data[..20], 20, LinkType::Ethernet)), Some(NotMeasured::Filter));
        assert!(!passes(&filter, &frame(&[], 0, LinkType::BsdNull)));
        assert_eq!(filter.warnings(), Vec::<String>::new());
    }

    #[test]
    fn length_is_that_on_the_wire() {
        let filter = Filter::new("greater 1000").unwrap();
        let data = ethernet();
        assert!(passes(&filter, &frame(&data, 1000, LinkType::Ethernet)));
        assert!(!passes(&filter, &frame(&data, 999, LinkType::Ethernet)));
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
        assert!(passes(&filter, &frame(&data, 42, LinkType::Ethernet)));
        assert!(!passes(&filter, &frame(&data[14..], 28, LinkType::Raw)));
        let warnings = filter.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("Raw"), "{warnings:?}");
        assert_eq!(filter.warnings(), Vec::<String>::new());
    }

    /// The oracle is the frame with anything in the place of what was cut: where that decides, the filter did not.
    #[test]
    fn a_cut_frame_is_refused_for_what_is_left_of_it_or_not_at_all() {
        let mut ipv6 = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, 0, 64];
        ipv6.extend([0xfd; 32]);
        ipv6.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        let tcp = [0x03, 0xe8, 0, 53, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0, 0];
        ipv6.extend(tcp);
        let mut options =
            vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x46, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
        options.extend([10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 1]);
        options.extend(tcp);
        let expressions = [
            "port 53",
            "not port 53",
            "dst port 80 or host 10.0.0.1",
            "host 10.0.0.9 and port 53",
            "tcp[tcpflags] & tcp-syn != 0",
            "ip6 protochain 6",
            "ether[60] * 3 = 0 or ip[60] / 2 > 1",
            "vlan and port 53",
            "arp",
            "greater 50",
            "less 40",
        ];
        let mut undecided = 0;
        for (expression, whole) in
            expressions.iter().flat_map(|it| [(it, ethernet()), (it, ipv6.clone()), (it, options.clone())])
        {
            let filter = Filter::new(expression).unwrap();
            let wire_len = whole.len() as u32;
            for captured in 14..whole.len() {
                let found = filter.refusal(&frame(&whole[..captured], wire_len, LinkType::Ethernet));
                let with = |byte: u8| {
                    let mut other = whole.clone();
                    other[captured..].fill(byte);
                    filter.refusal(&frame(&other, wire_len, LinkType::Ethernet))
                };
                let all: Vec<_> = (0..=255)
                    .map(with)
                    .chain([filter.refusal(&frame(&whole, wire_len, LinkType::Ethernet))])
                    .collect();
                match found {
                    Some(NotMeasured::FilterUndecided) => undecided += 1,
                    decided => assert!(all.iter().all(|one| *one == decided), "{expression} {captured}"),
                }
            }
        }
        assert!(undecided > 0);
        let of = |expression: &str, captured: usize| {
            let data = ethernet();
            Filter::new(expression).unwrap().refusal(&frame(&data[..captured], 42, LinkType::Ethernet))
        };
        // Decided by what was captured: the ports end at byte 38, the addresses at 34.
        assert_eq!(of("port 54", 38), Some(NotMeasured::Filter));
        assert_eq!(of("port 54", 37), Some(NotMeasured::FilterUndecided));
        assert_eq!(of("host 10.0.0.9 and port 53", 34), Some(NotMeasured::Filter));
        assert_eq!(of("tcp port 53", 34), Some(NotMeasured::Filter));
    }
}
