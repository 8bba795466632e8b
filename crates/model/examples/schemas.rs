//! Writes the schemas of answers, events and reports into `docs/schema`: cargo run -p model --example schemas

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for (name, schema) in [("answer.json", model::schema::answer()), ("report.json", model::schema::report())]
    {
        std::fs::write(folder.join(name), model::schema::text(&schema))?;
    }
    Ok(())
}
