//! Variables of queries on the command line.

/// `NAME=VALUE` of `--set`.
pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a variable is NAME=VALUE, as K1=10K")?;
    match (name.trim(), value.trim()) {
        ("", _) | (_, "") => Err("a variable is NAME=VALUE, as K1=10K".to_owned()),
        (name, value) => Ok((name.to_owned(), value.to_owned())),
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
