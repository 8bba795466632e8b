//! The properties of a generated frame.

/// The origin of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOrigin {
    /// The background: the flow of this rank.
    Rank(u32),
    /// A planted event: its place in the specification, and its flow.
    Event {
        /// Place in the specification.
        event: usize,
        /// Number of the flow within the event.
        member: u64,
    },
}

/// A frame that [`Generator::next_frame`](crate::Generator::next_frame) wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratedFrame {
    /// Time stamp, nanoseconds since the epoch.
    pub time_ns: u64,
    /// Bytes written.
    pub captured: u32,
    /// Length on the wire without the check sequence.
    pub wire_len: u32,
    /// Length that the IP header states.
    pub total_byte: u32,
    /// The origin of the frame.
    pub origin: FrameOrigin,
}
