//! Panels as one SVG picture.

use crate::axis::Scaled;
use crate::escape::escaped;
use crate::panel::{Axis, Curve, Panel, Spot};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Display;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

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
const TEXT: RGBColor = RGBColor(30, 30, 30);
const GRID: RGBColor = RGBColor(222, 222, 222);

/// The size of a panel, and the width of one with many names, pixels.
const WIDTH: u32 = 500;
const WIDE: u32 = 2 * WIDTH;
const HEIGHT: u32 = 330;
/// The height of a line of the legend, and about the width of a letter, pixels.
const LINE: u32 = 18;
const LETTER: f64 = 6.6;
/// The most names of a panel that is not wide.
const FEW_NAMES: usize = 7;
const MARK: i32 = 4;
/// The distance from an axis to its turned names: the tick and a gap.
const TICK: i32 = 10;

/// The picture. `id` names it within a page that has several.
///
/// # Errors
/// What the library could not draw, in one line.
pub(crate) fn svg(id: &str, title: &str, description: &str, panels: &[Panel]) -> Result<String, String> {
    if panels.is_empty() {
        return Ok(described(&words(title, description)?, id, title, description));
    }
    let places = places(panels);
    let right = places.iter().map(|place| place.0 as u32 + place.2).max().unwrap_or(WIDTH);
    let bottom = places.iter().map(|place| place.1 as u32 + place.3).max().unwrap_or(HEIGHT);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (right, bottom)).into_drawing_area();
        root.fill(&WHITE).map_err(fault)?;
        for (panel, (x, y, width, height)) in panels.iter().zip(places) {
            draw(&root, &root.clone().shrink((x, y), (width, height)), panel)?;
        }
        root.present().map_err(fault)?;
    }
    Ok(described(&text, id, title, description))
}

/// A picture of a figure without a diagram: what it is, and what is known of it.
fn words(title: &str, description: &str) -> Result<String, String> {
    let most = (f64::from(WIDE - 40) / LETTER) as usize;
    let lines = notation::wrapped(description, most);
    let mut text = String::new();
    {
        let height = LINE * lines.len() as u32 + 60;
        let root = SVGBackend::with_string(&mut text, (WIDE, height)).into_drawing_area();
        root.fill(&WHITE).map_err(fault)?;
        let style = |size: u32| ("sans-serif", size).into_font().color(&TEXT);
        root.draw(&Text::new(title.to_owned(), (20, 15), style(15))).map_err(fault)?;
        for (number, line) in lines.into_iter().enumerate() {
            root.draw(&Text::new(line, (20, 45 + (LINE * number as u32) as i32), style(12)))
                .map_err(fault)?;
        }
        root.present().map_err(fault)?;
    }
    Ok(text)
}

fn fault(error: impl Display) -> String {
    format!("cannot draw: {error}").replace('\n', " ")
}

/// Left, top, width and height of each panel: two in a row, wide ones alone.
fn places(panels: &[Panel]) -> Vec<(i32, i32, u32, u32)> {
    let (mut places, mut x, mut y, mut row) = (Vec::new(), 0, 0, 0);
    for panel in panels {
        let is_wide = matches!(&panel.x, Axis::Names { names, .. } if names.len() > FEW_NAMES);
        let width = if is_wide { WIDE } else { WIDTH };
        let turned = turned_height(&panel.x, width).unwrap_or(0);
        let height = HEIGHT + turned + LINE * legend(panel, width).len() as u32 + 8;
        if x + width > WIDE {
            (x, y, row) = (0, y + row, 0);
        }
        places.push((x as i32, y as i32, width, height));
        x += width;
        row = row.max(height);
    }
    places
}

/// Title and description, for those who do not see the picture.
fn described(svg: &str, id: &str, title: &str, description: &str) -> String {
    let Some(at) = svg.find("<svg").and_then(|start| Some(start + svg[start..].find('>')?)) else {
        return svg.to_owned();
    };
    let (id, title, description) = (escaped(id), escaped(title), escaped(description));
    format!(
        "{} role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-desc\">{description}</desc>{}",
        &svg[..at],
        &svg[at + 1..]
    )
}

fn draw(root: &Area, area: &Area, panel: &Panel) -> Result<(), String> {
    let (width, height) = area.dim_in_pixel();
    let legend = legend(panel, width);
    let (diagram, below) = area.split_vertically(height - LINE * legend.len() as u32 - 8);
    let (x, y) = scales(panel);
    let low = y.low();
    let style = |size: u32| ("sans-serif", size).into_font().color(&TEXT);
    let turned = turned_height(&panel.x, width);
    let mut chart = ChartBuilder::on(&diagram)
        .caption(&panel.title, style(15))
        .margin(10)
        .margin_right(18)
        .x_label_area_size(turned.unwrap_or(0) + 44)
        .y_label_area_size(64)
        .build_cartesian_2d(x.clone(), y.clone())
        .map_err(fault)?;
    let mut mesh = chart.configure_mesh();
    // The mesh centres a turned name on its tick, half of it behind the bars: these are drawn below.
    let unmarked = |_: &f64| String::new();
    if turned.is_some() {
        mesh.x_label_formatter(&unmarked);
    }
    if matches!(panel.x, Axis::Names { .. }) {
        mesh.disable_x_mesh();
    }
    mesh.label_style(style(11))
        .axis_desc_style(style(13))
        .axis_style(TEXT)
        .bold_line_style(GRID)
        .light_line_style(WHITE)
        .x_desc(label(&panel.x))
        .y_desc(label(&panel.y))
        .x_labels(x.marks())
        .y_labels(y.marks())
        .draw()
        .map_err(fault)?;
    let at = |x: f64, y: f64| chart.backend_coord(&(x, y.max(low)));
    let is_named = matches!(panel.x, Axis::Names { .. });
    for (number, curve) in panel.curves.iter().enumerate() {
        match is_named && !curve.of_paper {
            true => draw_bars(root, panel, number, low, at)?,
            false => draw_curve(root, panel, number, at)?,
        }
    }
    if let (Axis::Names { names, .. }, Some(_)) = (&panel.x, turned) {
        let style = ("sans-serif", 11).into_font().transform(FontTransform::Rotate90).color(&TEXT);
        let style = style.pos(Pos::new(HPos::Left, VPos::Center));
        for (number, name) in names.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(number as f64, low));
            root.draw(&Text::new(name.as_str(), (x, y + TICK), style.clone())).map_err(fault)?;
        }
    }
    draw_legend(&below, panel, &legend)
}

/// Returns the scales of both axes, which fit all spots of a panel.
fn scales(panel: &Panel) -> (Scaled, Scaled) {
    let spots = || {
        let takes = |spot: &&Spot| Scaled::takes(&panel.x, spot.x) && Scaled::takes(&panel.y, spot.y);
        panel.curves.iter().flat_map(move |curve| curve.spots.iter().filter(takes))
    };
    let xs: Vec<_> = spots().map(|spot| spot.x).collect();
    let ends = |spot: &Spot| spot.spread.map_or([spot.y; 2], |[least, most]| [least, most]);
    let mut ys: Vec<_> = spots().flat_map(|spot| [spot.y].into_iter().chain(ends(spot))).collect();
    ys.retain(|y| Scaled::takes(&panel.y, *y));
    if let (Axis::Log { .. }, Axis::Names { .. }, false) = (&panel.y, &panel.x, ys.is_empty()) {
        // The least bar has some length.
        let least = ys.iter().copied().fold(f64::INFINITY, f64::min);
        ys.push(least / 2.0);
    }
    (Scaled::fitting(&panel.x, &xs), Scaled::fitting(&panel.y, &ys))
}

/// Returns the spots of a curve that can be drawn.
fn drawable<'a>(panel: &Panel, curve: &'a Curve) -> Vec<&'a Spot> {
    let takes = |spot: &&Spot| Scaled::takes(&panel.x, spot.x) && Scaled::takes(&panel.y, spot.y);
    curve.spots.iter().filter(takes).collect()
}

/// Draws the bars of a curve, next to those of the others, from the low end of the axis. `at`: the place of a value.
fn draw_bars(
    root: &Area,
    panel: &Panel,
    number: usize,
    low: f64,
    at: impl Fn(f64, f64) -> (i32, i32),
) -> Result<(), String> {
    let look = Look::for_curve(panel, number);
    let bars = panel.curves.iter().filter(|curve| !curve.of_paper).count().max(1) as f64;
    let before = panel.curves[..number].iter().filter(|curve| !curve.of_paper).count() as f64;
    let left = -0.4 + 0.8 * before / bars;
    for spot in drawable(panel, &panel.curves[number]) {
        let corners = [at(spot.x + left, spot.y), at(spot.x + left + 0.8 / bars, low)];
        root.draw(&Rectangle::new(corners, look.colour.filled())).map_err(fault)?;
        whisker(root, spot, |y| at(spot.x + left + 0.4 / bars, y), &TEXT)?;
    }
    Ok(())
}

/// Draws the marks of a curve, and the line through them where the axis has no names. `at`: the place of a value.
fn draw_curve(
    root: &Area,
    panel: &Panel,
    number: usize,
    at: impl Fn(f64, f64) -> (i32, i32),
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
    Ok(())
}

fn label(axis: &Axis) -> &str {
    match axis {
        Axis::Linear { label } | Axis::Log { label } | Axis::Bytes { label } | Axis::Names { label, .. } => {
            label
        }
    }
}

/// The additional height that names need which are too long for one row.
fn turned_height(axis: &Axis, width: u32) -> Option<u32> {
    let Axis::Names { names, .. } = axis else { return None };
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64 * LETTER;
    let room = f64::from(width - 92) / names.len().max(1) as f64;
    (longest > room).then_some(longest as u32)
}

/// The look of a curve.
struct Look {
    colour: RGBColor,
    /// The shape of the curve's marks; `None`: the diamond of a paper.
    shape: Option<usize>,
}

impl Look {
    /// Returns the look of a panel's curve. A paper's has the colour of what was measured under its name.
    fn for_curve(panel: &Panel, number: usize) -> Self {
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
fn line(root: &Area, places: &[(i32, i32)], look: &Look) -> Result<(), String> {
    let style = look.colour.stroke_width(2);
    if look.shape.is_some() {
        return root.draw(&PathElement::new(places.to_vec(), style)).map_err(fault);
    }
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

fn mark(root: &Area, (x, y): (i32, i32), look: &Look) -> Result<(), String> {
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

/// Returns the lines of the legend: the numbers of their curves, and where those begin.
fn legend(panel: &Panel, width: u32) -> Vec<Vec<(usize, u32)>> {
    let (mut lines, mut x) = (vec![Vec::new()], 0);
    for (number, curve) in panel.curves.iter().enumerate() {
        let length = 40 + (text_of(curve).chars().count() as f64 * LETTER) as u32;
        if x + length > width - 40 && x > 0 {
            lines.push(Vec::new());
            x = 0;
        }
        if let Some(line) = lines.last_mut() {
            line.push((number, x));
        }
        x += length;
    }
    lines
}

fn text_of(curve: &Curve) -> String {
    if curve.of_paper { format!("{} (paper, its machine)", curve.name) } else { curve.name.clone() }
}

fn draw_legend(area: &Area, panel: &Panel, lines: &[Vec<(usize, u32)>]) -> Result<(), String> {
    let style = ("sans-serif", 12).into_font().color(&TEXT).pos(Pos::new(HPos::Left, VPos::Center));
    for (number, line) in lines.iter().enumerate() {
        let y = (LINE * number as u32 + LINE / 2) as i32;
        for &(number, x) in line {
            let (curve, x, look) = (&panel.curves[number], (x + 24) as i32, Look::for_curve(panel, number));
            if matches!(panel.x, Axis::Names { .. }) && !curve.of_paper {
                let swatch = Rectangle::new([(x, y - 5), (x + 14, y + 5)], look.colour.filled());
                area.draw(&swatch).map_err(fault)?;
            } else {
                self::line(area, &[(x - 4, y), (x + 18, y)], &look)?;
                mark(area, (x + 7, y), &look)?;
            }
            area.draw(&Text::new(text_of(curve), (x + 24, y), style.clone())).map_err(fault)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::Document;

    fn curve(name: &str, of_paper: bool) -> Curve {
        let spot = |x: f64, y: f64| Spot { x, y, spread: Some([y * 0.5, y * 2.0]) };
        let spots = vec![spot(0.0, 3.0), spot(1.0, 5.0), spot(2.0, f64::NAN), spot(4.0, 0.0)];
        Curve { name: name.to_owned(), of_paper, spots }
    }

    fn panel(x: Axis, y: Axis) -> Panel {
        let curves = vec![curve("<hash> & \"table\"", false), curve("said", true), curve("b", false)];
        Panel { title: "Rate < 5 & more".to_owned(), x, y, curves }
    }

    #[test]
    fn a_picture_is_well_formed_whatever_its_texts_and_values() {
        let label = || "<x> & y".to_owned();
        let names = |count: usize| (0..count).map(|number| format!("a & <name> {number}")).collect();
        let axes = [
            Axis::Linear { label: label() },
            Axis::Log { label: label() },
            Axis::Bytes { label: label() },
            Axis::Names { label: label(), names: names(3) },
            Axis::Names { label: label(), names: names(12) },
        ];
        let mut panels: Vec<_> = axes
            .into_iter()
            .flat_map(|x| {
                [Axis::Linear { label: label() }, Axis::Log { label: label() }].map(|y| panel(x.clone(), y))
            })
            .collect();
        panels.push(Panel { curves: Vec::new(), ..panels[0].clone() });
        let svg = svg("a-figure-1", "A & B", "<none>", &panels).expect("a picture");
        let document = Document::parse(&svg).expect("well-formed");
        let root = document.root_element();
        assert_eq!(root.attribute("aria-labelledby"), Some("a-figure-1-title a-figure-1-desc"));
        let texts: Vec<_> = root
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .filter_map(|node| node.text())
            .collect();
        let has = |text: &str| texts.iter().any(|found| found.trim() == text);
        assert!(has("Rate < 5 & more") && has("<hash> & \"table\"") && has("said (paper, its machine)"));
        let title = root.children().find(|node| node.has_tag_name("title"));
        assert_eq!(title.and_then(|title| title.text()), Some("A & B"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn long_names_begin_below_the_axis() {
        let label = || "y".to_owned();
        let names: Vec<_> = (0..18).map(|number| format!("ASYNC-Separate-{number}")).collect();
        let x = Axis::Names { label: String::new(), names: names.clone() };
        let svg = svg("a", "A", "B", &[panel(x, Axis::Linear { label: label() })]).expect("a picture");
        let document = Document::parse(&svg).expect("well-formed");
        let number =
            |node: roxmltree::Node, name: &str| -> f64 { node.attribute(name).unwrap().parse().unwrap() };
        let bars = document.descendants().filter(|node| node.has_tag_name("rect")).skip(1);
        let lowest = bars
            .filter(|node| number(*node, "height") > 20.0)
            .map(|node| number(node, "y") + number(node, "height"))
            .fold(0.0, f64::max);
        for name in &names {
            let mut texts = document.descendants().filter(|node| {
                node.has_tag_name("text") && node.text().is_some_and(|text| text.trim() == name)
            });
            let text = texts.next().expect("each name is drawn");
            assert!(texts.next().is_none(), "{name} is drawn once");
            assert_eq!(text.attribute("text-anchor"), Some("start"));
            assert!(number(text, "y") > lowest, "{name} is at {}, bars end at {lowest}", number(text, "y"));
        }
    }

    #[test]
    fn a_figure_without_a_diagram_says_what_is_known_of_it() {
        let words = "a < b & c holds ".repeat(30);
        let svg = svg("a", "table 2: parameters", &words, &[]).expect("a picture");
        let document = Document::parse(&svg).expect("well-formed");
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        let texts: Vec<_> = texts.filter_map(|node| node.text()).map(str::trim).collect();
        assert_eq!(texts[0], "table 2: parameters");
        assert_eq!(texts[1..].join(" "), words.trim());
        assert!(texts.iter().all(|line| line.chars().count() < 150));
    }

    #[test]
    fn a_papers_value_has_the_colour_of_what_was_measured_under_its_name() {
        let axis = || Axis::Linear { label: "x".to_owned() };
        let curves = vec![curve("a", false), curve("b", false), curve("b", true), curve("c", true)];
        let panel = Panel { curves, ..panel(axis(), axis()) };
        let colours: Vec<_> = (0..4).map(|number| Look::for_curve(&panel, number).colour).collect();
        assert_eq!(colours, [COLOURS[0], COLOURS[1], COLOURS[1], PAPER]);
    }

    #[test]
    fn panels_do_not_overlap() {
        let label = || "x".to_owned();
        let normal = panel(Axis::Linear { label: label() }, Axis::Linear { label: label() });
        let names = (0..9).map(|number| number.to_string()).collect();
        let wide = Panel { x: Axis::Names { label: label(), names }, ..normal.clone() };
        let places = places(&[normal.clone(), normal.clone(), normal.clone(), wide, normal]);
        for (number, (x, y, width, height)) in places.iter().enumerate() {
            for (left, top, w, h) in &places[..number] {
                let is_beside = x + *width as i32 <= *left || left + *w as i32 <= *x;
                assert!(is_beside || y + *height as i32 <= *top || top + *h as i32 <= *y, "{places:?}");
            }
        }
    }
}
