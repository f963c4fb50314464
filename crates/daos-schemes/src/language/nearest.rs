//! The word that someone who mistyped probably meant: for messages.

/// Letters of a word beyond which nothing is like it. Chosen: no word of ours is that long,
/// and comparing takes time by the square of the length.
const MOST_LETTERS: usize = 64;

/// That of `words` which is most like `word`, if one is like it at all: a third of its
/// letters may be missing, wrong, too many or swapped (chosen: more is another word). Case
/// does not count.
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    if letters > MOST_LETTERS {
        return None;
    }
    let far = |other: &str| strsim::osa_distance(&word, &other.to_lowercase());
    let (distance, found) = words.into_iter().map(|w| (far(w), w)).min_by_key(|&(d, _)| d)?;
    (distance <= (letters / 3).max(1) && distance < found.chars().count()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let words = ["pageout", "hugepage", "nohugepage", "cold", "min"];
        assert_eq!(nearest("pagout", words), Some("pageout"));
        assert_eq!(nearest("HUGEPAEG", words), Some("hugepage"));
        assert_eq!(nearest("mn", words), Some("min"));
        for far in ["", "x", "everything", "5s", &"long".repeat(100)] {
            assert_eq!(nearest(far, words), None, "{far}");
        }
        assert_eq!(nearest("a", []), None);
    }
}
