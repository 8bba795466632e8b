//! Options that show in nothing unless another one is given too.

use crate::cli::RunOptions;
use crate::exit::Failure;

/// Refuses options without what would show them.
pub(crate) fn check(options: &RunOptions) -> Result<(), Failure> {
    let has_records = options.flows.is_some() || options.export.is_some() || options.store.is_some();
    let of_records = [
        ("--fields", options.fields.is_some()),
        ("--gap", options.gap.is_some()),
        ("--packet-size", options.packet_size.is_some()),
        ("--inter-arrival", options.inter_arrival.is_some()),
    ];
    let unseen = of_records.iter().filter(|(_, is_given)| *is_given && !has_records);
    let mut lines: Vec<String> = unseen
        .map(|(option, _)| {
            format!("{option} shows in flow records only: give --flows PATH, --export URL or --store DIR too")
        })
        .collect();
    if options.rotate.is_some() && options.flows.is_none() {
        lines.push("--rotate splits what --flows writes: give --flows PATH too".to_owned());
    }
    if options.store_keep.is_some() && options.store.is_none() {
        lines.push("--store-keep says what --store keeps: give --store DIR too".to_owned());
    }
    if options.enrich.resolve && options.anonymize.is_some() {
        lines.push(
            "--resolve shows names, which tell the addresses that --anonymize hides: give one of them"
                .to_owned(),
        );
    }
    if lines.is_empty() { Ok(()) } else { Err(Failure::usages(lines)) }
}
