//! A number: an exact fraction of integers while those fit, and floating point otherwise.

use std::fmt;

/// Maximum number of decimal places of a decimal shown as exact.
const MAX_DIGITS: u32 = 30;

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// A fraction in lowest terms; the denominator is positive.
    Exact(i128, i128),
    /// An approximation.
    About(f64),
}

use Number::{About, Exact};

impl Number {
    /// Creates an integer.
    pub(super) fn whole(number: i128) -> Self {
        Exact(number, 1)
    }

    /// Parses a number as typed: digits, optionally with a decimal point and an exponent.
    pub(super) fn typed(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exact = || {
            let digits: i128 = format!("{before}{behind}").parse().ok()?;
            let shift = exponent.checked_sub(i32::try_from(behind.len()).ok()?)?;
            let power = 10i128.checked_pow(shift.unsigned_abs())?;
            if shift < 0 { fraction(digits, power) } else { Some(Exact(digits.checked_mul(power)?, 1)) }
        };
        exact().or_else(|| text.parse().ok().map(About)).filter(|number: &Self| number.is_finite())
    }

    pub(super) fn as_float(self) -> f64 {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "results that are no longer exact are approximate"
            )]
            Exact(above, below) => above as f64 / below as f64,
            About(number) => number,
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        self.as_float().is_finite()
    }

    /// Returns the integer that it is, if it is exactly one.
    pub(super) fn as_whole(self) -> Option<i128> {
        if let Exact(whole, 1) = self { Some(whole) } else { None }
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Exact(above, below) => {
                above.checked_neg().map_or(About(-self.as_float()), |above| Exact(above, below))
            }
            About(number) => About(-number),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let exact = || {
            let ((a, b), (c, d)) = (self.parts()?, other.parts()?);
            fraction(a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?, b.checked_mul(d)?)
        };
        exact().unwrap_or_else(|| About(self.as_float() + other.as_float()))
    }

    pub(super) fn times(self, other: Self) -> Self {
        let exact = || {
            let ((a, b), (c, d)) = (self.parts()?, other.parts()?);
            fraction(a.checked_mul(c)?, b.checked_mul(d)?)
        };
        exact().unwrap_or_else(|| About(self.as_float() * other.as_float()))
    }

    /// Divides; `None` if the other number is zero.
    pub(super) fn over(self, other: Self) -> Option<Self> {
        match other {
            Exact(0, _) => None,
            Exact(above, below) => {
                Some(self.times(fraction(below, above).unwrap_or(About(1.0 / other.as_float()))))
            }
            About(number) => Some(About(self.as_float() / number)),
        }
    }

    /// Returns the remainder of a division; `None` if the other number is zero.
    pub(super) fn modulo(self, other: Self) -> Option<Self> {
        let quotient = self.over(other)?;
        Some(self.plus(
            quotient.rounded(f64::floor, |above, below| above.div_euclid(below)).times(other).negated(),
        ))
    }

    pub(super) fn to_the(self, power: Self) -> Self {
        let exact = || {
            let (exponent, (above, below)) = (power.as_whole()?, self.parts()?);
            let times = u32::try_from(exponent.unsigned_abs()).ok()?;
            let (above, below) = (above.checked_pow(times)?, below.checked_pow(times)?);
            if exponent < 0 { fraction(below, above) } else { fraction(above, below) }
        };
        exact().unwrap_or_else(|| About(self.as_float().powf(power.as_float())))
    }

    /// Rounds to an integer by the given function.
    pub(super) fn rounded(self, float: fn(f64) -> f64, exact: fn(i128, i128) -> i128) -> Self {
        match self {
            Exact(above, below) => Exact(exact(above, below), 1),
            About(number) => About(float(number)),
        }
    }

    fn parts(self) -> Option<(i128, i128)> {
        if let Exact(above, below) = self { Some((above, below)) } else { None }
    }

    /// Returns a terminating decimal, if the fraction is one.
    fn decimal(above: i128, below: i128) -> Option<String> {
        let (mut left, mut digits, mut power) = (below, 0u32, 1i128);
        while power % below != 0 {
            // Each digit removes a factor of two and of five from the denominator; if others remain, the decimal never
            // ends.
            left /= gcd(left, 10);
            power = power.checked_mul(10)?;
            digits += 1;
            if digits > MAX_DIGITS || (left == 1 && power % below != 0 && digits > 128) {
                return None;
            }
        }
        let shifted = above.checked_mul(power / below)?;
        let width = usize::try_from(digits).ok()?;
        let text = format!("{:0>1$}", shifted.unsigned_abs(), width + 1);
        let (whole, rest) = text.split_at(text.len() - width);
        let sign = if above < 0 { "-" } else { "" };
        Some(if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") })
    }
}

/// Reduces to lowest terms; `None` on overflow or if the denominator is zero.
fn fraction(above: i128, below: i128) -> Option<Number> {
    let divisor = gcd(above, below);
    if below == 0 || divisor == 0 {
        return None;
    }
    let (above, below) = (above / divisor, below / divisor);
    if below < 0 {
        Some(Exact(above.checked_neg()?, below.checked_neg()?))
    } else {
        Some(Exact(above, below))
    }
}

fn gcd(one: i128, other: i128) -> i128 {
    let (mut one, mut other) = (one.unsigned_abs(), other.unsigned_abs());
    while other != 0 {
        (one, other) = (other, one % other);
    }
    i128::try_from(one).unwrap_or(1)
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exact(above, below) => match Self::decimal(above, below) {
                Some(decimal) => formatter.write_str(&decimal),
                None => write!(formatter, "{above}/{below} (about {})", About(self.as_float()).as_float()),
            },
            About(number) if number.abs() >= 1e21 || (number != 0.0 && number.abs() < 1e-6) => {
                write!(formatter, "about {number:e}")
            }
            About(number) => write!(formatter, "about {number}"),
        }
    }
}
