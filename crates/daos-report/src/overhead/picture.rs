//! The overhead as a picture: how checks a tick are distributed, and how they and
//! the CPU time went over time.

use super::Overhead;
use crate::canvas::{Anchor, Canvas, GREY, INK, Rect};
use crate::panel::{Axis, Panel, headroom};
use daos_core::units::display;

/// Bars of the histogram, about.
const BARS: u64 = 40;

/// Draws the three panels.
pub fn draw(overhead: &Overhead) -> Canvas {
    let mut canvas = Canvas::default();
    let headline = format!("Overhead of monitoring {}", overhead.title);
    canvas.text((40.0, 40.0), 18.0, Anchor::Start, INK, &headline);
    canvas.text((40.0, 64.0), 13.0, Anchor::Start, GREY, &summary(overhead));
    draw_histogram(&mut canvas, overhead);
    draw_checks(&mut canvas, overhead);
    draw_cpu(&mut canvas, overhead);
    canvas
}

fn draw_histogram(canvas: &mut Canvas, overhead: &Overhead) {
    let (width, ticks) = overhead.histogram(BARS);
    let all = overhead.checks_per_tick.count().max(1) as f64;
    let percent = |count: u64| count as f64 / all * 100.0;
    let highest = ticks.iter().max().map_or(0.0, |&most| percent(most));
    let end = (ticks.len() as u64 * width) as f64;
    let panel = Panel {
        area: Rect { x: 120.0, y: 130.0, w: 440.0, h: 490.0 },
        title: "Checks a tick: distribution",
        x: Axis::numbers("windows checked in a tick", (0.0, end), 6),
        y: Axis::numbers("share of ticks (%)", (0.0, headroom(highest)), 8),
    };
    panel.frame(canvas);
    for (span, &count) in ticks.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let from = (span as u64 * width) as f64;
        panel.bar(canvas, (from, from + width as f64), percent(count));
    }
    if let Some(bound) = overhead.options.max_regions {
        panel.mark_x(canvas, bound.into(), &format!("bound: {bound}"));
    }
}

fn draw_checks(canvas: &mut Canvas, overhead: &Overhead) {
    let panel = Panel {
        area: Rect { x: 700.0, y: 130.0, w: 460.0, h: 200.0 },
        title: "Checks a tick: over time",
        x: Axis::time(overhead.time, 7),
        y: Axis::numbers("windows checked", (0.0, headroom(overhead.most_checks() as f64)), 5),
    };
    panel.frame(canvas);
    panel.series(canvas, &overhead.checks_over_time());
    if let Some(bound) = overhead.options.max_regions {
        panel.mark_y(canvas, bound.into(), &format!("bound: {bound}"));
    }
}

fn draw_cpu(canvas: &mut Canvas, overhead: &Overhead) {
    let (cpu, bound) = (overhead.cpu_over_time(), overhead.options.max_overhead_percent);
    let panel = Panel {
        area: Rect { x: 700.0, y: 430.0, w: 460.0, h: 190.0 },
        title: match overhead.target_us {
            0 => "CPU time of the monitor: over time",
            _ => "CPU time, the target's side included: over time",
        },
        x: Axis::time(overhead.time, 7),
        y: Axis::numbers("% of one CPU", (0.0, headroom(cpu.max().max(bound.unwrap_or(0.0)))), 5),
    };
    panel.frame(canvas);
    panel.series(canvas, &cpu);
    if let Some(bound) = bound {
        panel.mark_y(canvas, bound, &format!("bound: {}", display::percent(bound / 100.0)));
    }
}

fn summary(overhead: &Overhead) -> String {
    let cpu = overhead.cpu_percent().map(|percent| display::percent(percent / 100.0));
    let median = overhead.checks_per_tick.percentile(50.0);
    match (cpu, median) {
        (Some(cpu), Some(median)) => format!(
            "{cpu} of one CPU; median of {median} checks a tick; {} ticks, {} late, {} missed",
            overhead.checks_per_tick.count(),
            overhead.late_ticks,
            overhead.missed_ticks
        ),
        _ => "no ticks".to_owned(),
    }
}
