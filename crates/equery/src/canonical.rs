//! Names of fields as the canonical text has them: a name in any spelling becomes the field's own, except where a column, a query's
//! item or a node has that name.

use crate::ast::{Expr, ExprNode, QueryText};
use crate::checker::{is_aggregate, is_node};
use crate::habits;
use crate::names::field_name;
use crate::parents::Parents;
use std::collections::HashMap;

/// The columns that names may mean: each with the field that it is, where it is nothing else.
type ColumnFields = HashMap<String, Option<String>>;

/// Gives the fields of a query their own names.
pub(crate) fn name_fields(query: &mut QueryText) {
    let none = ColumnFields::new();
    habits::rewrite_before_names(query);
    let QueryText { select, filter, group, having, order, .. } = query;
    let mut columns = ColumnFields::new();
    let mut names = Vec::new();
    for item in select.iter_mut().flat_map(|select| &mut select.value) {
        fields_in(&mut item.value, &none);
        let name = match &item.alias {
            Some(alias) => alias.value.clone(),
            None => item.value.value.to_string(),
        };
        let field = match &*item.value.value {
            Expr::Name(field) => Some(field.clone()),
            _ => None,
        };
        names.push(name.clone());
        columns.entry(name).or_insert(field);
    }
    filter.iter_mut().for_each(|filter| fields_in(&mut filter.value, &none));
    group.iter_mut().flat_map(|group| &mut group.value).for_each(|field| fields_in(field, &none));
    having.iter_mut().for_each(|having| fields_in(&mut having.value, &columns));
    order.iter_mut().flat_map(|order| &mut order.value).for_each(|item| fields_in(&mut item.value, &columns));
    habits::rewrite_after_names(query, &names);
}

/// Gives items of other queries, which may be columns or fields, the names that these queries have for them.
pub(crate) fn name_items(query: &mut QueryText, parents: &Parents) {
    let QueryText { select, filter, having, order, trigger, .. } = query;
    let select = select.iter_mut().flat_map(|select| &mut select.value).map(|item| &mut item.value);
    let conditions = [filter, having].into_iter().flatten().map(|condition| &mut condition.value);
    let order = order.iter_mut().flat_map(|order| &mut order.value).map(|item| &mut item.value);
    let triggers = trigger.iter_mut().flat_map(|trigger| {
        std::iter::once(&mut trigger.value.condition).chain(trigger.value.until.as_mut())
    });
    select.chain(conditions).chain(order).chain(triggers).for_each(|node| items_in(node, parents));
}

/// The field's own name, in lower case where it is a statistic of packets.
fn own_name(name: &str) -> String {
    if crate::names::statistic(name).is_some() {
        return name.to_ascii_lowercase();
    }
    field_name(name).to_owned()
}

fn fields_in(node: &mut ExprNode, columns: &ColumnFields) {
    let none = ColumnFields::new();
    match &mut *node.value {
        Expr::Name(name) => {
            let own = own_name(name);
            let is_free = columns.get(&own).is_none_or(|field| field.as_ref() == Some(&own));
            if !columns.contains_key(name) && is_free {
                *name = own;
            }
        }
        Expr::Prefixed(name, _) => *name = own_name(name),
        // Whose item it is, is not known yet.
        Expr::Of(..) => {}
        Expr::Call { function, arguments, .. } => {
            let columns = if is_aggregate(function) { &none } else { columns };
            arguments.iter_mut().for_each(|argument| fields_in(argument, columns));
        }
        // Names of nodes.
        Expr::Compare(left, _, right) if is_node(left) || is_node(right) => {
            [left, right].into_iter().filter(|side| is_node(side)).for_each(|side| fields_in(side, columns));
        }
        Expr::In { value, .. } | Expr::Like { value, .. } if is_node(value) => fields_in(value, columns),
        expression => expression.parts().into_iter().for_each(|part| fields_in(part, columns)),
    }
}

fn items_in(node: &mut ExprNode, parents: &Parents) {
    match &mut *node.value {
        Expr::Of(query, item) => {
            let known = parents.get(&query.value).filter(|parent| parent.is_known);
            match &mut *item.value {
                Expr::Name(name) if known.is_some_and(|parent| parent.item(name).is_some()) => {}
                _ => fields_in(item, &ColumnFields::new()),
            }
        }
        expression => expression.parts().into_iter().for_each(|part| items_in(part, parents)),
    }
}
