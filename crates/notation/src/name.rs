//! The most likely meaning of a misspelt name.

/// The candidate nearest to `name`, whatever its case; the first one of several. `None` if none is near: more
/// than a third of the letters differ (Damerau-Levenshtein distance), and no candidate contains the name.
///
/// ```
/// use notation::nearest;
///
/// assert_eq!(nearest("flow", ["packets", "flows"]), Some("flows"));
/// assert_eq!(nearest("TTL", ["ip_tos", "ip_ttl"]), Some("ip_ttl"));
/// assert_eq!(nearest("colour", ["packets", "flows"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance takes time by the product of both lengths, and names come from strangers.
    if name.len() > MOST_NAME {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let is_near = |distance: usize, candidate: &str| {
        let longer = name.chars().count().max(candidate.chars().count());
        distance <= longer / 3 || (name.len() >= LEAST_PART && candidate.contains(&name))
    };
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name, candidate), candidate))
        .filter(|(distance, candidate)| is_near(*distance, candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A shorter part occurs in too many names to identify one.
const LEAST_PART: usize = 3;

/// No name is nearly as long, in bytes.
const MOST_NAME: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_letters_may_differ() {
        let names = ["rate", "queues", "arrivals", "ring"];
        assert_eq!(nearest("rat", names), Some("rate"));
        assert_eq!(nearest("arivalls", names), Some("arrivals"));
        assert_eq!(nearest("Queue", names), Some("queues"));
        for far in ["", "r", "in", "xyzzyqqqqq", "colour", "raten't"] {
            assert_eq!(nearest(far, names), None, "{far}");
        }
        assert_eq!(nearest("lossyhop", ["lossy", "hops"]), None);
        assert_eq!(nearest(&"rate".repeat(1_000_000), names), None);
    }

    #[test]
    fn of_equally_near_names_the_first_is_meant() {
        assert_eq!(nearest("cap", ["cat", "car"]), Some("cat"));
        assert_eq!(nearest("byte", ["total_byte", "wire_byte"]), Some("wire_byte"));
    }
}
