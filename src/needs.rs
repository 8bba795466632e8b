//! Options that show in nothing unless another one is given too, and those that do not go with routers.

use crate::cli::RunOptions;
use crate::exit::Failure;
use engine::Every;
use equery::CheckedQuery;

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

/// Refuses what keeps or joins counts without the share by which their packets were sampled.
pub(crate) fn check_sampled(options: &RunOptions) -> Result<(), Failure> {
    if options.tee.is_none() {
        return Ok(());
    }
    let refused = [("--store", options.store.is_some()), ("--rows", options.rows.is_some())];
    let lines = refused.iter().filter(|(_, is_asked)| *is_asked).map(|(option, _)| {
        format!(
            "{option} keeps the counts of rows, not the share by which their packets are sampled (--tee, --adapt): what is read later would \
             take the sample for all packets; leave out one of them"
        )
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { Ok(()) } else { Err(Failure::usages(lines)) }
}

/// Says which of the outputs take a sample without a word about it: files have one share, and `--adapt` changes it.
pub(crate) fn remark_of_sample(options: &RunOptions) -> Option<String> {
    let path = options.flows.as_deref().filter(|_| options.adapt.is_some())?.display();
    Some(format!(
        "--flows {path}: its counters are those of the sample, whose share changes; the report has each share"
    ))
}

/// Refuses queries that a sample does not answer.
pub(crate) fn check_sampled_queries(checked: &[CheckedQuery]) -> Result<(), Failure> {
    let refused = checked.iter().filter_map(|query| {
        let what = match query {
            CheckedQuery { across: Some(_), .. } => {
                "'across nodes' adds up counts of nodes, and a sample (--tee, --adapt) has estimates"
            }
            CheckedQuery { capture_packets: Some(_), .. } => {
                "'capture' writes every packet, and a sample (--tee, --adapt) lacks some"
            }
            _ => return None,
        };
        Some(format!("{}: {what}: leave out one of them", query.plan.name))
    });
    let lines: Vec<_> = refused.collect();
    if lines.is_empty() { Ok(()) } else { Err(Failure::usages(lines)) }
}

/// Refuses what flow records do not tell.
pub(crate) fn check_routers(options: &RunOptions, zooms: bool, has_tasks: bool) -> Result<(), Failure> {
    if options.routers.is_none() {
        return Ok(());
    }
    let has_statistics =
        [&options.gap, &options.packet_size, &options.inter_arrival].iter().any(|spec| spec.is_some());
    let refused = [
        ("losses (--loss, or a query that reads them)", options.loss || zooms),
        ("--biflow", options.biflow),
        ("--gap, --packet-size and --inter-arrival", has_statistics),
        ("'using', 'error' and --task, which count packets,", has_tasks),
        ("captures", options.captures.is_some()),
        ("a filter or a file", !options.words.is_empty() || !options.read.is_empty()),
        ("--interface", !options.interface.is_empty()),
        ("--port", !options.port.is_empty()),
        ("--synthetic", options.synthetic.is_some()),
        ("--wire", options.wire.is_some()),
        ("--tee", options.tee.is_some()),
        ("--cores and --design", options.cores.is_some() || options.design.is_some()),
        ("windows of packets", matches!(options.every, Every::Packets(_))),
    ];
    let lines = refused.iter().filter(|(_, is_asked)| *is_asked);
    let lines: Vec<_> = lines
        .map(|(what, _)| format!("{what} are not possible with routers: they send flow records, no packets"))
        .collect();
    if lines.is_empty() { Ok(()) } else { Err(Failure::usages(lines)) }
}
