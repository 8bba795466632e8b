//! Sentences on values that packets and records did not tell, in the reasons of answers.

use crate::Answer;
use flow::Untold;
use notation::{counted_as, number_of};

/// The times of a flow, each of which counts where the other one is not told.
const TIMES: [(&str, &str); 2] =
    [("stime", "the end of a flow counts as its begin"), ("ltime", "the begin of a flow counts as its end")];
/// The fields of links, of which a record that does not tell them has none.
const OF_LINKS: [&str; 3] = ["vlan", "smac", "dmac"];
/// The field whose sums are null where a record does not tell it.
const WIRE_BYTES: &str = "wire_byte";

/// Returns a sentence on each number that is not 0, but for that of samples. Fields that the same number of records leave open share one.
pub fn untold_sentences(untold: &Untold) -> Vec<String> {
    let untold = &untold.but_samples();
    let cut = [
        (untold.cut_addresses, "frame", ["the capture cut ", " before the addresses: no flow has them"]),
        (untold.cut_filter, "frame", ["the capture cut ", " before what the filter reads: no flow has them"]),
        (
            untold.cut_tcp,
            "packet",
            ["the capture cut the TCP headers of ", ": what they have of TCP counts as 0"],
        ),
        (
            untold.cut_protocol,
            "packet",
            [
                "the capture cut the headers of ",
                " before the protocol: the number of an extension header counts instead",
            ],
        ),
        (
            untold.cut_ports,
            "packet",
            [
                "the capture cut the headers of ",
                " before the ports: these count as 0, and all such packets of two addresses as one flow",
            ],
        ),
        (
            untold.cut_inner,
            "packet",
            [
                "the capture cut the headers of ",
                " inside a tunnel, or before what tells whether there is one: the outer ones count",
            ],
        ),
        (
            untold.unparsed_segments,
            "segment",
            ["the TCP headers of ", " were cut or damaged: no losses and round trips are known of them"],
        ),
    ];
    let of_packets = cut.into_iter().filter(|(count, ..)| *count != 0);
    let mut sentences: Vec<String> = of_packets
        .map(|(count, thing, [before, behind])| format!("{before}{}{behind}", number_of(count, thing)))
        .collect();
    let times = TIMES.map(|(field, _)| field);
    let open: Vec<_> = untold.open_fields().filter(|(field, _)| *field != WIRE_BYTES).collect();
    let (links, others): (Vec<_>, Vec<_>) = open.iter().partition(|(field, _)| OF_LINKS.contains(field));
    let zero: Vec<_> = others.into_iter().filter(|(field, _)| !times.contains(field)).collect();
    sentences.extend(by_number(&zero, ["counts as 0", "count as 0"]));
    sentences.extend(by_number(&links, ["counts as none", "count as none"]));
    let null: Vec<_> = untold.null_fields().filter(|(field, _)| *field != WIRE_BYTES).collect();
    sentences.extend(by_number(&null, ["is left out", "are left out"]));
    sentences.extend(wire_bytes_sentence(untold));
    for (field, instead) in TIMES {
        let of_field = open.iter().filter(|(open, _)| *open == field);
        sentences.extend(of_field.map(|(_, count)| {
            let records = counted_as(*count, "record", ["does", "do"]);
            format!("{records} not tell {field}: {instead}")
        }));
    }
    sentences
}

/// Returns a sentence on the records that are samples; `None` if there are none.
pub fn samples_sentence(untold: &Untold) -> Option<String> {
    let rest = ["is a sample: what it counts is an estimate", "are samples: what they count are estimates"];
    Some(untold.samples()).filter(|count| *count != 0).map(|count| counted_as(count, "record", rest))
}

/// Returns a sentence on the records that do not tell their bytes on the wire; `None` if all do.
pub fn wire_bytes_sentence(untold: &Untold) -> Option<String> {
    let rest = [
        "does not tell wire_byte: a sum with it is null, and other values are without it",
        "do not tell wire_byte: a sum with one of them is null, and other values are without them",
    ];
    Some(untold.without(WIRE_BYTES))
        .filter(|count| *count != 0)
        .map(|count| counted_as(count, "record", rest))
}

/// Returns a sentence for each number of records, with the fields that these leave open and what that means for one of them, and for several.
fn by_number(fields: &[(&str, u64)], meaning: [&str; 2]) -> Vec<String> {
    let mut numbers: Vec<u64> = fields.iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable_by(|one, other| other.cmp(one));
    numbers.dedup();
    let sentence = |number: u64| {
        let names: Vec<&str> =
            fields.iter().filter(|(_, own)| *own == number).map(|(field, _)| *field).collect();
        let records = counted_as(number, "record", ["does", "do"]);
        format!("{records} not tell {}, which {}", names.join(", "), meaning[usize::from(names.len() != 1)])
    };
    numbers.into_iter().map(sentence).collect()
}

impl Answer {
    /// Makes the answer partial, with these numbers as the reasons. All of them matter to it. Samples alone leave it complete, without bounds.
    pub fn mark_untold(&mut self, untold: &Untold) {
        samples_sentence(untold).iter().for_each(|sentence| self.estimates(sentence));
        untold_sentences(untold).iter().for_each(|sentence| self.mark_partial(sentence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::OpenFields;

    #[test]
    fn each_number_has_a_sentence_and_fields_of_one_number_share_it() {
        let mut untold = Untold::default();
        for (name, count) in [("cut_tcp", 1), ("cut_ports", 2000)] {
            assert!(untold.add_named(name, count));
        }
        for fields in [&["ip_tos", "ip_ttl", "stime"][..], &["tcp_win"], &["tcp_win"]] {
            untold.add_record(OpenFields::all(fields));
        }
        untold.add_row(OpenFields::all(&["tcp_ack", "wire_byte"]));
        untold.add_record(OpenFields::from_field("wire_byte"));
        assert_eq!(
            untold_sentences(&untold),
            [
                "the capture cut the TCP headers of 1 packet: what they have of TCP counts as 0",
                "the capture cut the headers of 2000 packets before the ports: these count as 0, and all such packets of two addresses as one flow",
                "2 records do not tell tcp_win, which counts as 0",
                "1 record does not tell ip_tos, ip_ttl, which count as 0",
                "1 record does not tell tcp_ack, which is left out",
                "2 records do not tell wire_byte: a sum with one of them is null, and other values are without them",
                "1 record does not tell stime: the end of a flow counts as its begin"
            ]
        );
        assert!(untold_sentences(&Untold::default()).is_empty());
    }

    #[test]
    fn links_times_and_samples_have_sentences_of_their_own() {
        let mut untold = Untold::default();
        untold.add_record(OpenFields::all(&["vlan", "smac", "ltime", "ip_tos"]));
        untold.add_row(OpenFields::all(&["sampling_rate", "vlan", "smac"]));
        assert_eq!(
            untold_sentences(&untold),
            [
                "1 record does not tell ip_tos, which counts as 0",
                "2 records do not tell vlan, smac, which count as none",
                "1 record does not tell ltime: the begin of a flow counts as its end"
            ]
        );
        let mut answer = Answer::new("q", None, Vec::new(), Vec::new());
        let mut samples = Untold::default();
        samples.add_row(OpenFields::from_field("sampling_rate"));
        answer.mark_untold(&samples);
        assert_eq!((answer.status, answer.bounds.as_str()), (crate::AnswerStatus::Complete, "none"));
        assert_eq!(answer.reason.as_deref(), Some("1 record is a sample: what it counts is an estimate"));
    }
}
