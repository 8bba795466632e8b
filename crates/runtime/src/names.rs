//! Names of fields as users write them, and what they are taken for.

use packet::KeySpec;

/// Reads `--key`: an error is one line, with the nearest field.
pub fn key(text: &str) -> Result<KeySpec, String> {
    KeySpec::parse(text).map_err(|error| {
        let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
        let fields = || KeySpec::field_names();
        let is_field = |name: &str| fields().any(|field| field == flow::resolve_alias(name));
        let written = text.split(',').map(|item| item.split('/').next().unwrap_or_default().trim());
        let hint = written
            .filter(|name| !is_field(name))
            .find_map(|name| notation::nearest(name, fields()))
            .map_or(String::new(), |nearest| format!(": did you mean {nearest}?"));
        let fields = fields().collect::<Vec<_>>().join(", ");
        format!("{reason}{hint}; fields are {fields}, addresses with prefixes as src_addr/24/64")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_key_is_one_line_with_the_nearest_field() {
        for (text, words) in [
            ("src_adr", &["'src_adr'", "did you mean src_addr?"][..]),
            ("src_addr,dst_prt/8", &["'dst_prt'", "did you mean dst_port?"]),
            ("colour", &["'colour'", "fields are src_addr, dst_addr"]),
            ("src_addr/33", &["'33'", "0 to 32"]),
            ("", &["missing"]),
        ] {
            let line = key(text).expect_err(text);
            assert!(words.iter().all(|word| line.contains(word)) && !line.contains('\n'), "{line}");
        }
        assert_eq!(key("srcip/24,Proto"), KeySpec::parse("src_addr/24,protocol").map_err(|_| String::new()));
    }
}
