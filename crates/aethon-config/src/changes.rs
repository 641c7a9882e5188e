//! Lists the keys that differ between two configurations, secrets included, so that a reload can report which it applies.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::mask;
use crate::path::KeyPath;
use crate::schema::Config;

/// Returns the keys whose values differ, in order. A list counts as one key.
pub fn changed_keys(old: &Config, new: &Config) -> Vec<String> {
    let mut changed = BTreeSet::new();
    compare(&KeyPath::default(), &mask::to_value(old), &mask::to_value(new), &mut changed);
    // Secrets serialise to a mask, so their values are compared separately.
    let (old, new) = (old.named_secrets(), new.named_secrets());
    let differs = |(name, secret): &&(String, &aethon_core::secret::Secret)| {
        let other = new.iter().find(|(other, _)| other == name);
        other.is_some_and(|(_, other)| other.expose() != secret.expose())
    };
    changed.extend(old.iter().filter(differs).map(|(name, _)| name.clone()));
    changed.into_iter().collect()
}

fn compare(key: &KeyPath, old: &Value, new: &Value, changed: &mut BTreeSet<String>) {
    if old == new {
        return;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        changed.insert(key.to_string());
        return;
    };
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let value = |entries: &serde_json::Map<String, Value>| entries.get(name).cloned().unwrap_or_default();
        compare(&key.key(name), &value(before), &value(after), changed);
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::secret::Secret;

    use super::*;

    #[test]
    fn changed_keys_are_listed_and_secrets_compared_by_value() {
        let check = |change: fn(&mut Config), expected: &[&str]| {
            let mut old = Config::default();
            old.dashboard.auth_token = Secret::new("old");
            let mut new = old.clone();
            change(&mut new);
            assert_eq!(changed_keys(&old, &new), expected);
        };
        check(|_| {}, &[]);
        check(|config| config.dashboard.auth_token = Secret::new("new"), &["dashboard.auth_token"]);
        check(|config| config.dashboard.auth_token = Secret::default(), &["dashboard.auth_token"]);
        check(|config| config.model.model_id = "m".into(), &["model.model_id"]);
        check(
            |config| config.channels.webchat.allowed_hosts.push("a".into()),
            &["channels.webchat.allowed_hosts"],
        );
        check(
            |config| {
                config.budget.pricing.insert("gpt-5.1".into(), crate::schema::Price::default());
                config.budget.daily_usd = 1.0;
            },
            &["budget.daily_usd", "budget.pricing.\"gpt-5.1\""],
        );
    }
}
