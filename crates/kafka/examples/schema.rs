//! Writes the schema of messages into `docs/schema`: cargo run -p kafka --example schema

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/kafka.json");
    std::fs::write(file, model::schema::text(&kafka::schema::message()))
}
