//! Groupings of rows: by parts of the flow key, and by values of rows.

use super::program::{KEY_MEMBERS, NodeId, RowProgram, Type};
use crate::plan_context::PlanContext;
use crate::query::GroupField;
use crate::row_refusal::Refusal;
use packet::KeySpec;

/// Words of a group's key that are not of a flow key.
pub(crate) const MOST_EXTRAS: usize = 7;

/// The grouping of rows, as planned.
#[derive(Clone, Debug)]
pub(crate) enum PlannedGrouping {
    /// A single group of all rows.
    All,
    /// A group for each row: its key is the whole flow key.
    Rows,
    /// A group for each combination of parts of the rows' keys and of values.
    Parts(GroupKeyParts),
}

/// The parts of a group's key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupKeyParts {
    /// Members of the flow key as they are.
    pub(crate) plain: KeySpec,
    /// Members of the source's side, of the key in each of its directions: `addr`, `port`.
    pub(crate) either: Option<KeySpec>,
    /// The key without its direction.
    pub(crate) is_conversation: bool,
    /// Values of rows.
    pub(crate) extras: Vec<NodeId>,
}

impl GroupKeyParts {
    /// The members that a group's key has, by the flow key's names.
    pub(crate) fn spec(&self) -> KeySpec {
        self.either.map_or(self.plain, |either| self.plain.with(&either))
    }
}

/// The name of a field in lower case, usual names replaced.
pub(crate) fn own_name(field: &str) -> String {
    flow::resolve_alias(field).to_ascii_lowercase()
}

/// True for a field that is a value of rows, not of their keys.
pub(crate) fn is_extra(field: &GroupField) -> bool {
    let name = own_name(&field.field);
    !KEY_MEMBERS.contains(&name.as_str())
        && !["addr", "port", "conversation", "node_id"].contains(&name.as_str())
}

/// True where fields are the whole flow key, in any order.
pub(crate) fn are_whole_key(fields: &[GroupField], site: &PlanContext) -> bool {
    let has = |name: &str| fields.iter().any(|field| own_name(&field.field) == name);
    fields.iter().all(|field| field.prefix.is_none())
        && site.key.columns().count() == fields.len()
        && site.key.columns().all(has)
}

/// The members of the flow key that a field is, with its prefix.
pub(crate) fn key_part(field: &GroupField, member: &str, site: &PlanContext) -> Result<KeySpec, Refusal> {
    let unusable = || Refusal::WrongType { field: field.field.clone() };
    let text = match field.prefix {
        Some([v4, v6]) => format!("{member}/{v4}/{v6}"),
        None => member.to_owned(),
    };
    let spec = KeySpec::parse(&text).map_err(|_| unusable())?;
    // Where the run's keys have prefixes, a whole address is as much of it as they have.
    match (site.key.lacks(&spec), field.prefix) {
        (None, _) => Ok(spec),
        (Some(_), None) if site.needs(member).is_ok() => site.key.only(member).ok_or_else(unusable),
        _ => Err(Refusal::NotInKey { field: member.to_owned() }),
    }
}

/// The grouping by fields.
pub(crate) fn parts(
    fields: &[GroupField],
    site: &PlanContext,
    program: &mut RowProgram,
) -> Result<GroupKeyParts, Refusal> {
    let names: Vec<_> = fields.iter().map(|field| own_name(&field.field)).collect();
    refuse_conflicts(&names)?;
    let mut parts =
        GroupKeyParts { plain: KeySpec::NOTHING, either: None, is_conversation: false, extras: Vec::new() };
    for (field, name) in fields.iter().zip(&names) {
        let unusable = || Refusal::WrongType { field: field.field.clone() };
        match name.as_str() {
            "addr" | "port" => {
                let (source, destination) = match name.as_str() {
                    "addr" => ("src_addr", "dst_addr"),
                    _ => ("src_port", "dst_port"),
                };
                key_part(field, destination, site)?;
                let side = key_part(field, source, site)?;
                // An address of either end is one only where both ends have the same bits of it.
                if field.prefix.is_none()
                    && site.key.prefix_lengths(source) != site.key.prefix_lengths(destination)
                {
                    return Err(Refusal::NotInKey { field: name.clone() });
                }
                parts.either = Some(parts.either.map_or(side, |either| either.with(&side)));
            }
            "conversation" => {
                if field.prefix.is_some() {
                    return Err(unusable());
                }
                KEY_MEMBERS.iter().try_for_each(|member| site.needs(member))?;
                parts.is_conversation = true;
                parts.plain = KeySpec::FIVE_TUPLE;
            }
            // The same in all rows of a site.
            "node_id" => {}
            member if KEY_MEMBERS.contains(&member) => {
                parts.plain = parts.plain.with(&key_part(field, member, site)?);
            }
            _ if field.prefix.is_some() => return Err(unusable()),
            _ => {
                let node = program.field(&field.field, site)?;
                match program.type_of(node) {
                    Type::Unsigned | Type::Name(_) => parts.extras.push(node),
                    _ => return Err(unusable()),
                }
            }
        }
    }
    match parts.extras.len() {
        ..=MOST_EXTRAS => Ok(parts),
        _ => Err(Refusal::TooManyFields { most: MOST_EXTRAS }),
    }
}

/// Fields of which one contains the other, or that are of different directions.
fn refuse_conflicts(names: &[String]) -> Result<(), Refusal> {
    let has = |name: &str| names.iter().any(|field| field == name);
    for (one, other) in [
        ("addr", "src_addr"),
        ("port", "src_port"),
        ("conversation", "addr"),
        ("conversation", "port"),
        ("conversation", "src_addr"),
        ("conversation", "dst_addr"),
        ("conversation", "src_port"),
        ("conversation", "dst_port"),
        ("conversation", "protocol"),
    ] {
        if has(one) && has(other) {
            return Err(Refusal::Conflict { field: one.to_owned(), other: other.to_owned() });
        }
    }
    match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        Some((_, name)) => Err(Refusal::Conflict { field: name.clone(), other: name.clone() }),
        None => Ok(()),
    }
}
