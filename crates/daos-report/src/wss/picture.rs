//! The working set as a picture: sorted by size, and by time.

use super::Wss;
use crate::canvas::{Anchor, Canvas, GREY, INK, Rect};
use crate::panel::{Axis, Panel};
use daos_core::units::display;

/// Points along the sorted distribution.
const POINTS: u32 = 400;

/// Draws both panels, to the same scale.
pub fn draw(wss: &Wss) -> Canvas {
    let mut canvas = Canvas::default();
    let headline = format!("Working set of {}", wss.title);
    canvas.text((40.0, 40.0), 18.0, Anchor::Start, INK, &headline);
    canvas.text((40.0, 64.0), 13.0, Anchor::Start, GREY, &summary(wss));
    let sizes = Axis::bytes("working set", wss.largest() as f64, 8);
    let left = Panel {
        area: Rect { x: 130.0, y: 130.0, w: 440.0, h: 490.0 },
        title: "Sorted by size",
        x: Axis::numbers("percentile of snapshots (%)", (0.0, 100.0), 6),
        y: sizes.clone(),
    };
    let right = Panel {
        area: Rect { x: 720.0, ..left.area },
        title: "By time",
        x: Axis::time(wss.time, 7),
        y: sizes,
    };
    left.frame(&mut canvas);
    right.frame(&mut canvas);
    left.filled(&mut canvas, &sorted(wss));
    right.series(&mut canvas, &wss.series());
    if let Some(resident) = wss.resident_bytes {
        let label = format!("resident: {}", display::bytes(resident));
        left.mark_y(&mut canvas, resident as f64, &label);
        right.mark_y(&mut canvas, resident as f64, &label);
    }
    canvas
}

/// The working set at evenly spaced percentiles.
fn sorted(wss: &Wss) -> Vec<(f64, f64)> {
    let percents = (0..=POINTS).map(|i| f64::from(i) * 100.0 / f64::from(POINTS));
    percents.filter_map(|p| Some((p, wss.percentile(p)? as f64))).collect()
}

fn summary(wss: &Wss) -> String {
    let meaning = wss.meaning();
    match (wss.percentile(50.0), wss.percentile(100.0)) {
        (Some(median), Some(most)) => format!(
            "{meaning}; median {}, at most {}; {} snapshots",
            display::bytes(median),
            display::bytes(most),
            wss.snapshots()
        ),
        _ => format!("{meaning}; no snapshots"),
    }
}
