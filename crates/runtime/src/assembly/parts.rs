//! The parts that records carry beyond the plain ones: from options to the engine's terms.

use crate::spec::RunSpec;
use flow::{Metric, Statistic};
use flowtable::{MeasuredParts, StatisticSpec};

/// Returns the parts that records carry.
pub(crate) fn select_record_parts(options: &RunSpec, parts: &MeasuredParts) -> record::RecordContents {
    let statistics = parts.statistics.iter().flatten().flat_map(|&(metric, ref spec)| spec.columns(metric));
    record::RecordContents {
        key: options.question.key,
        tracked: parts.tracked(),
        statistics: statistics.collect(),
        biflow: parts.biflow,
        of_routers: options.routers.listener.is_some(),
    }
}

/// Returns all optional parts that the options request.
pub(crate) fn select_parts(options: &RunSpec) -> MeasuredParts {
    let asked = options.record.statistics();
    let read = |statistic: &Statistic| options.read_statistics.contains(statistic);
    let of_windows = |(metric, spec): (Metric, Option<StatisticSpec>)| {
        Some((metric, spec?.filtered(|statistic| read(&statistic.column(metric)))?))
    };
    // Where queries alone show them, records are not made. What nothing shows is refused, with all other reasons.
    let of_records = |(metric, spec): (Metric, Option<StatisticSpec>)| {
        let is_shown = options.output.has_records() || of_windows((metric, spec)).is_none();
        is_shown.then_some((metric, spec?))
    };
    MeasuredParts {
        statistics: asked.map(of_records),
        window_statistics: asked.map(of_windows),
        biflow: options.record.biflow,
        loss: options.packets.loss,
        headers: options.output.headers,
        // The design decides that.
        shares: false,
    }
}
