//! Parses and evaluates an expression in one pass: sums, products, powers, functions, and parentheses.
//!
//! Length, depth and the size of results are bounded, so that no expression takes long.

use super::number::Number;

/// Maximum length of an expression in bytes.
const MAX_LEN: usize = 1_000;
/// Maximum nesting.
const MAX_DEPTH: usize = 64;
/// The largest number whose factorial is computed exactly.
const MAX_FACTORIAL: i128 = 170;

/// Evaluates an expression; the error is a sentence that says where it could not be parsed.
pub(super) fn evaluate(text: &str) -> Result<Number, String> {
    if text.len() > MAX_LEN {
        return Err(format!("the expression is longer than {MAX_LEN} bytes; work it out in parts"));
    }
    // What people type for times, minus, divided by, and power.
    let text = text.replace(['×', '·'], "*").replace('−', "-").replace('÷', "/").replace("**", "^");
    let mut reader = Reader { text: &text, at: 0, depth: 0 };
    let number = reader.sum()?;
    match reader.peek() {
        None if number.is_finite() => Ok(number),
        None => Err("the result is too large, or is no number".into()),
        Some(_) => Err(reader.wrong()),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<Number, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("the expression is nested more than {MAX_DEPTH} deep"));
        }
        let mut left = self.product()?;
        loop {
            let sign = match self.peek() {
                Some('+') => 1,
                Some('-') => -1,
                _ => break,
            };
            self.at += 1;
            let (right, is_percent) = self.product_or_percent()?;
            // "100 - 15%" subtracts fifteen percent of the hundred.
            let right = if is_percent { left.times(right) } else { right };
            left = left.plus(right.times(Number::whole(sign)));
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Parses a product, and tells whether it is nothing but a percentage.
    fn product_or_percent(&mut self) -> Result<(Number, bool), String> {
        let begun = self.at;
        let number = self.product()?;
        let typed = self.text[begun..self.at].trim();
        let digits = typed.strip_suffix('%').map(str::trim_end);
        let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        Ok((number, digits.is_some_and(|digits| !digits.is_empty() && is_plain(digits))))
    }

    fn product(&mut self) -> Result<Number, String> {
        let mut left = self.signed()?;
        loop {
            match self.peek() {
                Some('*') => {
                    self.at += 1;
                    left = left.times(self.signed()?);
                }
                Some('/') => {
                    self.at += 1;
                    left = left.over(self.signed()?).ok_or("it divides by zero")?;
                }
                Some('%') => {
                    self.at += 1;
                    // After a number a percent sign means hundredths; between two numbers it means the remainder.
                    if self.begins_operand() {
                        left = left.modulo(self.signed()?).ok_or("it divides by zero")?;
                    } else {
                        left = left.over(Number::whole(100)).unwrap_or(left);
                    }
                }
                _ => return Ok(left),
            }
        }
    }

    fn signed(&mut self) -> Result<Number, String> {
        let mut is_negative = false;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            is_negative ^= sign == '-';
            self.at += 1;
        }
        let number = self.power()?;
        Ok(if is_negative { number.negated() } else { number })
    }

    fn power(&mut self) -> Result<Number, String> {
        let mut base = self.operand()?;
        while self.peek() == Some('!') {
            self.at += 1;
            base = factorial(base)?;
        }
        if self.peek() != Some('^') {
            return Ok(base);
        }
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("the expression is nested more than {MAX_DEPTH} deep"));
        }
        // Right-associative: 2^3^2 is 2^9.
        let power = self.signed()?;
        self.depth -= 1;
        Ok(base.to_the(power))
    }

    fn operand(&mut self) -> Result<Number, String> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            _ => Err(self.wrong()),
        }
    }

    fn number(&mut self) -> Result<Number, String> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        let digits = |from: usize| {
            let is_part = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'_');
            from + bytes[from.min(bytes.len())..].iter().take_while(is_part).count()
        };
        let mut end = digits(0);
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
                end = digits(end + 1 + sign);
            }
        }
        let number = Number::typed(&rest[..end].replace('_', "")).ok_or_else(|| self.wrong())?;
        self.at += end;
        Ok(number)
    }

    fn name(&mut self) -> Result<Number, String> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        self.at += end;
        match name.as_str() {
            "pi" => return Ok(Number::About(std::f64::consts::PI)),
            "e" => return Ok(Number::About(std::f64::consts::E)),
            _ => {}
        }
        self.expect('(')?;
        let mut arguments = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        function(&name, &arguments)
    }

    fn begins_operand(&mut self) -> bool {
        self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '(' | '.'))
    }

    /// Returns the next character that is not whitespace.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.peek() == Some(wanted) {
            self.at += wanted.len_utf8();
            return Ok(());
        }
        Err(format!("{} ({wanted:?} is missing)", self.wrong()))
    }

    fn wrong(&mut self) -> String {
        match self.peek() {
            Some(c) => format!(
                "the expression cannot be read from character {} on: {c:?}",
                self.text[..self.at].chars().count() + 1
            ),
            None => "the expression ends too early".into(),
        }
    }
}

fn factorial(number: Number) -> Result<Number, String> {
    match number.as_whole() {
        Some(whole @ 0..=MAX_FACTORIAL) => {
            Ok((1..=whole).fold(Number::whole(1), |product, factor| product.times(Number::whole(factor))))
        }
        _ => Err(format!("! takes a whole number from 0 to {MAX_FACTORIAL}")),
    }
}

fn function(name: &str, arguments: &[Number]) -> Result<Number, String> {
    let by_size = |one: &&Number, other: &&Number| one.as_float().total_cmp(&other.as_float());
    if matches!(name, "max" | "min") {
        let found =
            if name == "max" { arguments.iter().max_by(by_size) } else { arguments.iter().min_by(by_size) };
        return found.copied().ok_or_else(|| format!("{name} needs a number"));
    }
    let ([number] | [number, _]) = arguments else { return Err(format!("{name} takes one or two numbers")) };
    if let ("round", [_, places]) = (name, arguments) {
        return round_to(*number, *places);
    }
    if arguments.len() > 1 {
        return Err(format!("{name} takes one number"));
    }
    let about = |float: fn(f64) -> f64| Ok(Number::About(float(number.as_float())));
    match name {
        "abs" => Ok(if number.as_float() < 0.0 { number.negated() } else { *number }),
        "floor" => Ok(number.rounded(f64::floor, |above, below| above.div_euclid(below))),
        "ceil" => Ok(number.negated().rounded(f64::floor, |above, below| above.div_euclid(below)).negated()),
        "round" => round_to(*number, Number::whole(0)),
        "sqrt" if number.as_float() < 0.0 => Err("the root of a negative number is no number here".into()),
        "sqrt" => Ok(root(*number)),
        "ln" | "log" if number.as_float() <= 0.0 => Err(format!("{name} takes a number above zero")),
        "ln" => about(f64::ln),
        "log" => about(f64::log10),
        "exp" => about(f64::exp),
        "sin" => about(f64::sin),
        "cos" => about(f64::cos),
        "tan" => about(f64::tan),
        _ => Err(format!(
            "there is no function {name:?}; there are abs, ceil, cos, exp, floor, ln, log, max, min, round, sin, sqrt, tan"
        )),
    }
}

/// Rounds half away from zero, as people do.
fn round_to(number: Number, places: Number) -> Result<Number, String> {
    let Some(places @ -15..=15) = places.as_whole() else {
        return Err("round takes -15 to 15 places".into());
    };
    let scale = Number::whole(10).to_the(Number::whole(places));
    let half = Number::whole(1).over(Number::whole(2)).unwrap_or(Number::whole(0));
    let is_negative = number.as_float() < 0.0;
    let size = if is_negative { number.negated() } else { number };
    let rounded = size.times(scale).plus(half).rounded(f64::floor, |above, below| above.div_euclid(below));
    let rounded = rounded.over(scale).unwrap_or(rounded);
    Ok(if is_negative { rounded.negated() } else { rounded })
}

/// Returns the square root, exact for perfect squares.
fn root(number: Number) -> Number {
    let exact = || {
        let Number::Exact(above, below) = number else { return None };
        let (a, b) = (above.isqrt(), below.isqrt());
        (a * a == above && b * b == below).then(|| Number::whole(a).over(Number::whole(b))).flatten()
    };
    exact().unwrap_or_else(|| Number::About(number.as_float().sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_as_long_as_they_can_be() {
        let check = |text: &str, expected: &str| {
            assert_eq!(evaluate(text).map(|number| number.to_string()).as_deref(), Ok(expected), "{text}");
        };
        check("0.1 + 0.2", "0.3");
        check("2 + 3 * 4", "14");
        check("(2 + 3) * 4", "20");
        check("2^3^2", "512");
        check("2**10", "1024");
        check("-2^2", "-4");
        check("2^-2", "0.25");
        check("1/3", "1/3 (about 0.3333333333333333)");
        check("1/3 + 2/3", "1");
        check("10 % 3", "1");
        check("-7 % 3", "2");
        check("15%", "0.15");
        check("100 - 15%", "85");
        check("(1299 - 15%) * 1.19", "1313.9385");
        check("200 * 15%", "30");
        check("5!", "120");
        check("30!", "265252859812191058636308480000000");
        check("2^64", "18446744073709551616");
        check("123456789 * 987654321", "121932631112635269");
        check("1e3 + 1.5e-2", "1000.015");
        check("sqrt(144)", "12");
        check("sqrt(2)", "about 1.4142135623730951");
        check("round(2.675, 2)", "2.68");
        check("round(-2.5)", "-3");
        check("floor(-1.5) + ceil(-1.5)", "-3");
        check("max(1, 7, 3) - min(4, 2)", "5");
        check("6 × 7 ÷ 2 − 1", "20");
        check("1_000_000 * 2", "2000000");
        check("2^200", "about 1.6069380442589903e60");
        check("cos(pi)", "about -1");
        check("- - 3", "3");
    }

    #[test]
    fn impossible_sums_are_explained() {
        let check = |text: &str, expected: &str| {
            let error = evaluate(text).unwrap_err();
            assert!(error.contains(expected), "{text:.40}: {error}");
        };
        check("", "ends too early");
        check("1 +", "ends too early");
        check("1 / 0", "divides by zero");
        check("1 % 0", "divides by zero");
        check("2 $ 3", "from character 3 on: '$'");
        check("(1", "')' is missing");
        check("system(1)", "no function \"system\"");
        check("sqrt(-1)", "negative");
        check("171!", "from 0 to 170");
        check("9^9^9^9", "too large");
        check(&"(".repeat(500), "nested");
        check(&"-".repeat(2000), "longer than");
        check(&"2^".repeat(200), "nested");
        check("1..2", "cannot be read");
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_to_an_end(text in "[0-9a-z+*/%^!(),. -]{0,60}") {
            let _ = evaluate(&text);
        }
    }
}
