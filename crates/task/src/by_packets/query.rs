//! Queries that are answered by packets.

use super::table::SplitTable;
use super::window::{SplitRows, SplitWindow};
use crate::Generation;
use crate::changing_fields::ChangingFields;
use crate::packet_needs::{Needs, is_of_key, parts, read_by};
use crate::query::{Condition, Grouping, Query};
use crate::rows::{PlanContext, Refusal, RowFilter, RowQueries, Unplaced};
use flow::Rows;
use packet::{Key, KeyV4, KeyV6, Seed};
use std::borrow::Cow;

/// A query that is answered by packets, over the rows of one table.
#[derive(Clone, Debug)]
pub struct SplitQuery {
    query: Query,
    /// The number of its table.
    table: usize,
    /// The condition that packets must fulfil.
    filter: Option<RowFilter>,
    /// The fields of its table.
    fields: ChangingFields,
    /// The fields by which rows remain apart, in each [pass](PlanContext::passes).
    passes: Vec<ChangingFields>,
    seed: Seed,
    queries: RowQueries,
}

/// Queries that are answered by packets, and the fields of each of their tables.
type SplitQueries = (Vec<SplitQuery>, Vec<ChangingFields>);

/// Plans queries that are answered by packets. The errors are refusals, each with the name of its query.
pub(crate) fn split(
    generation: Generation,
    queries: &[&Query],
    site: &PlanContext,
) -> Result<SplitQueries, Vec<(String, Refusal)>> {
    let (mut planned, mut tables) = (Vec::new(), Vec::new());
    let mut refusals = Vec::new();
    for query in queries {
        let all = Needs::from_query(query, site).all();
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

/// Returns why packets cannot answer a query that tells the packets of a flow apart; nothing where they can, or rows of flows answer it.
pub fn refused_by_packets(query: &Query, site: &PlanContext) -> Vec<Refusal> {
    if Needs::from_query(query, site).all().is_empty() {
        return Vec::new();
    }
    let refused = split(Generation::default(), &[query], site).err().unwrap_or_default();
    refused.into_iter().map(|(_, refusal)| refusal).collect()
}

/// The most fields by whose values rows are apart.
const MOST: u32 = 4;

impl SplitQuery {
    fn new(
        generation: Generation,
        query: &Query,
        table: usize,
        site: &PlanContext,
    ) -> Result<Self, Vec<Refusal>> {
        let needs = Needs::from_query(query, site);
        let by = || needs.all().fields().next().map_or_else(String::new, |field| field.name.to_owned());
        let statistic = || query.statistics().first().map(ToString::to_string);
        let header = || query.field_of(flow::Part::Headers);
        if let Some(field) = query.loss_field().or_else(header).or_else(statistic) {
            return Err(vec![Refusal::NotByPackets { field, by: by() }]);
        }
        // Rows by packets do not tell what a whole flow has.
        if let Some(field) = query.first_whole_flow_name() {
            return Err(vec![Refusal::NotByPackets { field, by: by() }]);
        }
        let passes = passes(query, &needs, site);
        if passes.iter().any(|apart| apart.len() > MOST) {
            return Err(vec![Refusal::TooManyFields { most: MOST as usize }]);
        }
        let site = PlanContext {
            tracked: flow::TrackedParts::PLAIN,
            tracked_flows: crate::rows::ZoomOffer::None,
            statistics: Vec::new(),
            changing: needs.all(),
            ..site.clone()
        };
        let (of_packets, of_flows) = filters(query, &needs, &site)?;
        let filter =
            of_packets.map(|filter| RowFilter::new(&filter, &site)).transpose().map_err(|e| vec![e])?;
        let changing = needs.grouped.with(needs.aggregated);
        let site = PlanContext { changing, passes: passes.clone(), is_filtered: filter.is_some(), ..site };
        let rest = Query { filter: of_flows, ..query.clone() };
        let queries = RowQueries::plan(generation, &[rest], &site)
            .map_err(|refused| refused.into_iter().map(|(_, refusal)| refusal).collect::<Vec<_>>())?;
        let (query, seed) = (query.clone(), site.seed);
        Ok(Self { query, table, filter, fields: needs.all(), passes, seed, queries })
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Returns the query alone, over [`SplitQuery::rows`].
    pub fn queries(&self) -> &RowQueries {
        &self.queries
    }

    /// The rows of a window that it reads, in each [pass](PlanContext::passes), and the packets that are in none.
    pub fn rows<'a>(&self, window: Option<&'a SplitWindow>) -> Vec<Cow<'a, SplitRows>> {
        let Some(of_table) = window.and_then(|window| window.tables.get(self.table)) else {
            return vec![Cow::default(); self.passes.len()];
        };
        let rows = match &self.filter {
            None => Cow::Borrowed(of_table),
            Some(filter) => Cow::Owned(SplitRows {
                v4: filter.selected(&of_table.v4),
                v6: filter.selected(&of_table.v6),
                unplaced: of_table.unplaced,
            }),
        };
        let merged = |apart: &ChangingFields| {
            let mut table = SplitTable::with_rows(*apart, [rows.v4.len(), rows.v6.len()], self.seed);
            rows.v4.rows.iter().for_each(|row| table.v4.add(row.key.hash(&self.seed), row));
            rows.v6.rows.iter().for_each(|row| table.v6.add(row.key.hash(&self.seed), row));
            let mut merged = SplitRows { unplaced: rows.unplaced, ..SplitRows::default() };
            (merged.v4.rows, merged.v6.rows) = (table.v4.rows, table.v6.rows);
            Cow::Owned(merged)
        };
        match &self.passes[..] {
            [apart] if *apart == self.fields => vec![rows],
            passes => passes
                .iter()
                .map(|apart| if *apart == self.fields { rows.clone() } else { merged(apart) })
                .collect(),
        }
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

    /// Packets that are in no row. Whether the query's filter would let them through is not known.
    pub fn unplaced(&self) -> &Unplaced {
        &self.unplaced
    }
}

/// Returns the fields by which rows are apart in each pass: those that the query groups by, and those that aggregates read of each packet.
/// So a number of flows is one of flows, whatever else is counted.
fn passes(query: &Query, needs: &Needs, site: &PlanContext) -> Vec<ChangingFields> {
    let aggregates = query.aggregates();
    let mut passes = Vec::new();
    if query.group == Grouping::Flows || aggregates.is_empty() {
        passes.push(needs.grouped);
    }
    for aggregate in aggregates {
        let apart = needs.grouped.with(read_by(aggregate, site));
        if !passes.contains(&apart) {
            passes.push(apart);
        }
    }
    passes
}

/// The parts of a filter that packets must fulfil, and those that are about what flows have of these.
fn filters(
    query: &Query,
    needs: &Needs,
    site: &PlanContext,
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
        let counted = fields.iter().find(|name| !is_one(name, needs.all()) && !is_of_key(name, site));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Comparison, Expression, GroupField, OutputColumn, Over};
    use crate::rows::{Outside, PacketFieldPolicy};
    use arena::Limits;
    use flow::WindowRow;
    use model::AnswerStatus;
    use packet::{KeySpec, MaskedKey};

    /// A row of VLAN 5 with one packet, and others without a place of which it is not known whether they are of it.
    fn window(without_place: u64) -> SplitWindow {
        let key = KeyV4::from_words(&[1, 2]);
        let row = WindowRow { packets: 1, bytes: 40, wire_bytes: 54, vlan: 5, ..WindowRow::<()>::default() };
        let mut rows = SplitRows {
            unplaced: Unplaced { packets: without_place, bytes: 0, wire_bytes: 0, keyless: 0 },
            ..SplitRows::default()
        };
        rows.v4.rows.push(row.with_key(key));
        let mut window = SplitWindow::empty(None);
        window.tables.push(rows);
        window
    }

    #[test]
    fn packets_without_a_place_are_added_up_and_leave_open_what_a_filter_would_do() {
        let compared =
            |of: Expression, by: Comparison, with: i64| Condition::Compare(of, by, Expression::Integer(with));
        let query = Query {
            over: Over::Run,
            filter: Some(compared(Expression::field("vlan"), Comparison::Equal, 5)),
            having: Some(compared(OutputColumn::sum("total_count").value, Comparison::Less, 7)),
            ..Query::new("q", [GroupField::from_field("src_addr")], [OutputColumn::sum("total_count")])
        };
        let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 24, usize::MAX));
        let site = PlanContext { by_packets: PacketFieldPolicy::Counted, ..site };
        let (planned, _) = split(Generation::default(), &[&query], &site).expect("a good query");
        let [query] = &planned[..] else { panic!("{planned:?}") };
        let mut run = query.queries().run().expect("it is over the run");
        let mut unplaced = Unplaced::default();
        for without_place in [3, 0, 4] {
            let window = window(without_place);
            let rows = &query.rows(Some(&window))[0];
            run.add_v4(rows.v4());
            unplaced.add(rows.unplaced());
        }
        assert_eq!(unplaced.packets, 7);
        let [answer] = &query.queries().run_answers(run, None, Outside::from(&unplaced))[..] else {
            panic!("one answer")
        };
        // More may be of its group, or of another one that passes.
        assert_eq!(answer.status, AnswerStatus::Partial);
        let reason = answer.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("7 packets had no place in the table"), "{answer:?}");
        assert!(
            answer.rest.totals.iter().all(|(_, value)| *value == model::Value::Unsigned(0)),
            "{answer:?}"
        );
    }
}
