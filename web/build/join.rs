//! Joins the modules of a page into one script, so that a phone fetches three files before it paints, not eighty.
//!
//! The sources stay separate files. A module becomes a function that is called once: its imports are constants at the
//! beginning, its exports the return value. That matches the browser's module semantics as long as modules import by name,
//! export only constants and do not import each other in a cycle; everything else is rejected here with the file's name. What
//! a page loads on demand, such as the panels of the dashboard, is joined as well. Modules shared by two of those belong to
//! the page's own script, which passes them on, so that each exists once. A module may wait (`const x = await ...;`), and the rest of the
//! script waits with it. Comments are removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A module as it was written.
struct Module {
    /// Its imports in order: the module, and the names in braces as in object destructuring.
    imports: Vec<(String, String)>,
    exports: Vec<String>,
    /// Everything else.
    body: String,
}

impl Module {
    /// Whether a statement of the module itself, not of a function in it, waits for something.
    fn awaits(&self) -> bool {
        self.body.lines().any(|line| line.starts_with("const ") && line.contains(" = await "))
    }
}

/// The modules below `js/`, by name.
pub(crate) struct Modules<'a> {
    texts: BTreeMap<&'a str, &'a str>,
}

/// A joined script, named after its first module.
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) body: String,
    /// The modules in it.
    pub(crate) holds: Vec<String>,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Modules<'a> {
    pub(crate) fn new(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self { texts: sources.filter(|(name, _)| name.ends_with(".js")).collect() }
    }

    /// Joins the script of a page, and one for each module that the page loads on demand.
    pub(crate) fn join(&self, entry: &str, later: &[String]) -> Result<Vec<Script>> {
        let mut own = self.closure(entry)?;
        let closures: Vec<Vec<String>> =
            later.iter().map(|name| self.closure(name)).collect::<Result<_>>()?;
        for (index, closure) in closures.iter().enumerate() {
            let others = || closures.iter().enumerate().filter(|(other, _)| *other != index);
            for name in closure {
                if !own.contains(name) && others().any(|(_, other)| other.contains(name)) {
                    own.push(name.clone());
                }
            }
        }
        let mut handed_over = BTreeSet::new();
        let mut scripts = Vec::new();
        for (name, closure) in later.iter().zip(closures) {
            let (outside, inside): (Vec<_>, Vec<_>) =
                closure.into_iter().partition(|name| own.contains(name));
            // What needs nothing of the page can be loaded while the page's own script still waits for it.
            let mut body = if outside.is_empty() {
                String::new()
            } else {
                format!("import {{ modules }} from {:?};\n", relative(name, entry))
            };
            for name in &outside {
                let _ = writeln!(body, "const {} = modules[{name:?}];", variable(name));
            }
            self.write(&inside, name, &mut body)?;
            let exports = self.module(name)?.exports.join(", ");
            let _ = writeln!(body, "export const {{ {exports} }} = {};", variable(name));
            handed_over.extend(outside);
            scripts.push(Script { name: name.clone(), body, holds: inside });
        }
        let mut body = String::new();
        self.write(&own, entry, &mut body)?;
        if !later.is_empty() {
            let pairs: Vec<String> =
                handed_over.iter().map(|name| format!("{name:?}: {}", variable(name))).collect();
            let _ = writeln!(body, "export const modules = {{ {} }};", pairs.join(", "));
        }
        scripts.push(Script { name: entry.to_owned(), body, holds: own });
        Ok(scripts)
    }

    /// The module and all its dependencies, each after those that it needs itself.
    fn closure(&self, entry: &str) -> Result<Vec<String>> {
        let (mut order, mut open) = (Vec::new(), Vec::new());
        self.walk(entry, &mut open, &mut order)?;
        Ok(order)
    }

    fn walk(&self, name: &str, open: &mut Vec<String>, order: &mut Vec<String>) -> Result<()> {
        if order.iter().any(|done| done == name) {
            return Ok(());
        }
        if open.iter().any(|above| above == name) {
            return Err(format!("{} and {name} import each other in a circle", open.join(", ")));
        }
        open.push(name.to_owned());
        for (needed, _) in self.module(name)?.imports {
            self.walk(&needed, open, order)?;
        }
        open.pop();
        order.push(name.to_owned());
        Ok(())
    }

    /// Writes each module as a constant; addresses in them are rewritten relative to `script`.
    fn write(&self, names: &[String], script: &str, body: &mut String) -> Result<()> {
        for name in names {
            let module = self.module(name)?;
            let call = if module.awaits() { "await (async " } else { "(" };
            let _ = writeln!(body, "// {name}\nconst {} = {call}() => {{", variable(name));
            for (from, names) in &module.imports {
                let _ = writeln!(body, "const {{ {names} }} = {};", variable(from));
            }
            let here = format!("new URL({:?}, import.meta.url)", relative(script, name));
            body.push_str(&module.body.replace("import.meta.url", &here));
            let _ = writeln!(body, "return {{ {} }};\n}})();", module.exports.join(", "));
        }
        Ok(())
    }

    fn module(&self, name: &str) -> Result<Module> {
        let text = self.texts.get(name).ok_or_else(|| format!("there is no module {name}"))?;
        parse(name, text)
    }
}

/// Extracts the imports and exports, which start at the beginning of a line, from a module.
fn parse(name: &str, text: &str) -> Result<Module> {
    let mut module =
        Module { imports: Vec::new(), exports: Vec::new(), body: String::with_capacity(text.len()) };
    let text = without_comments(text);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("import ") {
            let mut statement = line.to_owned();
            while !statement.ends_with(';') {
                statement.push_str(lines.next().ok_or_else(|| format!("{name}: an import does not end"))?);
            }
            module.imports.push(import(name, &statement)?);
        } else if let Some(declared) = line.strip_prefix("export ") {
            if declared != "{};" {
                module.exports.push(declared_name(name, declared)?);
                module.body.push_str(declared);
                module.body.push('\n');
            }
        } else if line.contains("*/ export ") || line.contains("*/ import ") {
            return Err(format!("{name}: imports and exports start at the beginning of a line: {line}"));
        } else {
            module.body.push_str(line);
            module.body.push('\n');
        }
    }
    Ok(module)
}

/// Removes lines that consist of a comment only, a quarter of what a phone would have to fetch before it paints. It works line
/// by line and keeps the content of multi-line templates, as well as comments after code.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut in_comment, mut in_template) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if in_template {
            in_template = line.matches('`').count() % 2 == 0;
        } else if in_comment {
            in_comment = !trimmed.ends_with("*/");
            continue;
        } else if trimmed.starts_with("//") || trimmed.is_empty() {
            continue;
        } else if trimmed.starts_with("/*") && trimmed.find("*/").is_none_or(|end| end + 2 == trimmed.len()) {
            in_comment = !trimmed.ends_with("*/");
            continue;
        } else {
            in_template = line.matches('`').count() % 2 == 1;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// Parses `import { a, b as c } from "./x.js";` into the module's name and the pattern `a, b: c`.
fn import(name: &str, statement: &str) -> Result<(String, String)> {
    let parts = statement.strip_prefix("import {").and_then(|rest| rest.split_once("} from \""));
    let parts = parts.and_then(|(names, rest)| Some((names, rest.strip_suffix("\";")?)));
    let (names, from) =
        parts.ok_or_else(|| format!("{name}: only names in braces can be imported: {statement}"))?;
    let taken: Vec<String> =
        names.split(',').map(|one| one.trim().replace(" as ", ": ")).filter(|one| !one.is_empty()).collect();
    Ok((resolve(name, from), taken.join(", ")))
}

/// The name that an exported declaration introduces.
fn declared_name(name: &str, declared: &str) -> Result<String> {
    let kinds = ["const ", "function ", "async function ", "class "];
    let after = kinds.iter().find_map(|kind| declared.strip_prefix(kind));
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
    let found = after.map(|after| after.chars().take_while(|letter| is_part(*letter)).collect::<String>());
    found
        .filter(|found| !found.is_empty())
        .ok_or_else(|| format!("{name}: only constants, functions and classes can be exported: {declared}"))
}

/// Resolves an address: `../shared/dom.js` in `js/chat/parts.js` is `js/shared/dom.js`.
fn resolve(from: &str, address: &str) -> String {
    let mut folders: Vec<&str> = from.split('/').collect();
    folders.pop();
    for part in address.split('/') {
        match part {
            "." => {}
            ".." => drop(folders.pop()),
            part => folders.push(part),
        }
    }
    folders.join("/")
}

/// The address of `to` as seen from `from`; both are asset names.
fn relative(from: &str, to: &str) -> String {
    let up = "../".repeat(from.matches('/').count());
    if up.is_empty() { format!("./{to}") } else { format!("{up}{to}") }
}

/// The name of a module's constant in a script.
fn variable(name: &str) -> String {
    name.trim_end_matches(".js")
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
        .collect()
}
