//! The site of a node: its name and its place on the earth.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most characters of the name of a site.
pub const LONGEST_SITE: usize = 200;

/// The site of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Site {
    /// The name of the site; `None` where the node does not say it.
    #[serde(default)]
    pub name: Option<String>,
    /// The coordinates of the site; `None` where the node does not say them.
    #[serde(default)]
    pub at: Option<Coordinates>,
}

/// A place on the earth, in degrees (WGS 84).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coordinates {
    /// The latitude, from -90 to 90 degrees; positive in the north.
    pub latitude: f64,
    /// The longitude, from -180 to 180 degrees; positive in the east.
    pub longitude: f64,
}

impl Site {
    /// Checks what another machine says of its site.
    ///
    /// # Errors
    /// Returns what is wrong: the name is empty, too long or has control characters, or the coordinates are out of range.
    pub fn check(&self) -> Result<(), String> {
        self.name.as_deref().map_or(Ok(()), check_site_name)?;
        self.at.map_or(Ok(()), |at| at.check())
    }
}

/// Checks the name of a site.
///
/// # Errors
/// Returns what is wrong: the name is empty, has more than [`LONGEST_SITE`] characters, or has control characters.
pub fn check_site_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if name.trim().is_empty() {
        return Err("the name of a site is empty".to_owned());
    }
    if length > LONGEST_SITE {
        return Err(format!("the name of a site has {length} characters, and may have {LONGEST_SITE}"));
    }
    if name.contains(char::is_control) {
        return Err("the name of a site has control characters".to_owned());
    }
    Ok(())
}

impl Coordinates {
    /// Checks that the degrees are those of a place.
    fn check(&self) -> Result<(), String> {
        for (what, degrees, most) in [("latitude", self.latitude, 90.0), ("longitude", self.longitude, 180.0)]
        {
            // What is not a number is in no range.
            if !(-most..=most).contains(&degrees) {
                return Err(format!("the {what} is {degrees}, and goes from -{most} to {most} degrees"));
            }
        }
        Ok(())
    }
}

impl FromStr for Coordinates {
    type Err = String;

    /// Reads `LATITUDE,LONGITUDE`, as `41.88,-87.63`.
    fn from_str(text: &str) -> Result<Self, String> {
        let degrees = |text: &str| text.trim().parse().ok();
        let read = text.split_once(',').and_then(|(north, east)| Some((degrees(north)?, degrees(east)?)));
        let (latitude, longitude) = read.ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            format!("'{shown}' is not LATITUDE,LONGITUDE in degrees, as 41.88,-87.63")
        })?;
        let at = Self { latitude, longitude };
        at.check().map(|()| at)
    }
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.latitude, self.longitude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_degrees_of_a_place() {
        let read = |text: &str| text.parse::<Coordinates>();
        for (text, latitude, longitude) in [
            ("41.88,-87.63", 41.88, -87.63),
            ("-33.86, 151.2", -33.86, 151.2),
            ("90,180", 90.0, 180.0),
            ("-90,-180", -90.0, -180.0),
            ("0,0", 0.0, 0.0),
        ] {
            assert_eq!(read(text), Ok(Coordinates { latitude, longitude }), "{text}");
        }
        for (text, named) in [
            ("90.001,0", "latitude is 90.001"),
            ("-91,0", "latitude is -91"),
            ("0,180.5", "longitude is 180.5"),
            ("NaN,0", "latitude is NaN"),
            ("0,-inf", "longitude is -inf"),
            ("1e400,0", "latitude is inf"),
            ("", "'' is not LATITUDE,LONGITUDE"),
            ("41.88", "'41.88' is not LATITUDE,LONGITUDE"),
            ("1,2,3", "'1,2,3' is not LATITUDE,LONGITUDE"),
            ("41°N,87°W", "is not LATITUDE,LONGITUDE"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(named), "{text}: {error}");
        }
        let long = "9".repeat(70_000);
        assert!(read(&long).expect_err("no place").len() < 200);
    }

    #[test]
    fn names_of_sites_are_bounded() {
        let check = |name: String| Site { name: Some(name), at: None }.check();
        assert_eq!(check("Chicago".to_owned()), Ok(()));
        assert_eq!(check("é".repeat(LONGEST_SITE)), Ok(()));
        for (name, named) in [
            ("x".repeat(70_000), "70000 characters"),
            (" ".to_owned(), "is empty"),
            ("Chicago\u{1b}[2J".to_owned(), "control characters"),
            ("Chicago\n".to_owned(), "control characters"),
        ] {
            let error = check(name).expect_err(named);
            assert!(error.contains(named), "{error}");
        }
        let at = Some(Coordinates { latitude: f64::NAN, longitude: 0.0 });
        assert!(Site { name: None, at }.check().is_err());
    }
}
