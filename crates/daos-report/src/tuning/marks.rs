//! The marks of a tuning in a picture. They differ in form, so that they can be told apart
//! without colours, and in colours that the colour-blind tell apart.

use super::PointKind;
use super::legend::Sign;
use crate::canvas::{BLUE, Canvas, GREY, LIGHT_BLUE, Point, RED};
use std::f64::consts::PI;

const WHITE: &str = "#ffffff";
/// The edge of a point found by exploring, and all of a mean.
const DARK: &str = "#333333";
const ORANGE: &str = "#e69f00";
const PURPLE: &str = "#7a3e9d";

/// How dense a confidence band is, 0 to 1.
pub const BAND: f64 = 0.75;

/// How wide the sign of a legend is, in dots.
pub const SIGN: f64 = 26.0;

/// Draws a measured point of about this radius, in dots.
pub fn point(canvas: &mut Canvas, at: Point, kind: PointKind, radius: f64) {
    match kind {
        PointKind::Explore => canvas.disc(at, radius, WHITE, DARK),
        PointKind::Improve => canvas.mark(&corners(at, 4, radius * 1.4, 0.0), ORANGE, DARK),
        PointKind::Repeat => canvas.mark(&corners(at, 4, radius * 1.5, PI / 4.0), PURPLE, WHITE),
        PointKind::Mean => canvas.disc(at, radius, DARK, WHITE),
    }
}

/// Draws a bar from the first to the second height, with caps.
pub fn spread(canvas: &mut Canvas, x: f64, (from, to): (f64, f64), color: &str) {
    canvas.line((x, from), (x, to), color);
    for y in [from, to] {
        canvas.line((x - 3.0, y), (x + 3.0, y), color);
    }
}

/// Draws the star of a peak.
pub fn peak(canvas: &mut Canvas, at: Point, radius: f64) {
    let (outer, inner) = (corners(at, 5, radius, 0.0), corners(at, 5, radius * 0.45, PI / 5.0));
    let star: Vec<_> = outer.into_iter().zip(inner).flat_map(|(a, b)| [a, b]).collect();
    canvas.mark(&star, RED, WHITE);
}

/// Draws an arrow that points down to `at`.
pub fn below(canvas: &mut Canvas, (x, y): Point) {
    canvas.curve(&[(x, y - 18.0), (x, y - 6.0)], DARK);
    canvas.mark(&[(x, y), (x - 5.0, y - 9.0), (x + 5.0, y - 9.0)], DARK, DARK);
}

/// Draws what stands for a sign in the legend, [`SIGN`] wide, around the middle of its left
/// edge.
pub fn sign(canvas: &mut Canvas, (x, y): Point, sign: Sign) {
    let (middle, right) = (x + SIGN / 2.0, x + SIGN);
    match sign {
        Sign::Point(kind) => point(canvas, (middle, y), kind, 5.0),
        Sign::Spread => spread(canvas, middle, (y - 8.0, y + 8.0), GREY),
        Sign::Curve => canvas.curve(&[(x, y), (right, y)], BLUE),
        Sign::Band => {
            let band = [(x, y - 6.0), (right, y - 6.0), (right, y + 6.0), (x, y + 6.0)];
            canvas.veil(&band, LIGHT_BLUE, BAND);
        }
        Sign::Baseline => canvas.dashed((x, y), (right, y), GREY),
        Sign::Peak => peak(canvas, (middle, y), 10.0),
        Sign::Below => below(canvas, (middle, y + 8.0)),
    }
}

/// The corners of a regular shape, the first of which is at the top, turned by an angle.
fn corners((x, y): Point, count: u32, radius: f64, turned: f64) -> Vec<Point> {
    let angle = |i| f64::from(i) / f64::from(count) * 2.0 * PI + turned;
    (0..count).map(|i| (x + radius * angle(i).sin(), y - radius * angle(i).cos())).collect()
}
