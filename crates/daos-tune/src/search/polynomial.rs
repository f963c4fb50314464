//! Fitting a polynomial, and finding its peaks.
//!
//! The powers of `x` are nearly alike on a short range, so that a fit to them is unsound
//! from degree six on. Here the basis is made of polynomials that are orthogonal on the
//! sampled points (Forsythe, 1957): each comes from the two before it, and each
//! coefficient stands alone.

use crate::math::linalg::dot;

/// A polynomial over 0 to 1, fitted to points by least squares.
#[derive(Debug, Clone)]
pub(super) struct Polynomial {
    basis: Vec<Term>,
    /// The variance of what the curve leaves over; infinite if it can leave nothing over.
    residual: f64,
    /// How many more points there were than coefficients.
    free: usize,
}

/// A polynomial of the basis: `q = (x - shift) * q₁ - back * q₂`, of the two before it.
#[derive(Debug, Clone, Copy)]
struct Term {
    shift: f64,
    back: f64,
    /// Its squares, summed over the points.
    norm: f64,
    coefficient: f64,
}

impl Polynomial {
    /// Of at most this degree: of a lower one where fewer points differ. `None` without
    /// a point.
    pub fn fit(points: &[(f64, f64)], degree: usize) -> Option<Self> {
        if points.is_empty() {
            return None;
        }
        let count = points.len() as f64;
        let (mut before, mut last) = (vec![0.0; points.len()], vec![1.0; points.len()]);
        let mut rest: Vec<f64> = points.iter().map(|&(_, y)| y).collect();
        let (mut shift, mut back, mut norm) = (0.0, 0.0, count);
        let mut basis = Vec::new();
        loop {
            let coefficient = dot(&rest, &last) / norm;
            rest.iter_mut().zip(&last).for_each(|(rest, q)| *rest -= coefficient * q);
            basis.push(Term { shift, back, norm, coefficient });
            if basis.len() > degree {
                break;
            }
            let weighted = points.iter().zip(&last).map(|(&(x, _), q)| x * q * q);
            shift = weighted.sum::<f64>() / norm;
            back = if basis.len() > 1 { norm / basis[basis.len() - 2].norm } else { 0.0 };
            let next = |i: usize| (points[i].0 - shift) * last[i] - back * before[i];
            let next: Vec<f64> = (0..points.len()).map(next).collect();
            (before, last) = (last, next);
            let next_norm = dot(&last, &last);
            // No more points that differ: what is left is rounding.
            if next_norm <= 1e-14 * norm {
                break;
            }
            norm = next_norm;
        }
        let free = points.len().saturating_sub(basis.len());
        let residual = if free == 0 { f64::INFINITY } else { dot(&rest, &rest) / free as f64 };
        Some(Self { basis, residual, free })
    }

    /// Its degree.
    #[cfg(test)]
    pub fn degree(&self) -> usize {
        self.basis.len() - 1
    }

    /// Its value.
    pub fn at(&self, x: f64) -> f64 {
        self.walk(x).0
    }

    /// The standard deviation of a point around it; infinite if it goes through each.
    pub fn noise(&self) -> f64 {
        self.residual.sqrt()
    }

    /// The degrees of freedom of [`noise`](Self::noise) and [`sd`](Self::sd).
    pub fn free(&self) -> usize {
        self.free
    }

    /// How sure its value is, as a standard deviation.
    pub fn sd(&self, x: f64) -> f64 {
        (self.residual * self.walk(x).2).sqrt()
    }

    fn slope(&self, x: f64) -> f64 {
        self.walk(x).1
    }

    /// Its peaks between 0 and 1, the ends included, each where and how high: where the
    /// gradient turns from up to down.
    pub fn peaks(&self) -> Vec<(f64, f64)> {
        const STEPS: u32 = 1000;
        let mut peaks = Vec::new();
        if self.slope(0.0) <= 0.0 {
            peaks.push(0.0);
        }
        for step in 0..STEPS {
            let [mut left, mut right] = [step, step + 1].map(|at| f64::from(at) / f64::from(STEPS));
            if self.slope(left) > 0.0 && self.slope(right) <= 0.0 {
                for _ in 0..40 {
                    let middle = (left + right) / 2.0;
                    let is_rising = self.slope(middle) > 0.0;
                    *(if is_rising { &mut left } else { &mut right }) = middle;
                }
                peaks.push(right);
            }
        }
        if self.slope(1.0) > 0.0 {
            peaks.push(1.0);
        }
        peaks.into_iter().map(|x| (x, self.at(x))).collect()
    }

    /// Value, slope, and how much the points leave open: the sum of the squares of the
    /// basis, each by its norm.
    fn walk(&self, x: f64) -> (f64, f64, f64) {
        let (mut before, mut last) = ((0.0, 0.0), (1.0, 0.0));
        let mut sums = (0.0, 0.0, 0.0);
        for (at, term) in self.basis.iter().enumerate() {
            if at > 0 {
                let value = (x - term.shift) * last.0 - term.back * before.0;
                let slope = last.0 + (x - term.shift) * last.1 - term.back * before.1;
                (before, last) = (last, (value, slope));
            }
            sums.0 += term.coefficient * last.0;
            sums.1 += term.coefficient * last.1;
            sums.2 += last.0 * last.0 / term.norm;
        }
        sums
    }
}

#[cfg(test)]
#[path = "polynomial_tests.rs"]
mod tests;
