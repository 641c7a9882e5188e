//! Settings that a program gives as values. They become text as `--set` takes it, so that one path checks, merges and reports both.

use serde::Serialize;
use serde_json::Value;
use toml_edit::{Array, InlineTable, Value as Toml};

use crate::path::KeyPath;
use crate::problem::{Error, Problem};

/// Returns the setting `key=value` for any value that can be serialized, as [`Sources::program`](crate::Sources::program) takes it.
/// Fields of a table that are `None` are left out.
pub fn setting(key: &str, value: impl Serialize) -> Result<String, Error> {
    let problem = |found: String| {
        let (place, allowed) =
            ("a setting of this program".to_owned(), "a value that TOML can express".to_owned());
        Error::new(vec![Problem { place, key: key.to_owned(), found, allowed }], Vec::new())
    };
    let mut value = serde_json::to_value(value).map_err(|error| problem(format!("no value ({error})")))?;
    drop_empty_fields(&mut value);
    let toml = toml(&value).ok_or_else(|| problem("nothing, or a list with a gap".to_owned()))?;
    Ok(format!("{key}={toml}"))
}

/// Returns one setting for each field of `table`, for a configuration, or a part of one, that a program has as a value.
pub fn settings(table: impl Serialize) -> Result<Vec<String>, Error> {
    match serde_json::to_value(table) {
        Ok(Value::Object(sections)) => {
            let sections = sections.iter().filter(|(_, section)| !section.is_null());
            sections.map(|(name, section)| setting(&KeyPath::of([name]).to_string(), section)).collect()
        }
        Ok(_) => {
            Err(Error::one("a setting of this program", "no table", "sections with keys, as in the file"))
        }
        Err(error) => Err(Error::one(
            "a setting of this program",
            error.to_string(),
            "sections with keys, as in the file",
        )),
    }
}

/// The same value in TOML. `None` if it has a null in it, which TOML lacks.
pub(crate) fn toml(value: &Value) -> Option<Toml> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(switch) => Toml::from(*switch),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Toml::from(whole),
            None => Toml::from(number.as_f64()?),
        },
        Value::String(text) => Toml::from(text.as_str()),
        Value::Array(items) => Toml::Array(items.iter().map(toml).collect::<Option<Array>>()?),
        Value::Object(entries) => {
            let mut table = InlineTable::new();
            for (name, inner) in entries {
                table.insert(name, toml(inner)?);
            }
            Toml::InlineTable(table)
        }
    })
}

/// Removes the fields that have no value.
fn drop_empty_fields(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_empty_fields),
        Value::Object(entries) => {
            entries.retain(|_, inner| !inner.is_null());
            entries.values_mut().for_each(drop_empty_fields);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::load;
    use crate::sources::Sources;

    #[test]
    fn values_arrive_as_they_were_given() {
        let home = tempfile::tempdir().unwrap();
        let given = [
            setting("model.provider", "openai").unwrap(),
            setting("model.model_id", "gpt \"5\"\n# \u{7f} = 'x'").unwrap(),
            setting("budget.daily_usd", 2.5).unwrap(),
            setting("agent.max_iterations", 7_u8).unwrap(),
            setting("security.blocked_commands", ["rm", "a, b"]).unwrap(),
            setting("budget.pricing", json!({"gpt-5.1": {"input": 1.0, "output": 2, "cached_input": null}}))
                .unwrap(),
        ];
        let sources = Sources { home: home.path().to_owned(), program: given.to_vec(), ..Sources::default() };
        let config = load(&sources).unwrap().config;
        assert_eq!(config.model.model_id, "gpt \"5\"\n# \u{7f} = 'x'");
        let dump = crate::dump(&config);
        assert_eq!(dump["budget"]["daily_usd"], json!(2.5));
        assert_eq!(dump["agent"]["max_iterations"], json!(7));
        assert_eq!(dump["security"]["blocked_commands"], json!(["rm", "a, b"]));
        assert_eq!(dump["budget"]["pricing"]["gpt-5.1"]["output"], json!(2.0));
    }

    #[test]
    fn a_table_becomes_a_setting_for_each_section() {
        let table = json!({"model": {"provider": "echo"}, "logging": {"level": "debug", "keep_files": 3}, "budget": null});
        let sets = settings(table).unwrap();
        assert_eq!(sets.len(), 2);
        let home = tempfile::tempdir().unwrap();
        std::fs::write(
            home.path().join("config.toml"),
            "[logging]\nlevel = \"error\"\n[model]\nmodel_id = \"m\"\n",
        )
        .unwrap();
        let config = load(&Sources { home: home.path().to_owned(), program: sets, ..Sources::default() })
            .unwrap()
            .config;
        assert_eq!(
            (config.model.provider.name(), config.model.model_id.as_str()),
            ("echo", "m"),
            "sections are merged"
        );
        assert_eq!(config.logging.keep_files, 3);
    }

    #[test]
    fn what_toml_cannot_express_is_an_error_that_names_the_key() {
        for value in [json!(null), json!([1, null])] {
            let error = setting("model.provider", &value).unwrap_err().to_string();
            assert!(error.contains("model.provider"), "{value}: {error}");
        }
        assert!(settings("text").unwrap_err().to_string().contains("no table"));
    }
}
