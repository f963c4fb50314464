//! The little linear algebra that fits need: dense, small, without a crate.

/// A symmetric positive definite matrix as `L Lᵀ`.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    n: usize,
    /// Row by row, the lower triangle alone.
    l: Vec<f64>,
}

impl Cholesky {
    /// Of the `n` by `n` matrix `a`, given row by row, of which the lower triangle is
    /// read. `None` where it is not positive definite.
    pub fn of(mut a: Vec<f64>, n: usize) -> Option<Self> {
        for i in 0..n {
            for j in 0..=i {
                let (above, row) = a.split_at(i * n);
                let other = if i == j { &row[..j] } else { &above[j * n..j * n + j] };
                let sum = row[j] - dot(&row[..j], other);
                a[i * n + j] = if i == j {
                    if sum.is_nan() || sum <= 0.0 {
                        return None;
                    }
                    sum.sqrt()
                } else {
                    sum / a[j * n + j]
                };
            }
        }
        Some(Self { n, l: a })
    }

    /// Solves `L z = b` in place.
    pub fn forward(&self, b: &mut [f64]) {
        for i in 0..self.n {
            let row = &self.l[i * self.n..];
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
    }

    /// Solves `Lᵀ x = z` in place.
    pub fn backward(&self, z: &mut [f64]) {
        for i in (0..self.n).rev() {
            z[i] /= self.l[i * self.n + i];
            let solved = z[i];
            for (j, value) in z[..i].iter_mut().enumerate() {
                *value -= self.l[i * self.n + j] * solved;
            }
        }
    }

    /// The logarithm of the matrix's determinant.
    pub fn log_det(&self) -> f64 {
        (0..self.n).map(|i| 2.0 * self.l[i * self.n + i].ln()).sum()
    }
}

/// The scalar product of two vectors of the same length.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums at a time: one would have each addition wait for the last.
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_what_can_be_solved() {
        let a = vec![4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 1.0, 3.0, 6.0];
        let cholesky = Cholesky::of(a, 3).unwrap();
        // The whole matrix times (1, 2, 3).
        let mut x = [4.0 + 4.0 + 3.0, 2.0 + 10.0 + 9.0, 1.0 + 6.0 + 18.0];
        cholesky.forward(&mut x);
        cholesky.backward(&mut x);
        for (found, wanted) in x.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - wanted).abs() < 1e-12, "{x:?}");
        }
        // 4 (30 - 9) - 2 (12 - 3) + 1 (6 - 5)
        assert!((cholesky.log_det() - 67f64.ln()).abs() < 1e-12);
        assert!(Cholesky::of(vec![1.0, 0.0, 2.0, 1.0], 2).is_none());
    }
}
