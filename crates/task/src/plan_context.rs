//! The properties of the rows where queries run.

use crate::query::{Over, Query};
use crate::row_refusal::Refusal;
use crate::{ChangingFields, RunProperties};
use arena::Limits;
use flow::{Field, Metric, Part, RowValue, Statistic};
use geo::Databases;
use packet::{KeySpec, Seed};
use std::sync::Arc;

/// The offer of a site to follow pinned flows: their losses, and statistics of their packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ZoomOffer {
    /// The site does not follow pinned flows.
    #[default]
    None,
    /// The site would follow pinned flows, but for this reason.
    NotPossible(String),
    /// The site follows pinned flows.
    Offered,
}

/// The offer of a site to count the packets of queries in structures.
#[derive(Clone, Debug, Default)]
pub enum CountingOffer {
    /// The site has rows alone, which do not tell packets.
    #[default]
    None,
    /// The site would count packets, but for this reason.
    NotPossible(String),
    /// The site counts packets.
    Offered {
        /// The properties of the run, which structures depend on.
        run: RunProperties,
        /// True if the run counts a sample of the packets, or may do so later.
        is_sampled: bool,
    },
}

/// The treatment of questions by fields in which the packets of a flow may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketFieldPolicy {
    /// The questions are refused: only rows of whole flows are there.
    #[default]
    Refused,
    /// The questions are refused, but columns of groups may say what whole flows have of the field (`first_vlan`).
    Named,
    /// A [`crate::TaskSet`] has packets counted for them.
    Counted,
}

/// The site of a query: what the query may refer to, and the memory that it may take.
#[derive(Clone, Debug)]
pub struct PlanContext {
    /// The fields of the rows' keys.
    pub key: KeySpec,
    /// The observation point's name.
    pub node: String,
    /// Length of the run's windows, nanoseconds; `None` where they are counted in packets.
    pub window_ns: Option<u64>,
    /// The optional parts that rows have.
    pub tracked: flow::TrackedParts,
    /// The offer for rows of the flows that queries pin: losses, where not all rows have them, and statistics of packets.
    pub tracked_flows: ZoomOffer,
    /// Statistics of packets that rows of all flows have, whatever is pinned, in the order in which rows have them.
    pub row_statistics: Vec<Statistic>,
    /// The reason why statistics of pinned flows cannot be of gaps, if they cannot.
    pub no_gaps: Option<String>,
    /// Statistics of packets that rows have, by name, in the order of [`RowValue::Statistic`]: those of flow records in files, or those
    /// that the queries of a [`crate::TaskSet`] read.
    pub statistics: Vec<String>,
    /// Fields in which the packets of a flow may differ, by whose values rows are apart.
    pub changing: ChangingFields,
    /// Rows come several times, each time apart by some of these fields alone, and each aggregate reads those of one time: a least value
    /// those that are apart by its field, a number of flows those that are not. Empty where they come once, apart by all of the fields.
    pub passes: Vec<ChangingFields>,
    /// True if only rows with packets that a filter lets through are there. Of packets that are in no row it is not known whether they would be.
    pub is_filtered: bool,
    /// The treatment of questions by other such fields that keys do not have.
    pub by_packets: PacketFieldPolicy,
    /// The offer to count packets in structures.
    pub counting: CountingOffer,
    /// The databases of the autonomous systems and countries of addresses, if the run has them.
    pub geo: Option<Arc<Databases>>,
    /// Seed of the group tables' hash.
    pub seed: Seed,
    /// Memory of all group tables.
    pub limits: Limits,
}

impl PlanContext {
    /// A site without a name, whose windows are counted in packets, which does not track losses and has no
    /// databases of addresses.
    pub fn new(key: KeySpec, seed: Seed, limits: Limits) -> Self {
        Self {
            key,
            node: String::new(),
            window_ns: None,
            tracked: flow::TrackedParts::PLAIN,
            tracked_flows: ZoomOffer::None,
            row_statistics: Vec::new(),
            no_gaps: None,
            statistics: Vec::new(),
            changing: ChangingFields::NONE,
            passes: Vec::new(),
            is_filtered: false,
            by_packets: PacketFieldPolicy::Refused,
            counting: CountingOffer::None,
            geo: None,
            seed,
            limits,
        }
    }

    /// The column of a field that rows have as a number.
    pub(crate) fn column(&self, field: &str) -> Result<RowValue, Refusal> {
        let field = field.to_owned();
        let statistic = field.parse::<Statistic>().ok();
        let is_field = |known: &String| {
            known.eq_ignore_ascii_case(&field) || statistic.is_some() && known.parse().ok() == statistic
        };
        if let Some(at) = self.statistics.iter().position(is_field) {
            return u8::try_from(at).map(RowValue::Statistic).map_err(|_| Refusal::NotInRows { field });
        }
        let Some(known) = Field::named(&field) else {
            return Err(match statistic {
                Some(_) => self.no_statistic(field),
                None => Refusal::Unknown { field },
            });
        };
        match known.row {
            RowValue::Absent => Err(Refusal::NotInRows { field }),
            RowValue::Key => Err(Refusal::WrongType { field }),
            _ if known.part == Part::Headers && !self.tracked.headers => Err(Refusal::NeedsHeaders { field }),
            _ if known.part == Part::Loss && !self.tracked.loss => match &self.tracked_flows {
                ZoomOffer::Offered => Ok(known.row),
                ZoomOffer::NotPossible(why) => Err(Refusal::NoZoom { field, why: why.clone() }),
                ZoomOffer::None => Err(Refusal::NeedsLoss { field }),
            },
            column => Ok(column),
        }
    }

    /// Returns the reason why rows do not have a statistic of packets.
    fn no_statistic(&self, field: String) -> Refusal {
        match &self.tracked_flows {
            ZoomOffer::NotPossible(why) => Refusal::NotFollowed { field, why: why.clone() },
            ZoomOffer::Offered => Refusal::NotKept { field },
            ZoomOffer::None => Refusal::NotInRows { field },
        }
    }

    /// Returns true if rows of all flows have this statistic of packets.
    pub(crate) fn is_of_all_flows(&self, statistic: &Statistic) -> bool {
        self.row_statistics.contains(statistic)
    }

    /// Returns the reason why a query does not get a statistic of packets that all flows have, or those that are pinned.
    pub(crate) fn refused_statistic(&self, query: &Query, statistic: &Statistic) -> Option<Refusal> {
        let field = statistic.to_string();
        let is_of_one_window = match query.over {
            Over::Window => true,
            Over::Windows { every_ns, over_ns } => self.window_ns == Some(every_ns) && every_ns == over_ns,
            Over::Run => false,
        };
        if !is_of_one_window {
            return Some(Refusal::OfOneWindow { field });
        }
        let is_of_pinned = !self.is_of_all_flows(statistic);
        let why = self.no_gaps.as_ref().filter(|_| is_of_pinned && statistic.metric == Metric::Gap)?;
        Some(Refusal::NotFollowed { field, why: why.clone() })
    }

    /// The fields by which the rows of a pass are apart.
    pub(crate) fn apart(&self, pass: usize) -> ChangingFields {
        self.passes.get(pass).copied().unwrap_or(self.changing)
    }

    /// Returns the number of times that rows come.
    pub(crate) fn pass_count(&self) -> usize {
        self.passes.len().max(1)
    }

    /// The pass for what reads these fields: the rows of no other one that has them are apart by fewer.
    pub(crate) fn pass_of(&self, fields: ChangingFields) -> usize {
        let has_them = |(_, apart): &(usize, &ChangingFields)| fields.without(**apart).is_empty();
        let with_them = self.passes.iter().enumerate().filter(has_them);
        with_them.min_by_key(|(_, apart)| apart.len()).map_or(0, |(pass, _)| pass)
    }

    /// Returns true if losses are tracked of the flows alone that a query pins, if it reads them.
    pub(crate) fn tracks_pinned_losses(&self, query: &Query) -> bool {
        self.tracked_flows == ZoomOffer::Offered && !self.tracked.loss && query.loss_field().is_some()
    }

    /// The field because of which a query needs its flows to be pinned.
    pub(crate) fn tracked_flow_field(&self, query: &Query) -> Option<String> {
        if self.tracked_flows != ZoomOffer::Offered {
            return None;
        }
        let of_pinned = |statistic: &Statistic| !self.is_of_all_flows(statistic);
        let statistic =
            || query.statistics().into_iter().find(of_pinned).map(|statistic| statistic.to_string());
        if self.tracks_pinned_losses(query) { query.loss_field() } else { statistic() }
    }

    /// Requires a member of the key.
    pub(crate) fn needs(&self, member: &str) -> Result<(), Refusal> {
        match self.key.columns().any(|column| column == member) {
            true => Ok(()),
            false => Err(Refusal::NotInKey { field: member.to_owned() }),
        }
    }
}
