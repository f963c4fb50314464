//! A canvas for pictures: rectangles, lines, shapes and text, as SVG.
//!
//! Small on purpose. Coordinates are dots from the top left corner; nothing but
//! numbers, our own colours and escaped text gets into the file.

use std::fmt::Write as _;

/// Width of every picture, in dots.
pub const WIDTH: f64 = 1200.0;
/// Height of every picture, in dots.
pub const HEIGHT: f64 = 700.0;

/// Text.
pub const INK: &str = "#222222";
/// Axes and what is said by the way.
pub const GREY: &str = "#6b6b6b";
/// The lines of a grid.
pub const PALE: &str = "#e4e4e4";
/// What a plot is about.
pub const BLUE: &str = "#1c5d99";
/// The range around it.
pub const LIGHT_BLUE: &str = "#c3d9ec";
/// A limit, or another mark to compare with.
pub const RED: &str = "#b3261e";

/// A point: x from the left, y from the top.
pub type Point = (f64, f64);

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rect {
    /// Its left edge.
    pub x: f64,
    /// Its top edge.
    pub y: f64,
    /// Its width.
    pub w: f64,
    /// Its height.
    pub h: f64,
}

impl Rect {
    /// Its right edge.
    pub fn right(&self) -> f64 {
        self.x + self.w
    }

    /// Its bottom edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.h
    }
}

/// Which point of a text lies where it is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The left end of its base line.
    Start,
    /// The middle of its base line.
    Middle,
    /// The right end of its base line.
    End,
    /// The middle of its base line; the text runs upwards.
    Upwards,
}

/// Thin lines that let what is under them be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hatch {
    /// What it is called in the file: letters.
    pub name: &'static str,
    /// The colour of its lines.
    pub color: &'static str,
    /// How they are turned.
    pub degrees: u32,
}

/// A picture as it grows.
#[derive(Debug, Default)]
pub struct Canvas {
    body: String,
    /// Hatches that were used.
    hatches: Vec<Hatch>,
    /// Areas that drawing was clipped to.
    clips: usize,
}

impl Canvas {
    /// Fills a rectangle, with edges that are not blurred.
    pub fn rect(&mut self, rect: Rect, fill: &str) {
        self.rects(&[rect], fill);
    }

    /// Fills many rectangles of one colour, in few bytes each.
    pub fn rects(&mut self, rects: &[Rect], fill: &str) {
        let corner =
            |r: &Rect| format!("M{} {}h{}v{}h-{}z", n(r.x), n(r.y), n(r.w), n(r.h), n(r.w));
        let path: String = rects.iter().map(corner).collect();
        self.add(format_args!(r#"<path fill="{fill}" shape-rendering="crispEdges" d="{path}"/>"#));
    }

    /// Fills a rectangle with the hatching of what was not monitored.
    pub fn hatch(&mut self, rect: Rect) {
        self.rect(rect, "url(#hatch)");
    }

    /// Lays thin lines over many rectangles, each with a pale edge.
    pub fn hatched(&mut self, rects: &[Rect], hatch: &Hatch) {
        if !self.hatches.contains(hatch) {
            self.hatches.push(*hatch);
        }
        self.rects(rects, &format!("url(#{})", hatch.name));
    }

    /// Draws level and upright lines with a pale edge, so that they stand out on any colour.
    pub fn outline(&mut self, lines: &[(Point, Point)], color: &str) {
        let line = |&(from, to): &(Point, Point)| match from.1 == to.1 {
            true => format!("M{} {}h{}", n(from.0), n(from.1), n(to.0 - from.0)),
            false => format!("M{} {}v{}", n(from.0), n(from.1), n(to.1 - from.1)),
        };
        let path: String = lines.iter().map(line).collect();
        for (color, width, opacity) in [("#ffffff", 3.2, 0.8), (color, 1.4, 1.0)] {
            self.add(format_args!(
                r#"<path fill="none" stroke="{color}" stroke-width="{width}" stroke-opacity="{opacity}" stroke-linecap="square" d="{path}"/>"#
            ));
        }
    }

    /// Draws a straight line one dot wide.
    pub fn line(&mut self, from: Point, to: Point, color: &str) {
        self.stroke(&[from, to], color, "");
    }

    /// Draws a dashed straight line.
    pub fn dashed(&mut self, from: Point, to: Point, color: &str) {
        self.stroke(&[from, to], color, r#" stroke-width="1.5" stroke-dasharray="7 4""#);
    }

    /// Draws a line through points.
    pub fn curve(&mut self, points: &[Point], color: &str) {
        self.stroke(points, color, r#" stroke-width="1.8" stroke-linejoin="round""#);
    }

    /// Fills what lies between points.
    pub fn shape(&mut self, points: &[Point], fill: &str) {
        self.add(format_args!(r#"<polygon fill="{fill}" points="{}"/>"#, list(points)));
    }

    /// Fills what lies between points, so that what is under it can be seen.
    pub fn veil(&mut self, points: &[Point], fill: &str, opacity: f64) {
        let points = list(points);
        self.add(format_args!(
            r#"<polygon fill="{fill}" fill-opacity="{opacity}" points="{points}"/>"#
        ));
    }

    /// Draws a small filled shape with an edge.
    pub fn mark(&mut self, points: &[Point], fill: &str, edge: &str) {
        let points = list(points);
        self.add(format_args!(
            r#"<polygon fill="{fill}" stroke="{edge}" stroke-width="1.2" points="{points}"/>"#
        ));
    }

    /// Draws a filled circle with an edge.
    pub fn disc(&mut self, (x, y): Point, radius: f64, fill: &str, edge: &str) {
        self.add(format_args!(
            r#"<circle cx="{}" cy="{}" r="{radius}" fill="{fill}" stroke="{edge}" stroke-width="1.6"/>"#,
            n(x),
            n(y)
        ));
    }

    /// Draws what `draw` draws, but only where it lies inside `area`.
    pub fn clipped(&mut self, area: Rect, draw: impl FnOnce(&mut Self)) {
        self.clips += 1;
        let (id, Rect { x, y, w, h }) = (self.clips, area);
        let [x, y, w, h] = [x, y, w, h].map(n);
        self.add(format_args!(
            r#"<clipPath id="clip{id}"><rect x="{x}" y="{y}" width="{w}" height="{h}"/></clipPath>"#
        ));
        self.add(format_args!(r##"<g clip-path="url(#clip{id})">"##));
        draw(self);
        self.add(format_args!("</g>"));
    }

    /// Writes one line of text, `size` dots high.
    pub fn text(&mut self, (x, y): Point, size: f64, anchor: Anchor, color: &str, text: &str) {
        let (anchor, turn) = match anchor {
            Anchor::Start => ("start", String::new()),
            Anchor::Middle => ("middle", String::new()),
            Anchor::End => ("end", String::new()),
            Anchor::Upwards => ("middle", format!(r#" transform="rotate(-90 {} {})""#, n(x), n(y))),
        };
        self.add(format_args!(
            r#"<text x="{}" y="{}" font-size="{size}" text-anchor="{anchor}" fill="{color}"{turn}>{}</text>"#,
            n(x),
            n(y),
            escaped(text)
        ));
    }

    /// The whole picture as an SVG file.
    pub fn finish(self) -> String {
        let hatches: String = self.hatches.iter().map(Hatch::pattern).collect();
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="DejaVu Sans, Verdana, sans-serif">
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="#ebebeb"/><rect width="2" height="6" fill="#c4c4c4"/></pattern>{hatches}</defs>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
{}</svg>
"##,
            self.body
        )
    }

    fn stroke(&mut self, points: &[Point], color: &str, more: &str) {
        let points = list(points);
        self.add(format_args!(
            r#"<polyline fill="none" stroke="{color}"{more} points="{points}"/>"#
        ));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a string takes everything");
    }
}

impl Hatch {
    fn pattern(&self) -> String {
        let Self { name, color, degrees } = self;
        format!(
            r##"<pattern id="{name}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate({degrees})"><rect x="1" width="1" height="7" fill="#ffffff" fill-opacity="0.6"/><rect width="1" height="7" fill="{color}"/></pattern>"##
        )
    }
}

/// About how wide a text is, in dots, when it is `size` dots high.
pub fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' => 0.32,
        'f' | 't' | 'r' | '-' | '(' | ')' | '/' | 'I' => 0.39,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' | '_' => 0.56,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        '=' | '+' | '<' | '>' | '~' | '\u{b1}' => 0.84,
        'A'..='Z' => 0.72,
        c if c.is_ascii() => 0.63,
        _ => 1.0,
    };
    text.chars().map(width).sum::<f64>() * size
}

/// How many characters of text `size` dots high fit into `width` dots, about.
pub fn fitting(width: f64, size: f64) -> usize {
    (width / (size * 0.6)).max(3.0) as usize
}

/// A coordinate to a tenth of a dot, which no eye can tell from the exact one.
fn n(value: f64) -> f64 {
    (value * 10.0).round() / 10.0 + 0.0
}

fn list(points: &[Point]) -> String {
    let points: Vec<_> = points.iter().map(|&(x, y)| format!("{},{}", n(x), n(y))).collect();
    points.join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut canvas = Canvas::default();
        canvas.text((1.0, 2.04), 12.0, Anchor::Start, INK, "a<b & c");
        let svg = canvas.finish();
        assert!(svg.contains(r#"<text x="1" y="2" "#) && svg.contains(">a&lt;b &amp; c</text>"));
    }

    #[test]
    fn rectangles_of_one_colour_share_a_path() {
        let mut canvas = Canvas::default();
        let rect = Rect { x: 0.0, y: 0.0, w: 4.0, h: 3.0 };
        canvas.rects(&[rect, Rect { x: 8.0, ..rect }], "#000000");
        assert!(canvas.finish().contains(r#"d="M0 0h4v3h-4zM8 0h4v3h-4z""#));
    }

    #[test]
    fn areas_that_are_clipped_to_have_names_of_their_own() {
        let mut canvas = Canvas::default();
        let area = Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 };
        for _ in 0..2 {
            canvas.clipped(area, |canvas| canvas.line((0.0, 0.0), (9.0, 9.0), INK));
        }
        let svg = canvas.finish();
        for id in ["clip1", "clip2"] {
            assert!(svg.contains(&format!(r#"<clipPath id="{id}"><rect x="1" y="2""#)), "{svg}");
            assert!(svg.contains(&format!(r#"<g clip-path="url(#{id})">"#)), "{svg}");
        }
        assert_eq!(svg.matches("</g>").count(), 2);
    }
}
