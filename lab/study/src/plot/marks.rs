//! The marks within a panel: bars, dots, curves, statements of papers, and remarks.

use super::{Area, Places, SMALL_LETTER, TEXT, fault, label};
use crate::axis::Scaled;
use crate::panel::{Axis, Curve, GuidePlace, Panel, Spot};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Okabe and Ito's, which the colour-blind can tell apart; without their yellow, which is too light on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
];
/// A paper's values.
const PAPER: RGBColor = RGBColor(0, 0, 0);
/// The size of a mark, pixels.
const MARK: i32 = 4;
/// The share of the room of a name that bars and dots take.
const ROOM: f64 = 0.8;

/// Returns the spots of a curve that can be drawn.
fn drawable<'a>(panel: &Panel, curve: &'a Curve) -> Vec<&'a Spot> {
    let takes = |spot: &&Spot| Scaled::takes(&panel.x, spot.x) && Scaled::takes(&panel.y, spot.y);
    curve.spots.iter().filter(takes).collect()
}

/// The width of one of the bars of a name, and how far the left side of this curve's is from the middle.
fn bar(panel: &Panel, number: usize) -> (f64, f64) {
    let bars = panel.curves.iter().filter(|curve| !curve.of_paper).count().max(1) as f64;
    let before = panel.curves[..number].iter().filter(|curve| !curve.of_paper).count() as f64;
    (ROOM / bars, ROOM * (before / bars - 0.5))
}

/// `0 %`, by the unit of the axis.
fn zero(panel: &Panel) -> &'static str {
    if label(&panel.y).ends_with('%') { "0 %" } else { "0" }
}

/// Writes a number above a place.
fn written(root: &Area, text: &str, (x, y): (i32, i32), colour: &RGBColor) -> Result<(), String> {
    let style = ("sans-serif", 10).into_font().color(colour).pos(Pos::new(HPos::Center, VPos::Bottom));
    root.draw(&Text::new(text.to_owned(), (x, y - 3), style)).map_err(fault)
}

/// Draws the bars of a curve, next to those of the others, from the low end of the axis; 0 is written.
pub(super) fn draw_bars(
    root: &Area,
    panel: &Panel,
    number: usize,
    low: f64,
    at: Places,
) -> Result<(), String> {
    let look = Look::for_curve(panel, number);
    let (width, left) = bar(panel, number);
    for spot in drawable(panel, &panel.curves[number]) {
        let from = spot.x + left;
        if spot.y == 0.0 {
            written(root, zero(panel), at(from + width / 2.0, low), &look.colour)?;
        }
        let corners = [at(from, spot.y), at(from + width, low)];
        root.draw(&Rectangle::new(corners, look.colour.filled())).map_err(fault)?;
        whisker(root, spot, |y| at(from + width / 2.0, y), &TEXT)?;
    }
    Ok(())
}

/// Draws the dots of a curve by a logarithmic axis, next to those of the others; 0 is written at its low end.
pub(super) fn draw_dots(
    root: &Area,
    panel: &Panel,
    number: usize,
    low: f64,
    at: Places,
) -> Result<(), String> {
    let look = Look::for_curve(panel, number);
    let (width, left) = bar(panel, number);
    let middle = left + width / 2.0;
    let curve = &panel.curves[number];
    for spot in drawable(panel, curve) {
        whisker(root, spot, |y| at(spot.x + middle, y), &look.colour)?;
        mark(root, at(spot.x + middle, spot.y), &look)?;
    }
    for spot in zeros(panel, curve) {
        written(root, zero(panel), at(spot.x + middle, low), &look.colour)?;
    }
    Ok(())
}

/// The spots of a curve that a logarithmic axis has no place for.
fn zeros<'a>(panel: &Panel, curve: &'a Curve) -> impl Iterator<Item = &'a Spot> {
    let is_log = matches!(panel.y, Axis::Log { .. });
    curve.spots.iter().filter(move |spot| is_log && spot.y == 0.0 && spot.x.is_finite())
}

/// Draws the marks of a curve, and the line through them where the axis has no names.
pub(super) fn draw_curve(
    root: &Area,
    panel: &Panel,
    number: usize,
    low: f64,
    at: Places,
) -> Result<(), String> {
    let look = Look::for_curve(panel, number);
    let drawn = drawable(panel, &panel.curves[number]);
    let places: Vec<_> = drawn.iter().map(|spot| at(spot.x, spot.y)).collect();
    if !matches!(panel.x, Axis::Names { .. }) {
        line(root, &places, &look)?;
    }
    for (spot, place) in drawn.iter().zip(&places) {
        whisker(root, spot, |y| at(spot.x, y), &look.colour)?;
        mark(root, *place, &look)?;
    }
    for spot in zeros(panel, &panel.curves[number]) {
        written(root, zero(panel), at(spot.x, low), &look.colour)?;
    }
    // A diagram of nothing but zeros has an arbitrary axis: they are written.
    let is_here = !panel.curves[number].of_paper;
    let measured = || panel.curves.iter().filter(|curve| !curve.of_paper).flat_map(|curve| &curve.spots);
    if is_here && measured().all(|spot| spot.y == 0.0) {
        for place in places {
            written(root, zero(panel), (place.0, place.1 - MARK), &look.colour)?;
        }
    }
    Ok(())
}

/// Draws a line from the least to the most value of a spot.
fn whisker(
    root: &Area,
    spot: &Spot,
    at: impl Fn(f64) -> (i32, i32),
    colour: &RGBColor,
) -> Result<(), String> {
    let Some([least, most]) = spot.spread else { return Ok(()) };
    root.draw(&PathElement::new(vec![at(least), at(most)], colour.stroke_width(1))).map_err(fault)
}

/// Draws the statements of a paper's text that are no single value, their words on white. `corners`: low left and high right of the diagram.
pub(super) fn draw_guides(
    root: &Area,
    panel: &Panel,
    [(left, bottom), (right, top)]: [(i32, i32); 2],
    at: Places,
) -> Result<(), String> {
    let written = |text: String, (x, y): (i32, i32)| {
        let length = (text.chars().count() as f64 * SMALL_LETTER) as i32;
        let ground = Rectangle::new([(x - 1, y), (x + length, y + 12)], WHITE.mix(0.8).filled());
        root.draw(&ground).map_err(fault)?;
        let style = ("sans-serif", 10).into_font().color(&PAPER).pos(Pos::new(HPos::Left, VPos::Top));
        root.draw(&Text::new(text, (x, y), style)).map_err(fault)
    };
    let mut lines = 0;
    for guide in &panel.guides {
        let text = format!("paper: {}", guide.text);
        let length = (text.chars().count() as f64 * SMALL_LETTER) as i32;
        match guide.place {
            GuidePlace::Across(value) => {
                let y = at(1.0, value).1;
                dashed(root, &[(left, y), (right, y)], PAPER.stroke_width(1))?;
                written(text, (right - length - 2, y - 13))?;
            }
            GuidePlace::Upright(value) => {
                let x = at(value, f64::MIN_POSITIVE).0.clamp(left, right);
                dashed(root, &[(x, bottom), (x, top)], PAPER.stroke_width(1))?;
                // On the side where there is room.
                let x = if x + 4 + length > right { x - 4 - length } else { x + 4 };
                written(text, (x, top + 2 + 13 * lines))?;
                lines += 1;
            }
            GuidePlace::Below => {}
        }
    }
    Ok(())
}

/// Writes, from below to above, why a value is missing in its place.
pub(super) fn draw_remarks(root: &Area, panel: &Panel, low: f64, at: Places) -> Result<(), String> {
    let style = ("sans-serif", 11).into_font().transform(FontTransform::Rotate270).color(&TEXT);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    let has_spots = panel.curves.iter().any(|curve| !curve.of_paper && !curve.spots.is_empty());
    if let (Axis::Names { names, .. }, true, false) = (&panel.x, panel.remarks.is_empty(), has_spots) {
        // Nothing at all: the axis is arbitrary.
        for number in 0..names.len() {
            let (x, y) = at(number as f64, low);
            root.draw(&Text::new("not measured", (x - 10, y - 6), style.clone())).map_err(fault)?;
        }
    }
    for (place, text) in &panel.remarks {
        let (x, y) = at(*place, low);
        // To the left of what a paper has in the same place.
        let has_paper = |curve: &Curve| curve.of_paper && curve.spots.iter().any(|spot| spot.x == *place);
        let aside = if panel.curves.iter().any(has_paper) { 10 } else { 0 };
        root.draw(&Text::new(text.clone(), (x - aside, y - 6), style.clone())).map_err(fault)?;
    }
    Ok(())
}

/// The look of a curve.
pub(super) struct Look {
    pub(super) colour: RGBColor,
    /// The shape of the curve's marks; `None`: the diamond of a paper.
    shape: Option<usize>,
}

impl Look {
    /// Returns the look of a panel's curve. A paper's has the colour of what was measured under its name.
    pub(super) fn for_curve(panel: &Panel, number: usize) -> Self {
        let curve = &panel.curves[number];
        if curve.of_paper {
            let same = panel.curves.iter().position(|other| !other.of_paper && other.name == curve.name);
            let colour = same.map_or(PAPER, |number| COLOURS[number % COLOURS.len()]);
            return Self { colour, shape: None };
        }
        Self { colour: COLOURS[number % COLOURS.len()], shape: Some(number % 4) }
    }
}

/// Draws a line through these places; a paper's is dashed.
pub(super) fn line(root: &Area, places: &[(i32, i32)], look: &Look) -> Result<(), String> {
    let style = look.colour.stroke_width(2);
    if look.shape.is_some() {
        return root.draw(&PathElement::new(places.to_vec(), style)).map_err(fault);
    }
    dashed(root, places, style)
}

/// Draws a dashed line through these places.
fn dashed(root: &Area, places: &[(i32, i32)], style: ShapeStyle) -> Result<(), String> {
    for pair in places.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let length = f64::from(x1 - x0).hypot(f64::from(y1 - y0)).max(1.0);
        let at = |way: f64| {
            let share = (way / length).min(1.0);
            (x0 + (share * f64::from(x1 - x0)) as i32, y0 + (share * f64::from(y1 - y0)) as i32)
        };
        let dashes = (length / 10.0).ceil() as u32;
        for dash in 0..dashes {
            let way = f64::from(dash) * 10.0;
            root.draw(&PathElement::new(vec![at(way), at(way + 5.0)], style)).map_err(fault)?;
        }
    }
    Ok(())
}

/// Draws the mark of a curve.
pub(super) fn mark(root: &Area, (x, y): (i32, i32), look: &Look) -> Result<(), String> {
    let filled = look.colour.filled();
    match look.shape {
        Some(0) => root.draw(&Circle::new((x, y), MARK, filled)),
        Some(1) => root.draw(&TriangleMarker::new((x, y), MARK + 2, filled)),
        Some(2) => root.draw(&Rectangle::new([(x - MARK, y - MARK), (x + MARK, y + MARK)], filled)),
        Some(_) => root.draw(&Cross::new((x, y), MARK, look.colour.stroke_width(2))),
        None => {
            let size = MARK + 2;
            let corners = vec![(x - size, y), (x, y - size), (x + size, y), (x, y + size)];
            let border = corners.iter().copied().chain([corners[0]]).collect::<Vec<_>>();
            root.draw(&Polygon::new(corners, WHITE.filled())).map_err(fault)?;
            root.draw(&PathElement::new(border, look.colour.stroke_width(2)))
        }
    }
    .map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_papers_value_has_the_colour_of_what_was_measured_under_its_name() {
        let axis = || Axis::Linear { label: "x".to_owned() };
        let curve = |name: &str, of_paper| Curve { name: name.to_owned(), of_paper, spots: Vec::new() };
        let curves = vec![curve("a", false), curve("b", false), curve("b", true), curve("c", true)];
        let panel = Panel::new("t", axis(), axis(), curves);
        let colours: Vec<_> = (0..4).map(|number| Look::for_curve(&panel, number).colour).collect();
        assert_eq!(colours, [COLOURS[0], COLOURS[1], COLOURS[1], PAPER]);
    }
}
