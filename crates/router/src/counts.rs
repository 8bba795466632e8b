//! Counts of what arrived, and of what became of it.

/// Counters of a [`crate::Decoder`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecoderCounts {
    /// The counters of datagrams.
    pub datagrams: DatagramCounts,
    /// The counters of exporters, and of what their sequence numbers tell.
    pub exporters: ExporterCounts,
    /// The counters of templates, and of the sets that need them.
    pub templates: TemplateCounts,
    /// The counters of records of flows and of options.
    pub records: RecordCounts,
    /// The counters of samplers, and of rates of sampling.
    pub sampling: SamplingCounts,
}

/// Counters of datagrams. `received` = `decoded` + `refused_exporter` + `too_many_exporters` + `unknown_version` + `damaged`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Datagrams that came.
    pub received: u64,
    /// Datagrams whose contents were all read.
    pub decoded: u64,
    /// Datagrams of addresses that may not export.
    pub refused_exporter: u64,
    /// Datagrams of new exporters when there were as many as are kept.
    pub too_many_exporters: u64,
    /// Datagrams of no version that is read.
    pub unknown_version: u64,
    /// Datagrams of sFlow v2 and v4, of NetFlow v1, of v7, and of v8, among those of no version that is read.
    pub foreign: [u64; 4],
    /// Datagrams that are cut off or contradict themselves. What stands before the damage was taken.
    pub damaged: u64,
    /// Octets behind the contents of a datagram that is whole.
    pub trailing_octets: u64,
}

/// Counters of exporters, and of what their sequence numbers tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExporterCounts {
    /// Sessions of exporters that are over and found no room among those that are shown: what they counted is in the sums alone.
    pub forgotten: u64,
    /// Datagrams that came before: their records count again.
    pub repeated: u64,
    /// Exporters that began anew.
    pub restarts: u64,
    /// Records that did not arrive, by sequence numbers that count records, those of NetFlow v5 and IPFIX; and samples that an agent of sFlow
    /// dropped.
    pub lost_records: u64,
    /// Messages that did not arrive, by sequence numbers that count messages: those of NetFlow v9 and of sFlow.
    pub lost_messages: u64,
}

/// Counters of templates, and of the sets that need them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TemplateCounts {
    /// Sets of data that waited for their template and were read when it came.
    pub late_template: u64,
    /// Sets of data that waited for their template and do not fit it, and sets whose template has no field with a value.
    pub damaged_sets: u64,
    /// Sets of data whose template did not come while they could wait.
    pub without_template: u64,
    /// Templates that were replaced by others of their number.
    pub changed_templates: u64,
    /// Templates that found no room.
    pub too_many_templates: u64,
}

/// Counters of records of flows and of options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Records of flows that were given.
    pub given: u64,
    /// Records without an address: of the link layer, of addresses that are translated, of no flow.
    pub without_address: u64,
    /// Records that count no packet and no byte, or whose totals did not grow.
    pub without_packets: u64,
    /// Records some field of which is no value of its element, and is not read.
    pub unfit_fields: u64,
    /// Flows whose totals were forgotten, because there were too many: what comes of them again counts whole.
    pub forgotten_totals: u64,
    /// Records of options.
    pub option_records: u64,
    /// Samples of sFlow that are of no packet, such as the counters of an interface.
    pub other_samples: u64,
    /// Records that end before they begin: they count at their end.
    pub times_reversed: u64,
    /// Records without a time: they count when they were exported.
    pub without_time: u64,
    /// Records that do not tell bytes on the wire: these are not known.
    pub without_wire_bytes: u64,
    /// Records whose counts no router can have; they are left out.
    pub implausible: u64,
}

/// Counters of samplers, and of rates of sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingCounts {
    /// Records of a sampler of which nothing was told.
    pub unknown_sampler: u64,
    /// Sampling rates that are impossible, and were ignored.
    pub wrong_sampling: u64,
    /// Records whose packets are samples of a rate that is not known: they count as they are.
    pub unknown_rate: u64,
    /// Samplers that found no room, and samples of sFlow of a source that found none.
    pub too_many_samplers: u64,
}

impl DecoderCounts {
    /// Returns all counters but those of losses, by name.
    pub fn named(&self) -> [(&'static str, u64); 34] {
        [
            ("datagrams", self.datagrams.received),
            ("decoded", self.datagrams.decoded),
            ("refused_exporter", self.datagrams.refused_exporter),
            ("too_many_exporters", self.datagrams.too_many_exporters),
            ("forgotten_exporters", self.exporters.forgotten),
            ("unknown_version", self.datagrams.unknown_version),
            ("sflow", self.datagrams.foreign[0]),
            ("netflow_v1", self.datagrams.foreign[1]),
            ("netflow_v7", self.datagrams.foreign[2]),
            ("netflow_v8", self.datagrams.foreign[3]),
            ("damaged", self.datagrams.damaged),
            ("trailing_octets", self.datagrams.trailing_octets),
            ("records", self.records.given),
            ("without_address", self.records.without_address),
            ("without_packets", self.records.without_packets),
            ("unfit_fields", self.records.unfit_fields),
            ("forgotten_totals", self.records.forgotten_totals),
            ("option_records", self.records.option_records),
            ("other_samples", self.records.other_samples),
            ("times_reversed", self.records.times_reversed),
            ("without_time", self.records.without_time),
            ("without_wire_bytes", self.records.without_wire_bytes),
            ("unknown_sampler", self.sampling.unknown_sampler),
            ("wrong_sampling", self.sampling.wrong_sampling),
            ("unknown_rate", self.sampling.unknown_rate),
            ("too_many_samplers", self.sampling.too_many_samplers),
            ("implausible", self.records.implausible),
            ("late_template", self.templates.late_template),
            ("damaged_sets", self.templates.damaged_sets),
            ("without_template", self.templates.without_template),
            ("changed_templates", self.templates.changed_templates),
            ("too_many_templates", self.templates.too_many_templates),
            ("repeated", self.exporters.repeated),
            ("restarts", self.exporters.restarts),
        ]
    }

    /// Returns true if each datagram is decoded or has a reason why not.
    pub fn are_complete(&self) -> bool {
        let DatagramCounts {
            received,
            decoded,
            refused_exporter,
            too_many_exporters,
            unknown_version,
            damaged,
            ..
        } = self.datagrams;
        received == decoded + refused_exporter + too_many_exporters + unknown_version + damaged
    }
}
