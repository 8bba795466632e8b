//! What a query says of its firing (`say`): the columns that its text names.

use super::Checker;
use crate::ast::{Expr, ExprNode, QueryText, SayPart, Spanned};
use crate::checked::{FieldBinding, SaidPart};
use crate::lexer::shortened;
use crate::names::{field_name, nearest};

/// Columns in one title.
const MOST_COLUMNS: usize = 16;
/// Columns that an error lists.
const MOST_LISTED: usize = 20;

/// Returns whether a condition is about what the answers of a query of this name have.
pub(crate) fn concerns(condition: &ExprNode, name: &str) -> bool {
    condition.value.any(|part| matches!(part, Expr::Of(query, _) if query.value == name))
}

impl Checker<'_, '_> {
    /// The title of what fires, of which each name is a column of the queries whose answers fire, or what they pin, or `node`. `label`: the name of
    /// the query. `None` where there is none, or it has an error.
    pub(super) fn say(
        &mut self,
        query: &QueryText,
        label: &str,
        bindings: &[FieldBinding],
    ) -> Option<Vec<SaidPart>> {
        let say = query.say.as_ref()?;
        // A query that is not there is an error of the condition.
        let is_unknown =
            |part: &Expr| matches!(part, Expr::Of(query, _) if !self.parents.contains_key(&query.value));
        let names_unknown =
            query.trigger.as_ref().is_some_and(|trigger| trigger.value.condition.value.any(is_unknown));
        let mut judged: Vec<String> = match &query.trigger {
            None => vec![label.to_owned()],
            Some(trigger) => {
                let parents = self.parents.keys();
                parents.filter(|name| concerns(&trigger.value.condition, name)).cloned().collect()
            }
        };
        judged.sort();
        let names = say.value.parts.iter().filter(|part| matches!(part, SayPart::Name(_))).count();
        if names > MOST_COLUMNS {
            let message = format!("the text of say has {names} columns: at most {MOST_COLUMNS}");
            self.diagnostics.error("say", &say.span, message);
            return None;
        }
        // Each is looked up, so that each reports its error.
        let part = |part: &SayPart| match part {
            SayPart::Text(text) => Some(SaidPart::Text(text.clone())),
            SayPart::Name(name) => self.said(name, (&judged, names_unknown), bindings),
        };
        let parts: Vec<Option<SaidPart>> = say.value.parts.iter().map(part).collect();
        parts.into_iter().collect()
    }

    /// The meaning of a name in a title. `judged`: the queries whose answers fire, and whether the condition also names queries that are not there.
    fn said(
        &mut self,
        name: &Spanned<String>,
        (judged, names_unknown): (&[String], bool),
        bindings: &[FieldBinding],
    ) -> Option<SaidPart> {
        let (text, canonical) = (name.value.as_str(), field_name(&name.value));
        let parents: Vec<_> = judged.iter().filter_map(|of| Some((of, self.parents.get(of)?))).collect();
        let item =
            |query: &str, item: &str| SaidPart::Item { query: query.to_owned(), item: item.to_owned() };
        for (query, parent) in &parents {
            let Some(own) = text.strip_prefix(query.as_str()).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            for own in [own, field_name(own)] {
                if !parent.is_known || parent.item(own).is_some() {
                    return Some(item(query, own));
                }
            }
        }
        for own in [text, canonical] {
            let has_it = |(_, parent): &&(&String, &crate::parents::Parent)| parent.item(own).is_some();
            let of: Vec<_> = parents.iter().filter(has_it).collect();
            // A member of the key that all have is the same in all.
            let is_key = of.iter().all(|(_, parent)| parent.keys.iter().any(|key| key == own));
            match &of[..] {
                [] => {}
                [first] => return Some(item(first.0, own)),
                [first, ..] if is_key => return Some(item(first.0, own)),
                [first, second, ..] => {
                    let message = format!("'{}' is of {} and of {}", shortened(text), first.0, second.0);
                    let help = format!("write '{{{}.{}}}'", first.0, shortened(own));
                    self.diagnostics.error_with_help("say", &name.span, message, help);
                    return None;
                }
            }
        }
        if matches!(canonical, "node" | "node_id") {
            return Some(SaidPart::Node);
        }
        if let Some(bound) = bindings.iter().find(|bound| bound.field == canonical) {
            return Some(item(&bound.parent, &bound.item));
        }
        // What has errors is reported already.
        if parents.iter().any(|(_, parent)| !parent.is_known) || names_unknown {
            return None;
        }
        let names: Vec<&str> = parents
            .iter()
            .flat_map(|(_, parent)| parent.items.iter().map(|(name, _)| name.as_str()))
            .chain(bindings.iter().map(|bound| bound.field.as_str()))
            .chain(["node"])
            .collect();
        let near = nearest(canonical, names.iter().copied());
        let near = near.map(|near| format!("'{near}' may be meant; ")).unwrap_or_default();
        let listed = names.iter().take(MOST_LISTED).copied().collect::<Vec<_>>().join(", ");
        let message = format!("what fires has no column '{}'", shortened(text));
        let help = format!("{near}its columns are {listed}");
        self.diagnostics.error_with_help("say", &name.span, message, help);
        None
    }
}
