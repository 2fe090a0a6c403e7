//! Row counts as functions of the scale factor (paper, section 2 and figure 2).

/// A scale factor: finite and positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

impl Scale {
    /// Error (a message) unless `factor` is finite, positive and at most
    /// 100,000 (keys are 64-bit, but the engines' columns are 32-bit or less).
    pub fn new(factor: f64) -> Result<Self, String> {
        if factor.is_finite() && factor > 0.0 && factor <= 100_000.0 {
            Ok(Self(factor))
        } else {
            Err(format!("scale factor {factor} is not in (0, 100000]"))
        }
    }

    /// The factor itself.
    pub fn factor(self) -> f64 {
        self.0
    }

    fn times(self, base: f64) -> u64 {
        (base * self.0).round().max(1.0) as u64
    }

    /// 30,000 × SF.
    pub fn customers(self) -> u64 {
        // At least two: customers whose key is a multiple of three never order.
        self.times(30_000.0).max(2)
    }

    /// 2,000 × SF.
    pub fn suppliers(self) -> u64 {
        self.times(2_000.0)
    }

    /// 200,000 × floor(1 + log2 SF); below SF 1, where that formula falls to
    /// zero, 200,000 × SF.
    pub fn parts(self) -> u64 {
        if self.0 < 1.0 {
            self.times(200_000.0)
        } else {
            200_000 * (1.0 + self.0.log2()).floor() as u64
        }
    }

    /// 1,500,000 × SF orders of one to seven lines, four on average: about
    /// 6,000,000 × SF rows in lineorder.
    pub fn orders(self) -> u64 {
        self.times(1_500_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_counts_follow_the_paper() {
        let counts = |sf| {
            let s = Scale::new(sf).unwrap();
            (s.customers(), s.suppliers(), s.parts(), s.orders())
        };
        assert_eq!(counts(1.0), (30_000, 2_000, 200_000, 1_500_000));
        assert_eq!(counts(10.0), (300_000, 20_000, 800_000, 15_000_000));
        assert_eq!(counts(3.0).2, 400_000);
        assert_eq!(counts(4.0).2, 600_000);
        assert_eq!(counts(0.01), (300, 20, 2_000, 15_000));
    }

    #[test]
    fn senseless_factors_are_refused() {
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e6] {
            assert!(Scale::new(factor).is_err(), "{factor}");
        }
    }
}
