//! What later texts may know of a query.

use crate::checked::CheckedQuery;
use crate::options::Standing;
use task::query::Grouping;

impl Standing {
    /// What later texts may know of a query.
    pub fn of(query: &CheckedQuery) -> Self {
        let keys = match &query.plan.group {
            Grouping::By(fields) => fields.iter().map(|field| field.field.clone()).collect(),
            Grouping::All | Grouping::Flows => Vec::new(),
        };
        let columns = query.columns.iter().map(|column| column.name.clone()).collect();
        Self { name: query.label.clone(), columns, keys }
    }
}
