//! Options that show in nothing unless another one is given too.

use crate::cli::RunOptions;
use crate::exit::Failure;

/// Refuses options without what would show them.
pub(crate) fn check(options: &RunOptions) -> Result<(), Failure> {
    let has_fields = options.flows.is_some() || options.export.is_some();
    let has_records = has_fields || options.store.is_some();
    let of_records = [
        ("--gap", options.gap.is_some()),
        ("--packet-size", options.packet_size.is_some()),
        ("--inter-arrival", options.inter_arrival.is_some()),
    ];
    let unseen =
        of_records.iter().filter(|(_, is_given)| *is_given && !has_records).map(|(option, _)| option);
    let mut lines: Vec<String> = unseen
        .map(|option| {
            format!("{option} shows in flow records only: give --flows PATH, --export URL or --store DIR too")
        })
        .collect();
    if options.fields.is_some() && !has_fields {
        lines.push("--fields shows in flow records only: give --flows PATH or --export URL too".to_owned());
    }
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
