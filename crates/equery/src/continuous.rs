//! The description of a query for later texts.

use crate::checked::CheckedQuery;
use crate::checker::group_text;
use crate::options::QueryItems;
use task::query::Grouping;

impl QueryItems {
    /// Describes a query for later texts.
    pub fn from_query(query: &CheckedQuery) -> Self {
        let keys = match &query.plan.group {
            Grouping::By(fields) => fields.iter().map(group_text).collect(),
            Grouping::All | Grouping::Flows => Vec::new(),
        };
        let columns = query.columns.iter().map(|column| column.name.clone()).collect();
        Self { name: query.label.clone(), columns, keys, over: Some(query.plan.over) }
    }
}
