//! Writes the schema of the report into `docs/schema`: cargo run -p rfc2544 --example schema

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/rfc2544.json");
    std::fs::write(file, model::schema::text(&rfc2544::schema::report()))
}
