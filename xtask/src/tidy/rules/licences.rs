//! Every locked package has a licence that `deny.toml` allows, so that this is ensured even where cargo-deny is not installed.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

/// Checks that each licence expression can be satisfied with licences of the allow list.
pub(crate) fn every_licence_is_allowed(tree: &Tree) -> Vec<Finding> {
    let allowed = tree.text("deny.toml").map(allow_list).unwrap_or_default();
    let mut found = Vec::new();
    for locked in &tree.locked {
        let message = match &locked.licence {
            None => format!("{} names no licence", locked.package),
            Some(licence) if !Expression::is_met(licence, &allowed) => {
                format!("{} is licensed as `{licence}`", locked.package)
            }
            Some(_) => continue,
        };
        found.push(Finding::new(
            "licence",
            "deny.toml",
            1,
            message,
            "do without the package, or decide to allow the licence and list it",
        ));
    }
    found
}

fn allow_list(deny: &str) -> Vec<String> {
    let Ok(document) = deny.parse::<toml::Table>() else { return Vec::new() };
    let allow = document.get("licenses").and_then(|licences| licences.get("allow"));
    let allow = allow.and_then(toml::Value::as_array);
    allow.into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_owned).collect()
}

/// Evaluates an SPDX expression: `OR` over `AND` over names, with brackets; `/` is the legacy spelling of `OR`.
struct Expression<'a> {
    words: Vec<String>,
    at: usize,
    allowed: &'a [String],
}

impl<'a> Expression<'a> {
    fn is_met(text: &str, allowed: &'a [String]) -> bool {
        let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words = spaced.split_whitespace().map(str::to_owned).collect();
        let mut expression = Expression { words, at: 0, allowed };
        expression.any() && expression.at == expression.words.len()
    }

    fn any(&mut self) -> bool {
        let mut met = self.all();
        while self.take("OR") {
            met |= self.all();
        }
        met
    }

    fn all(&mut self) -> bool {
        let mut met = self.one();
        while self.take("AND") {
            met &= self.one();
        }
        met
    }

    fn one(&mut self) -> bool {
        if self.take("(") {
            let met = self.any();
            return self.take(")") && met;
        }
        let Some(mut name) = self.words.get(self.at).cloned() else { return false };
        self.at += 1;
        if self.take("WITH") {
            name = format!("{name} WITH {}", self.words.get(self.at).map_or("", String::as_str));
            self.at += 1;
        }
        self.allowed.contains(&name)
    }

    fn take(&mut self, word: &str) -> bool {
        let next = self.words.get(self.at).is_some_and(|next| next == word);
        self.at += usize::from(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::manifest::Locked;

    fn check(licence: Option<&str>, expected: usize) {
        let mut tree = Tree::of(&[("deny.toml", "[licenses]\nallow = [\"MIT\", \"Unicode-3.0\"]\n")]);
        tree.locked.push(Locked { package: "a 1.0.0".to_owned(), licence: licence.map(str::to_owned) });
        assert_eq!(every_licence_is_allowed(&tree).len(), expected, "{licence:?}");
    }

    #[test]
    fn an_expression_that_can_be_met_passes() {
        for licence in
            ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND Unicode-3.0", "A WITH B OR MIT"]
        {
            check(Some(licence), 0);
        }
    }

    #[test]
    fn forbidden_licence_is_found() {
        for licence in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT WITH Something", ""] {
            check(Some(licence), 1);
        }
        check(None, 1);
    }
}
