//! Encodes any text as a part of an address or as the name of a label.

use std::fmt::Write;

/// A text as a part of a URL's path or query, percent-encoded (RFC 3986, section 2.1).
pub fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte.into()),
            // Writing to a text cannot fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

/// A text as the name of a label of Prometheus and Alertmanager, which has letters, digits and `_`. A name that begins with a digit needs a
/// prefix.
pub fn label_name(text: &str) -> String {
    text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_path_has_no_separators() {
        assert_eq!(encoded("q1_x-~.Z"), "q1_x-~.Z");
        assert_eq!(encoded("a/b?c ü"), "a%2Fb%3Fc%20%C3%BC");
        assert_eq!(label_name("sum(a)\"ü1"), "sum_a___1");
    }
}
