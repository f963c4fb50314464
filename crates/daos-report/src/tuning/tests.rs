use super::*;
use crate::testing::written;
use proptest::prelude::*;

const STYLE: Style = Style { color: false, unicode: true, width: 90, height: 30 };

fn point(place: f64, score: f64, kind: PointKind) -> Measured {
    Measured { place, score, sd: None, kind }
}

fn expected(mean: f64, spread: f64) -> Expected {
    Expected { mean, low: mean - spread, high: mean + spread }
}

/// Rises steeply, then falls: the paper's second shape.
fn shape(place: f64) -> f64 {
    let step = |at: f64| 1.0 / (1.0 + (-(place - at) / 0.05).exp());
    0.25 * step(0.2) + 0.2 * place - 0.25 * step(0.6)
}

fn curve(spread: impl Fn(f64) -> f64) -> Vec<(f64, Expected)> {
    let places = (0..=100).map(|i| f64::from(i) / 100.0);
    places.map(|place| (place, expected(shape(place), spread(place)))).collect()
}

fn seconds(count: usize) -> Vec<(f64, String)> {
    let mark = |i: usize| {
        let share = i as f64 / (count - 1) as f64;
        (share, format!("{}s", (share * 60.0).round()))
    };
    (0..count).map(mark).collect()
}

/// Ten samples of one threshold, the curve through them and its peak.
fn tuned() -> TuningView {
    use PointKind::{Explore, Improve, Repeat};
    let measured = [
        (0.07, 0.02, Explore),
        (0.21, 0.19, Explore),
        (0.38, 0.30, Explore),
        (0.62, 0.19, Explore),
        (0.79, 0.14, Explore),
        (0.95, 0.22, Explore),
        (0.44, 0.34, Improve),
        (0.50, 0.29, Improve),
        (0.47, 0.33, Improve),
        (0.46, 0.30, Repeat),
    ];
    let points = measured.map(|(place, score, kind)| point(place, score, kind)).into();
    let curve = curve(|place| 0.03 + 0.06 * (place - 0.45).abs());
    let panel = TuningPanel {
        name: "min_age".to_owned(),
        ticks: seconds(7),
        points,
        curve,
        peak: Some((0.46, expected(shape(0.46), 0.03), "min_age=27.6s".to_owned())),
    };
    TuningView {
        title: "prcl tuned for ./benchmark --size 4G".to_owned(),
        subtitle: Some("best: min_age=27.6s, score 0.33 (0.30 to 0.36)".to_owned()),
        panels: vec![panel],
        baselines: vec![-0.012, 0.004, 0.019, 0.001],
    }
}

/// A mean and a standard deviation at each of 61 points.
fn swept() -> TuningView {
    let mean = |i: usize| {
        let place = i as f64 / 60.0;
        let noise = 0.025 * ((i * i * 7 + i * 3) as f64).sin();
        let sd = Some(0.012 + 0.012 * (i as f64 * 1.7).cos().abs());
        Measured { place, score: shape(place) + noise, sd, kind: PointKind::Mean }
    };
    let panel = TuningPanel {
        name: "min_age".to_owned(),
        ticks: seconds(61),
        points: (0..61).map(mean).collect(),
        curve: curve(|_| 0.0),
        peak: None,
    };
    TuningView {
        title: "min_age from 0s to 60s, 3 times each: ./benchmark".to_owned(),
        subtitle: Some(
            "shape 2: rises, then falls, but stays above no scheme (explains 94 %)".to_owned(),
        ),
        panels: vec![panel],
        baselines: vec![-0.01, 0.01],
    }
}

/// Two thresholds, of which the second has a peak at its right end.
fn two() -> TuningView {
    let mut view = tuned();
    let mut other = view.panels[0].clone();
    other.name = "quota_sz".to_owned();
    other.ticks = [(0.0, "4 MiB"), (0.25, "16 MiB"), (0.5, "64 MiB"), (0.75, "256 MiB")]
        .map(|(place, label)| (place, label.to_owned()))
        .into();
    other.ticks.push((1.0, "1 GiB".to_owned()));
    for (index, point) in other.points.iter_mut().enumerate() {
        point.place = (index * 37 % 100) as f64 / 100.0;
    }
    let line = |i: u32| (f64::from(i) / 50.0, expected(0.1 + 0.2 * f64::from(i) / 50.0, 0.08));
    other.curve = (0..=50).map(line).collect();
    other.peak = Some((1.0, expected(0.3, 0.08), "quota_sz=1 GiB".to_owned()));
    view.panels.push(other);
    view
}

fn rendered(view: &TuningView, format: Format) -> String {
    written(|out| render(view, format, &STYLE, out))
}

/// The scale of these scores alone.
fn scale(scores: &[f64]) -> scale::Scale {
    let points = scores.iter().map(|&score| point(0.5, score, PointKind::Explore)).collect();
    let panels = vec![TuningPanel { points, ..TuningPanel::default() }];
    scale::Scale::of(&TuningView { panels, ..TuningView::default() })
}

#[test]
fn text() {
    insta::assert_snapshot!(rendered(&tuned(), Format::Text));
}

#[test]
fn text_of_a_sweep() {
    insta::assert_snapshot!(rendered(&swept(), Format::Text));
}

#[test]
fn text_of_two_thresholds_in_narrow_ascii() {
    let style = Style { unicode: false, width: 60, ..STYLE };
    let text = written(|out| render(&two(), Format::Text, &style, out));
    assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 60), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn colours_are_all_that_colour_adds() {
    let text = written(|out| render(&tuned(), Format::Text, &Style { color: true, ..STYLE }, out));
    assert!(text.contains("\x1b[38;5;160m★\x1b[0m"), "{text:?}");
    let mut plain = text.split('\x1b').map(|part| match part.strip_prefix('[') {
        Some(escape) => escape.split_once('m').unwrap().1,
        None => part,
    });
    assert_eq!(plain.by_ref().collect::<String>(), rendered(&tuned(), Format::Text));
}

#[test]
fn a_picture_has_all_there_is() {
    let svg = rendered(&tuned(), Format::Svg);
    for text in [
        "prcl tuned for ./benchmark",
        "best: min_age=27.6s, score",
        ">min_age<",
        ">60s<",
        ">min_age=27.6s<",
        ">score 0.33 (0.30 to 0.36)<",
        ">measured to explore<",
        ">near the best<",
        ">measured again<",
        ">fitted curve<",
        ">its confidence band<",
        ">no scheme: 0.00 ± 0.01<",
    ] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    // Six discs found by exploring, and the one of the legend.
    assert_eq!(svg.matches("<circle").count(), 7);
    assert!(!svg.contains("below the scale") && !svg.contains("standard deviation"), "{svg}");
}

#[test]
fn the_peaks_label_stays_in_the_picture() {
    let anchor = |place| {
        let mut view = tuned();
        let peak = view.panels[0].peak.as_mut().unwrap();
        (peak.0, peak.2) = (place, "the best of all".to_owned());
        let svg = rendered(&view, Format::Svg);
        let line = svg.lines().find(|line| line.contains("the best of all")).unwrap();
        line.split("text-anchor=").nth(1).unwrap().split('"').nth(1).unwrap().to_owned()
    };
    assert_eq!([0.0, 0.5, 1.0].map(anchor), ["start", "middle", "end"]);
    let mut view = tuned();
    view.panels[0].peak.as_mut().unwrap().0 = 1.0;
    let text = rendered(&view, Format::Text);
    assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
}

#[test]
fn a_point_far_below_is_an_arrow_at_the_border() {
    let mut view = tuned();
    view.panels[0].points[1].score = -3.21;
    let text = rendered(&view, Format::Text);
    assert!(text.contains("↓ below the scale: -3.21"), "{text}");
    assert_eq!(text.matches('↓').count(), 2, "{text}");
    let svg = rendered(&view, Format::Svg);
    assert!(svg.contains(">below the scale: -3.21<") && !svg.contains(">-3"), "{svg}");
    view.panels[0].points[2].score = -1.5;
    let text = rendered(&view, Format::Text);
    assert!(text.contains("↓ 2 below the scale, down to -3.21"), "{text}");
}

#[test]
fn only_few_and_far_points_are_left_out_of_the_scale() {
    let below = |scores: &[f64]| scale(scores).below;
    assert_eq!(below(&[0.1, -9.0, 0.2, 0.3]), [-9.0]);
    assert_eq!(below(&[0.1, 0.2, 0.3, 0.15, 0.2, 0.3, -8.9, -9.0]), [-9.0, -8.9]);
    assert!(below(&[0.1, -9.0]).is_empty(), "of two, neither is the odd one");
    assert!(below(&[0.1, -9.0, -9.1, 0.2, 0.3]).is_empty(), "two of five are not few");
    assert!(below(&[0.1, -0.1, 0.2, 0.3]).is_empty(), "not far");
    assert!(below(&[0.3, 0.29, 0.3, 0.3]).is_empty(), "far only in units of no spread");
    assert!(below(&[0.1, 9.0, 0.2, 0.3]).is_empty(), "the best is never left out");
}

#[test]
fn zero_is_shown_unless_it_is_far_from_all_scores() {
    let has_zero = |scores: &[f64]| {
        let (low, high) = scale(scores).ends;
        low < 0.0 && 0.0 < high
    };
    assert!(has_zero(&[0.1, 0.3]) && has_zero(&[-0.4, -0.2]) && has_zero(&[0.3, 0.3]));
    assert!(has_zero(&[]) && has_zero(&[0.0]) && has_zero(&[5000.0]));
    assert!(!has_zero(&[5000.0, 5100.0]));
}

#[test]
fn a_curve_that_runs_away_does_not_make_the_scale() {
    let mut view = tuned();
    let (low, high) = scale::Scale::of(&view).ends;
    view.panels[0].curve[0].1 = Expected { mean: -50.0, low: -90.0, high: 70.0 };
    let ends = scale::Scale::of(&view).ends;
    assert!(ends.0 > low - 0.3 && ends.1 < high + 0.3, "{ends:?}");
    for format in [Format::Text, Format::Svg] {
        assert!(!rendered(&view, format).contains("below the scale"));
    }
}

#[test]
fn numbers_have_the_decimals_that_the_scale_needs() {
    let number = |to: f64, score| scale(&[0.0, to]).number(score);
    assert_eq!(number(0.5, 0.27183), "0.27");
    assert_eq!(number(0.05, 0.027183), "0.027");
    assert_eq!(number(3.0, 0.27183), "0.27");
    assert_eq!(number(30.0, 2.6183), "2.6");
    assert_eq!(number(5000.0, 271.83), "272");
    assert_eq!(number(0.5, -0.001), "0.00");
}

#[test]
fn anything_can_be_drawn() {
    let mut cases = vec![TuningView::default()];
    let mut with = |change: &dyn Fn(&mut TuningView)| {
        let mut view = two();
        change(&mut view);
        cases.push(view);
    };
    with(&|view| view.panels[0].points.clear());
    with(&|view| view.panels.iter_mut().for_each(|panel| *panel = TuningPanel::default()));
    with(&|view| view.panels[0].points.truncate(1));
    with(&|view| view.baselines = vec![0.3]);
    with(&|view| view.baselines = vec![f64::NAN, f64::INFINITY]);
    with(&|view| view.panels[0].curve.truncate(1));
    with(&|view| {
        let panel = &mut view.panels[0];
        panel.curve.clear();
        panel.ticks.clear();
        panel.peak = None;
        panel.points.iter_mut().for_each(|point| point.score = 0.0);
    });
    for value in [f64::NAN, f64::INFINITY, -1e300, 1e15, 1e-300, -3.0] {
        with(&|view| {
            let panel = &mut view.panels[0];
            panel.points[0].score = value;
            panel.points[1].sd = Some(value);
            panel.points[2].place = value;
            panel.curve[3] = (0.5, expected(value, value));
            panel.peak = Some((0.1, expected(value, 0.0), "x".to_owned()));
            panel.ticks[0].0 = value;
        });
    }
    for view in cases {
        for format in [Format::Text, Format::Svg] {
            let text = rendered(&view, format);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
    let nothing = TuningView { baselines: vec![0.1], ..TuningView::default() };
    assert!(rendered(&nothing, Format::Text).ends_with("nothing was measured\n"));
    assert!(rendered(&nothing, Format::Svg).contains("nothing was measured"));
}

#[test]
fn thresholds_that_have_no_room_are_said_to_be_missing() {
    let mut view = tuned();
    view.panels = vec![view.panels[0].clone(); 8];
    let svg = rendered(&view, Format::Svg);
    assert!(svg.contains("; the first 6 of 8 thresholds are shown"), "{svg}");
    assert_eq!(svg.matches(">min_age<").count(), 6);
}

#[test]
fn a_command_cannot_steer_a_terminal_or_break_a_picture() {
    let mut view = tuned();
    view.title = "prcl \x1b[2J <b>".to_owned();
    view.panels[0].name = "a\nb\u{0}".to_owned();
    assert!(rendered(&view, Format::Text).starts_with("prcl ?[2J <b>\n"));
    let mut png = Vec::new();
    render(&view, Format::Png, &STYLE, &mut png).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
}

#[test]
fn a_tuning_is_no_table() {
    let refusal = render(&tuned(), Format::Csv, &STYLE, &mut Vec::new()).unwrap_err();
    assert_eq!(refusal.to_string(), "a tuning can be text, svg or png, not csv");
}

proptest! {
    #[test]
    fn all_but_few_points_are_on_the_scale(
        scores in prop::collection::vec(-1e3..1e3, 1..40),
        baselines in prop::collection::vec(-1.0..1.0, 0..4),
    ) {
        let points: Vec<_> = scores.iter().map(|&s| point(0.5, s, PointKind::Improve)).collect();
        let panels = vec![TuningPanel { points, ..TuningPanel::default() }];
        let scale = scale::Scale::of(&TuningView { panels, baselines, ..TuningView::default() });
        let (low, high) = scale.ends;
        let below = scores.iter().filter(|&&score| score < low).count();
        prop_assert!(low < high && scores.iter().all(|&score| score < high));
        prop_assert_eq!(below, scale.below.len());
        prop_assert!(below <= (scores.len() / 4).max(1));
    }
}
