//! A simple command: what it assigns, whether it may run, what it runs in turn, and what it writes.

use std::rc::Rc;

use super::danger;
use super::entries::fold;
use super::expand::DECLARING;
use super::interpreters::{interpreter, is_input};
use super::judge::{Call, Checked, Judge, OutputResult, nothing};
use super::marks::{DECODED, FETCHED, UNKNOWN, is_known, made_from};
use super::outputs;
use super::paths::base_name;
use super::patterns::{fits, is_pattern};
use super::programs::{self, Inner};
use super::reader::is_setting;
use super::refusal::Refusal;
use super::settings;
use super::state::{ShellState, Texts, Value, either};
use super::word::{Word, plain};

/// How a file is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// By a shell.
    Shell,
    /// By an interpreter of another language.
    Other,
    /// As a program.
    Itself,
}

/// The file that a command runs, either as its argument or directly.
fn file_of(argv: &[String]) -> Option<(String, FileKind)> {
    if let Some(interpreter) = interpreter(argv) {
        let kind = if interpreter.is_shell { FileKind::Shell } else { FileKind::Other };
        return interpreter.file.map(|file| (file, kind));
    }
    argv[0].contains('/').then(|| (argv[0].clone(), FileKind::Itself))
}

/// Programs that stand in for a wholly unknown program name, to see what the arguments would do to them.
const SUSPECTS: &[&str] = &["rm", "dd"];

/// How many nested calls of a recursive function are followed.
const MAX_CALLS: usize = 3;

impl Judge<'_> {
    pub(super) fn simple(&mut self, words: &[Word]) -> OutputResult {
        let count = words.iter().take_while(|word| is_setting(word)).count();
        let (assigned, command) = words.split_at(count);
        let lists = self.fields(command)?;
        let saved = if command.is_empty() { None } else { Some(self.state.copied(&mut self.meter)?) };
        for word in assigned {
            self.set_word(word)?;
        }
        let mut written: Option<Texts> = None;
        let before = if lists.len() > 1 { Some(self.state.copied(&mut self.meter)?) } else { None };
        let mut after = None;
        for argv in &lists {
            if let Some(before) = &before {
                self.state = before.copied(&mut self.meter)?;
            }
            let own = self.argv(argv)?;
            written = Some(match written {
                Some(written) => either(written, own),
                None => own,
            });
            if before.is_some() {
                let state = self.state.copied(&mut self.meter)?;
                match &mut after {
                    None => after = Some(state),
                    Some(after) => after.join(state, &mut self.meter)?,
                }
            }
        }
        if let Some(after) = after {
            self.state = after;
        }
        if command.first().and_then(plain).is_some_and(|program| DECLARING.contains(&program)) {
            for word in command {
                if let Some(words) = settings::array_of(word) {
                    self.set_array(&settings::name_of(word), words, settings::adds(word))?;
                }
            }
        }
        if let Some(saved) = saved {
            // Assignments before a command apply to that command.
            for word in assigned {
                let name = settings::name_of(word);
                let value = saved.is_set(&name).then(|| saved.get(&name, ""));
                self.state.put(&name, value);
            }
        }
        Ok(written.unwrap_or_else(nothing))
    }

    /// Judges a command, given as its words. Returns the output that its caller reads.
    pub(super) fn argv(&mut self, argv: &[String]) -> OutputResult {
        let Some(program) = argv.first() else { return Ok(nothing()) };
        self.meter.enter()?;
        self.meter.steps(1)?;
        self.meter.bytes(argv.iter().map(|word| word.len() + 8).sum())?;
        self.seen.push(argv.to_vec());
        let mut argv = argv.to_vec();
        if let Some(copied) = self.files.programs.get(&self.path(program)) {
            argv[0].clone_from(copied);
        }
        if let Some(danger) = danger::of_text(&argv[0]) {
            return Err(danger.into());
        }
        for name in self.names_of(&argv) {
            let mut other = argv.clone();
            other[0] = name;
            self.check(&other)?;
        }
        self.check(&argv)?;
        if argv.len() > 1 && argv[0].chars().all(|c| c == UNKNOWN) {
            // The name may be empty, and then the next word is the program.
            self.argv(&argv[1..])?;
        }
        let written = self.run(&argv)?;
        self.meter.leave();
        Ok(written)
    }

    /// The programs that a name may refer to if it is a pattern.
    fn names_of(&self, argv: &[String]) -> Vec<String> {
        let name = base_name(&argv[0]);
        if !is_pattern(name) || name.starts_with('[') && !name.contains(']') {
            return Vec::new();
        }
        if name.chars().all(|c| c == UNKNOWN) {
            return if argv.len() > 1 {
                SUSPECTS.iter().map(|name| (*name).to_owned()).collect()
            } else {
                Vec::new()
            };
        }
        let pattern: Vec<char> = name.chars().collect();
        let own = self.entries.iter().filter_map(|entry| entry.program());
        let known = danger::PROGRAMS.iter().copied().chain(own);
        known.filter(|known| fits(&pattern, &known.chars().collect::<Vec<_>>())).map(str::to_owned).collect()
    }

    /// Refuses a command that must not run.
    fn check(&mut self, argv: &[String]) -> Checked {
        let folded = fold(&argv.join(" "));
        if let Some(entry) = self.entries.iter().find(|entry| entry.equals(argv, &folded)) {
            return Err(Refusal::AmountsTo(entry.text.clone()));
        }
        let found = danger::danger(argv, self.homes).or_else(|| {
            let folders = self.state.folders.iter().flatten().filter(|folder| self.homes.is_precious(folder));
            folders
                .map(|folder| danger::resolved(argv, folder))
                .find_map(|argv| danger::danger(&argv, self.homes))
        });
        match found {
            Some(danger) if !(self.is_elsewhere && danger == danger::POWER) => return Err(danger.into()),
            _ => {}
        }
        Ok(())
    }

    /// Simulates a command.
    fn run(&mut self, argv: &[String]) -> OutputResult {
        if let Some(written) = self.function(argv)? {
            return Ok(written);
        }
        if let Some(written) = self.builtin(argv)? {
            return Ok(written);
        }
        for setting in programs::settings_for(argv) {
            self.held_commands(setting.name, setting.value)?;
        }
        let mut written: Option<Texts> = None;
        for inner in programs::inner(argv) {
            let own = self.inner(inner)?;
            written = Some(match written {
                Some(written) => either(written, own),
                None => own,
            });
        }
        if let Some((file, kind)) = file_of(argv) {
            let place = argv.iter().position(|word| *word == file).unwrap_or_default();
            if let Some(own) = self.run_file(&file, &argv[place + 1..], kind)? {
                written = Some(own);
            }
        }
        let is_wrapper = programs::is_wrapper(argv);
        match written {
            Some(written) if is_wrapper => Ok(written),
            _ => {
                let written = self.output(argv)?;
                self.write(written)
            }
        }
    }

    /// Calls the functions with this name. Recursive calls are followed a few times; in the last one, everything that
    /// the function has changed is unknown.
    fn function(&mut self, argv: &[String]) -> Result<Option<Texts>, Refusal> {
        let Some(bodies) = self.state.functions.get(&argv[0]).cloned() else { return Ok(None) };
        let calls: Vec<Option<&ShellState>> = self
            .running
            .iter()
            .filter(|call| call.name == argv[0])
            .map(|call| call.before.as_ref())
            .collect();
        if calls.len() >= MAX_CALLS || calls.iter().any(Option::is_none) {
            return Ok(Some(vec![UNKNOWN.to_string()]));
        }
        let is_last = calls.len() + 1 == MAX_CALLS;
        let first = calls.first().copied().flatten();
        let positional = self.state.take("@");
        let changed = first.filter(|_| is_last).map_or_else(Vec::new, |first| self.state.changed(first));
        for name in changed {
            self.state.set(&name, vec![Value::text(UNKNOWN)], &mut self.meter)?;
        }
        let arguments = match is_last {
            true => vec![UNKNOWN.to_string(); argv.len().max(3)],
            false => argv[1..].to_vec(),
        };
        let before = self.state.copied(&mut self.meter)?;
        self.running.push(Call { name: argv[0].clone(), before: Some(before.copied(&mut self.meter)?) });
        let mut after: Option<ShellState> = None;
        let mut written = None;
        for body in bodies {
            self.state = before.copied(&mut self.meter)?;
            self.state.set("@", vec![Value::array(arguments.clone(), 1)], &mut self.meter)?;
            self.own_names.push(Vec::new());
            let own = self.stage(&body)?;
            self.come_back()?;
            for (name, value) in self.own_names.pop().unwrap_or_default().into_iter().rev() {
                self.state.put(&name, value);
            }
            written = Some(match written {
                Some(written) => either(written, own),
                None => own,
            });
            let state = self.state.copied(&mut self.meter)?;
            match &mut after {
                None => after = Some(state),
                Some(after) => after.join(state, &mut self.meter)?,
            }
        }
        self.state = after.unwrap_or(before);
        self.state.put("@", positional);
        self.running.pop();
        Ok(Some(written.unwrap_or_else(nothing)))
    }

    /// Judges what a command runs.
    pub(super) fn inner(&mut self, inner: Inner) -> OutputResult {
        match inner {
            Inner::Command(words) => self.argv(&words),
            Inner::Script(text) => self.text(&text, &[]),
            Inner::Shell(text, arguments) => self.text(&text, &arguments),
            Inner::Elsewhere(text) => {
                let was = std::mem::replace(&mut self.is_elsewhere, true);
                let written = self.in_subshell(|judge| {
                    judge.state = super::state::ShellState::default();
                    judge.script(&text)
                });
                self.is_elsewhere = was;
                written
            }
            Inner::Program(text) => {
                self.meter.bytes(text.len())?;
                self.checked_text(&text)?;
                if let Some(danger) = super::languages::danger_in(&text, self.homes) {
                    return Err(danger.into());
                }
                for text in super::languages::commands_in(&text) {
                    self.in_subshell(|judge| judge.script(&text))?;
                }
                Ok(vec![made_from([&text])])
            }
            Inner::Input => {
                let mut written = nothing();
                for text in self.input() {
                    written = either(written, self.text(&text, &[])?);
                }
                Ok(written)
            }
            Inner::ProgramInput => {
                for text in self.input() {
                    self.inner(Inner::Program(text))?;
                }
                Ok(vec![UNKNOWN.to_string()])
            }
            Inner::GitFiles => self.git_files(),
            Inner::Settings(file) => self.git_settings(&file),
            Inner::Programs(folder) => self.programs_in(&folder),
            Inner::Crontab(file) => {
                let texts = if file == "-" { Some(self.input()) } else { self.known_contents(&file) };
                for text in texts.unwrap_or_default() {
                    self.checked_text(&text)?;
                    for command in text.lines().filter_map(super::crontab::command) {
                        self.in_subshell(|judge| judge.script(&command))?;
                    }
                }
                Ok(nothing())
            }
            Inner::Recipes(file) => {
                let texts = if file == "-" { Some(self.input()) } else { self.known_contents(&file) };
                for text in texts.unwrap_or_default() {
                    self.checked_text(&text)?;
                    for line in text.lines() {
                        let recipe = line
                            .strip_prefix('\t')
                            .or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
                        let Some(recipe) = recipe else { continue };
                        let recipe = recipe.trim_start_matches(['@', '-', '+']).replace("$$", "$");
                        self.in_subshell(|judge| judge.script(&recipe))?;
                    }
                }
                Ok(vec![UNKNOWN.to_string()])
            }
            Inner::Appending(argv) => {
                for text in self.input() {
                    let words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned());
                    let words: Vec<String> = words.collect();
                    self.meter.bytes(text.len())?;
                    if argv.iter().any(|word| word.contains("{}")) {
                        let whole =
                            argv.iter().map(|word| word.replace("{}", text.trim())).collect::<Vec<_>>();
                        self.argv(&whole)?;
                    }
                    self.argv(&argv.iter().cloned().chain(words).collect::<Vec<_>>())?;
                }
                Ok(vec![UNKNOWN.to_string()])
            }
        }
    }

    /// Refuses a program that was downloaded or hidden by an encoding.
    pub(super) fn checked_text(&self, text: &str) -> Checked {
        danger::of_text(text).map_or(Ok(()), |danger| Err(danger.into()))
    }

    /// Judges a text that another shell runs with these arguments.
    pub(super) fn text(&mut self, text: &str, arguments: &[String]) -> OutputResult {
        self.checked_text(text)?;
        self.in_subshell(|judge| {
            // The first word after `-c 'text'` is the name; the others are the arguments.
            let (name, rest) =
                arguments.split_first().map_or(("bash", arguments), |(name, rest)| (name, rest));
            judge.state.set("0", vec![Value::text(name)], &mut judge.meter)?;
            judge.state.set("@", vec![Value::array(rest.to_vec(), 1)], &mut judge.meter)?;
            judge.script(text)
        })
    }

    /// Judges a file that is run, if the command wrote it.
    pub(super) fn run_file(
        &mut self,
        file: &str,
        arguments: &[String],
        kind: FileKind,
    ) -> Result<Option<Texts>, Refusal> {
        self.checked_text(file)?;
        let Some(texts) = self.known_contents(file) else { return Ok(None) };
        let is_script = [".sh", ".bash", ".py", ".pl", ".rb", ".js"].iter().any(|end| file.ends_with(end));
        let mut written = nothing();
        for text in texts {
            if kind == FileKind::Itself && !is_script && text.contains(FETCHED) {
                // A downloaded program, which nobody could read anyway.
                return Ok(None);
            }
            self.checked_text(&text)?;
            let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
            let is_other = kind == FileKind::Other
                || ["python", "perl", "ruby", "node", "awk", "php", "lua"]
                    .iter()
                    .any(|name| first.contains(name));
            let own = if is_other {
                self.inner(Inner::Program(text))?
            } else {
                let name = vec![file.to_owned()];
                self.text(&text, &[name.as_slice(), arguments].concat())?
            };
            written = either(written, own);
        }
        Ok(Some(written))
    }

    /// Returns what a program writes.
    fn output(&mut self, argv: &[String]) -> OutputResult {
        let downloads = danger::downloads(argv);
        if let Some(files) = danger::downloaded_files(argv) {
            for file in files {
                self.write_file(&file, &vec![format!("{UNKNOWN}{FETCHED}")], false)?;
            }
        }
        if downloads {
            return Ok(vec![format!("{UNKNOWN}{FETCHED}")]);
        }
        if let Some(text) = outputs::said(argv) {
            self.meter.bytes(text.len())?;
            return Ok(vec![text]);
        }
        let operands: Vec<String> = danger::operands(&argv[1..]).map(str::to_owned).collect();
        match base_name(&argv[0]) {
            "cat" | "tac" | "nl" | "head" | "tail" | "sponge" | "pv" | "unbuffer" | "cut" | "sort"
            | "uniq" | "dd" => self.passed(argv, &operands),
            "tee" => {
                let input = self.input();
                for file in &operands {
                    self.check_write(file)?;
                    self.write_file(file, &input, false)?;
                }
                Ok(input)
            }
            "cp" | "mv" | "ln" | "install" => {
                self.copied(&operands)?;
                Ok(nothing())
            }
            _ => {
                let input = self.input();
                let mut made = made_from(input.iter().chain(argv));
                let is_filter = outputs::FILTERS.contains(&base_name(&argv[0]));
                let is_literal = input.iter().all(|text| is_known(text) && !text.is_empty());
                let decodes = danger::decodes(argv)
                    || is_filter && is_literal && operands.iter().all(|file| !is_input(file));
                if decodes && !made.contains(DECODED) {
                    made.push(DECODED);
                }
                Ok(vec![made])
            }
        }
    }

    /// Returns the output of a program that passes its input through.
    fn passed(&mut self, argv: &[String], operands: &[String]) -> OutputResult {
        let is_exact = base_name(&argv[0]) == "cat"
            && !argv[1..].iter().any(|word| word.starts_with('-') && word.len() > 1);
        let files: Vec<String> = operands.iter().filter(|file| *file != "-").cloned().collect();
        let known: Vec<String> =
            files.iter().filter(|file| self.known_contents(file).is_some()).cloned().collect();
        let texts = if operands.is_empty() || known.is_empty() && !is_exact {
            self.input()
        } else if is_exact {
            let mut texts = nothing();
            for file in operands {
                let content =
                    if file == "-" { self.input() } else { self.contents(std::slice::from_ref(file))? };
                texts = super::state::concatenated(texts, &content, &mut self.meter)?;
            }
            return Ok(texts);
        } else {
            self.contents(&known)?
        };
        if is_exact {
            return Ok(texts);
        }
        // There may be fewer lines, or in a different order.
        let made = made_from(&texts);
        Ok(either(texts, vec![made]))
    }

    /// Tracks programs and files that get another name.
    fn copied(&mut self, operands: &[String]) -> Checked {
        let [sources @ .., target] = operands else { return Ok(()) };
        for source in sources {
            let name = base_name(source).to_owned();
            for target in [self.path(target), self.path(&format!("{target}/{name}"))] {
                if let Some(content) = self.known_contents(source) {
                    self.files.texts.insert(target.clone(), content);
                }
                let known = self.files.programs.get(&self.path(source)).cloned();
                let program = known.or_else(|| source.contains("bin/").then(|| name.clone()));
                if let Some(program) = program {
                    self.meter.steps(1)?;
                    self.files.programs.insert(target, program);
                }
            }
        }
        Ok(())
    }

    /// Sets a variable from a word such as `NAME=value`.
    fn set_word(&mut self, word: &Word) -> Checked {
        let name = settings::name_of(word);
        if let Some(words) = settings::array_of(word) {
            return self.set_array(&name, words, settings::adds(word));
        }
        let texts = self.texts(word)?;
        self.set_texts(&name, &texts)
    }

    /// Sets variables from texts such as `NAME=value`, `NAME+=value`, `NAME[index]=value`.
    pub(super) fn set_texts(&mut self, name: &str, texts: &[String]) -> Checked {
        let mut values = Vec::new();
        for text in texts {
            let Some(setting) = settings::parse(text) else { continue };
            let home = self.home();
            for index in setting.index.iter() {
                self.computed_text(index)?;
            }
            for own in self.state.get(name, home).iter() {
                values.push(setting.applied(own, self.state.is_set(name)));
            }
            self.held_commands(name, setting.value)?;
        }
        if values.is_empty() {
            return Ok(());
        }
        self.state.set(name, values, &mut self.meter)
    }

    fn set_array(&mut self, name: &str, words: &[Word], adds: bool) -> Checked {
        let mut values = Vec::new();
        for fields in self.fields(words)? {
            let before = if adds { self.state.get(name, "") } else { Rc::new(vec![Value(Vec::new())]) };
            for own in before.iter() {
                let mut elements = if adds && self.state.is_set(name) { own.0.clone() } else { Vec::new() };
                let mut next = settings::next_key(&elements);
                for field in &fields {
                    let keyed = field.strip_prefix('[').and_then(|rest| rest.split_once("]="));
                    self.meter.steps(1)?;
                    if let Some((key, text)) = keyed {
                        self.meter.steps(elements.len() / 8)?;
                        elements.retain(|(known, _)| known != key);
                        elements.push((key.to_owned(), text.to_owned()));
                        next = key.parse::<i64>().map_or(next, |key| key.saturating_add(1));
                    } else {
                        elements.push((next.to_string(), field.clone()));
                        next = next.saturating_add(1);
                    }
                }
                values.push(Value(elements));
            }
        }
        self.state.set(name, values, &mut self.meter)
    }

    /// Judges the value of a variable that programs execute, such as `PAGER`.
    fn held_commands(&mut self, name: &str, value: &str) -> Checked {
        match settings::holds(name) {
            Some(settings::Held::Command) => {
                self.checked_text(value)?;
                let command = match name {
                    "TAR_OPTIONS" => format!("tar {value}"),
                    // `'name=value' 'name=value'`
                    "GIT_CONFIG_PARAMETERS" => format!("git -c {}", value.replace("' '", "' -c '")),
                    _ => value.trim_start_matches(['!', '|']).to_owned(),
                };
                self.in_subshell(|judge| judge.script(&command)).map(drop)
            }
            Some(settings::Held::Text) => self.computed_text(value),
            Some(settings::Held::File) => {
                self.computed_text(value)?;
                self.run_file(value, &[], FileKind::Shell).map(drop)
            }
            Some(settings::Held::Settings) => self.inner(Inner::Settings(value.to_owned())).map(drop),
            Some(settings::Held::Folder) => self.inner(Inner::Programs(value.to_owned())).map(drop),
            None => Ok(()),
        }
    }

    /// Executes a declaration. Variables local to a function are recorded with their previous values, to be restored at
    /// its end.
    pub(super) fn declare(&mut self, argv: &[String]) -> Checked {
        let is_local = base_name(&argv[0]) == "local" || !matches!(argv[0].as_str(), "export" | "readonly");
        let options: String =
            argv[1..].iter().filter(|word| word.starts_with('-')).flat_map(|word| word.chars()).collect();
        for word in argv[1..].iter().filter(|word| !word.starts_with(['-', '+'])) {
            let name = settings::parse(word).map_or(word.as_str(), |setting| setting.name).to_owned();
            if is_local && !self.own_names.is_empty() && !options.contains('g') {
                let before = self.state.is_set(&name).then(|| self.state.get(&name, ""));
                if let Some(own) = self.own_names.last_mut() {
                    own.push((name.clone(), before));
                }
            }
            if options.contains('n') {
                if let Some((_, target)) = word.split_once('=') {
                    self.state.refer(&name, target);
                }
                continue;
            }
            if options.contains('i') {
                self.computed_text(word)?;
            }
            if is_local && !word.contains('=') && !self.own_names.is_empty() {
                self.state.put(&name, None);
            }
            let mut texts = vec![word.clone()];
            if options.contains(['l', 'u', 'c'])
                && let Some((head, value)) = word.split_once('=')
            {
                texts.extend([
                    format!("{head}={}", value.to_lowercase()),
                    format!("{head}={}", value.to_uppercase()),
                ]);
            }
            self.set_texts(&name, &texts)?;
        }
        Ok(())
    }
}
