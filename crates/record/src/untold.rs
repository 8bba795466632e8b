//! Values that packets and records did not tell, in metadata: a JSON object of the numbers that are not 0, by their names.

use flow::Untold;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Writes the object.
pub(crate) fn serialize<S: Serializer>(untold: &Untold, serializer: S) -> Result<S::Ok, S::Error> {
    untold.named().into_iter().collect::<BTreeMap<_, _>>().serialize(serializer)
}

/// Reads the object. Names that are not known are passed over.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Untold, D::Error> {
    let named = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let mut untold = Untold::default();
    for (name, count) in named {
        let _ = untold.add_named(&name, count);
    }
    Ok(untold)
}

/// Returns the object as text.
pub(crate) fn to_text(untold: &Untold) -> String {
    serialize(untold, serde_json::value::Serializer).unwrap_or_default().to_string()
}

/// Reads the object of a text; one that is none tells nothing.
pub(crate) fn parse_text(text: &str) -> Untold {
    deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap_or_default()
}
