//! What a scenario consists of, in units of a page, whatever its size.

use daos_core::AddrRange;

/// Pieces of memory, and when they are accessed.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// By rising address.
    pub pieces: Vec<Piece>,
    /// One after the other, and again.
    pub scenes: Vec<Scene>,
    /// Accesses in a sampling interval that make hot what is to be hot.
    pub accesses_a_sample: f64,
}

/// A contiguous piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its pages, at least 1.
    pub pages: u64,
    /// Pages of addresses before it in which nothing is mapped.
    pub hole: u64,
}

/// A time in which memory is accessed in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// How long it lasts, in milliseconds.
    pub ms: u64,
    /// Accesses, side by side.
    pub uses: Vec<Use>,
}

/// The accesses to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// Its place among the pieces.
    pub piece: usize,
    /// Its share of the accesses, in proportion to the others; at least 1.
    pub weight: u64,
    /// Steps of so many pages from its start to its end; random without.
    pub stride: Option<u64>,
}

/// Longest time of a simulation or a run: what never changes lasts so long.
pub(crate) const ALWAYS_MS: u64 = 24 * 3_600_000;

impl Drawing {
    /// Pages that neighbour each other: `sizes`, by rising address.
    pub(crate) fn pieces(sizes: impl IntoIterator<Item = u64>) -> Vec<Piece> {
        sizes.into_iter().map(|pages| Piece { pages, hole: 0 }).collect()
    }

    /// Random accesses to pieces, to each page as many.
    pub(crate) fn evenly(pieces: &[Piece], hot: impl IntoIterator<Item = usize>) -> Vec<Use> {
        let weighted = |piece: usize| Use { piece, weight: pieces[piece].pages, stride: None };
        hot.into_iter().map(weighted).collect()
    }

    /// Where the pieces lie from `base` on, with pages of `page` bytes.
    pub fn ranges(&self, base: u64, page: u64) -> Vec<AddrRange> {
        let mut end = base;
        let placed = self.pieces.iter().map(|piece| {
            let start = end + piece.hole * page;
            end = start + piece.pages * page;
            AddrRange::new(start, end)
        });
        placed.collect()
    }

    /// The same in `masim`'s format. It has no place for holes and for the number of
    /// accesses.
    pub fn text(&self, title: &str, page: u64) -> String {
        // Weights have 32 bits.
        let heaviest = self.scenes.iter().flat_map(|s| &s.uses).map(|u| u.weight).max();
        let scale = heaviest.unwrap_or(1).div_ceil(u64::from(u32::MAX));
        let mut text = format!("# {title}\n\n");
        for (at, piece) in self.pieces.iter().enumerate() {
            text += &format!("part{at}, {}\n", piece.pages * page);
        }
        for (at, scene) in self.scenes.iter().enumerate() {
            text += &format!("\nscene {at}\n{}ms\n", scene.ms);
            for Use { piece, weight, stride } in &scene.uses {
                let weight = (weight / scale).max(1);
                let order = match stride {
                    Some(pages) => format!("stride, {}", pages * page),
                    None => "random, 1".to_owned(),
                };
                text += &format!("part{piece}, {order}, {weight}\n");
            }
        }
        text
    }
}
