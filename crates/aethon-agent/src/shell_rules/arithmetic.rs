//! Evaluates what is between `$((` and `))`, if it contains only numbers.

/// The value of an integer expression; `None` if it contains anything else.
pub(super) fn value(text: &str) -> Option<i64> {
    let chars: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut reader = Expression { chars: &chars, at: 0, depth: 0 };
    if chars.is_empty() {
        return Some(0);
    }
    let value = reader.sum()?;
    (reader.at == chars.len()).then_some(value)
}

/// The names of the variables that an expression changes.
pub(super) fn changed(text: &str) -> Vec<String> {
    let compares =
        ["==", "<=", ">=", "!="].iter().fold(text.to_owned(), |text, sign| text.replace(sign, " "));
    if !compares.contains('=') && !compares.contains("++") && !compares.contains("--") {
        return Vec::new();
    }
    let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    names
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .map(str::to_owned)
        .collect()
}

struct Expression<'a> {
    chars: &'a [char],
    at: usize,
    depth: usize,
}

impl Expression<'_> {
    fn take(&mut self, wanted: &str) -> Option<char> {
        let next = self.chars.get(self.at).copied().filter(|c| wanted.contains(*c))?;
        self.at += 1;
        Some(next)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(sign) = self.take("+-") {
            let other = self.product()?;
            value = if sign == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.factor()?;
        while let Some(sign) = self.take("*/%") {
            let other = self.factor()?;
            value = match sign {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 32 {
            return None;
        }
        let value = if let Some(sign) = self.take("+-") {
            let value = self.factor()?;
            if sign == '-' { value.checked_neg()? } else { value }
        } else if self.take("(").is_some() {
            let value = self.sum()?;
            self.take(")")?;
            value
        } else {
            let digits: String = self.chars[self.at..].iter().take_while(|c| c.is_ascii_digit()).collect();
            // An octal number.
            if digits.len() > 1 && digits.starts_with('0') {
                return None;
            }
            self.at += digits.len();
            digits.parse().ok()?
        };
        self.depth -= 1;
        Some(value)
    }
}
