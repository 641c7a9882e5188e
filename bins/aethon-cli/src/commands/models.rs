//! `model list|update`: lists the known facts about models, and installs a newer table.

use std::path::Path;
use std::process::ExitCode;

use aethon::core::ledger::Price;
use aethon::core::visible::readable;
use aethon::models::{Catalog, CatalogModel, EffortWord, HOW_TO_UPDATE};
use anyhow::Result;
use serde_json::{Value, json};

use super::{print, print_json};
use crate::args::Common;

/// Lists the models of one vendor, or all.
pub(crate) fn list(common: &Common, vendor: Option<&str>, as_json: bool) -> Result<ExitCode> {
    let prepared = crate::setup::prepared(common)?;
    let mut models = prepared.catalog().models();
    if let Some(vendor) = vendor {
        let mut vendors: Vec<String> = models.iter().map(|model| model.vendor.clone()).collect();
        vendors.dedup();
        vendors.retain(|vendor| !vendor.is_empty());
        models.retain(|model| model.vendor == vendor);
        if models.is_empty() {
            let refusal =
                format!("no model of {vendor:?} is in the table; it has those of {}", vendors.join(", "));
            return Err(aethon::Error::refused(refusal).into());
        }
    }
    if as_json {
        let models: Vec<Value> = models.iter().map(document).collect();
        print_json(
            &json!({"source": Catalog::source(), "made_on": Catalog::made_on(), "own": prepared.catalog().own_count(),
                "own_installed_on": prepared.catalog().own_date(), "models": models}),
        )?;
    } else {
        print(&table(&models))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Installs a table, or says how to get one.
pub(crate) fn update(common: &Common, file: Option<&Path>, as_json: bool) -> Result<ExitCode> {
    let Some(file) = file else {
        return Err(aethon::Error::refused(format!("no file is named; {HOW_TO_UPDATE}")).into());
    };
    let prepared = crate::setup::prepared(common)?;
    let installed = aethon::models::install(prepared.home(), file)?;
    if as_json {
        print_json(&json!(installed))?;
    } else {
        let path = prepared.home().models();
        print(&format!(
            "models in {}: {}, of them {} new and {} changed; a running aethon-server takes them over when it is started again\n",
            path.display(),
            installed.models,
            installed.added,
            installed.changed
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn id(model: &CatalogModel) -> String {
    if model.vendor.is_empty() { model.name.clone() } else { format!("{}/{}", model.vendor, model.name) }
}

fn document(model: &CatalogModel) -> Value {
    let facts = &model.facts;
    json!({
        "id": id(model),
        "provider": model.vendor,
        "model": model.name,
        "context_window": facts.context_window,
        "max_output": facts.max_output,
        "price": facts.price,
        "tools": facts.tools,
        "images": facts.images,
        "pdf": facts.pdf,
        "reasons": facts.reasons,
        "efforts": facts.efforts.words().map(EffortWord::as_str).collect::<Vec<_>>(),
        "retires_on": facts.retires_on,
    })
}

fn table(models: &[CatalogModel]) -> String {
    let widest = models.iter().map(|model| id(model).chars().count()).max().unwrap_or_default().min(60);
    let mut out = format!(
        "{:<widest$}  {:>9}  {:>9}  {:>19}  {:<30}  {}\n",
        "model", "window", "output", "USD/M tokens in/out", "abilities", "retires"
    );
    for model in models {
        let facts = &model.facts;
        let ends = facts.retires_on.map(|date| date.to_string()).unwrap_or_default();
        let row = format!(
            "{:<widest$}  {:>9}  {:>9}  {:>19}  {:<30}  {ends}",
            readable(&id(model)),
            facts.context_window,
            facts.max_output,
            facts.price.as_ref().map_or("?".to_owned(), price),
            abilities(model),
        );
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

fn price(price: &Price) -> String {
    let long = if price.long.is_some() { "+" } else { "" };
    format!("{}/{}{long}", price.input, price.output)
}

fn abilities(model: &CatalogModel) -> String {
    let facts = &model.facts;
    let named =
        [("tools", facts.tools), ("images", facts.images), ("pdf", facts.pdf), ("reasoning", facts.reasons)];
    named.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}
