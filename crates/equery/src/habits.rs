//! SQL syntax that Equery accepts: it is rewritten as the Equery syntax of the same meaning.

use crate::ast::{Expr, ExprNode, From, QueryText, Spanned};
use crate::fields;
use crate::literal::Literal;
use crate::names::is_identifier;

/// Names by which the traffic is called where no query has them.
const TRAFFIC: [&str; 4] = ["flows", "rows", "records", "traffic"];

/// Removes `from flows`, which is what a query reads without it. `is_query`: whether a query has this name.
pub(crate) fn without_table(query: &mut QueryText, is_query: impl Fn(&str) -> bool) {
    let is_traffic = |name: &Spanned<String>| {
        TRAFFIC.iter().any(|known| known.eq_ignore_ascii_case(&name.value)) && !is_query(&name.value)
    };
    if let Some(From::Queries(names)) = query.from.as_ref().map(|from| &from.value)
        && let [name] = &names[..]
        && is_traffic(name)
    {
        query.from = None;
    }
}

/// Reads names of fields in quotes as names, `count(1)` as `count(*)`, and numbers and names of columns in `groupby` as these columns.
pub(crate) fn rewrite_before_names(query: &mut QueryText) {
    let QueryText { select, filter, group, having, order, .. } = query;
    for item in select.iter_mut().flat_map(|select| &mut select.value) {
        unquote(&mut item.value);
        inner(&mut item.value);
    }
    for group in group.iter_mut().flat_map(|group| &mut group.value) {
        unquote(group);
        let items = select.iter().flat_map(|select| &select.value);
        let column = match &*group.value {
            Expr::Literal(Literal::Integer(place)) => {
                let before = usize::try_from(*place).ok().and_then(|place| place.checked_sub(1));
                before.and_then(|before| items.clone().nth(before))
            }
            Expr::Name(name) | Expr::Literal(Literal::Text(name)) if fields::find(name).is_none() => {
                items.clone().find(|item| item.alias.as_ref().is_some_and(|alias| alias.value == *name))
            }
            _ => None,
        };
        // What is no field is reported as what it is.
        if let Some(column) = column {
            group.value = column.value.value.clone();
        }
    }
    let is_column = |name: &str| {
        let mut aliases =
            select.iter().flat_map(|select| &select.value).filter_map(|item| item.alias.as_ref());
        aliases.any(|alias| alias.value == name)
    };
    for item in order.iter_mut().flat_map(|order| &mut order.value) {
        if !matches!(&*item.value.value, Expr::Literal(Literal::Text(name)) if is_column(name)) {
            unquote(&mut item.value);
        }
        inner(&mut item.value);
    }
    for condition in [filter, having].into_iter().flatten() {
        inner(&mut condition.value);
    }
}

/// Reads numbers in `order by` as columns. `columns`: their names.
pub(crate) fn rewrite_after_names(query: &mut QueryText, columns: &[String]) {
    for item in query.order.iter_mut().flat_map(|order| &mut order.value) {
        let Expr::Literal(Literal::Integer(place)) = &*item.value.value else { continue };
        let before = usize::try_from(*place).ok().and_then(|place| place.checked_sub(1));
        if let Some(name) = before.and_then(|before| columns.get(before)) {
            *item.value.value = match is_identifier(name) {
                true => Expr::Name(name.clone()),
                false => Expr::Literal(Literal::Text(name.clone())),
            };
        }
    }
}

/// Replaces a text literal that is the name of a field by that name.
fn unquote(node: &mut ExprNode) {
    if let Expr::Literal(Literal::Text(name)) = &*node.value
        && fields::find(name).is_some()
    {
        *node.value = Expr::Name(name.clone());
    }
}

/// Replaces quoted field names in those parts of an expression where a text literal has no meaning.
fn inner(node: &mut ExprNode) {
    let is_literal = |node: &ExprNode| matches!(&*node.value, Expr::Literal(_));
    match &mut *node.value {
        Expr::Call { function, arguments, .. } => {
            if let ("count", [of]) = (function.as_str(), &mut arguments[..])
                && matches!(&*of.value, Expr::Literal(Literal::Integer(_)))
            {
                *of.value = Expr::Star;
            }
            arguments.iter_mut().for_each(unquote);
        }
        Expr::Arithmetic(left, _, right) => [left, right].into_iter().for_each(unquote),
        Expr::Negative(of) | Expr::Offset(of, _) => unquote(of),
        Expr::Compare(left, _, right) => {
            if is_literal(right) {
                unquote(left);
            }
            if is_literal(left) {
                unquote(right);
            }
        }
        Expr::In { value, .. }
        | Expr::Between { value, .. }
        | Expr::Like { value, .. }
        | Expr::IsNull { value, .. } => unquote(value),
        _ => {}
    }
    node.value.parts().into_iter().for_each(inner);
}
