//! Variables of queries on the command line.

/// `NAME=VALUE` of `--set`.
pub fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("'{text}' is not a name and a value, such as K1=10K")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_a_name_and_a_value() {
        assert_eq!(variable("K1=10K"), Ok(("K1".to_owned(), "10K".to_owned())));
        for wrong in ["", "K1", "=1", "K1="] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }
}
