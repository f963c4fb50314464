//! What schemes did, as a picture: a plot for each, one below the other.

use super::{Scheme, Schemes};
use crate::canvas::{Anchor, BLUE, Canvas, GREY, INK, Rect};
use crate::colors::hatch;
use crate::panel::{Axis, Panel};
use crate::{names, series};
use daos_core::units::display;

/// Bars in a plot.
const BARS: usize = 180;

/// Most plots; those who acted on most have them.
const PLOTS: usize = 5;

/// Where the plots and what is between them are.
const AREA: Rect = Rect { x: 130.0, y: 84.0, w: 1020.0, h: 556.0 };

/// Height of what stands over a plot.
const TITLE: f64 = 44.0;

/// Draws a plot for each scheme that acted.
pub fn draw(schemes: &Schemes) -> Canvas {
    let mut canvas = Canvas::default();
    canvas.text((40.0, 40.0), 18.0, Anchor::Start, INK, &schemes.headline());
    let mut plots: Vec<_> = schemes.schemes.iter().filter(|scheme| scheme.times > 0).collect();
    let acted = plots.len();
    plots.sort_by_key(|scheme| std::cmp::Reverse(scheme.bytes));
    plots.truncate(PLOTS);
    plots.sort_by_key(|scheme| scheme.number);
    let missing = match (acted, schemes.schemes.len()) {
        (0, _) => ", nothing was done".to_owned(),
        (acted, _) if acted > PLOTS => format!(", the {PLOTS} that acted on most are shown"),
        (acted, all) if acted < all => format!(", {acted} acted"),
        _ => String::new(),
    };
    let summary = schemes.summary() + &missing;
    canvas.text((40.0, 64.0), 13.0, Anchor::Start, GREY, &summary);
    let height = AREA.h / plots.len().max(1) as f64;
    for (index, scheme) in plots.iter().enumerate() {
        let y = AREA.y + TITLE + height * index as f64;
        let area = Rect { y, h: height - TITLE, ..AREA };
        draw_plot(&mut canvas, schemes, scheme, area, index + 1 == plots.len());
    }
    canvas
}

fn draw_plot(canvas: &mut Canvas, schemes: &Schemes, scheme: &Scheme, area: Rect, last: bool) {
    let (from, to) = schemes.time;
    let sums = series::sums(&scheme.timeline, schemes.time, BARS);
    let most = sums.iter().copied().max().unwrap_or(0);
    let mut x = Axis::time(schemes.time, 12);
    if !last {
        x.name = "";
        x.ticks.clear();
    }
    let ticks = (area.h / 28.0) as usize;
    let panel = Panel { area, title: "", x, y: Axis::bytes("", most as f64, ticks) };
    let span = (to - from) as f64 / BARS as f64;
    let start = |index: usize| from as f64 + index as f64 * span;
    let bar = |(index, &sum): (usize, &u64)| ((start(index), start(index + 1)), sum as f64);
    let bars: Vec<_> = sums.iter().enumerate().map(bar).collect();
    panel.frame(canvas);
    panel.bars(canvas, &bars, scheme.action.map_or(BLUE, |action| hatch(action).color));
    let at = (area.x, area.y - 12.0);
    let label = match names::printable(&scheme.label) {
        label if label.is_empty() => label,
        label => format!(": {label}"),
    };
    canvas.text(at, 14.0, Anchor::Start, INK, &format!("{}{label}", scheme.name()));
    let (bytes, per) = (display::bytes(scheme.bytes), display::duration(span as u64));
    let all = match scheme.times {
        1 => format!("{bytes} at one time; bytes in each {per}"),
        times => format!("{bytes} at {times} times; bytes in each {per}"),
    };
    canvas.text((area.right(), at.1), 12.0, Anchor::End, GREY, &all);
}
