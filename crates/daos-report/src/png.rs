//! From an SVG picture to a PNG picture, and the writing of both.

use crate::canvas::Canvas;
use crate::format::Format;
use crate::format::RenderError;
use resvg::{tiny_skia, usvg};
use std::fmt::Display;
use std::io::Write;

/// Writes a picture as PNG if that is asked for, else as SVG.
pub fn write(canvas: Canvas, format: Format, out: &mut impl Write) -> Result<(), RenderError> {
    let svg = canvas.finish();
    match format {
        Format::Png => out.write_all(&rasterise(&svg)?)?,
        _ => out.write_all(svg.as_bytes())?,
    }
    Ok(())
}

/// One dot for each unit of the picture, in the one font that comes along.
fn rasterise(svg: &str) -> Result<Vec<u8>, RenderError> {
    let failed = |error: &dyn Display| RenderError::Picture(error.to_string());
    let mut options = usvg::Options { font_family: "DejaVu Sans".to_owned(), ..Default::default() };
    options.fontdb_mut().load_font_data(dejavu::sans::regular().to_vec());
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size().to_int_size();
    let mut dots = tiny_skia::Pixmap::new(size.width(), size.height())
        .ok_or_else(|| failed(&"the picture has no size"))?;
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut dots.as_mut());
    dots.encode_png().map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::{Anchor, HEIGHT, INK, WIDTH, text_width};

    #[test]
    fn text_needs_no_font_of_the_system() {
        let mut canvas = Canvas::default();
        canvas.text((100.0, 100.0), 40.0, Anchor::Start, INK, "MiB");
        let png = rasterise(&canvas.finish()).unwrap();
        let dots = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!((dots.width(), dots.height()), (WIDTH as u32, HEIGHT as u32));
        assert!(dots.pixels().iter().any(|dot| dot.red() < 100), "no dot is dark");
    }

    #[test]
    fn the_width_of_text_is_about_known() {
        let texts = ["score 0.31 (0.28 to 0.34)", "min_age=27.6s", "its confidence band", "1 GiB"];
        for text in texts {
            let mut canvas = Canvas::default();
            canvas.text((10.0, 100.0), 50.0, Anchor::Start, INK, text);
            let png = rasterise(&canvas.finish()).unwrap();
            let dots = tiny_skia::Pixmap::decode_png(&png).unwrap();
            let dark = dots.pixels().iter().enumerate().filter(|(_, dot)| dot.red() < 128);
            let right = dark.map(|(at, _)| at as u32 % dots.width()).max().unwrap();
            let ratio = text_width(text, 50.0) / (f64::from(right) - 10.0);
            assert!((0.95..1.15).contains(&ratio), "{text}: {ratio}");
        }
    }
}
