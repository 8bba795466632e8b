//! The JSON of a message.

use serde::Serialize;
use serde_json::value::RawValue;

/// The version of the form, which every message states.
pub const SCHEMA: u32 = 1;

/// The content of a message.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageKind {
    /// An answer, or a part of one.
    Answer,
    /// An event.
    Event,
    /// Rows of a window.
    Rows,
}

/// The value of a message in the topics PREFIX.answers, PREFIX.events and PREFIX.rows. Version 1.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct MessageValue<'a> {
    /// The version of this form.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub(crate) schema: u32,
    /// The content of the message.
    pub(crate) kind: MessageKind,
    /// A digest of what the message says; the header `id` has it too. Messages with the same one are the same message.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-9a-f]{40}$")))]
    pub(crate) id: &'a str,
    /// The number of the part among the parts, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub(crate) part: Option<usize>,
    /// The number of messages that have the rows of this answer or window together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub(crate) parts: Option<usize>,
    /// The answer; of rows, the rows of a window in the same form, under the name `rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "model::Answer"))]
    pub(crate) answer: Option<&'a RawValue>,
    /// The event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "model::Event"))]
    pub(crate) event: Option<&'a RawValue>,
}
