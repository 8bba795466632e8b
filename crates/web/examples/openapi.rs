//! Writes the description of the interface: cargo run -p web --example openapi

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    std::fs::write(file, web::description::description())
}
