//! Parallel designs as values: which threads receive, which count, and on which cores.
//!
//! Sources: Wu et al. 2016, section 3.1 (RSS, SYNC, ASYNC); Wu et al. 2019 ("Edison"), section II.B (clusters of a
//! queue and its workers); Zhang et al. 2019 ("FloWatcher"), section III (pipeline, run to completion).

use std::fmt;
use std::str::FromStr;

/// The design by which the work is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Every core receives from its own queues and counts what it received.
    Rss,
    /// The design with one core that receives; the others count a burst before the next one is received.
    Sync,
    /// The design with one core that receives and hands whole bursts through a ring to each of the others.
    Async,
    /// Two cores: one receives, one counts.
    Pipeline,
    /// The design with one core that receives some bursts, then counts them.
    Cooperative,
    /// Clusters: each of this many queues with this many workers.
    Clusters {
        /// Receivers, each with at least one queue.
        queues: usize,
        /// Workers of each.
        workers: usize,
    },
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rss => f.write_str("rss"),
            Self::Sync => f.write_str("sync"),
            Self::Async => f.write_str("async"),
            Self::Pipeline => f.write_str("pipeline"),
            Self::Cooperative => f.write_str("cooperative"),
            Self::Clusters { queues, workers } => write!(f, "{queues}x{workers}"),
        }
    }
}

impl FromStr for Design {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "rss" => return Ok(Self::Rss),
            "sync" => return Ok(Self::Sync),
            "async" => return Ok(Self::Async),
            "pipeline" => return Ok(Self::Pipeline),
            "cooperative" => return Ok(Self::Cooperative),
            _ => {}
        }
        let numbers = text.split_once('x').and_then(|(queues, workers)| {
            Some((queues.parse::<usize>().ok()?, workers.parse::<usize>().ok()?))
        });
        match numbers {
            Some((queues @ 1..=MOST_THREADS, workers @ 1..=MOST_THREADS))
                if queues * (1 + workers) <= MOST_THREADS =>
            {
                Ok(Self::Clusters { queues, workers })
            }
            Some(_) => Err(format!(
                "a design of clusters has 1 to {MOST_THREADS} threads: receivers and their workers"
            )),
            None => {
                Err("a design is rss, sync, async, pipeline, cooperative, or NxM: N queues with M workers \
                         each"
                    .to_owned())
            }
        }
    }
}

/// The rule by which a receiver chooses the worker that gets a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// The split by the hash of a packet's key: a flow stays on one core (Wu et al. 2019).
    #[default]
    Hash,
    /// The split by a packet's place in the burst, of which each worker gets a portion in turn (Wu et al. 2016, Algorithms 1 and 2).
    Position,
}

impl Split {
    /// Returns which of this many workers gets a packet with this hash.
    #[inline(always)]
    pub fn by_hash(hash: u64, workers: usize) -> usize {
        // The high half of a product depends on all bits of the hash, some of which the tables use directly.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((mixed * workers as u64) >> 32) as usize
    }

    /// Returns which worker gets a packet with this hash where the first `in_use` of this many workers get packets: the flows of the others
    /// are spread over these, and those that are on one of them stay there (a chain of hashes, of which the first one counts that leads to a
    /// worker in use).
    #[inline(always)]
    pub fn by_hash_among(hash: u64, workers: usize, in_use: usize) -> usize {
        let worker = Self::by_hash(hash, workers);
        if worker < in_use { worker } else { Self::next_by_hash(hash, workers, in_use) }
    }

    fn next_by_hash(mut hash: u64, workers: usize, in_use: usize) -> usize {
        /// The longest chain: with one of 128 workers in use, a chain is longer in one flow of 3,000.
        const LONGEST: usize = 1024;
        for _ in 0..LONGEST {
            // SplitMix64.
            hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = hash;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let worker = Self::by_hash(mixed ^ (mixed >> 31), workers);
            if worker < in_use {
                return worker;
            }
        }
        Self::by_hash(hash, in_use)
    }

    /// Returns which of this many workers gets the packet at this place of a burst of `packets`. Portions are as even as possible; the first
    /// one is for the worker whose `turn` it is.
    #[inline(always)]
    pub fn by_position(at: usize, packets: usize, turn: usize, workers: usize) -> usize {
        (turn + at * workers / packets) % workers
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hash => "hash",
            Self::Position => "position",
        })
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "hash" => Ok(Self::Hash),
            "position" => Ok(Self::Position),
            _ => Err("packets are split by hash or by position".to_owned()),
        }
    }
}

/// The place where flows are kept (Wu et al. 2016, section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatePlacement {
    /// The state of each core separately.
    #[default]
    Separate,
    /// The state in one place that all cores update.
    Shared,
}

impl fmt::Display for StatePlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Separate => "separate",
            Self::Shared => "shared",
        })
    }
}

impl FromStr for StatePlacement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "separate" => Ok(Self::Separate),
            "shared" => Ok(Self::Shared),
            _ => Err("state is separate or shared".to_owned()),
        }
    }
}

/// Threads of one run.
const MOST_THREADS: usize = 1024;

/// Cores that a run may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cores {
    /// A number of the cores that the machine offers.
    Count(usize),
    /// The cores of this list, by the machine's numbers.
    List(Vec<usize>),
}

impl FromStr for Cores {
    type Err = String;

    /// A number, or a list such as `0,2-3`; a list of one core is `2-2`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(count) = text.parse::<usize>() {
            return if count == 0 {
                Err("at least one core is needed".to_owned())
            } else {
                Ok(Self::Count(count))
            };
        }
        let list =
            cores_of_list(text).ok_or_else(|| "cores are a number (4) or a list (0,2-3)".to_owned())?;
        let mut sorted = list.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != list.len() {
            return Err("a core stands in the list twice".to_owned());
        }
        Ok(Self::List(list))
    }
}

/// The cores of a list such as `0,2-3`.
pub(crate) fn cores_of_list(text: &str) -> Option<Vec<usize>> {
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last - first >= MOST_THREADS {
            return None;
        }
        list.extend(first..=last);
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_by_name() {
        for name in ["rss", "sync", "async", "pipeline", "cooperative", "1x1", "3x2", "512x1", "1x1023"] {
            assert_eq!(name.parse::<Design>().expect(name).to_string(), name);
        }
        assert_eq!("2x3".parse(), Ok(Design::Clusters { queues: 2, workers: 3 }));
        for name in
            ["", "RSS", "rss ", "x", "2x", "x2", "2X2", "2x2x2", "-1x2", "2x2.0", "1x99999999999999999999"]
        {
            let error = name.parse::<Design>().expect_err(name);
            assert!(error.contains("rss, sync, async, pipeline, cooperative, or NxM"), "{name}: {error}");
            assert!(!error.contains('\n'));
        }
        for name in ["0x1", "1x0", "1024x1", "1x1024", "600x1", "1025x1", "18446744073709551615x2"] {
            let error = name.parse::<Design>().expect_err(name);
            assert!(error.contains("1 to 1024 threads"), "{name}: {error}");
        }
    }

    #[test]
    fn cores_by_number_and_list() {
        let list = |cores: &[usize]| Ok(Cores::List(cores.to_vec()));
        assert_eq!("3".parse(), Ok(Cores::Count(3)));
        assert_eq!("2-2".parse(), list(&[2]));
        assert_eq!("0,2-4,7".parse(), list(&[0, 2, 3, 4, 7]));
        // The order is the user's: receivers are first.
        assert_eq!("5,1".parse(), list(&[5, 1]));
        for text in
            ["", ",", "1,", "a", "1-", "-1", "3-1", "0-1024", "1 2", "0..3", "1-2-3", "99999999999999999999"]
        {
            let error = text.parse::<Cores>().expect_err(text);
            assert!(error.contains("a number (4) or a list (0,2-3)"), "{text}: {error}");
        }
        assert!("0".parse::<Cores>().is_err_and(|error| error.contains("at least one")));
        assert!("0,1,0".parse::<Cores>().is_err_and(|error| error.contains("twice")));
        assert!("0-3,2".parse::<Cores>().is_err_and(|error| error.contains("twice")));
    }
}
