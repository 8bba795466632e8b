//! Values of whole flows in the place of those of their packets.

use crate::ast::{Expr, ExprNode};
use flow::Field;

/// The call itself, and the same of the values that each flow has, where packets of a flow may differ in a field.
pub(crate) fn expand_to_whole_flows(call: ExprNode) -> Vec<ExprNode> {
    let of_flows = replace_by_whole_flows(&call);
    if of_flows == call { vec![call] } else { vec![call, of_flows] }
}

/// The expression with the values of whole flows in the place of those of packets.
pub(crate) fn replace_by_whole_flows(node: &ExprNode) -> ExprNode {
    let mut node = node.clone();
    replace(&mut node);
    return node;

    fn replace(node: &mut ExprNode) {
        if let Expr::Name(name) = &mut *node.value
            && let Some(of_flow) = whole_flow_field(name)
        {
            *name = of_flow.to_owned();
        }
        node.value.parts().into_iter().for_each(replace);
    }
}

/// The field that whole flows have of one in which their packets may differ.
fn whole_flow_field(name: &str) -> Option<&'static str> {
    Field::named(flow::resolve_alias(name)).and_then(|field| field.of_flow)
}
