//! The heat map as a picture.

use super::marks::Mask;
use super::scale::Ramp;
use super::{Break, Heatmap, Segment};
use crate::canvas::{Anchor, Canvas, GREY, INK, Rect};
use crate::colors::hatch;
use crate::colors::{self, SHADES};
use crate::ticks;
use daos_core::Action;
use daos_core::units::display;
use std::collections::BTreeSet;
use std::ops::Range;

/// Columns and rows of cells that suit the picture: four dots each.
pub const CELLS: (usize, usize) = (AREA.w as usize / 4, AREA.h as usize / 4);

/// Most rows of pages: a dot each, which leaves room for two breaks.
pub const PAGE_ROWS: usize = 512;

/// Where the segments and the breaks between them are.
const AREA: Rect = Rect { x: 150.0, y: 90.0, w: 920.0, h: 544.0 };

/// Most segments: each has a break above it, and as much for itself as that takes, on average.
pub const MOST_SEGMENTS: usize = (AREA.h / BREAK) as usize / 2;

/// Height of a break, and of the name above a target where there are several.
const BREAK: f64 = 16.0;

/// The least distance between two labels of the address axis.
const LABEL_EVERY: f64 = 26.0;

/// Where it says whose the rows are, beside them: which process has most, and how much of it who
/// has.
const MOST: Rect = Rect { x: AREA.x + AREA.w + 2.0, y: 0.0, w: 8.0, h: 0.0 };
const SHARES: Rect = Rect { x: MOST.x + MOST.w + 2.0, w: 11.0, ..MOST };
/// Where the list of owners begins, and the size of a place in it.
const OWNERS: Rect = Rect { x: 530.0, y: 22.0, w: 335.0, h: 17.0 };
/// Owners in a column of the list.
const OWNERS_BELOW: usize = 4;
/// Characters of their names.
const LONGEST_NAME: usize = 24;

/// Draws headline, segments, axes and legend.
pub fn draw(heatmap: &Heatmap) -> Canvas {
    let mut canvas = Canvas::default();
    canvas.text((40.0, 40.0), 18.0, Anchor::Start, INK, &heatmap.headline());
    canvas.text((40.0, 64.0), 13.0, Anchor::Start, GREY, &heatmap.summary());
    if let Some(time) = heatmap.time() {
        draw_segments(&mut canvas, heatmap);
        draw_time_axis(&mut canvas, time);
    }
    draw_legend(&mut canvas, heatmap.ramp(), &heatmap.actions());
    draw_owners(&mut canvas, heatmap);
    canvas
}

/// From the bottom up. Segments share the height that the breaks leave by their rows.
fn draw_segments(canvas: &mut Canvas, heatmap: &Heatmap) {
    let many = heatmap.has_many_targets();
    let breaks = heatmap.segments.len() - 1 + usize::from(many);
    let rows: usize = heatmap.segments.iter().map(|segment| segment.rates.len()).sum();
    let row_height = (AREA.h - BREAK * breaks as f64).max(0.0) / rows as f64;
    let mut floor = AREA.bottom();
    for (index, segment) in heatmap.segments.iter().enumerate() {
        let top = floor - segment.rates.len() as f64 * row_height;
        let area = Rect { x: AREA.x, y: top.round(), w: AREA.w, h: floor.round() - top.round() };
        draw_cells(canvas, segment, &heatmap.times, heatmap.ramp(), area);
        draw_addresses(canvas, segment, area);
        draw_strip(canvas, heatmap, segment, area);
        let middle = area.y - BREAK / 2.0;
        match heatmap.break_above(index) {
            Some(Break::Gap(bytes)) => draw_gap(canvas, bytes, middle),
            _ if many => {
                canvas.text((AREA.x, middle + 5.0), 12.0, Anchor::Start, INK, &segment.name);
            }
            _ => {}
        }
        floor = top - BREAK;
    }
    let beside = (24.0, AREA.y + AREA.h / 2.0);
    canvas.text(beside, 13.0, Anchor::Upwards, GREY, "address (+ from the start of its segment)");
}

/// Where cells begin, and where the last one ends, in dots: from the left, and from the
/// bottom up.
fn edges(segment: &Segment, times: &[u64], area: Rect) -> (Vec<f64>, Vec<f64>) {
    let (start, length) = (times[0] as f64, (times[times.len() - 1] - times[0]) as f64);
    let x = |&at: &u64| (area.x + (at as f64 - start) / length * area.w).round();
    let (low, size) = (segment.range().start, segment.range().len() as f64);
    let y = |&at: &u64| (area.bottom() - (at - low) as f64 / size * area.h).round();
    (times.iter().map(x).collect(), segment.addresses.iter().map(y).collect())
}

/// Cells between these edges, as many at a time as take a dot.
fn by_dot(edges: &[f64]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for at in 1..edges.len() {
        if edges[at] != edges[start] {
            groups.push(start..at);
            start = at;
        }
    }
    if let Some(last) = groups.last_mut() {
        last.end = edges.len() - 1;
    }
    groups
}

/// Cells of one shade and row that touch become one rectangle, and all rectangles
/// of one shade one path. Of cells smaller than a dot the hottest is shown.
fn draw_cells(canvas: &mut Canvas, segment: &Segment, times: &[u64], ramp: Ramp, area: Rect) {
    let shade = |rate: f64| colors::shade(ramp.shown(rate));
    canvas.hatch(area);
    let (x, y) = edges(segment, times, area);
    let (columns, rows) = (by_dot(&x), by_dot(&y));
    let mut shades: Vec<Vec<Rect>> = vec![Vec::new(); SHADES];
    for row in rows {
        let (top, bottom) = (y[row.end], y[row.start]);
        let hottest = |column: &Range<usize>| {
            let cells = segment.rates[row.clone()].iter().flat_map(|rates| &rates[column.clone()]);
            cells.copied().flatten().reduce(f64::max)
        };
        let shaded: Vec<_> = columns.iter().map(|column| hottest(column).map(shade)).collect();
        let mut first = 0;
        for run in shaded.chunk_by(|a, b| a == b) {
            let (left, right) = (x[columns[first].start], x[columns[first + run.len() - 1].end]);
            first += run.len();
            if let Some(shade) = run[0] {
                shades[shade].push(Rect { x: left, y: top, w: right - left, h: bottom - top });
            }
        }
    }
    for (shade, rects) in shades.iter().enumerate().filter(|(_, rects)| !rects.is_empty()) {
        canvas.rects(rects, &colors::hex(colors::shade_color(shade)));
    }
    for (&action, bytes) in &segment.acted {
        let marked = bytes.iter().map(|row| row.iter().map(|&bytes| bytes > 0).collect());
        Mask { x: &x, y: &y, marked: marked.collect() }.draw(canvas, &hatch(action));
    }
}

/// The segment's axis: the address where it begins, and round distances from there;
/// in a small segment, the addresses of pages.
fn draw_addresses(canvas: &mut Canvas, segment: &Segment, area: Rect) {
    let range = segment.range();
    let mut mark = |y: f64, label: &str| {
        canvas.line((area.x - 6.0, y), (area.x, y), GREY);
        canvas.text((area.x - 10.0, y + 4.0), 12.0, Anchor::End, INK, label);
    };
    mark(area.bottom(), &format!("{:#x}", range.start));
    let most = (area.h / LABEL_EVERY / 1.5) as usize;
    let mut marks = Vec::new();
    if segment.is_close() {
        let pages = ticks::pages(range, most).into_iter();
        marks.extend(pages.map(|page| ((page - range.start) as f64, format!("{page:#x}"))));
    } else {
        let sizes = ticks::bytes(range.len() as f64, most).into_iter().skip(1);
        marks.extend(sizes.map(|tick| (tick.value, format!("+{}", tick.label))));
    }
    for (bytes, label) in marks {
        let y = area.bottom() - bytes / range.len() as f64 * area.h;
        if area.bottom() - y >= LABEL_EVERY {
            mark(y, &label);
        }
    }
    canvas.line((area.x, area.y), (area.x, area.bottom()), GREY);
}

/// A break: a torn axis, and how much is left out.
fn draw_gap(canvas: &mut Canvas, bytes: u64, middle: f64) {
    for y in [middle - 3.0, middle + 3.0] {
        canvas.line((AREA.x - 7.0, y + 3.0), (AREA.x + 7.0, y - 3.0), GREY);
    }
    let note = format!("{} of unmonitored addresses left out", display::bytes(bytes));
    let centre = AREA.x + AREA.w / 2.0;
    canvas.text((centre, middle + 4.0), 11.0, Anchor::Middle, GREY, &note);
}

fn draw_time_axis(canvas: &mut Canvas, (from, to): (u64, u64)) {
    let (from, to) = (from as f64 / 1e6, to as f64 / 1e6);
    let floor = AREA.bottom();
    canvas.line((AREA.x, floor), (AREA.right(), floor), GREY);
    for tick in ticks::decimal(from, to, 12) {
        let x = AREA.x + (tick.value - from) / (to - from) * AREA.w;
        canvas.line((x, floor), (x, floor + 6.0), GREY);
        canvas.text((x, floor + 21.0), 12.0, Anchor::Middle, INK, &tick.label);
    }
    let below = (AREA.x + AREA.w / 2.0, floor + 46.0);
    canvas.text(below, 13.0, Anchor::Middle, GREY, "time since the record began (s)");
}

/// A bar of all shades with the marked rates beside it.
fn draw_legend(canvas: &mut Canvas, ramp: Ramp, actions: &BTreeSet<Action>) {
    let bar = Rect { x: AREA.right() + 26.0, y: AREA.y + 24.0, w: 18.0, h: 64.0 * 4.0 };
    canvas.text((bar.x, AREA.y + 8.0), 13.0, Anchor::Start, GREY, ramp.name());
    let height = bar.h / SHADES as f64;
    for shade in 0..SHADES {
        let y = bar.bottom() - (shade + 1) as f64 * height;
        canvas.rect(Rect { y, h: height, ..bar }, &colors::hex(colors::shade_color(shade)));
    }
    for (mark, name) in ramp.marks() {
        let y = bar.bottom() - colors::position(mark) * bar.h;
        canvas.line((bar.right(), y), (bar.right() + 5.0, y), GREY);
        canvas.text((bar.right() + 10.0, y + 4.0), 12.0, Anchor::Start, INK, &name);
    }
    let swatch = Rect { y: bar.bottom() + 24.0, h: 18.0, ..bar };
    canvas.hatch(swatch);
    for (line, word) in ["not", "monitored"].into_iter().enumerate() {
        let at = (swatch.right() + 10.0, swatch.y + 7.0 + 14.0 * line as f64);
        canvas.text(at, 12.0, Anchor::Start, INK, word);
    }
    if actions.is_empty() {
        return;
    }
    canvas.text((bar.x, swatch.y + 62.0), 13.0, Anchor::Start, GREY, "schemes did");
    for (line, &action) in actions.iter().enumerate() {
        let swatch = Rect { y: swatch.y + 74.0 + 26.0 * line as f64, ..swatch };
        canvas.rect(swatch, &colors::hex(colors::color(0.0)));
        let (x, y) = ([swatch.x, swatch.right()], [swatch.bottom(), swatch.y]);
        Mask { x: &x, y: &y, marked: vec![vec![true]] }.draw(canvas, &hatch(action));
        let beside = (swatch.right() + 10.0, swatch.y + 13.0);
        canvas.text(beside, 12.0, Anchor::Start, INK, action.name());
    }
}

/// Whose the rows of a segment are. What nobody has, or is not known, stays white.
fn draw_strip(canvas: &mut Canvas, heatmap: &Heatmap, segment: &Segment, area: Rect) {
    let (_, y) = edges(segment, &heatmap.times, area);
    let mut of_color: Vec<Vec<Rect>> = vec![Vec::new(); colors::OWNERS.len() + 1];
    for (row, shares) in segment.owned.iter().enumerate() {
        let size = (segment.addresses[row + 1] - segment.addresses[row]) as f64;
        let mut shown: Vec<f64> = vec![0.0; of_color.len()];
        for &(place, bytes) in shares {
            shown[place.min(colors::OWNERS.len())] += bytes as f64 / size * SHARES.w;
        }
        let (top, h, mut x) = (y[row + 1], y[row] - y[row + 1], SHARES.x);
        if let Some((place, _)) = heatmap.owner_of(shares) {
            let most = Rect { x: MOST.x, y: top, w: MOST.w, h };
            of_color[place.min(colors::OWNERS.len())].push(most);
        }
        for (rects, w) in of_color.iter_mut().zip(shown) {
            if w > 0.0 {
                rects.push(Rect { x, y: top, w, h });
            }
            x += w;
        }
    }
    for (place, rects) in of_color.iter().enumerate().filter(|(_, rects)| !rects.is_empty()) {
        canvas.rects(rects, colors::owner(place));
    }
    if !segment.owned.is_empty() {
        canvas.line((SHARES.right(), area.y), (SHARES.right(), area.bottom()), GREY);
    }
}

/// The list of owners: the colour of each, who it is and what it has.
fn draw_owners(canvas: &mut Canvas, heatmap: &Heatmap) {
    let legend = heatmap.legend_of_owners(colors::OWNERS.len(), LONGEST_NAME);
    for (place, said) in legend.iter().enumerate() {
        let (across, down) = (place / OWNERS_BELOW, place % OWNERS_BELOW);
        let x = OWNERS.x + across as f64 * OWNERS.w;
        let y = OWNERS.y + down as f64 * OWNERS.h;
        canvas.rect(Rect { x, y: y - 10.0, w: 12.0, h: 12.0 }, colors::owner(place));
        canvas.text((x + 18.0, y), 12.0, Anchor::Start, INK, said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_smaller_than_a_dot_share_one() {
        assert_eq!(by_dot(&[0.0, 1.0, 3.0]), [0..1, 1..2]);
        assert_eq!(by_dot(&[9.0, 9.0, 8.0, 8.0, 8.0, 5.0, 5.0]), [0..2, 2..6]);
        assert_eq!(by_dot(&[4.0, 4.0]), []);
    }
}
