//! Values of earlier windows: `prev(x)`, `avg_over(x, D)`, `x offset D`.

use super::{Checker, Context, Scope, TypedExpression};
use crate::ast::ExprNode;
use crate::earlier::{EarlierReference, EarlierWindows, MOST_WINDOWS};
use crate::lexer::shortened;
use crate::literal::duration_text;
use task::query::{Expression, Over};

/// Values of earlier windows in one query.
const MOST_EARLIER: usize = 256;

impl Checker<'_, '_> {
    /// Returns the value that a group had in earlier windows.
    pub(super) fn earlier(
        &mut self,
        of: &ExprNode,
        windows: EarlierWindows,
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<TypedExpression> {
        self.check_earlier_place(node, scope)?;
        let typed = self.value(of, scope)?;
        self.check_number(&typed, of)?;
        if matches!(windows, EarlierWindows::MeanOver(_)) && self.has_mean(&typed.value) {
            let message = "avg_over is within an avg_over: means of means are not kept";
            self.diagnostics.error("nested_mean", &node.span, message);
            return None;
        }
        let mut field = node.value.to_string();
        let earlier =
            |field: &str| EarlierReference { field: field.to_owned(), of: typed.value.clone(), windows };
        while self.used.earlier.iter().any(|(known, _)| known.field == field && *known != earlier(&field)) {
            field.push('\'');
        }
        let earlier = earlier(&field);
        if !self.used.earlier.iter().any(|(known, _)| *known == earlier) {
            if self.used.earlier.len() == MOST_EARLIER {
                let message = format!("a query reads at most {MOST_EARLIER} values of earlier windows");
                self.diagnostics.error("too_many_earlier", &node.span, message);
                return None;
            }
            self.used.earlier.push((earlier, node.span.clone()));
        }
        Some(TypedExpression { value: Expression::Field(field), is_nullable: true, ..typed })
    }

    /// Refuses values of earlier windows where rows are read: earlier windows have groups, not rows.
    fn check_earlier_place(&mut self, node: &ExprNode, scope: Scope<'_>) -> Option<()> {
        let text = shortened(&node.value.to_string()).to_string();
        let (message, help) = match scope.context {
            Context::Groups | Context::Total | Context::Derived => return Some(()),
            Context::Rows => (
                format!("'{text}' is of groups, and where filters rows before they are grouped"),
                "use having".to_owned(),
            ),
            Context::Aggregate => (
                format!("'{text}' is of groups, and an aggregate is of rows"),
                "aggregate first, as in prev(sum(total_byte))".to_owned(),
            ),
            Context::Flows => (
                format!("'{text}' is of groups, but the query is of flows"),
                "add groupby, and aggregate".to_owned(),
            ),
            Context::Events => (
                format!("'{text}' is no item of a query"),
                "select it in that query under a name, and compare the name".to_owned(),
            ),
        };
        self.diagnostics.error_with_help("earlier_place", &node.span, message, help);
        None
    }

    /// Returns true if a value has a mean of earlier windows in it.
    fn has_mean(&self, value: &Expression) -> bool {
        match value {
            Expression::Field(name) => self.used.earlier.iter().any(|(earlier, _)| {
                let is_mean = matches!(earlier.windows, EarlierWindows::MeanOver(_));
                earlier.field == *name && (is_mean || self.has_mean(&earlier.of))
            }),
            Expression::Arithmetic(left, _, right) => self.has_mean(left) || self.has_mean(right),
            _ => false,
        }
    }

    /// Checks that earlier windows are windows of the query, where their length is known.
    pub(super) fn check_earlier_lengths(&mut self, over: Over) {
        let every_ns = match (over, self.options.base_window_ns) {
            (Over::Windows { every_ns, .. }, _) | (_, Some(every_ns)) => every_ns,
            _ => return,
        };
        for (EarlierReference { windows, .. }, span) in &self.used.earlier {
            if let Err((message, help)) = check_earlier_windows(*windows, every_ns.max(1)) {
                self.diagnostics.error_with_help("earlier_windows", span, message, help);
            }
        }
    }
}

/// Refuses earlier windows that are no windows of a query that answers so often.
///
/// # Errors
/// The reason, and what to do.
pub(crate) fn check_earlier_windows(windows: EarlierWindows, every_ns: u64) -> Result<(), (String, String)> {
    let text = duration_text;
    match windows {
        EarlierWindows::Offset(ns) if ns == 0 || !ns.is_multiple_of(every_ns) => Err((
            format!("offset {} is no multiple of the query's windows of {}", text(ns), text(every_ns)),
            "no window ended then; choose a multiple".to_owned(),
        )),
        EarlierWindows::MeanOver(ns) if ns < every_ns => Err((
            format!("avg_over is over {}, less than a window, which is {} long", text(ns), text(every_ns)),
            "choose a time of several windows".to_owned(),
        )),
        EarlierWindows::MeanOver(ns) if ns / every_ns > MOST_WINDOWS => Err((
            format!("avg_over is over {} windows: at most {MOST_WINDOWS}", ns / every_ns),
            "choose a shorter time, or longer windows".to_owned(),
        )),
        _ => Ok(()),
    }
}
