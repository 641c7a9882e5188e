//! The JSON Schemas of steps: a step names a file beside the SOPs, and its outcome has to fit it.
//!
//! The files lie in the folder of the SOPs, because no turn of a stranger changes anything there: a schema is part of the
//! instructions, as its descriptions reach the model. They are read anew whenever a SOP is used.

use std::path::{Component, Path};
use std::sync::Arc;

use aethon_core::answer_schema::{self, AnswerSchema};
use aethon_core::shaping::SOPS;
use aethon_core::sop::{Sop, SopFault, StepSchema};
use aethon_files::{Directory, Refusal};

/// How the line of a step begins that names its schema.
const MARK: &str = "**Schema:**";

/// Returns the file that a line of a step names; the error is a fault of the line.
pub(super) fn named(line: &str) -> Option<Result<String, String>> {
    let rest = line.trim_start().strip_prefix(MARK)?.trim();
    let file = rest.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(rest);
    let inner = Path::new(file).strip_prefix(SOPS).unwrap_or(Path::new(file));
    let is_plain = inner.components().all(|part| matches!(part, Component::Normal(_)));
    Some(match is_plain && !inner.as_os_str().is_empty() && file.ends_with(".json") {
        true => Ok(inner.to_string_lossy().into_owned()),
        false => Err(format!(
            "the schema of a step is written `{MARK} NAME.json` and names a file in the folder {SOPS}/"
        )),
    })
}

/// Returns the SOP with the schemas that its steps name, as they are in the folder now.
pub(super) fn filled_in(sop: Arc<Sop>, folder: Option<&Directory>) -> Arc<Sop> {
    if sop.steps.iter().all(|step| step.schema.is_none()) {
        return sop;
    }
    let mut sop = Arc::unwrap_or_clone(sop);
    for schema in sop.steps.iter_mut().filter_map(|step| step.schema.as_mut()) {
        schema.content = read(folder, &schema.file);
    }
    Arc::new(sop)
}

/// Returns the faults of the schemas that a SOP names.
pub(super) fn faults(sop: &Sop) -> Vec<SopFault> {
    let schemas = sop.steps.iter().filter_map(|step| step.schema.as_ref());
    let fault = |schema: &StepSchema| {
        let why = schema.content.as_ref().err()?;
        Some(SopFault { line: schema.line, message: unusable(schema, why) })
    };
    schemas.filter_map(fault).collect()
}

/// Returns the sentence for a schema that cannot be used.
pub(super) fn unusable(schema: &StepSchema, why: &str) -> String {
    format!("the schema {SOPS}/{} cannot be used: {why}", schema.file)
}

fn read(folder: Option<&Directory>, file: &str) -> Result<Arc<AnswerSchema>, String> {
    let words = |refusal: Refusal| refusal.to_string();
    let missing = || "there is no such file".to_owned();
    let folder = folder.ok_or_else(missing)?;
    let path = Path::new(file);
    let mut inner = None;
    for part in path.parent().into_iter().flat_map(Path::components) {
        let outer = inner.as_ref().unwrap_or(folder);
        inner = Some(outer.inner(part.as_os_str()).map_err(words)?.ok_or_else(missing)?);
    }
    let name = path.file_name().ok_or_else(missing)?;
    let contents =
        inner.as_ref().unwrap_or(folder).read(name, answer_schema::MAX_BYTES * 4).map_err(words)?;
    let contents = contents.ok_or_else(missing)?;
    let text = String::from_utf8(contents.bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    AnswerSchema::from_json(&text).map(Arc::new).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_json_file_in_the_folder_of_sops() {
        let check = |line: &str, expected: Option<Option<&str>>| {
            assert_eq!(named(line).as_ref().map(|named| named.as_deref().ok()), expected, "{line}");
        };
        check("**Schema:** notes.json", Some(Some("notes.json")));
        check("  **Schema:** `sops/schemas/notes.json` ", Some(Some("schemas/notes.json")));
        check("**Schema:** notes.txt", Some(None));
        check("**Schema:** ../notes.json", Some(None));
        check("**Schema:** /etc/notes.json", Some(None));
        check("**Schema:**", Some(None));
        check("The schema is notes.json", None);
    }
}
