//! Pictures of a record: when which memory was accessed how often, and how much of it.

use super::super::Records;
use super::escaped;
use daos_core::TargetInfo;
use daos_record::{ReadError, Record};
use daos_report::heatmap::{self, HeatmapOptions};
use daos_report::wss::{self, WssOptions};
use daos_report::{Format, RenderError, Style};
use std::error::Error;
use std::path::Path;

/// Of the first run; the others are named.
pub fn render(records: &Records) -> String {
    let pictures = records.files.first().map_or(Ok(String::new()), |file| pictures(file));
    let pictures = pictures
        .unwrap_or_else(|why| format!("<p class=\"failed\">{}</p>\n", escaped(&why.to_string())));
    format!("<p class=\"note\">{}</p>\n{pictures}", escaped(&records.words()))
}

fn pictures(file: &Path) -> Result<String, Box<dyn Error>> {
    let record = Record::open(file)?;
    let targets: Vec<TargetInfo> = record.targets().cloned().collect();
    // Up to what can't be read.
    let intervals = || record.intervals().map_while(Result::ok).map(Ok::<_, ReadError>);
    let style = Style::default();

    let options = HeatmapOptions::new(Format::Svg, &style, &targets);
    let map = heatmap::compute(|| Ok(intervals()), &targets, &options)?;
    let map = picture(|out| heatmap::render(&map, Format::Svg, &style, out))?;

    let header = record.header();
    let within_us = (!header.auto_intervals).then_some(header.attrs.aggregation_us);
    let options = WssOptions { within_us, ..WssOptions::default() };
    let used = wss::compute(intervals(), &targets, &options)?;
    let used = picture(|out| wss::render(&used, Format::Svg, &style, out))?;
    Ok(map + &used)
}

/// As an image, in which nothing meets the styles and the names of the page.
fn picture(
    render: impl FnOnce(&mut Vec<u8>) -> Result<(), RenderError>,
) -> Result<String, RenderError> {
    let mut svg = Vec::new();
    render(&mut svg)?;
    let mut out = String::from("<img alt=\"\" src=\"data:image/svg+xml,");
    for letter in String::from_utf8_lossy(&svg).chars() {
        match letter {
            '"' | '#' | '%' | '&' | '<' | '>' | '\n' => out += &format!("%{:02X}", letter as u32),
            letter => out.push(letter),
        }
    }
    Ok(out + "\">\n")
}
