//! The owner's side of the model catalogue: loads `HOME/models.json` at startup, replaces it after a check, and lists models.
//!
//! A broken file never stops the service: the built-in catalogue is used, and `--check`, `doctor` and the log report the
//! problem. The meaning of a row belongs to `aethon_providers::catalog`; this module only moves files and counts.

use std::path::Path;

use aethon_config::private_file;
use aethon_config::schema::Model;
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::provider::Provider;
use aethon_files::{Lock, Refusal, read_given};
pub use aethon_providers::{Catalog, CatalogModel, EffortWord};
use aethon_providers::{MAX_BYTES, MAX_TABLE_BYTES, ModelFacts, trim_models};
use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::home::Home;

/// How many days before a vendor retires a model the owner is warned.
const NOTICE: i64 = 60;

/// The effect of installing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// Models in the file.
    pub models: usize,
    /// Models that were unknown before.
    pub added: usize,
    /// Models whose facts changed.
    pub changed: usize,
}

/// A concern about a model, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Concern {
    pub(crate) message: String,
    pub(crate) fix: String,
}

/// How to get a newer table, as commands.
pub const HOW_TO_UPDATE: &str = "get LiteLLM's table and install it:\n  \
    curl -fsSLO https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json\n  \
    aethon-cli model update model_prices_and_context_window.json\n\
    or from the Python package index, without GitHub:\n  \
    pip download --no-deps -d . litellm && unzip -jo litellm-*.whl '*/model_prices_and_context_window_backup.json'\n  \
    aethon-cli model update model_prices_and_context_window_backup.json";

/// Describes the tables in use and their ages.
pub(crate) fn tables(catalog: &Catalog, today: Date) -> String {
    let age = |date: Date| match today.since(date).map_or(0, |span| span.get_days()) {
        ..=0 => "of today".to_owned(),
        1 => "a day old".to_owned(),
        days => format!("{days} days old"),
    };
    let built_in =
        Catalog::made_on().map(|date| format!(", made on {date}, {}", age(date))).unwrap_or_default();
    let source = Catalog::source();
    let own = match (catalog.own_count(), catalog.own_date()) {
        (0, _) => String::new(),
        (count, None) => format!(", and {count} models of models.json, which has no date and precedes it"),
        (count, Some(date)) => {
            let rank = match catalog.is_own_outdated() {
                true => {
                    "which is older, and only used for what the built-in table does not know or you wrote yourself"
                }
                false => "which precedes it",
            };
            format!(", and {count} models of models.json, installed on {date}, {}, {rank}", age(date))
        }
    };
    format!("using the built-in table (of {source}{built_in}){own}")
}

/// Loads the catalogue of a home, and reports problems of its file.
pub(crate) fn load(home: &Home) -> (Catalog, Option<String>) {
    let path = home.models();
    match read(&path, MAX_BYTES) {
        Ok(None) => (Catalog::built_in(), None),
        Ok(Some(text)) => match Catalog::with_own(&text) {
            Ok(catalog) => (catalog, None),
            Err(fault) => (Catalog::built_in(), Some(ignored(&path, &fault))),
        },
        Err(fault) => (Catalog::built_in(), Some(ignored(&path, &fault))),
    }
}

fn ignored(path: &Path, fault: &str) -> String {
    format!("{} is ignored, and the built-in model table is used: {fault}", path.display())
}

/// Reads a text file, which the owner may have linked; `None` if it does not exist.
fn read(path: &Path, most: usize) -> Result<Option<String>, String> {
    let contents = match read_given(path, most) {
        Ok(None) => return Ok(None),
        Ok(Some(contents)) => contents,
        Err(Refusal::Failed(error)) => return Err(format!("it cannot be opened: {error}")),
        Err(_) => return Err("it is not a file".to_owned()),
    };
    if !contents.is_whole {
        return Err(format!("it is larger than {most} bytes"));
    }
    String::from_utf8(contents.bytes).map(Some).map_err(|_| "it is not valid UTF-8".to_owned())
}

/// Checks a table and installs the part that Aethon reads as `HOME/models.json`, keeping the previous file as
/// `models.json.old`. A rejected table changes nothing.
///
/// # Errors
///
/// Fails with the reason why the table was rejected, or because it could not be written.
pub fn install(home: &Home, table: &Path) -> Result<Installed> {
    let refuse = |fault: String| Error::refused(format!("{} is refused: {fault}", table.display()));
    let text = read(table, MAX_TABLE_BYTES).and_then(|text| text.ok_or("there is no such file".to_owned()));
    let today = SystemClock.now().to_zoned(TimeZone::UTC).date();
    let trimmed = text.and_then(|text| trim_models(&text, today)).map_err(refuse)?;
    let new = Catalog::with_own(&trimmed).map_err(refuse)?;
    home.prepare()?;
    let path = home.models();
    let fail = |error| Error::failed(format!("{} cannot be written", path.display())).because(error);
    // From the comparison on, so that the file kept as the previous one is the file that is replaced.
    let _lock = Lock::take(&home.run(), "models").map_err(fail)?;
    let installed = compare(&load(home).0, &new);
    if let Ok(Some(old)) = read(&path, MAX_TABLE_BYTES) {
        private_file::write(&path.with_extension("json.old"), old.as_bytes()).map_err(fail)?;
    }
    private_file::write(&path, trimmed.as_bytes()).map_err(fail)?;
    Ok(installed)
}

fn compare(old: &Catalog, new: &Catalog) -> Installed {
    let known = old.models();
    let before = |model: &CatalogModel| -> Option<ModelFacts> {
        let is_it = |row: &&CatalogModel| (&row.vendor, &row.name) == (&model.vendor, &model.name);
        known.iter().find(is_it).map(|row| row.facts).or_else(|| {
            // Some names are found without a row of their own.
            let facts = old.facts(Provider::from_name(&model.vendor)?, &model.name, "");
            facts.is_known.then_some(facts)
        })
    };
    let mut installed = Installed { models: new.own_count(), added: 0, changed: 0 };
    for model in new.own_models() {
        match before(&model) {
            None => installed.added += 1,
            Some(facts) if facts != model.facts => installed.changed += 1,
            Some(_) => {}
        }
    }
    installed
}

/// Concerns about using a model today: it is being retired, or it is unknown.
pub(crate) fn concerns(name: &str, facts: &ModelFacts, is_described: bool, today: Date) -> Vec<Concern> {
    let mut concerns = Vec::new();
    let soon = today.saturating_add(NOTICE.days());
    if let Some(end) = facts.retires_on.filter(|end| *end <= soon) {
        let message = match end <= today {
            true => format!("{name} is no longer served: its vendor ended it on {end}"),
            false => format!("{name} will not be served for long: its vendor ends it on {end}"),
        };
        let fix =
            "set model.model_id to a model without an end; `aethon-cli model list` shows them".to_owned();
        concerns.push(Concern { message, fix });
    }
    if !facts.is_known && !is_described {
        let (window, output) = (facts.context_window, facts.max_output);
        let message = format!(
            "{name} is an unknown model: assuming a context window of {window} tokens and answers of up to {output}"
        );
        let fix = "set model.context_window to its size and budget.pricing to its price, or install a newer \
                   table with `aethon-cli model update FILE`";
        concerns.push(Concern { message, fix: fix.to_owned() });
    }
    concerns
}

/// Warns of models whose id is in no table and looks like a slip for one that is. Ids that differ in a digit are taken for
/// another version, and not for a slip: services have models of which no table knows yet.
pub(crate) fn misspelt(catalog: &Catalog, main: &Model) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for model in main.all().into_iter().chain(main.small_one()) {
        let is_described = model.context_window.is_some() || is_named_by_its_owner(&model);
        if is_described || catalog.facts(model.provider, &model.model_id, &model.host).is_known {
            continue;
        }
        let Some(nearest) = nearest(catalog, &model) else { continue };
        let (id, provider, section) = (&model.model_id, model.provider, model.section());
        let warning = format!(
            "{id:?} by {provider} is in no table of models, and the nearest one is {nearest:?}: correct it in {section}, or set \
             {section}.context_window if it is right"
        );
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// Returns whether models of this service have the names that its owner gave them.
fn is_named_by_its_owner(model: &Model) -> bool {
    let is_vendor =
        !matches!(model.provider, Provider::Ollama | Provider::LiteLlm | Provider::Fake | Provider::Echo);
    !is_vendor || !model.host.trim().is_empty()
}

/// Returns the id of the provider's model that this one is a slip for.
fn nearest(catalog: &Catalog, model: &Model) -> Option<String> {
    let digits = |id: &str| id.chars().filter(char::is_ascii_digit).collect::<String>();
    let wanted = model.model_id.trim().to_lowercase();
    let akin = catalog
        .models()
        .into_iter()
        .filter(|known| known.vendor == model.provider.name() && digits(&known.name) == digits(&wanted));
    let distances = akin.map(|known| (strsim::osa_distance(&wanted, &known.name.to_lowercase()), known.name));
    let (distance, name) = distances.min()?;
    (distance <= (wanted.chars().count() / 5).clamp(1, 3)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(provider: Provider, id: &str) -> Model {
        let mut model = Model::default();
        model.provider = provider;
        id.clone_into(&mut model.model_id);
        model
    }

    #[test]
    fn a_slip_in_the_id_of_a_model_is_warned_of_with_the_nearest() {
        let check = |provider: Provider, id: &str, expected: Option<&str>| {
            let warnings = misspelt(&Catalog::built_in(), &model(provider, id));
            assert_eq!(warnings.len(), usize::from(expected.is_some()), "{id}: {warnings:?}");
            for (warning, nearest) in warnings.iter().zip(expected) {
                assert!(warning.contains(&format!("the nearest one is {nearest:?}")), "{warning}");
            }
        };
        check(Provider::OpenAi, "gpt-6-sol", None);
        check(Provider::OpenAi, "gpt-6-slo", Some("gpt-6-sol"));
        check(Provider::OpenAi, "gpt6-sol", Some("gpt-6-sol"));
        check(Provider::Anthropic, "claude-sonet-5-5", Some("claude-sonnet-5-5"));
        // The name that routers use for it is known.
        check(Provider::Anthropic, "claude-sonnet-5.5", None);
        // A version that the table does not have yet, and models that others named.
        check(Provider::Anthropic, "claude-sonnet-5-6", None);
        check(Provider::OpenAi, "unheard-of", None);
        check(Provider::Ollama, "qwen33", None);
        check(Provider::LiteLlm, "gpt-6-slo", None);
    }

    #[test]
    fn an_owner_who_describes_a_model_is_believed() {
        let mut described = model(Provider::OpenAi, "gpt-6-slo");
        described.context_window = Some(100_000);
        assert!(misspelt(&Catalog::built_in(), &described).is_empty());
        let mut elsewhere = model(Provider::OpenAi, "gpt-6-slo");
        elsewhere.host = "http://127.0.0.1:8080/v1".to_owned();
        assert!(misspelt(&Catalog::built_in(), &elsewhere).is_empty());
    }

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        (folder, home)
    }

    fn window(catalog: &Catalog, model: &str) -> u64 {
        catalog.facts(Provider::OpenAi, model, "").context_window
    }

    #[test]
    fn broken_model_files_are_ignored_with_a_warning() {
        let (_folder, home) = home();
        let check = |text: &[u8], expected: Option<&str>| {
            std::fs::write(home.models(), text).unwrap();
            let (catalog, fault) = load(&home);
            match (expected, fault) {
                (None, None) => assert_eq!(window(&catalog, "mine"), 5_000),
                (Some(words), Some(fault)) => {
                    assert!(fault.contains(words) && fault.contains("models.json"), "{fault}");
                    assert_eq!(window(&catalog, "gpt-6-sol"), 1_050_000, "the built-in table holds");
                }
                (expected, fault) => panic!("{expected:?} {fault:?}"),
            }
        };
        assert_eq!(load(&home).1, None, "no file is no fault");
        check(br#"{"mine": {"max_input_tokens": 5000}}"#, None);
        check(b"{", Some("not a JSON object"));
        check(b"\xff", Some("UTF-8"));
        check(br#"{"mine": {"max_input_tokens": -1}}"#, Some("max_input_tokens"));
        check(&vec![b' '; MAX_BYTES + 1], Some("bytes"));
        std::fs::remove_file(home.models()).unwrap();
        std::fs::create_dir(home.models()).unwrap();
        assert!(load(&home).1.unwrap().contains("not a file"));
    }

    #[test]
    fn a_checked_table_replaces_the_file_and_a_refused_one_changes_nothing() {
        let (folder, home) = home();
        let table = folder.path().join("table.json");
        let put = |text: &str| {
            std::fs::write(&table, text).unwrap();
            install(&home, &table)
        };
        let first =
            put(r#"{"mine": {"max_input_tokens": 5000}, "openai/gpt-6-sol": {"max_input_tokens": 7000}}"#);
        assert_eq!(first.unwrap(), Installed { models: 2, added: 1, changed: 1 });
        let again = put(r#"{"mine": {"max_input_tokens": 5000}}"#);
        assert_eq!(again.unwrap(), Installed { models: 1, added: 0, changed: 0 });
        assert!(std::fs::read_to_string(home.path().join("models.json.old")).unwrap().contains("gpt-6-sol"));

        let before = std::fs::read(home.models()).unwrap();
        for wrong in ["{", "{}", r#"{"m": {"input_cost_per_token": 1e308}}"#] {
            assert!(put(wrong).unwrap_err().is_refusal(), "{wrong}");
        }
        assert!(install(&home, Path::new("/nowhere")).unwrap_err().is_refusal());
        assert_eq!(std::fs::read(home.models()).unwrap(), before);
    }

    #[test]
    fn end_of_life_is_announced_two_months_before() {
        let check = |facts: ModelFacts, today: Date, expected: &str| {
            let found = concerns("m", &facts, false, today);
            let found: Vec<_> = found.iter().map(|concern| concern.message.as_str()).collect();
            assert!(
                found.join("; ").contains(expected) && found.is_empty() == expected.is_empty(),
                "{found:?}"
            );
        };
        let gpt5 = Catalog::built_in().facts(Provider::OpenAi, "gpt-5", "");
        let day = jiff::civil::date;
        check(gpt5, day(2026, 10, 11), "");
        check(gpt5, day(2026, 10, 12), "ends it on 2026-12-11");
        check(gpt5, day(2026, 12, 11), "ended it on 2026-12-11");
        check(gpt5, day(2027, 12, 11), "ended it on 2026-12-11");
        check(Catalog::built_in().facts(Provider::OpenAi, "gpt-6-sol", ""), day(2026, 12, 11), "");
        let unknown = Catalog::built_in().facts(Provider::OpenAi, "unheard-of", "");
        check(unknown, day(2026, 12, 11), "a context window of 128000 tokens");
        assert!(concerns("m", &unknown, true, day(2026, 12, 11)).is_empty());
    }
}
