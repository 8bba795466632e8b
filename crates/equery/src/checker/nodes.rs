//! Predicates on nodes, which are removed from `where`.

use super::Checker;
use crate::ast::{Expr, ExprNode};
use crate::lexer::shortened;
use crate::literal::Literal;
use crate::names::field_name;
use crate::node_filter::NodeFilter;
use task::query::Comparison;

/// The subjects of a condition: nodes, rows or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    /// The condition does not mention nodes.
    None,
    /// The condition is about nodes alone.
    Only,
    /// The condition is about nodes and about rows.
    Mixed,
}

impl Mention {
    fn joined(self, other: Self) -> Self {
        if self == other { self } else { Self::Mixed }
    }
}

pub(crate) fn is_node(node: &ExprNode) -> bool {
    matches!(&*node.value, Expr::Name(name) if field_name(name) == "node_id")
}

/// Returns the subjects that a condition mentions.
pub(super) fn mention(node: &ExprNode) -> Mention {
    let any_of = |of: &[ExprNode]| of.iter().map(mention).reduce(Mention::joined).unwrap_or(Mention::None);
    let of = |is_node: bool| if is_node { Mention::Only } else { Mention::None };
    match &*node.value {
        Expr::And(all) => any_of(all),
        Expr::Or(any) => any_of(any),
        Expr::Not(inner) => mention(inner),
        Expr::Compare(left, _, right) => of(is_node(left) || is_node(right)),
        Expr::In { value, .. }
        | Expr::Like { value, .. }
        | Expr::IsNull { value, .. }
        | Expr::Between { value, .. } => of(is_node(value)),
        _ => Mention::None,
    }
}

impl Checker<'_, '_> {
    /// A condition on nodes alone.
    pub(super) fn node_filter(&mut self, node: &ExprNode) -> Option<NodeFilter> {
        if self.diagnostics.is_full() {
            return None;
        }
        match &*node.value {
            Expr::And(all) => self.node_filters(all).map(NodeFilter::All),
            Expr::Or(any) => self.node_filters(any).map(NodeFilter::Any),
            Expr::Not(of) => self.node_filter(of).map(|filter| NodeFilter::Not(Box::new(filter))),
            Expr::Compare(left, comparison @ (Comparison::Equal | Comparison::NotEqual), right) => {
                let named = if is_node(left) { right } else { left };
                let filter = NodeFilter::In(vec![self.node_name(named)?]);
                Some(negated(*comparison == Comparison::NotEqual, filter))
            }
            Expr::In { list, negated: is_negated, .. } => {
                let names: Vec<_> = list.iter().map(|node| self.node_name(node)).collect();
                let names = names.into_iter().collect::<Option<Vec<_>>>()?;
                Some(negated(*is_negated, NodeFilter::In(names)))
            }
            Expr::Like { pattern, negated: is_negated, .. } => {
                let pattern = self.pattern(pattern)?;
                Some(negated(*is_negated, NodeFilter::Like(pattern)))
            }
            _ => {
                let message = "nodes are selected by node_id with =, !=, in, not in, like and not like";
                self.diagnostics.error("node_predicate", &node.span, message);
                None
            }
        }
    }

    fn node_filters(&mut self, of: &[ExprNode]) -> Option<Vec<NodeFilter>> {
        let filters: Vec<_> = of.iter().map(|node| self.node_filter(node)).collect();
        filters.into_iter().collect()
    }

    fn node_name(&mut self, node: &ExprNode) -> Option<String> {
        let name = match &*node.value {
            Expr::Literal(Literal::Text(name)) => Some(name.clone()),
            Expr::Name(name) => match self.variables.get(name) {
                None => Some(name.clone()),
                Some(meaning) => {
                    self.expand(meaning.size(), &node.span)?;
                    meaning.text()
                }
            },
            _ => None,
        };
        let Some(name) = name else {
            let text = shortened(&node.value.to_string());
            let message = format!("expected the name of a node, but found {text}");
            let help = "a name that is not an identifier stands in quotes: node_id = \"probe-1.example.net\"";
            self.diagnostics.error_with_help("node_name", &node.span, message, help);
            return None;
        };
        self.check_known(&name, node)?;
        Some(name)
    }

    fn check_known(&mut self, name: &str, node: &ExprNode) -> Option<()> {
        let Some(known) = &self.options.known_nodes else { return Some(()) };
        if known.iter().any(|known| known == name) {
            return Some(());
        }
        let listed: Vec<_> = known.iter().take(20).map(String::as_str).collect();
        let more = if known.len() > listed.len() {
            format!(" and {} more", known.len() - listed.len())
        } else {
            String::new()
        };
        let near = crate::names::nearest(name, known.iter().map(String::as_str));
        let near = near.map(|near| format!("'{near}' may be meant; ")).unwrap_or_default();
        let message = format!("there is no node '{}'", shortened(name));
        let help = format!(
            "{near}nodes are {}{more}",
            if known.is_empty() { "none".to_owned() } else { listed.join(", ") }
        );
        self.diagnostics.error_with_help("unknown_node", &node.span, message, help);
        None
    }

    /// Reports a condition that is about both.
    pub(super) fn refuse_mixed_nodes(&mut self, node: &ExprNode) {
        let message = "a condition on node_id is joined with others by 'or' or 'not': which nodes the query runs on would depend on rows";
        let help = "join conditions on node_id with 'and', or write a query for each case";
        self.diagnostics.error_with_help("inseparable_node", &node.span, message, help);
    }
}

fn negated(is_negated: bool, filter: NodeFilter) -> NodeFilter {
    if is_negated { NodeFilter::Not(Box::new(filter)) } else { filter }
}
