//! Parameters of an address.

use crate::failure::ApiFailure;
use crate::hub::now_ns;
use archive::{AnswerFilter, EventFilter};
use axum::http::Uri;
use model::{EventKind, parse_time};
use std::borrow::Cow;
use std::time::Duration;

const DEFAULT_LIMIT: u64 = 100;
const MOST: u64 = 10_000;

/// The parameters of one address. One without a text is as if it were not there.
#[derive(Debug)]
pub(crate) struct Parameters<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Parameters<'a> {
    /// Reads the parameters of these names; another one is an error.
    pub(crate) fn read(uri: &'a Uri, names: &[&str]) -> Result<Self, ApiFailure> {
        let mut read: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
        for (name, text) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            if !names.contains(&&*name) {
                return Err(ApiFailure::bad(unknown(&name, names)));
            }
            if read.iter().any(|(own, _)| *own == name) {
                return Err(ApiFailure::bad(format!("{name}: it is there twice, name one")));
            }
            read.push((name, text));
        }
        read.retain(|(_, text)| !text.is_empty());
        Ok(Self(read))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, text)| &**text)
    }

    fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    fn time(&self, name: &str) -> Result<Option<u64>, ApiFailure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        // All times that answers may have, then other ways to write one; nothing is before the epoch.
        let other = || notation::moment_ns(text).map(|ns| u64::try_from(ns).unwrap_or(0));
        match parse_time(text).or_else(other) {
            Some(ns) => Ok(Some(ns)),
            None => Err(ApiFailure::bad(format!("{name}: {text:?} is not {}", notation::MOMENTS))),
        }
    }

    /// A time, or a duration before now (`-1h`).
    pub(crate) fn time_or_ago(&self, name: &str) -> Result<Option<u64>, ApiFailure> {
        let Some(ago) = self.text(name).and_then(|text| text.strip_prefix('-')) else {
            return self.time(name);
        };
        let ago = notation::duration(ago).map_err(|error| ApiFailure::bad(format!("{name}: {error}")))?;
        let ago_ns = u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX);
        Ok(Some(now_ns().saturating_sub(ago_ns)))
    }

    /// A duration, as `30s`.
    pub(crate) fn duration(&self, name: &str) -> Result<Option<Duration>, ApiFailure> {
        self.read_as(name, notation::duration)
    }

    /// Returns what `read` makes of a text.
    pub(crate) fn read_as<T, E: std::fmt::Display>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, ApiFailure> {
        let wrong = |error: E| ApiFailure::bad(format!("{name}: {}", error.to_string().replace('\n', " ")));
        self.text(name).map(|text| read(text).map_err(wrong)).transpose()
    }

    /// Returns true if a parameter is `true`; what is not there is not.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiFailure> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(text) => Err(ApiFailure::bad(format!("{name}: {text:?} is neither true nor false"))),
        }
    }

    /// Returns how many to return at the most; never more than [`MOST`].
    pub(crate) fn limit(&self) -> Result<u64, ApiFailure> {
        let Some(text) = self.text("limit") else { return Ok(DEFAULT_LIMIT) };
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ApiFailure::bad(format!("limit: {text:?} is no number from 0 to {MOST}")));
        }
        // Digits that are no `u64` are too many.
        Ok(text.parse().unwrap_or(MOST).min(MOST))
    }

    fn kind(&self) -> Result<Option<EventKind>, ApiFailure> {
        let Some(text) = self.text("kind") else { return Ok(None) };
        serde_json::from_value(text.into()).map(Some).map_err(|_| {
            let kinds = "fired, resolved, nodata, timeout, expired, suppressed or missed";
            ApiFailure::bad(format!("kind: {text:?} is not {kinds}"))
        })
    }

    pub(crate) fn answer_filter(&self) -> Result<AnswerFilter, ApiFailure> {
        Ok(AnswerFilter {
            query: self.owned("query"),
            node: self.owned("node"),
            since_ns: self.time("since")?,
            until_ns: self.time("until")?,
            limit: self.limit()?,
        })
    }

    pub(crate) fn event_filter(&self) -> Result<EventFilter, ApiFailure> {
        Ok(EventFilter {
            query: self.owned("query"),
            node: self.owned("node"),
            kind: self.kind()?,
            since_ns: self.time("since")?,
            until_ns: self.time("until")?,
            limit: self.limit()?,
        })
    }
}

fn unknown(name: &str, names: &[&str]) -> String {
    let nearest = notation::nearest(name, names.iter().copied());
    // One line, whatever it has.
    let name = name.escape_debug();
    match (names, nearest) {
        ([], _) => format!("{name}: nothing takes parameters here"),
        (_, Some(nearest)) => format!("{name}: there is no such parameter, did you mean {nearest}?"),
        (_, None) => format!("{name}: there is no such parameter, there are {}", names.join(", ")),
    }
}
