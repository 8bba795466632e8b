//! The parts that records carry beyond the plain ones: from options to the engine's terms.

use crate::spec::RunSpec;
use flow::Metric;
use flow::StatisticKind;
use flowtable::{MeasuredParts, RequestedStatistic, StatisticSpec};

/// Returns the parts that records carry.
pub(crate) fn select_record_parts(options: &RunSpec, parts: &MeasuredParts) -> record::RecordContents {
    let statistics = parts.statistics.iter().flatten().flat_map(|&(metric, ref spec)| {
        spec.statistics().iter().map(move |statistic| {
            let kind = match *statistic {
                RequestedStatistic::Mean => StatisticKind::Mean,
                RequestedStatistic::StdDev => StatisticKind::StdDev,
                RequestedStatistic::Percentile(p) => StatisticKind::Percentile(f64::from(p) / 1e4),
            };
            flow::Statistic { metric, kind }
        })
    });
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
    let metric = |metric, spec: Option<StatisticSpec>| spec.map(|spec| (metric, spec));
    MeasuredParts {
        statistics: [
            metric(Metric::Gap, options.record.gap),
            metric(Metric::Size, options.record.packet_size),
            metric(Metric::InterArrival, options.record.inter_arrival),
        ],
        biflow: options.record.biflow,
        loss: options.packets.loss,
        headers: options.output.headers,
        // The design decides that.
        shares: false,
    }
}
