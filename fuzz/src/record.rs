//! Record files, and all reports of them.

use crate::Target;
use crate::frames::Frames;
use daos_core::{Interval, PageRun, Snapshot};
use daos_record::{JsonLines, Record, Writer};
use daos_report::heatmap::HeatmapOptions;
use daos_report::overhead::OverheadOptions;
use daos_report::owners::{OwnersBy, OwnersOptions};
use daos_report::regions::RegionsOptions;
use daos_report::schemes::{RecordedScheme, SchemesOptions};
use daos_report::wss::WssOptions;
use daos_report::{Format, Style, heatmap, overhead, owners, regions, schemes, wss};
use std::io;
use std::path::Path;

/// Memory chosen: a heat map of the usual size and the SVG of it take about a tenth.
pub const TARGET: Target = Target { name: "record", memory: 32 << 20, run };

/// All but PNG, which is what the drawing library makes of the SVG, and slow.
const FORMATS: [Format; 4] = [Format::Text, Format::Json, Format::Csv, Format::Svg];

/// Reads the input as it is, and with right checksums.
fn run(input: &[u8]) {
    crate::with_file(input, read);
    let sealed = Frames::split(input).join();
    if sealed != input {
        crate::with_file(&sealed, read);
    }
}

fn read(path: &Path) {
    match Record::open(path) {
        Ok(record) => {
            drop(record.damage().map(ToString::to_string));
            report(&record);
            is_written_again(&record);
        }
        Err(error) => drop(error.to_string()),
    }
}

/// Every report in every format. Errors are fine; panics and floods of memory are not.
fn report(record: &Record) {
    let targets: Vec<_> = record.targets().cloned().collect();
    let labels = record.schemes().iter();
    let acted: Vec<_> =
        labels.map(|label| RecordedScheme { label: label.clone(), stats: None }).collect();
    let style = Style::default();
    let mut out = io::sink();
    for format in FORMATS {
        let options = HeatmapOptions::new(format, &style, &targets);
        if let Ok(map) = heatmap::compute(|| Ok(record.intervals()), &targets, &options) {
            drop(heatmap::render(&map, format, &style, &mut out));
        }
        let options = RegionsOptions::default();
        let intervals = record.intervals();
        drop(regions::render(intervals, &targets, &options, format, &style, &mut out));
    }
    let options = WssOptions { timeline: true, ..WssOptions::default() };
    if let Ok(wss) = wss::compute(record.intervals(), &targets, &options) {
        FORMATS.into_iter().for_each(|format| drop(wss::render(&wss, format, &style, &mut out)));
    }
    let options = SchemesOptions::default();
    if let Ok(done) = schemes::compute(record.intervals(), &targets, acted, &options) {
        FORMATS
            .into_iter()
            .for_each(|format| drop(schemes::render(&done, format, &style, &mut out)));
    }
    let options = OverheadOptions::default();
    if let Ok(cost) = overhead::compute(record.intervals(), &targets, &options) {
        FORMATS
            .into_iter()
            .for_each(|format| drop(overhead::render(&cost, format, &style, &mut out)));
    }
    for by in [OwnersBy::Process, OwnersBy::Name, OwnersBy::Cgroup] {
        let options = OwnersOptions { by, time: None };
        if let Ok(bill) = owners::compute(record.intervals(), &targets, &options) {
            FORMATS
                .into_iter()
                .for_each(|format| drop(owners::render(&bill, format, &style, &mut out)));
        }
    }
    let mut lines = JsonLines::new(&mut out);
    for interval in record.intervals().map_while(Result::ok) {
        drop(lines.interval(&targets, &interval));
    }
}

/// Snapshots that were read are written and read as the same, unless they can't be written:
/// but for rates and ages, which writing rounds, so that once they were written nothing
/// changes any more. What schemes did is not compared: the writer numbers schemes anew.
fn is_written_again(record: &Record) {
    let Some(once) = written(record) else { return };
    let unrounded = |record| snapshots(record).map(|snapshot| without_rates(&snapshot));
    assert!(unrounded(&once).eq(unrounded(record)), "written, it is read as another");
    let twice = written(&once).expect("what was written can be written");
    assert!(snapshots(&twice).eq(snapshots(&once)), "written twice, it is read as another");
}

fn snapshots(record: &Record) -> impl Iterator<Item = Snapshot> {
    record.intervals().map_while(Result::ok).map(|interval| interval.snapshot)
}

/// The snapshots of a record in another one, if they can be written.
fn written(record: &Record) -> Option<Record> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, record.header()).ok()?;
    for snapshot in snapshots(record) {
        writer.interval(&Interval::from(snapshot)).ok()?;
    }
    drop(writer);
    let mut again = None;
    crate::with_file(&bytes, |path| again = Record::open(path).ok());
    Some(again.expect("what was written can be opened"))
}

fn without_rates(snapshot: &Snapshot) -> Snapshot {
    let mut snapshot = snapshot.clone();
    for target in &mut snapshot.targets {
        for region in &mut target.regions {
            (region.access_rate, region.unobserved, region.age_us) = (0.0, 0.0, 0);
        }
        let runs = target.pages.iter();
        target.pages = runs.map(|run| PageRun { access_rate: 0.0, age_us: 0, ..run }).collect();
    }
    snapshot
}
