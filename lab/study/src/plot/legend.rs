//! The legend of a panel.

use super::marks::{Look, line, mark};
use super::{Area, LETTER, LINE, TEXT, fault};
use crate::panel::{Axis, Curve, GuidePlace, Panel};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Returns the lines of the legend: the numbers of their curves, and where those begin.
pub(super) fn legend(panel: &Panel, width: u32) -> Vec<Vec<(usize, u32)>> {
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
    match curve.of_paper {
        true if curve.name == "paper" => "paper, its machine".to_owned(),
        // A ratio of the paper, from what was measured here.
        true if curve.name.ends_with("here") => format!("{} (paper)", curve.name),
        true => format!("{} (paper, its machine)", curve.name),
        false => curve.name.clone(),
    }
}

/// The statements of a paper that have no place on the axes: a line each, below the legend.
pub(super) fn said(panel: &Panel) -> Vec<String> {
    let corners = panel.guides.iter().filter(|guide| guide.place == GuidePlace::Below);
    corners.map(|guide| format!("paper: {}", guide.text)).collect()
}

pub(super) fn draw_legend(area: &Area, panel: &Panel, lines: &[Vec<(usize, u32)>]) -> Result<(), String> {
    let style = ("sans-serif", 12).into_font().color(&TEXT).pos(Pos::new(HPos::Left, VPos::Center));
    let style_of_paper = ("sans-serif", 11).into_font().color(&TEXT).pos(Pos::new(HPos::Left, VPos::Center));
    for (number, text) in said(panel).into_iter().enumerate() {
        let y = (LINE * (lines.len() + number) as u32 + LINE / 2) as i32;
        area.draw(&Text::new(text, (20, y), style_of_paper.clone())).map_err(fault)?;
    }
    for (number, curves) in lines.iter().enumerate() {
        let y = (LINE * number as u32 + LINE / 2) as i32;
        for &(number, x) in curves {
            let (curve, x, look) = (&panel.curves[number], (x + 24) as i32, Look::for_curve(panel, number));
            let is_bar = matches!((&panel.x, &panel.y), (Axis::Names { .. }, Axis::Linear { .. }));
            if is_bar && !curve.of_paper {
                let swatch = Rectangle::new([(x, y - 5), (x + 14, y + 5)], look.colour.filled());
                area.draw(&swatch).map_err(fault)?;
            } else {
                if !matches!(panel.x, Axis::Names { .. }) {
                    line(area, &[(x - 4, y), (x + 18, y)], &look)?;
                }
                mark(area, (x + 7, y), &look)?;
            }
            area.draw(&Text::new(text_of(curve), (x + 24, y), style.clone())).map_err(fault)?;
        }
    }
    Ok(())
}
