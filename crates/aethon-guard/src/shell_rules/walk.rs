//! Walks through a command and everything that it runs, until it finds something that must not run.
//!
//! The walk knows the values of plain variables, the files and pipes that the command itself wrote, and the current
//! directory. It takes every branch once and executes nothing. All else is unknown.

use std::collections::HashMap;
use std::rc::Rc;

use super::danger::{self, FORK_BOMB};
use super::entries::{Entry, fold};
use super::marks::UNKNOWN;
use super::meter::Meter;
use super::paths::{Homes, base_name, tidy};
use super::patterns::{fits, is_pattern};
use super::reader::{read, read_quoted};
use super::refusal::Refusal;
use super::syntax::{Body, Flow, List, Piece, Pipeline, Redirect, Stage, Word, plain};
use super::variables::{Arguments, Held, held};
use super::words::{assigned_name, split_assignment};

/// Nothing was found so far, or the refusal.
pub(super) type Checked = Result<(), Refusal>;
/// The output of a command, or the refusal.
pub(super) type Written = Result<String, Refusal>;

/// Programs tried in place of a wholly unknown program name, to judge the arguments.
const SUSPECTS: [&str; 2] = ["rm", "dd"];
/// Maximum number of passes through a loop over known words.
const MAX_PASSES: usize = 16;

/// The knowledge gathered while walking through one command.
pub(super) struct Walk<'r> {
    pub(super) entries: &'r [Entry],
    pub(super) homes: &'r Homes,
    pub(super) meter: Meter,
    pub(super) variables: HashMap<String, String>,
    pub(super) arguments: Arguments,
    functions: HashMap<String, Rc<Stage>>,
    /// The functions that are running, or being defined.
    running: Vec<String>,
    /// Files that the command wrote, with their contents.
    pub(super) files: HashMap<String, String>,
    /// Programs that the command copied or linked, with their original names.
    pub(super) programs: HashMap<String, String>,
    /// Commands that read the text written to a path.
    readers: HashMap<String, Rc<List>>,
    /// The current directory, if known.
    pub(super) folder: Option<String>,
    /// Whether the commands run on another machine or in a container.
    pub(super) is_elsewhere: bool,
    /// Every command that may run, as its words.
    pub(super) seen: Vec<Vec<String>>,
}

impl<'r> Walk<'r> {
    pub(super) fn new(entries: &'r [Entry], homes: &'r Homes) -> Self {
        Self {
            entries,
            homes,
            meter: Meter::default(),
            variables: HashMap::new(),
            arguments: Arguments::Known(Vec::new()),
            functions: HashMap::new(),
            running: Vec::new(),
            files: HashMap::new(),
            programs: HashMap::new(),
            readers: HashMap::new(),
            folder: None,
            is_elsewhere: false,
            seen: Vec::new(),
        }
    }

    /// Walks through a text that a shell reads.
    pub(super) fn script(&mut self, text: &str, input: &str) -> Written {
        self.meter.bytes(text.len())?;
        if let Some(danger) = danger::of_text(text) {
            return Err(danger.into());
        }
        self.meter.enter()?;
        let list = read(text).ok_or(Refusal::TooInvolved)?;
        let written = self.list(&list, input)?;
        self.meter.leave();
        Ok(written)
    }

    fn list(&mut self, list: &List, input: &str) -> Written {
        let mut written = String::new();
        for pipeline in list {
            written += &self.pipeline(pipeline, input)?;
            self.meter.bytes(written.len() / 8)?;
        }
        Ok(written)
    }

    fn pipeline(&mut self, pipeline: &Pipeline, input: &str) -> Written {
        if forks(std::slice::from_ref(pipeline), "$0", false) {
            return Err(FORK_BOMB.into());
        }
        let mut text = input.to_owned();
        for stage in &pipeline.stages {
            text = self.stage(stage, &text)?;
        }
        Ok(text)
    }

    /// Walks in a subshell, whose changes to the shell are discarded afterwards.
    pub(super) fn in_subshell(&mut self, walk: impl FnOnce(&mut Self) -> Written) -> Written {
        self.meter.enter()?;
        self.meter.bytes(self.variables.values().map(String::len).sum())?;
        let before = (self.variables.clone(), self.arguments.clone(), self.folder.clone());
        let written = walk(self)?;
        (self.variables, self.arguments, self.folder) = before;
        self.meter.leave();
        Ok(written)
    }

    /// Returns the output of a command substitution.
    pub(super) fn substitution(&mut self, list: &List) -> Written {
        let written = self.in_subshell(|walk| walk.list(list, ""))?;
        Ok(written.trim_end_matches('\n').to_owned())
    }

    /// The file name of `<(…)` or `>(…)`.
    pub(super) fn process(&mut self, list: &Rc<List>, is_read: bool) -> Written {
        self.meter.steps(1)?;
        let path = format!("/dev/fd/{}", 1_000 + self.files.len() + self.readers.len());
        let unknown = UNKNOWN.to_string();
        let written = self.in_subshell(|walk| walk.list(list, if is_read { "" } else { &unknown }))?;
        if is_read {
            self.files.insert(path.clone(), written);
        } else {
            self.readers.insert(path.clone(), Rc::clone(list));
        }
        Ok(path)
    }

    fn stage(&mut self, stage: &Stage, input: &str) -> Written {
        self.meter.enter()?;
        self.meter.steps(1)?;
        let (mut input, mut sink) = (input.to_owned(), None);
        for redirect in &stage.redirects {
            self.redirect(redirect, &mut input, &mut sink)?;
        }
        let mut written = match &stage.body {
            // `$(< file)`
            Body::Simple(words) if words.is_empty() => input,
            Body::Simple(words) => self.simple(words, &input)?,
            Body::Group(list) => self.list(list, &input)?,
            Body::Subshell(list) => self.in_subshell(|walk| walk.list(list, &input))?,
            Body::For { name, words, body } => {
                let mut written = String::new();
                for word in self.fields(words)?.into_iter().take(MAX_PASSES) {
                    self.variables.insert(name.clone(), word);
                    written += &self.list(body, &input)?;
                }
                self.variables.insert(name.clone(), UNKNOWN.to_string());
                written + &self.list(body, &input)?
            }
            Body::Function(name, body) => self.define(name, body)?,
        };
        if let Some(path) = sink {
            self.write(&path, &written, true)?;
            written.clear();
        }
        self.meter.leave();
        Ok(written)
    }

    fn redirect(&mut self, redirect: &Redirect, input: &mut String, sink: &mut Option<String>) -> Checked {
        let Some(word) = redirect.target.get() else { return Ok(()) };
        let text = self.text(word)?;
        match redirect.flow {
            Flow::Text | Flow::Read if !redirect.is_standard => {}
            Flow::Text => *input = text,
            Flow::Read => *input = self.content(&text).unwrap_or_else(|| UNKNOWN.to_string()),
            Flow::Write | Flow::Append => {
                self.check_write(&text)?;
                let is_file = !text.starts_with("/dev/") || self.readers.contains_key(&text);
                if redirect.is_standard && is_file && text.parse::<u32>().is_err() && text != "-" {
                    if redirect.flow == Flow::Write {
                        self.write(&text, "", false)?;
                    }
                    *sink = Some(text);
                }
            }
        }
        Ok(())
    }

    /// Refuses writing to a path that must not be written to.
    pub(super) fn check_write(&self, path: &str) -> Checked {
        match danger::write_danger(path).or_else(|| danger::write_danger(&self.path(path))) {
            Some(danger) if !self.is_elsewhere => Err(danger.into()),
            _ => Ok(()),
        }
    }

    /// Remembers a text written to a file, or feeds it to the commands that read the file.
    pub(super) fn write(&mut self, path: &str, text: &str, adds: bool) -> Checked {
        if let Some(list) = self.readers.get(path).cloned() {
            return self.in_subshell(|walk| walk.list(&list, text)).map(drop);
        }
        let path = self.path(path);
        let before = self.files.remove(&path).filter(|_| adds).unwrap_or_default();
        self.meter.bytes(before.len() + text.len())?;
        self.files.insert(path, before + text);
        Ok(())
    }

    /// The content of a file, if the command wrote it.
    pub(super) fn content(&self, path: &str) -> Option<String> {
        self.files.get(&self.path(path)).cloned()
    }

    /// Resolves a path against the current directory, if that is known.
    pub(super) fn path(&self, path: &str) -> String {
        match &self.folder {
            Some(folder) if !path.starts_with(['/', '~', '$']) => tidy(&format!("{folder}/{path}")),
            _ => tidy(path),
        }
    }

    fn simple(&mut self, words: &[Word], input: &str) -> Written {
        let count = words.iter().take_while(|word| assigned_name(word).is_some()).count();
        for word in &words[..count] {
            let text = self.text(word)?;
            self.assign(&text)?;
        }
        let argv = self.fields(&words[count..])?;
        self.argv(&argv, input)
    }

    /// Sets a variable from a text such as `NAME=value`, and walks through its value if programs execute it.
    pub(super) fn assign(&mut self, text: &str) -> Checked {
        let Some((name, value)) = split_assignment(text) else { return Ok(()) };
        let (name, mut value) = (name.to_owned(), value.to_owned());
        if text[name.len()..].starts_with("+=") {
            value = self.variable(&name) + &value;
        } else if text[name.len()..].starts_with('[') {
            value = UNKNOWN.to_string();
        }
        self.meter.bytes(value.len())?;
        let run = value.trim_start_matches(['!', '|']).to_owned();
        match held(&name) {
            Some(Held::Command) if name == "TAR_OPTIONS" => self.nested(&format!("tar {run}"), &[], "")?,
            Some(Held::Command) if name == "GIT_CONFIG_PARAMETERS" => {
                self.nested(&format!("git -c {}", run.replace("' '", "' -c '")), &[], "")?
            }
            Some(Held::Command) => self.nested(&run, &[], "")?,
            Some(Held::Text) => self.computed(&run).map(|()| String::new())?,
            Some(Held::File) => {
                self.computed(&run)?;
                self.run_file(&[run], "")?.unwrap_or_default()
            }
            None => String::new(),
        };
        self.variables.insert(name, value);
        Ok(())
    }

    /// Walks through a text that another shell runs with these arguments; the first of them is its name.
    pub(super) fn nested(&mut self, text: &str, arguments: &[String], input: &str) -> Written {
        self.in_subshell(|walk| {
            if let Some((name, rest)) = arguments.split_first() {
                walk.variables.insert("0".to_owned(), name.clone());
                walk.arguments = Arguments::Known(rest.to_vec());
            }
            walk.script(text, input)
        })
    }

    /// Walks through the substitutions in a text that is evaluated.
    pub(super) fn computed(&mut self, text: &str) -> Checked {
        if !text.contains(['$', '`']) {
            return Ok(());
        }
        self.meter.enter()?;
        self.meter.bytes(text.len())?;
        let word = read_quoted(text).ok_or(Refusal::TooInvolved)?;
        self.text(&word)?;
        self.meter.leave();
        Ok(())
    }

    /// Defines a function, and walks through its body with unknown arguments.
    fn define(&mut self, name: &str, body: &Rc<Stage>) -> Written {
        if forks_in(body, name) {
            return Err(FORK_BOMB.into());
        }
        self.running.push(name.to_owned());
        self.in_subshell(|walk| {
            walk.arguments = Arguments::Unknown;
            walk.stage(body, &UNKNOWN.to_string())
        })?;
        self.running.pop();
        self.functions.insert(name.to_owned(), Rc::clone(body));
        Ok(String::new())
    }

    /// Calls a function, unless it is running already.
    pub(super) fn call(&mut self, argv: &[String], input: &str) -> Result<Option<String>, Refusal> {
        let Some(body) = self.functions.get(&argv[0]).cloned() else { return Ok(None) };
        if self.running.contains(&argv[0]) {
            return Ok(Some(UNKNOWN.to_string()));
        }
        self.running.push(argv[0].clone());
        let before = std::mem::replace(&mut self.arguments, Arguments::Known(argv[1..].to_vec()));
        let written = self.stage(&body, input)?;
        self.arguments = before;
        self.running.pop();
        Ok(Some(written))
    }

    /// Walks through a command, given as its words.
    pub(super) fn argv(&mut self, argv: &[String], input: &str) -> Written {
        let Some(program) = argv.first() else { return Ok(String::new()) };
        self.meter.enter()?;
        self.meter.steps(1)?;
        self.meter.bytes(argv.iter().map(|word| word.len() + 8).sum())?;
        self.seen.push(argv.to_vec());
        let mut argv = argv.to_vec();
        if let Some(original) = self.programs.get(&self.path(program)) {
            argv[0].clone_from(original);
        }
        if let Some(danger) = danger::of_text(&argv[0]) {
            return Err(danger.into());
        }
        for name in self.names_of(&argv) {
            self.check(&[&[name][..], &argv[1..]].concat())?;
        }
        self.check(&argv)?;
        if argv.len() > 1 && argv[0].chars().all(|c| c == UNKNOWN) {
            // The name may be empty, and then the next word is the program.
            self.argv(&argv[1..], input)?;
        }
        let written = self.run(&argv, input)?;
        self.meter.leave();
        Ok(written)
    }

    /// The programs that a name may refer to if it is a pattern.
    fn names_of(&self, argv: &[String]) -> Vec<String> {
        let name = base_name(&argv[0]);
        if !is_pattern(name) || argv.len() == 1 && name.chars().all(|c| c == UNKNOWN) {
            return Vec::new();
        }
        if name.chars().all(|c| c == UNKNOWN) {
            return SUSPECTS.map(str::to_owned).to_vec();
        }
        let pattern: Vec<char> = name.chars().collect();
        let own = self.entries.iter().filter_map(Entry::program);
        let known = danger::PROGRAMS.split(' ').chain(own);
        known.filter(|known| fits(&pattern, &known.chars().collect::<Vec<_>>())).map(str::to_owned).collect()
    }

    /// Refuses a command that must not run.
    fn check(&mut self, argv: &[String]) -> Checked {
        let folded = fold(&argv.join(" "));
        if let Some(entry) = self.entries.iter().find(|entry| entry.equals(argv, &folded)) {
            return Err(Refusal::AmountsTo(entry.text.clone()));
        }
        let folder = self.folder.as_ref().filter(|folder| self.homes.is_precious(folder));
        let found = danger::danger(argv, self.homes)
            .or_else(|| danger::danger(&danger::resolved(argv, folder?), self.homes));
        match found {
            Some(danger) if !(self.is_elsewhere && danger == danger::POWER) => Err(danger.into()),
            _ => Ok(()),
        }
    }
}

/// Whether commands start `name` more than once, or in the background, so that the number of processes grows without
/// bound.
fn forks(list: &[Pipeline], name: &str, is_background: bool) -> bool {
    list.iter().any(|pipeline| {
        let is_background = is_background || pipeline.is_background;
        let calls = pipeline.stages.iter().filter(|stage| calls(stage, name)).count();
        let is_inside = pipeline.stages.iter().any(|stage| match &stage.body {
            Body::Group(list) | Body::Subshell(list) | Body::For { body: list, .. } => {
                forks(list, name, is_background)
            }
            Body::Function(..) | Body::Simple(_) => false,
        });
        calls > 1 || calls == 1 && is_background || is_inside
    })
}

/// The same for the body of the function with this name.
fn forks_in(body: &Stage, name: &str) -> bool {
    match &body.body {
        Body::Group(list) | Body::Subshell(list) | Body::For { body: list, .. } => forks(list, name, false),
        Body::Function(..) | Body::Simple(_) => false,
    }
}

fn calls(stage: &Stage, name: &str) -> bool {
    let Body::Simple(words) = &stage.body else { return false };
    words.iter().take(2).any(|word| match word.as_slice() {
        [Piece::Variable { name: own, .. }] => name.strip_prefix('$') == Some(own),
        _ => !name.is_empty() && plain(word) == Some(name),
    })
}
