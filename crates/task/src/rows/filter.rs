//! A condition on rows, by itself.

use super::evaluate::Evaluation;
use super::program::{NodeId, RowProgram};
use crate::plan_context::PlanContext;
use crate::query::Condition;
use crate::row_refusal::Refusal;
use flow::{RowBatch, RowValue, Rows};
use packet::MaskedKey;

/// A condition on rows, ready for those of a site.
#[derive(Clone, Debug)]
pub(crate) struct RowFilter {
    program: RowProgram,
    condition: NodeId,
    columns: Vec<RowValue>,
}

impl RowFilter {
    /// Prepares a condition.
    ///
    /// # Errors
    /// Returns why rows cannot be tested.
    pub(crate) fn new(condition: &Condition, site: &PlanContext) -> Result<Self, Refusal> {
        let mut program = RowProgram::default();
        let condition = program.condition(condition, site)?;
        let columns = program.columns().collect();
        Ok(Self { program, condition, columns })
    }

    /// The rows for which it is true, without losses.
    pub(crate) fn selected<K: MaskedKey>(&self, rows: &Rows<K>) -> Rows<K> {
        let mut batch = RowBatch::default();
        batch.fill(rows, &self.columns);
        let mut selected = Vec::new();
        Evaluation::new(&self.program, &batch).select(self.condition, &mut selected);
        let mut found = Rows::default();
        found.rows.extend(selected.iter().map(|at| rows.rows[*at as usize]));
        found
    }
}
