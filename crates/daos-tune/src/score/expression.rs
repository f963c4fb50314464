//! Arithmetic of the user's own, such as `p > -0.1 ? 0.5*p + 0.5*m : worst`.
//!
//! Small enough to stand here: of the crates that do it, evalexpr is under the AGPL,
//! and meval and fasteval have not been maintained for years.
//!
//! From the loosest binding to the tightest: `c ? a : b`, `||`, `&&`, the comparisons
//! `< <= > >= == !=`, `+ -`, `* /`, unary `- !`, and numbers, names, `(…)`, and the
//! functions `min max if abs sqrt exp ln pow`. Comparisons give 1 or 0, and what is not
//! 0 is true.

use daos_schemes::nearest::nearest;
use thiserror::Error;

/// An expression that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExprError {
    /// It can't be read.
    #[error("{text:?}, column {column}: found {found}, expected {expected}")]
    Syntax {
        /// The expression.
        text: String,
        /// Where, in characters from 1.
        column: usize,
        /// What is there.
        found: String,
        /// What could be there.
        expected: String,
    },
    /// A name that stands for nothing.
    #[error("there is no value {name:?}{}: one of {}",
            .nearest.as_ref().map(|word| format!(" (did you mean {word}?)")).unwrap_or_default(),
            .known.join(", "))]
    Name {
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

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Call(Function, Vec<Node>),
    /// Only the branch that is taken is computed.
    If(Box<[Node; 3]>),
}

/// What is computed from its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Or,
    And,
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Differs,
    Add,
    Subtract,
    Multiply,
    Divide,
    Negate,
    Not,
    Min,
    Max,
    Abs,
    Sqrt,
    Exp,
    Ln,
    Pow,
}

use Function as F;

/// Operators between two values, from the loosest binding to the tightest. The longer
/// ones come first, lest `<=` be read as `<`.
const LEVELS: [&[(&str, Function)]; 5] = [
    &[("||", F::Or)],
    &[("&&", F::And)],
    &[
        ("<=", F::AtMost),
        (">=", F::AtLeast),
        ("==", F::Equal),
        ("!=", F::Differs),
        ("<", F::Less),
        (">", F::More),
    ],
    &[("+", F::Add), ("-", F::Subtract)],
    &[("*", F::Multiply), ("/", F::Divide)],
];

/// Functions with a name, and the least and the most arguments they take.
const NAMED: [(&str, Function, usize, usize); 7] = [
    ("min", F::Min, 1, 64),
    ("max", F::Max, 1, 64),
    ("abs", F::Abs, 1, 1),
    ("sqrt", F::Sqrt, 1, 1),
    ("exp", F::Exp, 1, 1),
    ("ln", F::Ln, 1, 1),
    ("pow", F::Pow, 2, 2),
];

/// How deep an expression can be nested, and how long it can be: each operator of a row
/// lies within the next.
const DEEPEST: usize = 60;
const LONGEST: usize = 1000;

impl Expression {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        if text.len() > LONGEST {
            return Err(parser.unexpected(&format!("at most {LONGEST} bytes")));
        }
        let root = parser.choice()?;
        match parser.rest() {
            "" => Ok(Self { text: text.to_owned(), root }),
            _ => Err(parser.unexpected("an operator or the end")),
        }
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
    pub fn check(&self, known: &[&str]) -> Result<(), ExprError> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        match names.into_iter().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => Err(ExprError::Name {
                name: name.to_owned(),
                nearest: nearest(name, known.iter().copied()).map(str::to_owned),
                known: known.iter().map(|&name| name.to_owned()).collect(),
            }),
        }
    }

    /// Its value, where `lookup` gives the values of names.
    ///
    /// # Errors
    ///
    /// A name without a value.
    pub fn value(&self, lookup: impl Fn(&str) -> Option<f64>) -> Result<f64, ExprError> {
        self.root.value(&lookup)
    }
}

impl Node {
    fn names<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => found.push(name),
            Self::Call(_, parts) => parts.iter().for_each(|part| part.names(found)),
            Self::If(parts) => parts.iter().for_each(|part| part.names(found)),
        }
    }

    fn value(&self, lookup: &dyn Fn(&str) -> Option<f64>) -> Result<f64, ExprError> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Name(name) => lookup(name).ok_or_else(|| ExprError::NoValue(name.clone())),
            Self::If(parts) => {
                let [condition, yes, no] = &**parts;
                if condition.value(lookup)? != 0.0 { yes.value(lookup) } else { no.value(lookup) }
            }
            Self::Call(function, parts) => {
                let mut values = Vec::with_capacity(parts.len());
                for part in parts {
                    values.push(part.value(lookup)?);
                }
                Ok(function.of(&values))
            }
        }
    }
}

impl Function {
    /// Of as many values as it takes.
    fn of(self, values: &[f64]) -> f64 {
        let (a, b) = (values[0], values.last().copied().unwrap_or_default());
        let truth = |is: bool| f64::from(u8::from(is));
        match self {
            Self::Or => truth(a != 0.0 || b != 0.0),
            Self::And => truth(a != 0.0 && b != 0.0),
            Self::Less => truth(a < b),
            Self::AtMost => truth(a <= b),
            Self::More => truth(a > b),
            Self::AtLeast => truth(a >= b),
            Self::Equal => truth(a == b),
            Self::Differs => truth(a != b),
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Negate => -a,
            Self::Not => truth(a == 0.0),
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Abs => a.abs(),
            Self::Sqrt => a.sqrt(),
            Self::Exp => a.exp(),
            Self::Ln => a.ln(),
            Self::Pow => a.powf(b),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// What is left, from the next thing on.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn takes(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    fn needs(&mut self, token: &str) -> Result<(), ExprError> {
        if self.takes(token) { Ok(()) } else { Err(self.unexpected(&format!("{token:?}"))) }
    }

    fn unexpected(&mut self, expected: &str) -> ExprError {
        let found = match self.rest().chars().next() {
            Some(found) => format!("{found:?}"),
            None => "the end".to_owned(),
        };
        ExprError::Syntax {
            text: self.text.to_owned(),
            column: self.text[..self.at].chars().count() + 1,
            found,
            expected: expected.to_owned(),
        }
    }

    fn deeper(&mut self) -> Result<(), ExprError> {
        self.depth += 1;
        if self.depth <= DEEPEST { Ok(()) } else { Err(self.unexpected("less nesting")) }
    }

    fn choice(&mut self) -> Result<Node, ExprError> {
        self.deeper()?;
        let mut node = self.operation(0)?;
        if self.takes("?") {
            let yes = self.choice()?;
            self.needs(":")?;
            node = Node::If(Box::new([node, yes, self.choice()?]));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn operation(&mut self, level: usize) -> Result<Node, ExprError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut node = self.operation(level + 1)?;
        while let Some((_, function)) = operators.iter().find(|(token, _)| self.takes(token)) {
            node = Node::Call(*function, vec![node, self.operation(level + 1)?]);
        }
        Ok(node)
    }

    fn unary(&mut self) -> Result<Node, ExprError> {
        let function = match () {
            () if self.takes("-") => F::Negate,
            () if self.takes("!") => F::Not,
            () => return self.atom(),
        };
        self.deeper()?;
        let node = Node::Call(function, vec![self.unary()?]);
        self.depth -= 1;
        Ok(node)
    }

    fn atom(&mut self) -> Result<Node, ExprError> {
        let rest = self.rest();
        let length = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        if self.takes("(") {
            let node = self.choice()?;
            self.needs(")")?;
            return Ok(node);
        }
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let mut end = length(|c| c.is_ascii_digit() || c == '.');
            // `1e-6`: the exponent, if it is one.
            if let Some(power) = rest[end..].strip_prefix(['e', 'E']) {
                let digits = power.strip_prefix(['-', '+']).unwrap_or(power);
                let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                if count > 0 {
                    end = rest.len() - digits.len() + count;
                }
            }
            let number = rest[..end].parse().map_err(|_| self.unexpected("a number"))?;
            self.at += end;
            return Ok(Node::Number(number));
        }
        let end = length(|c| c.is_alphanumeric() || c == '_');
        if end == 0 {
            return Err(self.unexpected("a number, a name or \"(\""));
        }
        let name = &rest[..end];
        let start = self.at;
        self.at += end;
        if !self.takes("(") {
            return Ok(Node::Name(name.to_owned()));
        }
        let mut parts = vec![self.choice()?];
        while self.takes(",") {
            parts.push(self.choice()?);
        }
        self.needs(")")?;
        if name == "if" {
            if let Ok(parts) = <[Node; 3]>::try_from(parts) {
                return Ok(Node::If(Box::new(parts)));
            }
            self.at = start;
            return Err(self.unexpected("if(condition, then, else)"));
        }
        let known = NAMED.iter().find(|(known, ..)| *known == name);
        match known {
            Some((_, function, least, most)) if (*least..=*most).contains(&parts.len()) => {
                Ok(Node::Call(*function, parts))
            }
            Some(_) => {
                self.at = start;
                Err(self.unexpected(&format!("{name} with as many arguments as it takes")))
            }
            None => {
                self.at = start;
                let names: Vec<&str> = NAMED.iter().map(|(name, ..)| *name).collect();
                Err(self.unexpected(&format!("one of the functions if, {}", names.join(", "))))
            }
        }
    }
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
            ("if(p <= -0.1 || m < 0.1, 1, 2)", 2.0),
            ("if(p < 0 && !(m < 0.1), min(3, 1, 2), x)", 1.0),
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
        for (text, column, expected) in [
            ("", 1, "a number, a name"),
            ("1 +", 4, "a number, a name"),
            ("(1", 3, "\")\""),
            ("1 2", 3, "an operator or the end"),
            ("1 + mim(1)", 5, "one of the functions"),
            ("pow(1)", 1, "as many arguments"),
            ("p ? 1", 6, "\":\""),
            ("ä + §", 5, "a number, a name"),
            ("1..2", 1, "a number"),
        ] {
            let err = Expression::parse(text).unwrap_err();
            let ExprError::Syntax { column: at, expected: wanted, .. } = &err else {
                panic!("{err}")
            };
            assert!(*at == column && wanted.contains(expected), "{text:?}: {err}");
        }
        assert!(Expression::parse(&"(".repeat(900)).is_err());
        assert!(Expression::parse(&"-".repeat(900)).is_err());
        assert!(Expression::parse(&"1+".repeat(100_000)).is_err());
        assert_eq!(value(&("1+".repeat(499) + "1")), 500.0);
    }

    #[test]
    fn names_are_checked() {
        let expression = Expression::parse("rate * runtme").unwrap();
        let err = expression.check(&["rate", "runtime"]).unwrap_err();
        assert!(err.to_string().contains("did you mean runtime?"), "{err}");
        let err = expression.value(|name| (name == "rate").then_some(1.0)).unwrap_err();
        assert_eq!(err, ExprError::NoValue("runtme".to_owned()));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[pm0-9.+*/?:<>=!&|(),e ä-]{0,30}") {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.value(|_| Some(1.0));
            }
        }
    }
}
