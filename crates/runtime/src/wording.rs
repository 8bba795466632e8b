//! Error messages of the libraries, with the options that correct them.
//!
//! Libraries report what is wrong and which setting decides it; the names of options are known here only.

use flow::Part;
use port::{SourceError, SourceSetting};
use record::{RequiredPart, SelectionError};

/// Returns why a source cannot be opened or cannot continue.
pub fn describe_source_error(error: &SourceError) -> String {
    let SourceError::Refused(setting, reason) = error else { return error.to_string() };
    match setting {
        SourceSetting::CaptureName => format!("{reason}; an interface is named by -i, a DPDK port by --port"),
        SourceSetting::StandardInput => format!("{reason}, as in `tcpdump -w - | edison run -`"),
        SourceSetting::Synthetic => format!("--synthetic: {reason}"),
        SourceSetting::Wire => format!("--wire: {reason}"),
        SourceSetting::Rss => format!("{reason} (--rss, --rss-key)"),
        SourceSetting::Devargs => format!("{reason} to --port"),
        SourceSetting::Mbufs => format!("{reason} (--mempool)"),
        SourceSetting::Pools => format!("{reason} (--pools)"),
        SourceSetting::Eal => {
            format!("{reason}; see --eal's arguments, and 'edison ports' for rights and hugepages")
        }
        SourceSetting::EalLog => format!("{reason}; --eal --log-level=debug may say why"),
    }
}

/// Returns why a list of fields was refused.
pub fn describe_selection_error(error: &SelectionError) -> String {
    match error {
        SelectionError::NotAsked { name, needs } => {
            format!("field `{name}` needs the option {}", option_of(*needs))
        }
        SelectionError::NotInKey(_) => format!("{error}; see the option --key"),
        _ => error.to_string(),
    }
}

/// The option that provides what records need.
fn option_of(needs: RequiredPart) -> &'static str {
    match needs {
        RequiredPart::Part(part) => option_of_part(part),
        RequiredPart::Metric(metric) => metric.option(),
        RequiredPart::Biflow => "--biflow",
    }
}

/// The option that adds a part of the record; empty for the plain one.
pub fn option_of_part(part: Part) -> &'static str {
    match part {
        Part::Plain => "",
        Part::Loss => "--loss",
        Part::Headers => "--headers",
        Part::Sampling => "collect",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{RecordContents, Selection};

    #[test]
    fn what_was_not_asked_for_names_the_option_that_gives_it() {
        for (name, option) in [
            ("ploss_byte", "--loss"),
            ("RTT_MIN", "--loss"),
            ("reverse_ploss_byte", "--loss"),
            ("reverse_total_byte", "--biflow"),
            ("gap_mean", "--gap"),
            ("size_p50", "--packet-size"),
            ("iat_p99.9", "--inter-arrival"),
            ("reverse_gap_stddev", "--gap"),
        ] {
            let error = Selection::parse(name, &RecordContents::default()).expect_err(name);
            assert!(
                describe_selection_error(&error).ends_with(option),
                "{}",
                describe_selection_error(&error)
            );
        }
        let key = packet::KeySpec::parse("src_addr").expect("a key");
        let error = Selection::parse("dst_port", &RecordContents { key, ..RecordContents::default() })
            .expect_err("no such member");
        assert!(
            describe_selection_error(&error).ends_with("the option --key"),
            "{}",
            describe_selection_error(&error)
        );
    }

    #[test]
    fn a_refused_setting_names_its_option() {
        for (setting, option) in [
            (SourceSetting::CaptureName, "-i"),
            (SourceSetting::StandardInput, "edison run -"),
            (SourceSetting::Synthetic, "--synthetic"),
            (SourceSetting::Wire, "--wire"),
            (SourceSetting::Rss, "--rss-key"),
            (SourceSetting::Devargs, "--port"),
            (SourceSetting::Mbufs, "--mempool"),
            (SourceSetting::Pools, "--pools"),
            (SourceSetting::Eal, "--eal"),
            (SourceSetting::EalLog, "--log-level"),
        ] {
            let text = describe_source_error(&SourceError::Refused(setting, "why".to_owned()));
            assert!(text.contains("why") && text.contains(option), "{text}");
        }
        assert_eq!(describe_source_error(&SourceError::Fault("why".to_owned())), "why");
    }
}
