//! How actions look in pictures.
//!
//! The colours of heat are warm; those of actions are not.

use crate::canvas::Hatch;
use daos_core::Action;

/// How an action looks.
pub fn hatch(action: Action) -> Hatch {
    let (name, color, degrees) = match action {
        Action::Pageout => ("pageout", "#0b57d0", 45),
        Action::Cold => ("cold", "#00838f", 0),
        Action::Willneed => ("willneed", "#6a3fc4", 90),
        Action::Hugepage => ("hugepage", "#009e3d", 135),
        Action::Nohugepage => ("nohugepage", "#64b31c", 20),
        Action::Lock => ("lock", "#111111", 70),
        Action::Stat => ("stat", "#5f6b7a", 110),
    };
    Hatch { name, color, degrees }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_actions_look_the_same() {
        for (index, &action) in Action::ALL.iter().enumerate() {
            for &other in &Action::ALL[..index] {
                assert_ne!(hatch(action).color, hatch(other).color);
                assert_ne!(hatch(action).degrees, hatch(other).degrees);
            }
        }
    }
}
