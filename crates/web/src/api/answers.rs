//! Answers.

use super::{App, ask, csv};
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use crate::responses::Answers;
use archive::Listing;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use model::Answer;
use std::sync::Arc;

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    let parameters = Parameters::read(&uri, &["query", "node", "since", "until", "limit", "rows", "format"])?;
    let filter = parameters.answer_filter()?;
    let rows = parameters.read_as("rows", notation::count)?;
    let rows = rows.map_or(usize::MAX, |rows| usize::try_from(rows).unwrap_or(usize::MAX));
    let is_csv = match parameters.text("format") {
        None | Some("json") => false,
        Some("csv") => true,
        Some(other) => return Err(ApiFailure::bad(format!("format: {other:?} is not json or csv"))),
    };
    if is_csv && filter.query.is_none() {
        return Err(ApiFailure::bad("query: a table has the columns of one query, name it"));
    }
    let write = move |listing: Listing<Answer>| {
        let Listing { items: mut answers, is_cut: cut } = listing;
        for answer in &mut answers {
            answer.list(rows);
        }
        match is_csv {
            true => csv::write(&answers).map_err(ApiFailure::internal),
            false => Ok(serde_json::to_vec(&Answers { answers, cut })?),
        }
    };
    let body = ask(&app, move |archive| archive.answers(&filter), write).await?;
    Ok(match is_csv {
        true => {
            let kind = HeaderValue::from_static("text/csv; charset=utf-8; header=present");
            ([(header::CONTENT_TYPE, kind)], body).into_response()
        }
        false => json_response(StatusCode::OK, body),
    })
}
