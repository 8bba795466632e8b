//! The properties of the rows where queries run.

use super::refusal::Refusal;
use crate::query::Query;
use flow::{Field, Part, RowValue};
use geo::Databases;
use packet::{KeySpec, Seed};
use std::sync::Arc;
use summary::Limits;

/// Whether a site tracks the losses of pinned flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ZoomOffer {
    /// It does not.
    #[default]
    None,
    /// It would, if this were not so.
    NotPossible(String),
    /// It does.
    Offered,
}

/// What a query may refer to, and the memory that it may take.
#[derive(Clone, Debug)]
pub struct Site {
    /// What the rows' keys consist of.
    pub key: KeySpec,
    /// The observation point's name.
    pub node: String,
    /// Length of the run's windows, nanoseconds; `None` where they are counted in packets.
    pub window_ns: Option<u64>,
    /// Rows have losses.
    pub tracks_loss: bool,
    /// Whether rows of the flows that queries pin have losses where not all rows have them.
    pub zoom: ZoomOffer,
    /// Statistics of packets that rows have, by name, in the order of [`RowValue::Statistic`]: those of flow records in files.
    pub statistics: Vec<String>,
    /// Where the autonomous systems and countries of addresses are found, if the run has databases of them.
    pub geo: Option<Arc<Databases>>,
    /// Seed of the group tables' hash.
    pub seed: Seed,
    /// Memory of all group tables.
    pub limits: Limits,
}

impl Site {
    /// A site without a name, whose windows are counted in packets, which does not track losses and has no
    /// databases of addresses.
    pub fn new(key: KeySpec, seed: Seed, limits: Limits) -> Self {
        Self {
            key,
            node: String::new(),
            window_ns: None,
            tracks_loss: false,
            zoom: ZoomOffer::None,
            statistics: Vec::new(),
            geo: None,
            seed,
            limits,
        }
    }

    /// The column of a field that rows have as a number.
    pub(crate) fn column(&self, field: &str) -> Result<RowValue, Refusal> {
        let field = field.to_owned();
        if let Some(at) = self.statistics.iter().position(|known| known.eq_ignore_ascii_case(&field)) {
            return u8::try_from(at).map(RowValue::Statistic).map_err(|_| Refusal::NotInRows { field });
        }
        let Some(known) = Field::named(&field) else { return Err(Refusal::Unknown { field }) };
        match known.row {
            RowValue::Absent => Err(Refusal::NotInRows { field }),
            RowValue::Key => Err(Refusal::WrongType { field }),
            _ if known.part == Part::Loss && !self.tracks_loss => match &self.zoom {
                ZoomOffer::Offered => Ok(known.row),
                ZoomOffer::NotPossible(why) => Err(Refusal::NoZoom { field, why: why.clone() }),
                ZoomOffer::None => Err(Refusal::NeedsLoss { field }),
            },
            column => Ok(column),
        }
    }

    /// The field because of which a query needs its flows to be pinned.
    pub(crate) fn zoomed_field(&self, query: &Query) -> Option<String> {
        if self.zoom == ZoomOffer::Offered && !self.tracks_loss { query.loss_field() } else { None }
    }

    /// Requires a member of the key.
    pub(crate) fn needs(&self, member: &str) -> Result<(), Refusal> {
        match self.key.columns().any(|column| column == member) {
            true => Ok(()),
            false => Err(Refusal::NotInKey { field: member.to_owned() }),
        }
    }
}
