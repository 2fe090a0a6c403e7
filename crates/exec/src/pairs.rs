//! corr, covar_pop, regr_slope and the like: aggregates of two floats, y and x.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::state::{Output, State, float};
use crate::vector::View;

/// One of the two: the sum of its values, and of the squares of their differences from the mean.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Side {
    sum: f64,
    squares: f64,
}

/// The transition values of `float8_regr_accum` and `float8_regr_combine`, which add in this order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pairs {
    count: f64,
    x: Side,
    y: Side,
    products: f64,
}

/// Whether a sum became infinite, though what it was made of is finite.
fn overflows(sum: f64, of: [f64; 2]) -> bool {
    sum.is_infinite() && of.iter().all(|part| !part.is_infinite())
}

fn nan_if_infinite(value: f64) -> f64 {
    if value.is_infinite() { f64::NAN } else { value }
}

impl Side {
    /// Both parts after a value.
    fn add(self, value: f64, count: f64, scale: f64) -> (Side, f64) {
        let sum = self.sum + value;
        let difference = value * count - sum;
        let squares = self.squares + difference * difference * scale;
        (Side { sum, squares }, difference)
    }

    /// Also what its mean is more than the other's.
    fn combine(self, other: Side, n: f64, m: f64) -> Result<(Side, f64)> {
        let sum = self.sum + other.sum;
        let difference = self.sum / n - other.sum / m;
        let squares = self.squares + other.squares + n * m * difference * difference / (n + m);
        if overflows(sum, [self.sum, other.sum]) || overflows(squares, [self.squares, other.squares]) {
            return Err(Error::FloatOverflow);
        }
        Ok((Side { sum, squares }, difference))
    }
}

impl State for Pairs {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, _: &mut usize) -> Result<()> {
        let (new_y, new_x) = (float(view, row), view.second.map_or(0.0, |second| float(second, row)));
        let before = self.count;
        self.count += 1.0;
        if before == 0.0 {
            let unknown = |value: f64| if value.is_finite() { 0.0 } else { f64::NAN };
            self.x = Side {
                sum: self.x.sum + new_x,
                squares: unknown(new_x),
            };
            self.y = Side {
                sum: self.y.sum + new_y,
                squares: unknown(new_y),
            };
            self.products = unknown(new_x) + unknown(new_y);
            return Ok(());
        }
        let scale = 1.0 / (self.count * before);
        let (mut x, to_x) = self.x.add(new_x, self.count, scale);
        let (mut y, to_y) = self.y.add(new_y, self.count, scale);
        let mut products = self.products + to_x * to_y * scale;
        if [x.sum, x.squares, y.sum, y.squares, products]
            .iter()
            .any(|sum| sum.is_infinite())
        {
            let of_x = [self.x.sum, new_x];
            let of_y = [self.y.sum, new_y];
            if overflows(x.sum, of_x)
                || overflows(x.squares, of_x)
                || overflows(y.sum, of_y)
                || overflows(y.squares, of_y)
                || overflows(products, of_x) && overflows(products, of_y)
            {
                return Err(Error::FloatOverflow);
            }
            x.squares = nan_if_infinite(x.squares);
            y.squares = nan_if_infinite(y.squares);
            products = nan_if_infinite(products);
        }
        (self.x, self.y, self.products) = (x, y, products);
        Ok(())
    }

    fn combine(&mut self, other: &Self, _: &mut usize) -> Result<()> {
        if other.count == 0.0 {
            return Ok(());
        }
        if self.count == 0.0 {
            *self = other.clone();
            return Ok(());
        }
        let (n, m) = (self.count, other.count);
        let (x, of_x) = self.x.combine(other.x, n, m)?;
        let (y, of_y) = self.y.combine(other.y, n, m)?;
        let products = self.products + other.products + n * m * of_x * of_y / (n + m);
        if overflows(products, [self.products, other.products]) {
            return Err(Error::FloatOverflow);
        }
        *self = Self {
            count: n + m,
            x,
            y,
            products,
        };
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        let Self { count, x, y, products } = *self;
        if count == 0.0 {
            return Ok(Output::Null);
        }
        Ok(Output::Pairs([count, x.sum, x.squares, y.sum, y.squares, products]))
    }
}
