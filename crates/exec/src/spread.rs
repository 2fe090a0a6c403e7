//! What variance and stddev of numerics are made of, as numeric.c's `NumericAggState` has it.

use amax_jsonb::numeric::{self, Digits};
use serde::{Deserialize, Serialize};

use crate::decimal::NOT_A_NUMERIC;
use crate::error::Result;
use crate::state::{Output, State};
use crate::sum::NumericSum;
use crate::vector::{LARGE, View};

/// The exact sums of the values and of their squares. NaN and infinities are in the first only.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NumericMoments {
    sum: NumericSum,
    squares: NumericSum,
}

impl NumericMoments {
    #[inline(never)]
    fn add_large(&mut self, payload: &[u8], heap: &mut usize) -> Result<()> {
        self.sum.add_payload(payload, heap)?;
        if let numeric::Value::Finite(digits) = numeric::read(payload).ok_or(NOT_A_NUMERIC)? {
            let (low, square) = square(&digits);
            self.squares.add_digits(low, &square, 2 * digits.dscale, heap);
        }
        Ok(())
    }
}

/// The digits of a number's square, which have not been carried, the least first and of power `low`.
fn square(number: &Digits<'_>) -> (i32, Vec<i64>) {
    let digits: Vec<i64> = number.iter().rev().map(i64::from).collect();
    let mut square = vec![0; (2 * digits.len()).max(1) - 1];
    for (i, a) in digits.iter().enumerate() {
        for (j, b) in digits.iter().enumerate() {
            square[i + j] += a * b;
        }
    }
    (2 * (number.weight + 1 - digits.len() as i32), square)
}

impl State for NumericMoments {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, heap: &mut usize) -> Result<()> {
        match view.scale(row) {
            LARGE => self.add_large(view.string(row), heap),
            scale => {
                let value = view.words[row];
                self.sum.add_small(value, scale, heap);
                self.squares
                    .add_wide_small(i128::from(value) * i128::from(value), 2 * scale, heap);
                Ok(())
            }
        }
    }

    fn combine(&mut self, other: &Self, heap: &mut usize) -> Result<()> {
        self.sum.combine(&other.sum, heap)?;
        self.squares.combine(&other.squares, heap)
    }

    fn output(&self) -> Result<Output> {
        let Output::NumericSum { sum, count } = self.sum.output()? else {
            return Ok(Output::Null);
        };
        let squares = match self.squares.output()? {
            Output::NumericSum { sum, .. } => sum,
            _ => Vec::new(),
        };
        Ok(Output::NumericMoments {
            count,
            special: self.sum.special(),
            sum,
            squares,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.sum.heap_bytes() + self.squares.heap_bytes()
    }

    fn check(&self) -> Result<()> {
        self.sum.check()?;
        self.squares.check()
    }
}
