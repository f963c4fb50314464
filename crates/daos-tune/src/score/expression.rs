//! Arithmetic of the user's own, such as `p > -0.1 ? 0.5*p + 0.5*m : worst`.
//!
//! From the loosest binding to the tightest: `c ? a : b`, `||`, `&&`, `== !=`,
//! `< <= > >=`, `+ -`, `* / %`, `^`, unary `- !`, and numbers, names, `(…)`, and the
//! functions `min max if abs sqrt exp ln pow`. Comparisons give 1 or 0, and what is not
//! 0 is true. Of `c ? a : b` only the branch that is taken is computed.
//!
//! It is read and computed by `nanoexpr`. Of the other crates that do it, `evalexpr` is under
//! the AGPL, `meval` and `fasteval` are no longer maintained, `exmex` and `rhai` have no
//! `? :`, and `cel` and `expr-lang` tell integers from other numbers.

use daos_schemes::nearest::nearest;
use nanoexpr::{ErrorKind, Evaluator, Functions, Variables};
use thiserror::Error;

/// An expression that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    text: String,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExprError {
    /// It can't be read, or not be computed.
    #[error("{text:?}, column {column}: {what}")]
    Invalid {
        /// The expression.
        text: String,
        /// Where, in characters from 1.
        column: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// A name that stands for nothing.
    #[error("there is no {what} {name:?}{}: one of {}",
            .nearest.as_ref().map(|word| format!(" (did you mean {word}?)")).unwrap_or_default(),
            .known.join(", "))]
    Name {
        /// `value` or `function`.
        what: &'static str,
        /// The name.
        name: String,
        /// What is most like it.
        nearest: Option<String>,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The value of a name was not measured.
    #[error("{0} was not measured, and the score needs it")]
    NoValue(String),
}

/// The names of the functions.
const FUNCTIONS: [&str; 8] = ["min", "max", "if", "abs", "sqrt", "exp", "ln", "pow"];
/// How many arguments a function can have (chosen).
const MOST_ARGUMENTS: usize = 16;
/// How deep an expression can be nested (chosen: far more than anyone writes, and little of
/// a stack).
const DEEPEST: usize = 60;

impl Expression {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        use ErrorKind::{DivisionByZero, Domain, Overflow, UnknownFunction};
        let expression = Self { text: text.to_owned() };
        match expression.compute(|_| Some(1.0)) {
            // What some values make impossible is told when they are known.
            Ok(_) => {}
            Err(err) if [DivisionByZero, Domain, Overflow, UnknownFunction].contains(&err.kind) => {
            }
            Err(err) => return Err(expression.invalid(err)),
        }
        let functions = expression.names().into_iter().filter(|(_, is_called)| *is_called);
        known("function", functions.map(|(name, _)| name), &FUNCTIONS)?;
        Ok(expression)
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it uses no other names than these.
    ///
    /// # Errors
    ///
    /// The first that is another.
    pub fn check(&self, names: &[&str]) -> Result<(), ExprError> {
        let values = self.names().into_iter().filter(|(_, is_called)| !is_called);
        known("value", values.map(|(name, _)| name), names)
    }

    /// Its value, where `lookup` gives the values of names.
    ///
    /// # Errors
    ///
    /// A name without a value, and what can't be computed, such as a division by 0.
    pub fn value(&self, lookup: impl Fn(&str) -> Option<f64>) -> Result<f64, ExprError> {
        self.compute(lookup).map_err(|err| match err.kind {
            ErrorKind::UnknownVariable => {
                ExprError::NoValue(self.text[err.span.start..err.span.end].to_owned())
            }
            _ => self.invalid(err),
        })
    }

    fn compute(&self, lookup: impl Fn(&str) -> Option<f64>) -> Result<f64, nanoexpr::Error> {
        let context = (Variables(lookup), Functions(call));
        let evaluator = Evaluator::<_, MOST_ARGUMENTS>::new(&context).max_depth(DEEPEST);
        evaluator.evaluate(&self.text)
    }

    fn invalid(&self, err: nanoexpr::Error) -> ExprError {
        let column = self.text[..err.span.start].chars().count() + 1;
        let what = err.kind.description();
        ExprError::Invalid { text: self.text.clone(), column, what }
    }

    /// All names in it, each with whether it is that of a function. A branch that is not
    /// taken has names too.
    fn names(&self) -> Vec<(String, bool)> {
        // Where it can be read, no two words stand beside each other.
        let dense: String = self.text.split_whitespace().collect();
        let words = dense.split_inclusive(|c: char| !is_of_a_word(c));
        let word = |word: &str| {
            (word.trim_end_matches(|c| !is_of_a_word(c)).to_owned(), word.ends_with('('))
        };
        let is_name = |(word, _): &(String, bool)| {
            word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        };
        words.map(word).filter(is_name).collect()
    }
}

fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether `all` has every one of these names.
fn known(
    what: &'static str,
    names: impl IntoIterator<Item = String>,
    all: &[&str],
) -> Result<(), ExprError> {
    match names.into_iter().find(|name| !all.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(ExprError::Name {
            what,
            nearest: nearest(&name, all.iter().copied()).map(str::to_owned),
            name,
            known: all.iter().map(|&name| name.to_owned()).collect(),
        }),
    }
}

/// The value of a function; `None` if there is none of this name.
fn call(name: &str, arguments: &[f64]) -> Option<Result<f64, ErrorKind>> {
    Some(Ok(match (name, arguments) {
        ("min", [first, rest @ ..]) => rest.iter().copied().fold(*first, f64::min),
        ("max", [first, rest @ ..]) => rest.iter().copied().fold(*first, f64::max),
        ("if", [condition, yes, no]) => *if *condition != 0.0 { yes } else { no },
        ("abs", [x]) => x.abs(),
        ("sqrt", [x]) => x.sqrt(),
        ("exp", [x]) => x.exp(),
        ("ln", [x]) => x.ln(),
        ("pow", [x, power]) => x.powf(*power),
        _ if FUNCTIONS.contains(&name) => return Some(Err(ErrorKind::ArgumentCount)),
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> f64 {
        let known = |name: &str| match name {
            "p" => Some(-0.05),
            "m" => Some(0.4),
            _ => None,
        };
        Expression::parse(text).and_then(|e| e.value(known)).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn computes() {
        for (text, wanted) in [
            ("1 + 2 * 3 - 4 / 2", 5.0),
            ("-(1 - 2) - -3", 4.0),
            ("8 - 4 - 2", 2.0),
            ("0.7*p + 0.3*m", 0.7 * -0.05 + 0.3 * 0.4),
            ("p > -0.1 ? m : p", 0.4),
            ("p > 0 ? 1 : m > 0 ? 2 : 3", 2.0),
            ("p > 0 ? x : 2", 2.0),
            ("p < 0 ? m > 1 ? 1 : 2 : 3", 2.0),
            ("if(p <= -0.1 || m < 0.1, 1, 2)", 2.0),
            ("if (p < 0 && !(m < 0.1), min(3, 1, 2), m)", 1.0),
            ("max(abs(p), sqrt(4), pow(2, 3), ln(exp(1)))", 8.0),
            ("1 == 1 != 0", 1.0),
            ("1.5e1 + 2e-1 + .5", 15.7),
            ("(1 >= 2) + (2 >= 2)", 1.0),
        ] {
            assert!((value(text) - wanted).abs() < 1e-12, "{text} is {}", value(text));
        }
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, column, wanted) in [
            ("", 1, "end of expression"),
            ("1 +", 4, "end of expression"),
            ("(1", 1, "parenthesis"),
            ("1 2", 3, "token"),
            ("pow(1)", 1, "number of arguments"),
            ("p ? 1", 6, "end of expression"),
            ("p + §", 5, "character"),
            ("1..2", 3, "token"),
        ] {
            let err = Expression::parse(text).unwrap_err();
            let ExprError::Invalid { column: at, what, .. } = &err else { panic!("{err}") };
            assert!(*at == column && what.contains(wanted), "{text:?}: {err}");
        }
        assert!(Expression::parse(&"(".repeat(100_000)).is_err());
        assert!(Expression::parse(&"-".repeat(100_000)).is_err());
        assert!(Expression::parse(&"1+".repeat(100_000)).is_err());
        assert_eq!(value(&("1+".repeat(100_000) + "1")), 100_001.0);
    }

    #[test]
    fn what_values_make_impossible_is_told_then() {
        let expression = Expression::parse("1 / (p - 1)").unwrap();
        assert_eq!(expression.value(|_| Some(3.0)), Ok(0.5));
        let err = expression.value(|_| Some(1.0)).unwrap_err().to_string();
        assert_eq!(err, "\"1 / (p - 1)\", column 1: division by zero");
    }

    #[test]
    fn names_are_checked() {
        let expression = Expression::parse("rate > 1e3 ? rate : 2 * runtme").unwrap();
        let err = expression.check(&["rate", "runtime"]).unwrap_err().to_string();
        let wanted = "there is no value \"runtme\" (did you mean runtime?): one of rate, runtime";
        assert_eq!(err, wanted);
        let err = expression.value(|name| (name == "rate").then_some(1.0)).unwrap_err();
        assert_eq!(err, ExprError::NoValue("runtme".to_owned()));
        for text in ["1 + mim(1)", "1 ? 2 : mim (1)"] {
            let err = Expression::parse(text).unwrap_err().to_string();
            assert!(err.starts_with("there is no function \"mim\" (did you mean min?)"), "{err}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[pm0-9.+*/?:<>=!&|(),e ä-]{0,30}") {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.value(|_| Some(1.0));
                let _ = expression.check(&["p", "m"]);
            }
        }
    }
}
