//! The colours of access rates and of actions.
//!
//! Readers of the kernel tool's heat maps find them too dark: theirs start at
//! black. This ramp starts at a pale cream, is darker wherever the rate is
//! higher, so that it survives a grey printer and colour-blind eyes, and spreads
//! by the square root of the rate, so that 5 % stands well apart from 0 %. What
//! was not monitored is grey, a colour that no rate has. The colours of rates are warm;
//! those of actions are not.

use crate::canvas::Hatch;
use daos_core::Action;

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];

/// Rates that legends name, 0 to 1.
pub const MARKS: [f64; 5] = [0.0, 0.05, 0.25, 0.5, 1.0];

/// What was not monitored.
pub const UNMONITORED: Rgb = [0xc4, 0xc4, 0xc4];

/// How many shades a picture tells apart.
pub const SHADES: usize = 64;

/// Colours at equal distances along the ramp.
const POINTS: [Rgb; 6] = [
    [0xff, 0xf9, 0xdf],
    [0xfe, 0xdd, 0x8b],
    [0xfb, 0xab, 0x4c],
    [0xec, 0x65, 0x2d],
    [0xb8, 0x1d, 0x3c],
    [0x4d, 0x06, 0x2c],
];

/// Where a rate of 0 to 1 lies on the ramp, 0 to 1.
pub fn position(rate: f64) -> f64 {
    rate.clamp(0.0, 1.0).sqrt()
}

/// The shade, `0..`[`SHADES`], of a rate of 0 to 1.
pub fn shade(rate: f64) -> usize {
    (position(rate) * (SHADES - 1) as f64).round() as usize
}

/// The colour of a shade.
pub fn shade_color(shade: usize) -> Rgb {
    at(shade as f64 / (SHADES - 1) as f64)
}

/// The colours of those who have most memory; all others have one more, [`owner`].
pub const OWNERS: [&str; 7] =
    ["#1c5d99", "#2a9d8f", "#8e44ad", "#7cb342", "#26c6da", "#ad6f9e", "#34495e"];

/// The colour of an owner by its place.
pub fn owner(place: usize) -> &'static str {
    OWNERS.get(place).copied().unwrap_or("#98a2ad")
}

/// The colour of a rate of 0 to 1.
pub fn color(rate: f64) -> Rgb {
    at(position(rate))
}

/// The colour at a position on the ramp, 0 to 1.
fn at(position: f64) -> Rgb {
    let scaled = position.clamp(0.0, 1.0) * (POINTS.len() - 1) as f64;
    let left = (scaled as usize).min(POINTS.len() - 2);
    let share = scaled - left as f64;
    let mix = |i| {
        let (a, b): (u8, u8) = (POINTS[left][i], POINTS[left + 1][i]);
        (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

/// `#rrggbb`.
pub fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The nearest colour of the 6 × 6 × 6 cube in the 256-colour palette.
pub fn palette(color: Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest = |value: u8| {
        let distance = |i: &u8| LEVELS[usize::from(*i)].abs_diff(value);
        (0..6u8).min_by_key(distance).unwrap_or(0)
    };
    let [r, g, b] = color.map(nearest);
    16 + 36 * r + 6 * g + b
}

/// The character of a rate, where there is no colour: one for each of [`MARKS`]
/// that the rate does not exceed.
pub fn character(rate: Option<f64>, unicode: bool) -> char {
    let ramp = if unicode { ['·', '░', '▒', '▓', '█'] } else { ['.', ':', '+', '#', '@'] };
    match rate {
        Some(rate) => ramp[MARKS.iter().position(|&mark| rate <= mark).unwrap_or(4)],
        None => ' ',
    }
}

/// How an action looks in a picture.
pub fn hatch(action: Action) -> Hatch {
    let (name, color, degrees) = match action {
        Action::Pageout => ("pageout", "#0b57d0", 45),
        Action::Cold => ("cold", "#00838f", 0),
        Action::Willneed => ("willneed", "#6a3fc4", 90),
        Action::Hugepage => ("hugepage", "#009e3d", 135),
        Action::Nohugepage => ("nohugepage", "#64b31c", 20),
        Action::Lock => ("lock", "#111111", 70),
        Action::Stat => ("stat", "#5f6b7a", 110),
    };
    Hatch { name, color, degrees }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lightness([r, g, b]: Rgb) -> f64 {
        0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
    }

    #[test]
    fn more_accesses_are_darker() {
        for shade in 1..SHADES {
            assert!(lightness(shade_color(shade)) < lightness(shade_color(shade - 1)), "{shade}");
        }
    }

    #[test]
    fn the_marks_stand_apart_in_every_medium() {
        let distinct = |keys: [u64; 5]| keys.windows(2).all(|pair| pair[0] != pair[1]);
        assert!(distinct(MARKS.map(|mark| u64::from(palette(color(mark))))));
        assert!(distinct(MARKS.map(|mark| character(Some(mark), true).into())));
        assert!(distinct(MARKS.map(|mark| character(Some(mark), false).into())));
        assert!(lightness(color(0.0)) - lightness(color(0.05)) > 20.0);
    }

    #[test]
    fn a_trace_of_access_is_not_cold() {
        assert_eq!(character(Some(0.0), true), '·');
        assert_eq!(character(Some(0.001), true), '░');
        assert_ne!(shade(0.001), shade(0.0));
        assert_eq!(character(None, true), ' ');
    }

    #[test]
    fn no_two_actions_look_the_same() {
        for (index, &action) in Action::ALL.iter().enumerate() {
            for &other in &Action::ALL[..index] {
                assert_ne!(hatch(action).color, hatch(other).color);
                assert_ne!(hatch(action).degrees, hatch(other).degrees);
            }
        }
    }
}
