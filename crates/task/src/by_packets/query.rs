//! Queries that are answered by packets.

use super::fields::ChangingFields;
use super::needs::{Needs, parts};
use super::table::SplitTable;
use super::window::{SplitRows, SplitWindow};
use crate::Generation;
use crate::query::{Condition, Query};
use crate::rows::{Refusal, RowFilter, RowQueries, Site, Unplaced};
use flow::Rows;
use packet::{Key, KeyV4, KeyV6, Seed};

/// A query that is answered by packets, over the rows of one table.
#[derive(Clone, Debug)]
pub struct SplitQuery {
    query: Query,
    /// The number of its table.
    table: usize,
    /// What packets must fulfil.
    filter: Option<RowFilter>,
    /// By what its rows remain apart.
    grouped: ChangingFields,
    is_merged: bool,
    seed: Seed,
    queries: RowQueries,
}

/// Queries that are answered by packets, and the fields of each of their tables.
type Split = (Vec<SplitQuery>, Vec<ChangingFields>);

/// Plans queries that are answered by packets. The errors are refusals, each with the name of its query.
pub(crate) fn split(
    generation: Generation,
    queries: &[&Query],
    site: &Site,
) -> Result<Split, Vec<(String, Refusal)>> {
    let (mut planned, mut tables) = (Vec::new(), Vec::new());
    let mut refusals = Vec::new();
    for query in queries {
        let all = Needs::of(query, site).all();
        let known = tables.iter().position(|table| *table == all);
        let table = known.unwrap_or_else(|| {
            tables.push(all);
            tables.len() - 1
        });
        match SplitQuery::new(generation, query, table, site) {
            Ok(query) => planned.push(query),
            Err(all) => refusals.extend(all.into_iter().map(|refusal| (query.name.clone(), refusal))),
        }
    }
    if refusals.is_empty() { Ok((planned, tables)) } else { Err(refusals) }
}

/// Most fields by whose values rows are apart.
const MOST: usize = 4;

impl SplitQuery {
    fn new(generation: Generation, query: &Query, table: usize, site: &Site) -> Result<Self, Vec<Refusal>> {
        let needs = Needs::of(query, site);
        let by = || needs.all().fields().next().map_or_else(String::new, |field| field.name.to_owned());
        let statistic = || query.statistics().first().map(ToString::to_string);
        if let Some(field) = query.loss_field().or_else(statistic) {
            return Err(vec![Refusal::NotByPackets { field, by: by() }]);
        }
        // Rows by packets do not tell what a whole flow has.
        if let Some(other) = query.of_flow() {
            return Err(vec![Refusal::Inseparable { field: by(), other }]);
        }
        if needs.grouped.fields().count() > MOST {
            return Err(vec![Refusal::TooManyFields { most: MOST }]);
        }
        let site = Site {
            tracks_loss: false,
            zoom: crate::rows::ZoomOffer::None,
            statistics: Vec::new(),
            changing: needs.all(),
            ..site.clone()
        };
        let (of_packets, of_flows) = filters(query, &needs, &site)?;
        let filter =
            of_packets.map(|filter| RowFilter::new(&filter, &site)).transpose().map_err(|e| vec![e])?;
        let is_merged = needs.grouped != needs.all();
        let site = Site { changing: needs.grouped, ..site };
        let rest = Query { filter: of_flows, ..query.clone() };
        let queries = RowQueries::plan(generation, &[rest], &site)
            .map_err(|refused| refused.into_iter().map(|(_, refusal)| refusal).collect::<Vec<_>>())?;
        let (query, seed) = (query.clone(), site.seed);
        Ok(Self { query, table, filter, grouped: needs.grouped, is_merged, seed, queries })
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// It alone, over [`SplitQuery::rows`].
    pub fn queries(&self) -> &RowQueries {
        &self.queries
    }

    /// The rows of a window that it reads, and the packets that are in none.
    pub fn rows(&self, window: Option<&SplitWindow>) -> SplitRows {
        let Some(of_table) = window.and_then(|window| window.tables.get(self.table)) else {
            return SplitRows::default();
        };
        let mut rows = match &self.filter {
            None => of_table.clone(),
            Some(filter) => SplitRows {
                v4: filter.selected_v4(&of_table.v4),
                v6: filter.selected_v6(&of_table.v6),
                undecided: of_table.unplaced.packets,
                ..SplitRows::default()
            },
        };
        if self.is_merged {
            let mut table = SplitTable::with_rows(self.grouped, [rows.v4.len(), rows.v6.len()], self.seed);
            rows.v4.rows.iter().for_each(|row| table.v4.add(row.key.hash(&self.seed), row));
            rows.v6.rows.iter().for_each(|row| table.v6.add(row.key.hash(&self.seed), row));
            (rows.v4.rows, rows.v6.rows) = (table.v4.rows, table.v6.rows);
        }
        rows
    }
}

impl SplitRows {
    /// The rows of IPv4.
    pub fn v4(&self) -> &Rows<KeyV4> {
        &self.v4
    }

    /// The rows of IPv6.
    pub fn v6(&self) -> &Rows<KeyV6> {
        &self.v6
    }

    /// Packets that are in no row, and would be in one.
    pub fn unplaced(&self) -> &Unplaced {
        &self.unplaced
    }

    /// What answers lack of packets that are in no row and that the query's filter was not asked about.
    pub fn lacks(&self) -> Option<String> {
        (self.undecided != 0).then(|| {
            format!("{} packets had no place in the table: those that pass are missing", self.undecided)
        })
    }
}

/// The parts of a filter that packets must fulfil, and those that are about what flows have of these.
fn filters(
    query: &Query,
    needs: &Needs,
    site: &Site,
) -> Result<(Option<Condition>, Option<Condition>), Vec<Refusal>> {
    let (mut of_packets, mut of_flows) = (Vec::new(), Vec::new());
    let mut refusals = Vec::new();
    for part in query.filter.as_ref().map(parts).unwrap_or_default() {
        let fields = part.fields();
        let is_one = |name: &str, of: ChangingFields| {
            ChangingFields::one(name).is_some_and(|one| one.without(of).is_empty())
        };
        let dropped = needs.all().without(needs.grouped);
        let reads_dropped = fields.iter().find(|name| is_one(name, dropped));
        let of_key = |name: &str| site.key.columns().any(|column| column == name) || name == "node_id";
        let counted = fields.iter().find(|name| !is_one(name, needs.all()) && !of_key(name));
        match (reads_dropped, counted) {
            (Some(field), Some(other)) => {
                refusals.push(Refusal::Inseparable { field: field.clone(), other: other.clone() });
            }
            (Some(_), None) => of_packets.push(part.clone()),
            (None, _) => of_flows.push(part.clone()),
        }
    }
    let all = |parts: Vec<Condition>| (!parts.is_empty()).then_some(Condition::And(parts));
    if refusals.is_empty() { Ok((all(of_packets), all(of_flows))) } else { Err(refusals) }
}
