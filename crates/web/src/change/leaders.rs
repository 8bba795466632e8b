//! Which groups can be among the largest contributors, by what leads in either period.

use super::asked::ChangeAsked;
use super::literal;
use super::names::{name_of_all, name_of_field};
use super::side::{add_reason, number};
use model::{Answer, AnswerStatus, Value};
use std::collections::HashMap;

/// The most groups of a field whose figures are looked up.
const MOST_LOOKED_UP: usize = 100;

/// The groups whose figures are looked up.
#[derive(Debug, Default)]
pub(crate) struct Leaders {
    /// The groups of each field.
    pub(crate) fields: Vec<ChosenGroups>,
    /// The node whose figures are those of all, where nodes see the same.
    pub(crate) node: Option<String>,
}

/// The groups of a field whose figures are looked up.
#[derive(Debug, Default)]
pub(crate) struct ChosenGroups {
    keys: Vec<Vec<Value>>,
    /// The most by which any other group can have changed.
    pub(crate) most_other: f64,
    /// The reasons why groups may lack something.
    pub(crate) reasons: Vec<String>,
}

impl ChosenGroups {
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[Value]> {
        self.keys.iter().map(Vec::as_slice)
    }
}

/// More than any sum, where nothing is known of one. Differences of it are numbers.
const ANY: f64 = u64::MAX as f64;

/// A group that leads in a period at a node.
struct Leader {
    key: Vec<Value>,
    /// What is known of it in each period, and the most that nodes which do not list it may add.
    known: [f64; 2],
    open: [f64; 2],
}

/// Chooses among the answers to [`super::ranking`].
pub(crate) fn leaders(asked: &ChangeAsked, answers: &[Answer]) -> Leaders {
    let node = asked.is_of_one_node.then(|| largest_node(answers)).flatten();
    let own: Vec<&Answer> = answers.iter().filter(|answer| node.is_none() || answer.node == node).collect();
    let fields = asked.fields.iter().enumerate();
    let fields = fields.map(|(at, field)| choose(asked, field.by, at, &own)).collect();
    Leaders { fields, node }
}

/// Returns the node that saw most in both periods together; of equal ones the first by name.
fn largest_node(answers: &[Answer]) -> Option<String> {
    let mut sums: Vec<(f64, &String)> = Vec::new();
    for answer in answers.iter().filter(|answer| [0, 1].map(name_of_all).contains(&answer.query)) {
        let Some(node) = &answer.node else { continue };
        let sum = answer.rows.first().and_then(|row| number(row.last()?)).unwrap_or(0.0);
        match sums.iter_mut().find(|(_, known)| *known == node) {
            Some((own, _)) => *own += sum,
            None => sums.push((sum, node)),
        }
    }
    sums.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    sums.first().map(|(_, node)| (*node).clone())
}

/// The most that a group may have which an answer does not list.
fn unlisted(answer: &Answer, width: usize) -> f64 {
    if answer.rest.groups == 0 && !answer.rest.is_open && answer.status != AnswerStatus::Partial {
        return 0.0;
    }
    let last = answer.rows.last().and_then(|row| number(row.get(width)?));
    let all = answer.rest.totals.first().and_then(|(_, total)| number(total));
    // Groups that found no memory are not in the order of the others: all of them may be one.
    match (answer.status, all) {
        (AnswerStatus::Complete | AnswerStatus::Cut, Some(all)) => all.min(last.unwrap_or(all)),
        (_, Some(all)) => all,
        (AnswerStatus::Partial, None) => ANY,
        (_, None) => last.unwrap_or(0.0),
    }
}

fn choose(asked: &ChangeAsked, by: &[&str], at: usize, answers: &[&Answer]) -> ChosenGroups {
    let scales = asked.scales();
    let names = [0, 1].map(|side| name_of_field(side, at));
    let of_side = |side: usize| -> Vec<&Answer> {
        answers.iter().copied().filter(|answer| answer.query == names[side]).collect()
    };
    let open: [f64; 2] =
        [0, 1].map(|side| of_side(side).iter().map(|answer| unlisted(answer, by.len()) * scales[side]).sum());
    let mut groups: HashMap<String, Leader> = HashMap::new();
    // Of groups that no condition names only the sums are known.
    let mut unnamed = [0.0; 2];
    let mut reasons = Vec::new();
    for side in [0, 1] {
        for answer in of_side(side) {
            add_reason(&mut reasons, answer);
            let bound = unlisted(answer, by.len()) * scales[side];
            for row in &answer.rows {
                let (key, value) = row.split_at(by.len().min(row.len()));
                let value = value.first().and_then(number).unwrap_or(0.0) * scales[side];
                let Some(name) = literal::of_group(by, key) else {
                    unnamed[side] += value;
                    continue;
                };
                let leader =
                    groups.entry(name).or_insert_with(|| Leader { key: key.to_vec(), known: [0.0; 2], open });
                leader.known[side] += value;
                leader.open[side] -= bound;
            }
        }
    }
    let mut ranged: Vec<(f64, f64, String, Leader)> = groups
        .into_iter()
        .map(|(name, leader)| {
            let (least, most) = leader.change();
            (least, most, name, leader)
        })
        .collect();
    let mut least: Vec<f64> = ranged.iter().map(|(least, ..)| *least).collect();
    least.sort_by(|one, other| other.total_cmp(one));
    // One more than is listed, so that the next one is known too.
    let threshold = least.get(asked.top).copied().unwrap_or(0.0);
    ranged.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.2.cmp(&other.2)));
    let is_chosen =
        |(at, (_, most, ..)): (usize, &(f64, f64, String, Leader))| at < MOST_LOOKED_UP && *most >= threshold;
    let chosen = ranged.iter().enumerate().take_while(|(at, one)| is_chosen((*at, one))).count();
    let others = ranged.split_off(chosen);
    let most_other = others.first().map_or(0.0, |(_, most, ..)| *most);
    ChosenGroups {
        keys: ranged.into_iter().map(|(.., leader)| leader.key).collect(),
        most_other: [0, 1].into_iter().map(|side| open[side] + unnamed[side]).fold(most_other, f64::max),
        reasons,
    }
}

impl Leader {
    /// The least and the most by which it has changed, either way.
    fn change(&self) -> (f64, f64) {
        let most = [0, 1].map(|side| self.known[side] + self.open[side].max(0.0));
        let (low, high) = (self.known[1] - most[0], most[1] - self.known[0]);
        let least = if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
        (least, low.abs().max(high.abs()))
    }
}
