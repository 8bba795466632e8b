//! Panels as one SVG picture. Every element has its own colours as attributes: no style sheet is needed.

mod legend;
mod marks;

use crate::axis::Scaled;
use crate::escape::escaped;
use crate::panel::{Axis, GuidePlace, Panel, Spot};
use legend::{draw_legend, legend, said};
use marks::{draw_bars, draw_curve, draw_dots, draw_guides, draw_remarks};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Display;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const TEXT: RGBColor = RGBColor(30, 30, 30);
const GRID: RGBColor = RGBColor(222, 222, 222);

/// The size of a panel, pixels.
const WIDTH: u32 = 500;
const HEIGHT: u32 = 330;
/// The width of a picture by itself, and of one with another machine's next to it, whose text would be too small to read if it were scaled down, pixels.
pub(crate) const WHOLE: u32 = 2 * WIDTH;
pub(crate) const HALF: u32 = WIDTH;
/// The height of a line of the legend, and about the width of a letter, pixels.
const LINE: u32 = 18;
const LETTER: f64 = 6.6;
/// The width of a letter of names below an axis, and of words within a diagram, pixels.
const SMALL_LETTER: f64 = 5.6;
/// The most names of a panel that is not wide.
const FEW_NAMES: usize = 7;
/// The distance from an axis to its turned names: the tick and a gap.
const TICK: i32 = 10;

/// Returns the picture, `width` pixels wide. `id` names it within a page that has several.
///
/// # Errors
/// What the library could not draw, in one line.
pub(crate) fn svg(
    id: &str,
    title: &str,
    description: &str,
    panels: &[Panel],
    width: u32,
) -> Result<String, String> {
    if panels.is_empty() {
        return Ok(described(&words(title, description, width)?, id, title, description));
    }
    let places = places(panels, width);
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
fn words(title: &str, description: &str, width: u32) -> Result<String, String> {
    let most = (f64::from(width - 40) / LETTER) as usize;
    let lines = notation::wrapped(description, most);
    let mut text = String::new();
    {
        let height = LINE * lines.len() as u32 + 60;
        let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
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

/// Returns left, top, width and height of each panel: as many in a row as the picture is wide, those with many names alone.
fn places(panels: &[Panel], whole: u32) -> Vec<(i32, i32, u32, u32)> {
    let (mut places, mut x, mut y, mut row) = (Vec::new(), 0, 0, 0);
    for panel in panels {
        let is_wide = matches!(&panel.x, Axis::Names { names, .. } if names.len() > FEW_NAMES);
        let width = if is_wide { whole } else { WIDTH };
        let turned = turned_height(&panel.x, width).unwrap_or(0);
        let height = HEIGHT + turned + below(panel, width);
        if x + width > whole {
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

/// The height of the legend and of what a paper says besides.
fn below(panel: &Panel, width: u32) -> u32 {
    LINE * (legend(panel, width).len() + said(panel).len()) as u32 + 8
}

/// The places of values within a picture.
type Places<'a> = &'a dyn Fn(f64, f64) -> (i32, i32);

fn draw(root: &Area, area: &Area, panel: &Panel) -> Result<(), String> {
    let (width, height) = area.dim_in_pixel();
    let legend = legend(panel, width);
    let (diagram, below) = area.split_vertically(height - below(panel, width));
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
    let (left, right) = x.ends();
    let corners = [at(left, low), chart.backend_coord(&(right, y.ends().1))];
    let is_named = matches!(panel.x, Axis::Names { .. });
    let is_log = matches!(panel.y, Axis::Log { .. } | Axis::Bytes { .. });
    for (number, curve) in panel.curves.iter().enumerate() {
        match (is_named && !curve.of_paper, is_log) {
            (true, false) => draw_bars(root, panel, number, low, &at)?,
            (true, true) => draw_dots(root, panel, number, low, &at)?,
            (false, _) => draw_curve(root, panel, number, low, &at)?,
        }
    }
    draw_guides(root, panel, corners, &at)?;
    draw_remarks(root, panel, low, &at)?;
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

/// Returns the scales of both axes, which fit all spots, guides and remarks of a panel.
fn scales(panel: &Panel) -> (Scaled, Scaled) {
    let spots = || {
        let takes = |spot: &&Spot| Scaled::takes(&panel.x, spot.x) && Scaled::takes(&panel.y, spot.y);
        panel.curves.iter().flat_map(move |curve| curve.spots.iter().filter(takes))
    };
    let mut xs: Vec<_> = spots().map(|spot| spot.x).collect();
    let ends = |spot: &Spot| spot.spread.map_or([spot.y; 2], |[least, most]| [least, most]);
    let mut ys: Vec<_> = spots().flat_map(|spot| [spot.y].into_iter().chain(ends(spot))).collect();
    for guide in &panel.guides {
        match guide.place {
            GuidePlace::Across(y) => ys.push(y),
            // Sizes are marked on their axis where something was measured.
            GuidePlace::Upright(x) if !matches!(panel.x, Axis::Bytes { .. }) => xs.push(x),
            GuidePlace::Upright(_) | GuidePlace::Below => {}
        }
    }
    xs.extend(panel.remarks.iter().map(|(x, _)| *x));
    xs.retain(|x| Scaled::takes(&panel.x, *x));
    ys.retain(|y| Scaled::takes(&panel.y, *y));
    (Scaled::fitting(&panel.x, &xs), Scaled::fitting(&panel.y, &ys))
}

fn label(axis: &Axis) -> &str {
    match axis {
        Axis::Linear { label }
        | Axis::Whole { label }
        | Axis::Log { label }
        | Axis::Bytes { label }
        | Axis::Names { label, .. } => label,
    }
}

/// The additional height that names need which are too long for one row.
fn turned_height(axis: &Axis, width: u32) -> Option<u32> {
    let Axis::Names { names, .. } = axis else { return None };
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64 * SMALL_LETTER;
    let room = f64::from(width - 92) / names.len().max(1) as f64;
    (longest > room).then_some(longest as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::{Curve, Guide};
    use roxmltree::Document;

    fn curve(name: &str, of_paper: bool) -> Curve {
        let spot = |x: f64, y: f64| Spot { x, y, spread: Some([y * 0.5, y * 2.0]) };
        let spots = vec![spot(0.0, 3.0), spot(1.0, 5.0), spot(2.0, f64::NAN), spot(4.0, 0.0)];
        Curve { name: name.to_owned(), of_paper, spots }
    }

    fn panel(x: Axis, y: Axis) -> Panel {
        let curves = vec![curve("<hash> & \"table\"", false), curve("said", true), curve("b", false)];
        Panel::new("Rate < 5 & more", x, y, curves)
            .with_guides([Guide::across(2.5, "a < b"), Guide::upright(1.0, "c & d"), Guide::below("<e>")])
            .with_remarks([(2.0, "needs 6 < cores".to_owned())])
    }

    #[test]
    fn a_picture_is_well_formed_whatever_its_texts_and_values() {
        let label = || "<x> & y".to_owned();
        let names = |count: usize| (0..count).map(|number| format!("a & <name> {number}")).collect();
        let axes = [
            Axis::Linear { label: label() },
            Axis::Whole { label: label() },
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
        let svg = svg("a-figure-1", "A & B", "<none>", &panels, WHOLE).expect("a picture");
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
        assert!(has("paper: a < b") && has("paper: c & d") && has("paper: <e>") && has("needs 6 < cores"));
        let title = root.children().find(|node| node.has_tag_name("title"));
        assert_eq!(title.and_then(|title| title.text()), Some("A & B"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn no_style_sheet_is_needed() {
        let label = || "loss, %".to_owned();
        let names = Axis::Names { label: label(), names: vec!["a".to_owned(); 5] };
        let axes = [names, Axis::Linear { label: label() }];
        let panels: Vec<_> = axes.map(|x| panel(x, Axis::Log { label: label() })).into();
        let svg = svg("a", "A", "B", &panels, WHOLE).expect("a picture");
        let document = Document::parse(&svg).expect("well-formed");
        for node in document.descendants().filter(|node| node.is_element()) {
            assert!(node.attribute("class").is_none() && node.attribute("style").is_none(), "{node:?}");
            let needed: &[&str] = match node.tag_name().name() {
                "line" => &["stroke"],
                "polyline" => &["fill", "stroke"],
                "rect" | "circle" | "polygon" | "text" => &["fill"],
                _ => &[],
            };
            for name in needed {
                assert!(node.attribute(*name).is_some(), "{node:?} has no {name}");
            }
            if node.has_tag_name("polyline") {
                assert_eq!(node.attribute("fill"), Some("none"), "{node:?}");
            }
        }
    }

    /// The texts of a picture of one panel.
    fn texts_of(panel: Panel) -> Vec<String> {
        let svg = svg("a", "A", "B", &[panel], WHOLE).expect("a picture");
        let document = Document::parse(&svg).expect("well-formed");
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        texts.filter_map(|node| node.text()).map(|text| text.trim().to_owned()).collect()
    }

    #[test]
    fn zeros_are_written_in_their_places() {
        let zeros = |count: usize| Curve {
            name: "here".to_owned(),
            of_paper: false,
            spots: (0..count).map(|x| Spot { x: x as f64, y: 0.0, spread: None }).collect(),
        };
        let percent = || "loss, %".to_owned();
        let names = || Axis::Names { label: String::new(), names: vec!["a".to_owned(), "b".to_owned()] };
        let zeros_of = |x, y| {
            texts_of(Panel::new("t", x, y, vec![zeros(2)])).iter().filter(|text| *text == "0 %").count()
        };
        assert_eq!(zeros_of(names(), Axis::Linear { label: percent() }), 2);
        assert_eq!(zeros_of(names(), Axis::Log { label: percent() }), 2);
        assert_eq!(zeros_of(Axis::Linear { label: "x".to_owned() }, Axis::Linear { label: percent() }), 2);
        let ns = texts_of(Panel::new("t", names(), Axis::Log { label: "ns".to_owned() }, vec![zeros(1)]));
        assert!(ns.contains(&"0".to_owned()) && !ns.contains(&"0 %".to_owned()), "{ns:?}");
    }

    #[test]
    fn a_diagram_of_nothing_says_so() {
        let names = Axis::Names { label: String::new(), names: vec!["a".to_owned(), "b".to_owned()] };
        let panel = Panel::new("t", names, Axis::Linear { label: "y".to_owned() }, vec![curve("said", true)]);
        assert_eq!(texts_of(panel).iter().filter(|text| *text == "not measured").count(), 2);
    }

    #[test]
    fn a_logarithmic_axis_has_dots_and_no_bars() {
        let names = Axis::Names { label: String::new(), names: vec!["a".to_owned(), "b".to_owned()] };
        let of = |y| {
            let curves = vec![curve("here", false)];
            svg("a", "A", "B", &[Panel::new("t", names.clone(), y, curves)], WHOLE).expect("a picture")
        };
        let [log, linear] =
            [of(Axis::Log { label: "y".to_owned() }), of(Axis::Linear { label: "y".to_owned() })];
        let count = |svg: &str, name: &str| svg.matches(&format!("<{name} ")).count();
        // The background is one.
        assert_eq!((count(&log, "rect"), count(&linear, "circle")), (1, 0));
        assert!(count(&log, "circle") >= 2 && count(&linear, "rect") > 2, "{log}");
    }

    #[test]
    fn long_names_begin_below_the_axis() {
        let label = || "y".to_owned();
        let names: Vec<_> = (0..18).map(|number| format!("ASYNC-Separate-{number}")).collect();
        let x = Axis::Names { label: String::new(), names: names.clone() };
        let svg = svg("a", "A", "B", &[panel(x, Axis::Linear { label: label() })], WHOLE).expect("a picture");
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
        let svg = svg("a", "table 2: parameters", &words, &[], WHOLE).expect("a picture");
        let document = Document::parse(&svg).expect("well-formed");
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        let texts: Vec<_> = texts.filter_map(|node| node.text()).map(str::trim).collect();
        assert_eq!(texts[0], "table 2: parameters");
        assert_eq!(texts[1..].join(" "), words.trim());
        assert!(texts.iter().all(|line| line.chars().count() < 150));
    }

    #[test]
    fn panels_do_not_overlap() {
        let label = || "x".to_owned();
        let normal = panel(Axis::Linear { label: label() }, Axis::Linear { label: label() });
        let names = (0..9).map(|number| number.to_string()).collect();
        let wide = Panel { x: Axis::Names { label: label(), names }, ..normal.clone() };
        let panels = [normal.clone(), normal.clone(), normal.clone(), wide, normal];
        for width in [WHOLE, HALF] {
            let places = places(&panels, width);
            for (number, (x, y, width, height)) in places.iter().enumerate() {
                for (left, top, w, h) in &places[..number] {
                    let is_beside = x + *width as i32 <= *left || left + *w as i32 <= *x;
                    assert!(is_beside || y + *height as i32 <= *top || top + *h as i32 <= *y, "{places:?}");
                }
            }
        }
        let right = |width| {
            let places = super::places(&panels, width);
            places.iter().map(|(x, _, width, _)| *x as u32 + width).max()
        };
        assert_eq!((right(WHOLE), right(HALF)), (Some(WHOLE), Some(HALF)));
    }
}
