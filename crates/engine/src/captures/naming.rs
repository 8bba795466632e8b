//! Names of files.

use super::refusal::NotCaptured;

/// The longest name of a capture, bytes.
const LONGEST: usize = 100;

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

/// A name comes from elsewhere, and becomes a part of a path.
pub(super) fn check(id: &str) -> Result<(), NotCaptured> {
    let is_good = !id.is_empty() && id.len() <= LONGEST && !id.starts_with('.') && id.chars().all(is_plain);
    if is_good { Ok(()) } else { Err(NotCaptured::BadName) }
}

/// The file of a capture at this node, in which letters that are not plain are replaced.
pub(super) fn file(id: &str, node: &str) -> String {
    let node: String =
        node.chars().take(LONGEST).map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    format!("{id}.{node}.pcapng")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        for good in ["e1", "q3-2f_a.1", &"a".repeat(100)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "../x", "a/b", "a\\b", "a b", "ä", "a\0", &"a".repeat(101)] {
            assert_eq!(check(bad), Err(NotCaptured::BadName), "{bad}");
        }
        assert_eq!(file("e1", "../Node 1"), "e1..._Node_1.pcapng");
    }
}
