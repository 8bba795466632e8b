//! The value of `--adapt`.

use notation::nearest;
use std::str::FromStr;

/// The value of `--adapt`: the share of the frames that may be lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossBound {
    /// The share of packets that may be lost.
    pub loss: f64,
}

impl FromStr for LossBound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const POSSIBLE: &str =
            "the share of the frames that may be lost, from 0.0001% to 50%: loss=0.001%, loss=1e-5";
        let Some((key, share)) = text.split_once('=') else {
            return Err(format!("'{text}' does not say {POSSIBLE}"));
        };
        if key != "loss" {
            let hint =
                nearest(key, ["loss"]).map(|near| format!(" (did you mean \"{near}\"?)")).unwrap_or_default();
            return Err(format!("unknown key '{key}'{hint}: it is {POSSIBLE}"));
        }
        let (number, scale) = share.strip_suffix('%').map_or((share, 1.0), |percent| (percent, 0.01));
        match number.trim().parse::<f64>().map(|number| number * scale) {
            Ok(loss) if (9.99e-7..=0.5).contains(&loss) => Ok(Self { loss }),
            _ => Err(format!("'{share}' is not {POSSIBLE}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_share() {
        let loss = |text: &str| text.parse::<LossBound>().map(|bound| (bound.loss * 1e9).round());
        assert_eq!(loss("loss=0.001%"), Ok(1e4));
        assert_eq!(loss("loss=1e-5"), Ok(1e4));
        assert_eq!(loss("loss=50%"), Ok(5e8));
        assert_eq!(loss("loss=0.0001%"), Ok(1e3));
        for (text, said) in [
            ("", "loss=0.001%"),
            ("0.001%", "does not say"),
            ("los=1%", "did you mean \"loss\""),
            ("loss=", "'' is not"),
            ("loss=0", "from 0.0001%"),
            ("loss=-1%", "'-1%'"),
            ("loss=60%", "to 50%"),
            ("loss=NaN", "'NaN'"),
            ("loss=1%%", "'1%%'"),
        ] {
            let error = text.parse::<LossBound>().expect_err(text);
            assert!(error.contains(said) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
