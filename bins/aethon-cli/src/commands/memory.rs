//! `memory list|search|show|add|rm`: through the daemon if one runs, else on the database.

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use aethon::core::memory::{Memory, MemoryId, MemoryListing, MemoryQuery, NewMemory, Reach, Scope};
use aethon::core::visible::readable;
use aethon::json::{memories, memory_results};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::source::Source;
use super::{confirm, print, print_json};
use crate::args::{Common, MemoryCommand};
use crate::daemon::{encoded, or_missing};

/// The maximum size of a text from standard input.
const MAX_INPUT: u64 = 1 << 20;

pub(crate) async fn run(common: &Common, command: MemoryCommand) -> Result<ExitCode> {
    // Read once: the command may start over.
    let command = match command {
        MemoryCommand::Add { text, category, scope, json } => {
            MemoryCommand::Add { text: input(text)?, category, scope, json }
        }
        other => other,
    };
    Source::run(common, async |source| answer(&Memories(source), command.clone()).await).await
}

async fn answer(source: &Memories<'_>, command: MemoryCommand) -> Result<ExitCode> {
    match command {
        MemoryCommand::List { query, category, scope, limit, json } => {
            let page =
                source.list((query.unwrap_or_default(), category, scope), limit.clamp(1, 1000)).await?;
            if json { print_json(&page)? } else { print(&table(&page))? }
        }
        MemoryCommand::Search { query, top_k, json } => {
            let results = source.search(query, top_k.clamp(1, 100)).await?;
            if json { print_json(&results)? } else { print(&found(&results))? }
        }
        MemoryCommand::Show { id, json } => {
            let record = source.show(parse(&id)?).await?;
            if json { print_json(&record)? } else { print(&history(&record))? }
        }
        MemoryCommand::Add { text, category, scope, json } => {
            let entry = source.add(&text, &category.unwrap_or_default(), scope).await?;
            if json { print_json(&entry)? } else { print(&line(&entry))? }
        }
        MemoryCommand::Rm { id, yes } => {
            let id = parse(&id)?;
            // Fails for an unknown memory before asking for confirmation.
            source.show(id).await?;
            if !confirm(&format!("remove memory {id} with its history"), yes)? {
                return Ok(ExitCode::FAILURE);
            }
            source.remove(id).await?;
            source.0.note_removal(&format!("memory/{id}")).await;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(id: &str) -> Result<MemoryId> {
    MemoryId::parse(id)
        .with_context(|| format!("{id:?} is not the id of a memory; `aethon-cli memory list` lists them"))
}

fn input(text: String) -> Result<String> {
    if text != "-" {
        return Ok(text);
    }
    let mut text = String::new();
    std::io::stdin().take(MAX_INPUT).read_to_string(&mut text).context("standard input cannot be read")?;
    Ok(text)
}

/// The memories.
struct Memories<'s>(&'s Source);

impl Memories<'_> {
    async fn list(
        &self,
        (words, category, scope): (String, Option<String>, Option<String>),
        limit: usize,
    ) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let parameter = |name: &str, value: Option<String>| {
                    value.map(|value| format!("&{name}={}", encoded(&value))).unwrap_or_default()
                };
                let (category, scope) = (parameter("category", category), parameter("scope", scope));
                let words = encoded(&words);
                daemon.get(format!("/api/memory?limit={limit}&q={words}{category}{scope}")).await
            }
            Source::Here(aethon) => {
                let memory = switched_on(aethon)?;
                let reach = scope.map_or(Reach::All, |scope| Reach::from(Scope::named(scope)));
                let listing = MemoryListing::newest(limit).of(reach).with_words(words).in_category(category);
                Ok(json!(memories(Some(&*memory), listing).await?))
            }
        }
    }

    async fn search(&self, query: String, top_k: usize) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                daemon.post_again("/api/memory/search".into(), &json!({"query": query, "top_k": top_k})).await
            }
            Source::Here(aethon) => {
                let memory = switched_on(aethon)?;
                Ok(json!(memory_results(&*memory, MemoryQuery::new(query, top_k).of(Reach::All)).await?))
            }
        }
    }

    async fn show(&self, id: MemoryId) -> Result<Value> {
        let record = match self.0 {
            Source::Daemon(daemon) => daemon.find_json(format!("/api/memory/{id}")).await?,
            Source::Here(aethon) => {
                switched_on(aethon)?.show(&Reach::All, id).await?.map(|record| json!(record))
            }
        };
        record.with_context(|| missing(id))
    }

    async fn add(&self, content: &str, category: &str, scope: Option<String>) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let memory = json!({"content": content, "category": category, "scope": scope});
                // What says the same already is not added again.
                daemon.post_again("/api/memory".into(), &memory).await
            }
            Source::Here(aethon) => {
                let memory = switched_on(aethon)?;
                let scope = scope.map_or(Ok(Scope::default()), |scope| Scope::given(&scope))?;
                Ok(json!(memory.store(NewMemory::new(content, category, "cli")?.of(scope)).await?.entry))
            }
        }
    }

    async fn remove(&self, id: MemoryId) -> Result<()> {
        match self.0 {
            Source::Daemon(daemon) => {
                or_missing(daemon.delete(format!("/api/memory/{id}")).await.map(drop), || missing(id))
            }
            Source::Here(aethon) => {
                let gone = switched_on(aethon)?
                    .forget(&Reach::All, id, aethon::core::version::Expected::Anything)
                    .await?;
                if gone { Ok(()) } else { bail!(missing(id)) }
            }
        }
    }
}

fn switched_on(aethon: &aethon::Aethon) -> Result<Arc<dyn Memory>> {
    aethon.memory().context("long-term memory is switched off; set memory.enabled to true")
}

fn missing(id: MemoryId) -> String {
    format!("there is no memory {id}; `aethon-cli memory list` lists them")
}

fn text(entry: &Value, key: &str) -> String {
    let text: Vec<&str> = entry[key].as_str().unwrap_or_default().split_whitespace().collect();
    readable(&text.join(" "))
}

fn day(entry: &Value, key: &str) -> String {
    text(entry, key).chars().take(10).collect()
}

fn line(entry: &Value) -> String {
    let (id, category) = (text(entry, "id"), text(entry, "category"));
    // Memories of the owner are not labelled; those of others are.
    let whose = entry["scope"].as_str().map(|_| format!("{}: ", text(entry, "scope"))).unwrap_or_default();
    format!("{id:>6}  {}  {category:<12}  {whose}{}\n", day(entry, "updated_at"), text(entry, "content"))
}

fn table(page: &Value) -> String {
    let entries = page["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    if page["enabled"] == json!(false) {
        return "long-term memory is switched off (memory.enabled)\n".to_owned();
    }
    let mut out: String = entries.iter().map(line).collect();
    let count = page["count"].as_u64().unwrap_or(0);
    if out.is_empty() {
        out.push_str("no memories\n");
    } else if count > entries.len() as u64 {
        out.push_str(&format!("{} of {count} memories; --limit shows more\n", entries.len()));
    }
    out
}

fn found(results: &Value) -> String {
    let results = results["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    if results.is_empty() {
        return "nothing fits\n".to_owned();
    }
    let hit = |hit: &Value| {
        let score = hit["score"].as_f64().unwrap_or(0.0);
        format!("{}        {score:.2}  {}\n", line(hit), text(hit, "why"))
    };
    results.iter().map(hit).collect()
}

fn history(record: &Value) -> String {
    let recalled = match record["last_recalled_at"].as_str() {
        Some(_) => format!("last recalled {}", day(record, "last_recalled_at")),
        None => "never recalled".to_owned(),
    };
    let mut out = format!(
        "{}        from {}, stored {}, {recalled}\n",
        line(record),
        text(record, "source"),
        day(record, "created_at")
    );
    for was in record["history"].as_array().into_iter().flatten() {
        out.push_str(&format!("        until {}: {}\n", day(was, "replaced_at"), text(was, "content")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Value {
        json!({"id": "17", "content": "Rent is due\non the \u{202e}5th.", "category": "money", "source": "api",
               "created_at": "2026-11-20T10:00:00.000Z", "updated_at": "2026-11-21T10:00:00.000Z",
               "last_recalled_at": null})
    }

    #[test]
    fn memories_are_lines_that_cannot_drive_a_terminal() {
        let page = json!({"enabled": true, "count": 3, "entries": [entry()]});
        let lines = table(&page);
        assert_eq!(
            lines,
            "    17  2026-11-21  money         Rent is due on the ‹U+202E›5th.\n1 of 3 memories; --limit shows more\n"
        );
        let mut theirs = entry();
        theirs["scope"] = json!("ben");
        let lines = table(&json!({"enabled": true, "count": 1, "entries": [theirs]}));
        assert_eq!(lines, "    17  2026-11-21  money         ben: Rent is due on the ‹U+202E›5th.\n");
        assert_eq!(table(&json!({"enabled": true, "count": 0, "entries": []})), "no memories\n");
        assert!(table(&json!({"enabled": false, "count": 0, "entries": []})).contains("memory.enabled"));
    }

    #[test]
    fn a_hit_shows_its_reason_and_a_record_its_earlier_texts() {
        let mut hit = entry();
        hit["score"] = json!(0.875);
        hit["why"] = json!("words: rent");
        assert!(found(&json!({"results": [hit]})).ends_with("\n        0.88  words: rent\n"));
        assert_eq!(found(&json!({"results": []})), "nothing fits\n");
        let mut record = entry();
        record["history"] =
            json!([{"content": "Rent is due on the 3rd.", "replaced_at": "2026-11-21T10:00:00.000Z"}]);
        let shown = history(&record);
        assert!(
            shown.contains("never recalled")
                && shown.ends_with("until 2026-11-21: Rent is due on the 3rd.\n")
        );
    }
}
