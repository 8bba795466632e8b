//! The sampling of windows in a file of window rows: the share by which the packets of a window were taken.

use flow::{Sampled, Share};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The sampling of the packets of a window. A window without one has all packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSample {
    /// The least and the greatest share. They differ where windows of different shares have become one: no estimate scales its rows.
    #[serde(rename = "shares_ppm", serialize_with = "write", deserialize_with = "read")]
    pub shares: [Share; 2],
    /// The number of packets that were sampled and not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// The length that no frame exceeded, sampled or not; 0 without a frame.
    pub longest_byte: u32,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn write<S: Serializer>(shares: &[Share; 2], serializer: S) -> Result<S::Ok, S::Error> {
    shares.map(Share::ppm).serialize(serializer)
}

fn read<'d, D: Deserializer<'d>>(deserializer: D) -> Result<[Share; 2], D::Error> {
    let [least, greatest] = <[u32; 2]>::deserialize(deserializer)?.map(Share::from_ppm);
    let shares = least.zip(greatest).filter(|(least, greatest)| least <= greatest);
    shares.map(<[Share; 2]>::from).ok_or_else(|| D::Error::custom("no share"))
}

impl From<Sampled> for WindowSample {
    fn from(sampled: Sampled) -> Self {
        Self { shares: sampled.shares(), lost: sampled.lost(), longest_byte: sampled.longest_byte() }
    }
}

impl WindowSample {
    /// A sample of all packets.
    const ALL: Self = Self { shares: [Share::ALL; 2], lost: 0, longest_byte: 0 };

    /// Returns the same share of a window without a frame.
    #[must_use]
    pub fn without_frames(self) -> Self {
        Self { lost: 0, longest_byte: 0, ..self }
    }

    /// Returns whether every packet was taken.
    pub fn is_all(&self) -> bool {
        self.shares[0] == Share::ALL
    }

    /// Returns whether the window had a frame, sampled or not.
    pub fn has_frames(&self) -> bool {
        self.longest_byte != 0
    }

    /// Returns what rows are scaled by; `None` where windows of different shares have become one.
    pub fn sampled(&self) -> Option<Sampled> {
        let [least, greatest] = self.shares;
        // With one share, how many packets there were scales nothing.
        (least == greatest).then(|| Sampled::new(least, 0, self.lost, self.longest_byte))
    }

    /// Joins what is known of two windows, of which one may have all packets.
    pub(crate) fn join(own: Option<Self>, more: Option<Self>) -> Option<Self> {
        if own.is_none() && more.is_none() {
            return None;
        }
        let [own, more] = [own, more].map(|sample| sample.unwrap_or(Self::ALL));
        Some(Self {
            shares: [own.shares[0].min(more.shares[0]), own.shares[1].max(more.shares[1])],
            lost: own.lost.saturating_add(more.lost),
            longest_byte: own.longest_byte.max(more.longest_byte),
        })
    }
}

/// `15% of the packets`.
impl fmt::Display for WindowSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [least, greatest] = self.shares;
        if least != greatest {
            write!(f, "{least} to ")?;
        }
        write!(f, "{greatest} of the packets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(percent: u32) -> Share {
        Share::from_ppm(percent * 10_000).expect("a share")
    }

    fn sample(percent: u32) -> WindowSample {
        Sampled::new(share(percent), 10, 2, 1500).into()
    }

    #[test]
    fn a_sample_is_read_back_and_what_is_none_is_not() {
        let text = serde_json::to_string(&sample(15)).expect("JSON");
        assert_eq!(text, r#"{"shares_ppm":[150000,150000],"lost":2,"longest_byte":1500}"#);
        assert_eq!(serde_json::from_str::<WindowSample>(&text).ok(), Some(sample(15)));
        for wrong in ["[0,5]", "[5,1000001]", "[5]", "[6,5]", "5"] {
            let text = format!(r#"{{"shares_ppm":{wrong},"longest_byte":1500}}"#);
            assert!(serde_json::from_str::<WindowSample>(&text).is_err(), "{wrong}");
        }
    }

    #[test]
    fn windows_of_one_share_keep_it_and_of_others_tell_both() {
        let both = WindowSample::join(Some(sample(15)), Some(sample(15))).expect("a sample");
        assert_eq!((both.shares, both.lost, both.longest_byte), ([share(15); 2], 4, 1500));
        let estimate = both.sampled().expect("one share").packets(30.0);
        assert_eq!(estimate.value.to_bits(), 200_f64.to_bits());
        for other in [Some(sample(50)), None] {
            let both = WindowSample::join(other, Some(sample(15))).expect("a sample");
            let greatest = other.map_or(Share::ALL, |other| other.shares[1]);
            assert_eq!((both.shares, both.sampled()), ([share(15), greatest], None));
            assert_eq!(both.to_string(), format!("15% to {greatest} of the packets"));
        }
        assert_eq!(WindowSample::join(None, None), None);
    }
}
