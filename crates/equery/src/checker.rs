//! The meaning of a tree: names resolved, types and units checked, a plan made.

mod aggregates;
mod conditions;
mod derived;
mod earlier;
mod nodes;
mod of_sql;
mod queries;
mod say;
mod triggers;
mod values;

use crate::ast::{QueryText, Spanned};
use crate::checked::NotRun;
use crate::constant::LiteralMismatch;
use crate::diagnostic::Diagnostics;
use crate::earlier::EarlierReference;
use crate::kind::ValueKind;
use crate::options::CheckOptions;
use crate::parents::Parents;
use crate::variables::Variables;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use task::query::{Expression, GroupField};

pub(crate) use aggregates::{functions, is_aggregate};
pub(crate) use derived::{derived, sources};
pub(crate) use earlier::check_earlier_windows;
pub(crate) use nodes::is_node;
pub(crate) use queries::{Outline, outline};
pub(crate) use say::concerns;
pub(crate) use triggers::{Links, finish};
pub(crate) use values::group_text;

/// The state of the check of one query, and the needs of the query that were found.
pub(crate) struct Checker<'a, 't> {
    pub(crate) diagnostics: &'a mut Diagnostics<'t>,
    pub(crate) variables: &'a Variables,
    pub(crate) options: &'a CheckOptions,
    pub(crate) parents: &'a Parents,
    pub(crate) used: QueryNeeds,
    /// The queries that the query reads.
    pub(crate) sources: &'a [Spanned<String>],
    /// Bytes of the text that stand in the place of names.
    pub(crate) expanded: usize,
    /// Values of which another part of an `or` keeps the nulls.
    pub(crate) kept_nulls: Vec<String>,
    /// The query that is checked, if it reads traffic.
    pub(crate) query: Option<QueryText>,
}

/// Bytes of the text that may stand in the place of names of one query: a short text must not become a large plan.
const MOST_EXPANDED: usize = 1 << 20;

/// The needs of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryNeeds {
    /// The parts of rows that it reads.
    pub(crate) parts: flow::TrackedParts,
    /// Fields that need geographic databases.
    pub(crate) of_geo: BTreeSet<String>,
    /// Statistics of packets that rows do not have by themselves, each where it stands first.
    pub(crate) of_packets: BTreeMap<String, Range<usize>>,
    /// Values of earlier windows, each where it stands first.
    pub(crate) earlier: Vec<(EarlierReference, Range<usize>)>,
    pub(crate) not_run: Vec<NotRun>,
}

/// The place of an expression, which decides what names mean in it.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) context: Context,
    pub(crate) groups: &'a [GroupField],
    pub(crate) columns: &'a QueryColumns,
}

/// The kind of place of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// The condition of `where`, about a row.
    Rows,
    /// The argument of an aggregate, about a row.
    Aggregate,
    /// A value of a query without groups, about a flow.
    Flows,
    /// A value of a query with groups, about a group.
    Groups,
    /// A value of a query that aggregates without groups, about the one group of all rows.
    Total,
    /// The condition of `when`, about another query's answer.
    Events,
    /// A value of a query that reads other queries.
    Derived,
}

/// A value with its type.
#[derive(Clone, Debug)]
pub(crate) struct TypedExpression {
    pub(crate) value: Expression,
    pub(crate) kind: ValueKind,
    /// Rows may lack it.
    pub(crate) is_nullable: bool,
}

/// The columns of a query, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryColumns {
    pub(crate) list: Vec<(String, TypedExpression)>,
    index: HashMap<String, usize>,
    sizes: Vec<usize>,
}

impl QueryColumns {
    /// Adds a column whose text has this length in bytes; false if the query has a column of this name.
    pub(crate) fn add(&mut self, name: String, value: TypedExpression, size: usize) -> bool {
        self.sizes.push(size);
        let is_new = self.index.insert(name.clone(), self.list.len()).is_none();
        self.list.push((name, value));
        is_new
    }

    pub(crate) fn get(&self, name: &str) -> Option<&TypedExpression> {
        self.index.get(name).map(|at| &self.list[*at].1)
    }

    /// The bytes of a column's text.
    pub(crate) fn size(&self, name: &str) -> usize {
        self.index.get(name).map_or(0, |at| self.sizes[*at])
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|(name, _)| name.as_str())
    }
}

impl Checker<'_, '_> {
    /// A checker of the same query, whose findings are apart.
    fn apart<'b, 't>(&'b self, diagnostics: &'b mut Diagnostics<'t>) -> Checker<'b, 't> {
        Checker {
            diagnostics,
            variables: self.variables,
            options: self.options,
            parents: self.parents,
            used: QueryNeeds::default(),
            sources: self.sources,
            expanded: self.expanded,
            kept_nulls: Vec::new(),
            query: None,
        }
    }

    /// Reports why a literal does not fit.
    fn unfit(&mut self, span: &Range<usize>, unfit: LiteralMismatch) {
        match unfit.help {
            Some(help) => self.diagnostics.error_with_help("type", span, unfit.message, help),
            None => self.diagnostics.error("type", span, unfit.message),
        }
    }

    /// Counts what stands in the place of a name; an error where that becomes too much.
    fn expand(&mut self, size: usize, span: &Range<usize>) -> Option<()> {
        let before = self.expanded;
        self.expanded += size;
        if self.expanded <= MOST_EXPANDED {
            return Some(());
        }
        if before <= MOST_EXPANDED {
            self.diagnostics.error(
                "too_large",
                span,
                "names stand for more than 1 MiB of text in this query",
            );
        }
        None
    }

    /// Notes that a clause is not run by this version.
    fn report_not_run<T>(&mut self, clause: &'static str, reason: &'static str, at: &Spanned<T>) {
        self.used.not_run.push(NotRun {
            clause: clause.to_owned(),
            reason: reason.to_owned(),
            span: at.span.clone(),
        });
    }
}
