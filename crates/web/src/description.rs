//! The description of the interface: `calls.json` has what no type tells (paths, parameters, roles), and what is sent is derived from the
//! types.

use crate::change::Change;
use crate::responses::{
    Acknowledged, Answers, Captures, Checked, DryRun, Error, Events, Invalid, Lagged, LanguageView, Nodes,
    Queries, Session, Silenced, Silences, Stories, StoryNames, WholeStory,
};
use crate::{Installed, Removed};
use model::schema::{generator, name_of, refer, text};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value as Json;

/// The calls of the interface, with a place for the schemas.
const CALLS: &str = include_str!("../calls.json");
const PLACE: &str = "\"schemas\": {}";

/// Returns the description in the terms of OpenAPI 3.1.
pub fn description() -> String {
    let mut schemas = Json::from(definitions());
    refer(&mut schemas, &|reference| format!("#/components/schemas/{}", name_of(reference)));
    // The place is within two objects.
    let schemas = text(&schemas).trim_end().replace('\n', "\n    ");
    CALLS.replacen(PLACE, &format!("\"schemas\": {schemas}"), 1)
}

fn definitions() -> serde_json::Map<String, Json> {
    let mut generator = generator();
    let add: [fn(&mut SchemaGenerator); 25] = [
        add::<Error<'_>>,
        add::<Invalid<'_>>,
        add::<model::view::Status>,
        add::<Nodes<'_>>,
        add::<model::view::now::Now>,
        add::<model::view::unusual::Unusual>,
        add::<Queries<'_>>,
        add::<Installed>,
        add::<Removed>,
        add::<Checked<'_>>,
        add::<LanguageView<'_>>,
        add::<Answers>,
        add::<model::HistoryAnswers>,
        add::<Change>,
        add::<DryRun<'_>>,
        add::<Events>,
        add::<Captures>,
        add::<Stories>,
        add::<StoryNames<'_>>,
        add::<WholeStory<'_>>,
        add::<Acknowledged>,
        add::<Silenced>,
        add::<Silences>,
        add::<Lagged>,
        add::<Session<'_>>,
    ];
    add.iter().for_each(|add| add(&mut generator));
    generator.take_definitions(true)
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}
