//! The schemes that come with the program: the files in `schemes/`.

/// File name and content of each.
const FILES: [(&str, &str); 6] = [
    ("prcl.scheme", include_str!("../../../../schemes/prcl.scheme")),
    ("reclaim.toml", include_str!("../../../../schemes/reclaim.toml")),
    ("pprcl.scheme", include_str!("../../../../schemes/pprcl.scheme")),
    ("ethp.scheme", include_str!("../../../../schemes/ethp.scheme")),
    ("lock.scheme", include_str!("../../../../schemes/lock.scheme")),
    ("prcl-gentle.toml", include_str!("../../../../schemes/prcl-gentle.toml")),
];

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(file, _)| stem(file))
}

/// The file of this name and its text, for [`parse`](super::parse). The name may end in
/// `.scheme` or `.toml`, as the file's does.
pub fn get(name: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(file, _)| *file == name || stem(file) == name).copied()
}

fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::super::{Scheme, parse, text};
    use super::*;

    fn lines(name: &str) -> Vec<String> {
        let (file, content) = get(name).unwrap();
        parse(content, file)
            .unwrap_or_else(|err| panic!("{err}"))
            .iter()
            .map(text::format)
            .collect()
    }

    #[test]
    fn are_the_papers() {
        assert_eq!(lines("prcl"), ["4K max min min 5s max pageout"]);
        assert_eq!(lines("pprcl"), lines("prcl"));
        assert_eq!(
            lines("ethp"),
            ["min max 5% max min max hugepage", "2M max min min 7s max nohugepage"]
        );
    }

    #[test]
    fn all_can_be_read() {
        assert_eq!(
            names().collect::<Vec<_>>(),
            ["prcl", "reclaim", "pprcl", "ethp", "lock", "prcl-gentle"]
        );
        assert!(names().all(|name| !lines(name).is_empty()));
        assert_eq!(get("prcl"), get("prcl.scheme"));
        assert_eq!(get("prcl.toml"), None);
        let (file, content) = get("prcl-gentle").unwrap();
        let gentle: Vec<Scheme> = parse(content, file).unwrap();
        assert!(gentle[0].quota.is_limited() && gentle[0].watermarks.is_some());
        assert_eq!(gentle[0].label(), "prcl-gentle");
    }
}
