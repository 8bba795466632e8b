//! The groups that contribute most, with exact figures on both sides.

use super::asked::ChangeAsked;
use super::field::{ChangeField, NODE};
use super::leaders::{ChosenGroups, Leaders};
use super::literal;
use super::names::{name_of_all, name_of_field};
use super::outcome::{
    Change, ChangeOfField, ChangePeriod, ChangedGroup, ChangedRest, Compared, Difference, DifferenceKind,
    GroupKey, PeriodStatus, Unanswered,
};
use super::side::{Side, add_reason, count};
use model::{Answer, HistoryAnswers, HistoryNode, Span, Value};
use std::collections::HashMap;

/// The column of a node.
const NODE_ID: &str = "node_id";

/// Puts the answers to [`super::figures`] together.
pub(crate) fn outcome(
    asked: &ChangeAsked,
    leaders: &Leaders,
    answers: HistoryAnswers,
    unanswered: Vec<Unanswered>,
) -> Change {
    let HistoryAnswers { answers, nodes, warnings } = answers;
    let own: Vec<&Answer> =
        answers.iter().filter(|answer| leaders.node.is_none() || answer.node == leaders.node).collect();
    let sides = [0, 1].map(|side| {
        let name = name_of_all(side);
        Side::read(asked.periods[side], own.iter().copied().filter(|answer| answer.query == name))
    });
    let totals = [0, 1].map(|side| sides[side].total());
    let whole = WholeChange {
        scales: asked.scales(),
        unit: asked.measure.unit(),
        totals: totals.map(Option::unwrap_or_default),
    };
    let is_known = totals.iter().all(Option::is_some);
    let mut fields = Vec::new();
    if is_known {
        let by_field = asked.fields.iter().zip(&leaders.fields).enumerate();
        fields.extend(
            by_field.map(|(at, (field, chosen))| whole.of_field(asked, field, chosen, &own, at, &sides)),
        );
        if asked.is_by_node && leaders.node.is_none() {
            fields.push(whole.of_nodes(asked, &sides));
        }
    }
    let difference_is = match [sides[0].status, sides[1].status] {
        [PeriodStatus::Complete, PeriodStatus::Complete] => DifferenceKind::Exact,
        [PeriodStatus::Complete, PeriodStatus::Partial] => DifferenceKind::AtLeast,
        [PeriodStatus::Partial, PeriodStatus::Complete] => DifferenceKind::AtMost,
        [PeriodStatus::Partial, PeriodStatus::Partial] => DifferenceKind::OfWhatWasSeen,
        _ => DifferenceKind::NotKnown,
    };
    let told = |side: Side, period: Span| ChangePeriod {
        period,
        total: side.total().map(|sum| sum.saturating_mul(whole.unit)),
        status: side.status,
        watched: side.watched,
        missing: side.missing,
        reasons: side.reasons,
    };
    let [before, after] = sides;
    let [before, after] = [told(before, asked.periods[0]), told(after, asked.periods[1])];
    Change {
        measure: asked.measure,
        compared: if asked.compares_rates() { Compared::Rates } else { Compared::Sums },
        before,
        after,
        difference: is_known.then(|| whole.difference(whole.totals)),
        difference_is,
        fields,
        unanswered,
        of_node: leaders.node.clone(),
        nodes: asked_nodes(nodes, leaders),
        warnings,
    }
}

/// The nodes whose figures these are.
fn asked_nodes(nodes: Vec<HistoryNode>, leaders: &Leaders) -> Vec<HistoryNode> {
    let is_own = |node: &HistoryNode| leaders.node.as_ref().is_none_or(|own| *own == node.name);
    nodes.into_iter().filter(is_own).collect()
}

/// What all groups have together, and how differences are written.
struct WholeChange {
    scales: [f64; 2],
    unit: u64,
    totals: [u64; 2],
}

/// The sums of a group in both periods.
struct Sums {
    key: Vec<Value>,
    condition: String,
    sums: [u64; 2],
}

impl WholeChange {
    /// Returns what the later period has more.
    fn difference(&self, [before, after]: [u64; 2]) -> Difference {
        let unit = self.unit as f64;
        if self.scales == [1.0; 2] {
            // Exact, as far as the number can be.
            let difference = i128::from(after) - i128::from(before);
            return Difference((difference * i128::from(self.unit)) as f64);
        }
        Difference((after as f64 * self.scales[1] - before as f64 * self.scales[0]) * unit)
    }

    fn share(&self, difference: Difference) -> Option<f64> {
        let Difference(whole) = self.difference(self.totals);
        (whole != 0.0).then(|| difference.0 / whole)
    }

    /// Lists the groups that contribute most. `most_other`: the most by which a group can have changed that is not among these.
    fn listed(
        &self,
        asked: &ChangeAsked,
        (field, by): (&'static str, &[&'static str]),
        groups: Vec<Sums>,
        most_other: f64,
        reasons: Vec<String>,
    ) -> ChangeOfField {
        let mut changed: Vec<(Difference, Sums)> =
            groups.into_iter().map(|group| (self.difference(group.sums), group)).collect();
        changed.retain(|(Difference(difference), _)| *difference != 0.0);
        changed.sort_by(|(one, of), (other, of_other)| {
            other.0.abs().total_cmp(&one.0.abs()).then_with(|| of.condition.cmp(&of_other.condition))
        });
        let others = changed.split_off(asked.top.min(changed.len()));
        let unit = self.unit as f64;
        let next = others.first().map_or(0.0, |(Difference(next), _)| next.abs());
        // No group has more than all together have.
        let most =
            [0, 1].map(|side| self.totals[side] as f64 * self.scales[side]).into_iter().fold(0.0, f64::max);
        let most_unlisted = next.max(most_other.min(most) * unit);
        // The rest is what is left, so that all of it is there.
        let mut rest = self.totals;
        for (_, group) in &changed {
            for (rest, own) in rest.iter_mut().zip(group.sums) {
                *rest = rest.saturating_sub(own);
            }
        }
        let least = changed.last().map_or(0.0, |(Difference(last), _)| last.abs());
        let groups = changed.into_iter().map(|(difference, group)| ChangedGroup {
            key: GroupKey(by.iter().copied().zip(group.key).collect()),
            condition: group.condition,
            before: group.sums[0].saturating_mul(self.unit),
            after: group.sums[1].saturating_mul(self.unit),
            difference,
            share: self.share(difference),
        });
        let difference = self.difference(rest);
        ChangeOfField {
            field,
            by: by.to_vec(),
            groups: groups.collect(),
            rest: ChangedRest {
                before: rest[0].saturating_mul(self.unit),
                after: rest[1].saturating_mul(self.unit),
                difference,
                share: self.share(difference),
            },
            is_certain: most_unlisted <= least && reasons.is_empty(),
            most_unlisted: Difference(most_unlisted),
            reasons,
        }
    }

    fn of_field(
        &self,
        asked: &ChangeAsked,
        field: &'static ChangeField,
        chosen: &ChosenGroups,
        answers: &[&Answer],
        at: usize,
        sides: &[Side; 2],
    ) -> ChangeOfField {
        let mut groups: Vec<Sums> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for key in chosen.keys() {
            let Some(condition) = literal::of_group(field.by, key) else { continue };
            places.insert(condition.clone(), groups.len());
            groups.push(Sums { key: key.to_vec(), condition, sums: [0; 2] });
        }
        let mut reasons = chosen.reasons.clone();
        for side in [0, 1] {
            let name = name_of_field(side, at);
            for answer in answers.iter().filter(|answer| answer.query == name) {
                add_reason(&mut reasons, answer);
                for row in &answer.rows {
                    let (key, value) = row.split_at(field.by.len().min(row.len()));
                    let place = literal::of_group(field.by, key).and_then(|name| places.get(&name));
                    let sum = value.first().and_then(count).unwrap_or(0);
                    if let Some(place) = place {
                        let own = &mut groups[*place].sums[side];
                        *own = own.saturating_add(sum);
                    }
                }
            }
        }
        // What the periods lack themselves is said there.
        reasons.retain(|reason| sides.iter().all(|side| !side.reasons.contains(reason)));
        self.listed(asked, (field.name, field.by), groups, chosen.most_other, reasons)
    }

    /// The nodes themselves, all of which are known.
    fn of_nodes(&self, asked: &ChangeAsked, sides: &[Side; 2]) -> ChangeOfField {
        let mut names: Vec<&String> = sides.iter().flat_map(|side| side.nodes.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let groups = names.into_iter().map(|name| Sums {
            key: vec![Value::Text(name.clone())],
            condition: literal::of_group(&[NODE_ID], &[Value::Text(name.clone())]).unwrap_or_default(),
            sums: [0, 1].map(|side| sides[side].nodes.get(name).copied().unwrap_or(0)),
        });
        self.listed(asked, (NODE, &[NODE_ID]), groups.collect(), 0.0, Vec::new())
    }
}
