//! The schemes of a record, numbered from its first to its last.
//!
//! Schemes may be replaced while it is recorded, and then a place in the list means
//! another one. So in a record each scheme has a number that it keeps: those of the header
//! come first, then those that are added, in order. One that stays in force keeps its
//! number; the label says that it is the same.

use serde::{Deserialize, Serialize};

/// What a frame holds that adds schemes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// Their labels. They have the numbers behind those that there are.
    pub schemes: Vec<String>,
}

/// Gives schemes their numbers, for a writer.
#[derive(Debug, Default)]
pub struct Numbers {
    /// The label of each number.
    labels: Vec<String>,
    /// The number of each scheme in force, by its place in the list.
    in_force: Vec<u32>,
}

impl Numbers {
    /// The schemes of a header.
    pub fn new(labels: &[String]) -> Self {
        Self { labels: labels.to_vec(), in_force: (0..labels.len() as u32).collect() }
    }

    /// From here on these are in force. Gives those that the record does not have yet.
    pub fn replace(&mut self, labels: &[String]) -> Vec<String> {
        let known = self.labels.len();
        let mut in_force: Vec<u32> = Vec::new();
        for label in labels {
            // Two of the same label are two schemes.
            let free = |(number, known): &(usize, &String)| {
                *known == label && !in_force.contains(&(*number as u32))
            };
            let number = self.labels.iter().enumerate().find(free).map(|(number, _)| number);
            in_force.push(number.unwrap_or(self.labels.len()) as u32);
            if number.is_none() {
                self.labels.push(label.clone());
            }
        }
        self.in_force = in_force;
        self.labels[known..].to_vec()
    }

    /// The number of the scheme at this place in the list. One behind its end has the
    /// number that it came with, as in a record that is written again.
    pub fn number(&self, place: u32) -> u32 {
        self.in_force.get(place as usize).copied().unwrap_or(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|&label| label.to_owned()).collect()
    }

    #[test]
    fn schemes_keep_their_numbers() {
        let mut numbers = Numbers::new(&labels(&["a", "b"]));
        assert_eq!([0, 1, 7].map(|place| numbers.number(place)), [0, 1, 7]);
        assert_eq!(numbers.replace(&labels(&["b", "c", "c"])), ["c", "c"]);
        assert_eq!([0, 1, 2].map(|place| numbers.number(place)), [1, 2, 3]);
        assert_eq!(numbers.replace(&labels(&["c", "a", "d"])), ["d"]);
        assert_eq!([0, 1, 2].map(|place| numbers.number(place)), [2, 0, 4]);
        assert!(numbers.replace(&[]).is_empty());
    }
}
