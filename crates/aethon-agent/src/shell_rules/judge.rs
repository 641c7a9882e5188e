//! Walks over a command and all that it runs, until something is found that must not run.
//!
//! Work is bounded: what is nested deeper or is longer than any honest command is refused, because it was not read.

use std::collections::HashSet;

use super::danger;
use super::entries::{Entry, fold};
use super::fields::{UNKNOWN, Variables, fields, says, text_of};
use super::interpreters::{interpreter, is_input, quoted_commands};
use super::paths::{Homes, base_name, tidy};
use super::reader::read;
use super::refusal::Refusal;
use super::word::{Body, Flow, List, Piece, Pipeline, Stage, Word, plain};
use super::wrappers::{Inner, inner, is_assignment};

/// How deep commands may run commands, in whatever way.
const DEEPEST: usize = 48;
/// The most commands that are looked at.
const MOST_COMMANDS: usize = 20_000;
/// The most bytes that are read, texts in texts included.
const MOST_READ: usize = 1 << 20;

/// Stands for output that came from elsewhere.
const FETCHED: &str = "\u{e003}";

/// Judges one command.
pub(super) struct Judge<'r> {
    entries: &'r [Entry],
    homes: &'r Homes,
    variables: Variables,
    /// Files that were downloaded before.
    downloaded: HashSet<String>,
    depth: usize,
    commands: usize,
    bytes: usize,
}

/// Nothing was found so far, or what was.
type Checked = Result<(), Refusal>;

impl<'r> Judge<'r> {
    pub(super) fn new(entries: &'r [Entry], homes: &'r Homes) -> Self {
        Self {
            entries,
            homes,
            variables: Variables::new(),
            downloaded: HashSet::new(),
            depth: 0,
            commands: 0,
            bytes: 0,
        }
    }

    /// Judges the whole command.
    pub(super) fn judge(mut self, command: &str) -> Checked {
        self.script(command)
    }

    /// A text that a shell reads.
    fn script(&mut self, text: &str) -> Checked {
        self.bytes += text.len();
        let list = read(text).filter(|_| self.bytes <= MOST_READ).ok_or(Refusal::Unread)?;
        self.list(&list)
    }

    fn list(&mut self, list: &List) -> Checked {
        self.deeper(|judge| list.iter().try_for_each(|pipeline| judge.pipeline(pipeline)))
    }

    /// Goes one step deeper, if that is not too deep.
    fn deeper(&mut self, walk: impl FnOnce(&mut Self) -> Checked) -> Checked {
        if self.depth >= DEEPEST {
            return Err(Refusal::Unread);
        }
        self.depth += 1;
        walk(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Checked {
        if forks(std::slice::from_ref(pipeline), "$0", false) {
            return Err(danger::FORK_BOMB.into());
        }
        let mut flow = Facts::default();
        for stage in &pipeline.stages {
            self.stage(stage)?;
            let has_text = stage.redirects.iter().any(|redirect| redirect.flow == Flow::Text);
            if pipeline.stages.len() == 1 && !has_text {
                return Ok(());
            }
            let facts = self.facts(stage)?;
            self.flow_into(&flow, &facts)?;
            flow.downloads |= facts.downloads;
            flow.decodes |= facts.decodes;
            flow.said.extend(facts.said);
        }
        Ok(())
    }

    /// What comes out of a pipe, into what reads it.
    fn flow_into(&mut self, flow: &Facts, facts: &Facts) -> Checked {
        if facts.reads_program {
            for text in flow.said.iter().chain(&facts.given) {
                self.script(text)?;
            }
            if flow.downloads {
                return Err(danger::RUN_DOWNLOAD.into());
            }
            if flow.decodes {
                return Err(danger::RUN_DECODED.into());
            }
        }
        for argv in &facts.appending {
            for text in flow.said.iter().chain(&facts.given) {
                let words = text.split_whitespace().map(str::to_owned);
                self.argv(&argv.iter().cloned().chain(words).collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    fn stage(&mut self, stage: &Stage) -> Checked {
        match &stage.body {
            Body::Simple(words) => self.simple(words)?,
            Body::Group(list) => self.list(list)?,
            Body::Function(name, list) => {
                if forks(list, name, false) {
                    return Err(danger::FORK_BOMB.into());
                }
                self.list(list)?;
            }
        }
        for redirect in &stage.redirects {
            self.inside(std::slice::from_ref(&redirect.target))?;
            if redirect.flow == Flow::Write {
                let target = text_of(&redirect.target, &self.variables);
                if let Some(danger) = danger::write_danger(&target) {
                    return Err(danger.into());
                }
                if self.facts(stage)?.downloads {
                    self.downloaded.insert(tidy(&target));
                }
            }
        }
        Ok(())
    }

    fn simple(&mut self, words: &[Word]) -> Checked {
        self.inside(words)?;
        let mut argv = fields(words, &self.variables);
        let fetches = self.fetches(words)?;
        if fetches {
            for word in &mut argv {
                *word = word.replace(UNKNOWN, FETCHED);
            }
        }
        let settings = argv.iter().take_while(|word| is_assignment(word)).count();
        let command = &argv[settings..];
        let declares = |program: &String| {
            matches!(program.as_str(), "export" | "declare" | "local" | "readonly" | "typeset")
        };
        if command.first().is_none_or(declares) {
            for (name, value) in argv.iter().filter_map(|word| word.split_once('=')) {
                self.variables.insert(name.to_owned(), value.to_owned());
            }
        }
        self.argv(command)
    }

    /// A command, as its words.
    fn argv(&mut self, argv: &[String]) -> Checked {
        let Some(program) = argv.first() else { return Ok(()) };
        self.count(argv)?;
        let folded = fold(&argv.join(" "));
        if let Some(entry) = self.entries.iter().find(|entry| entry.equals(argv, &folded)) {
            return Err(Refusal::AmountsTo(entry.text.clone()));
        }
        if let Some(danger) = danger::danger(argv, self.homes) {
            return Err(danger.into());
        }
        if program.contains(FETCHED) || self.runs_fetched(argv) {
            return Err(danger::RUN_DOWNLOAD.into());
        }
        self.downloaded.extend(danger::downloaded_files(argv));
        self.deeper(|judge| inner(argv).into_iter().try_for_each(|inner| judge.inner(inner)))
    }

    /// What a command runs.
    fn inner(&mut self, inner: Inner) -> Checked {
        match inner {
            Inner::Command(words) => self.argv(&words),
            Inner::Script(text) => self.script(&text),
            Inner::Program(text) if text.contains(FETCHED) => Err(danger::RUN_DOWNLOAD.into()),
            Inner::Program(text) => match danger::program_danger(&text, self.homes) {
                Some(danger) => Err(danger.into()),
                None => quoted_commands(&text).iter().try_for_each(|text| self.script(text)),
            },
        }
    }

    /// Whether a command runs what came from elsewhere: as its argument, or as a file.
    fn runs_fetched(&self, argv: &[String]) -> bool {
        let file = if matches!(base_name(&argv[0]), "source" | ".") {
            argv.get(1).cloned()
        } else {
            let Some(interpreter) = interpreter(argv) else { return false };
            interpreter.file
        };
        file.is_some_and(|file| file.contains(FETCHED) || self.downloaded.contains(&tidy(&file)))
    }

    /// The commands whose output stands in words.
    fn inside(&mut self, words: &[Word]) -> Checked {
        words.iter().flatten().filter_map(Piece::list).try_for_each(|list| self.list(list))
    }

    /// Whether the output of a download, or of what undoes an encoding, stands in words.
    fn fetches(&mut self, words: &[Word]) -> Result<bool, Refusal> {
        let mut found = Vec::new();
        for list in words.iter().flatten().filter_map(Piece::list) {
            self.gather(list, &mut found, 0)?;
        }
        Ok(found.iter().any(|argv| danger::downloads(argv) || danger::decodes(argv)))
    }

    /// What a part of a pipeline does with what flows through it.
    fn facts(&mut self, stage: &Stage) -> Result<Facts, Refusal> {
        let mut found = Vec::new();
        self.gather_stage(stage, &mut found, 0)?;
        let mut facts = Facts::default();
        for argv in &found {
            facts.downloads |= danger::downloads(argv);
            facts.decodes |= danger::decodes(argv);
            facts.said.extend(says(argv));
            match base_name(&argv[0]) {
                "source" | "." => facts.reads_program |= argv.get(1).is_some_and(|file| is_input(file)),
                "xargs" | "parallel" | "gxargs" => facts.appending.push(argv.clone()),
                _ => facts.reads_program |= interpreter(argv).is_some_and(|found| found.reads_input),
            }
        }
        for redirect in stage.redirects.iter().filter(|redirect| redirect.flow == Flow::Text) {
            let text = text_of(&redirect.target, &self.variables);
            let fetches = self.fetches(std::slice::from_ref(&redirect.target))?;
            facts.given.push(if fetches { text.replace(UNKNOWN, FETCHED) } else { text });
        }
        // What is given is passed on by `cat` and its like.
        facts.said.extend(facts.given.iter().cloned());
        Ok(facts)
    }

    /// All commands of a list, and those that they run.
    fn gather(&mut self, list: &List, found: &mut Vec<Vec<String>>, depth: usize) -> Checked {
        if depth > DEEPEST {
            return Err(Refusal::Unread);
        }
        let stages = list.iter().flat_map(|pipeline| &pipeline.stages);
        stages.into_iter().try_for_each(|stage| self.gather_stage(stage, found, depth))
    }

    fn gather_stage(&mut self, stage: &Stage, found: &mut Vec<Vec<String>>, depth: usize) -> Checked {
        match &stage.body {
            Body::Group(list) | Body::Function(_, list) => self.gather(list, found, depth + 1),
            Body::Simple(words) => {
                let inside = words.iter().flatten().filter_map(Piece::list);
                inside.into_iter().try_for_each(|list| self.gather(list, found, depth + 1))?;
                let argv = fields(words, &self.variables);
                let settings = argv.iter().take_while(|word| is_assignment(word)).count();
                self.gather_argv(&argv[settings..], found, depth)
            }
        }
    }

    fn gather_argv(&mut self, argv: &[String], found: &mut Vec<Vec<String>>, depth: usize) -> Checked {
        if argv.is_empty() {
            return Ok(());
        }
        self.count(argv)?;
        if depth > DEEPEST {
            return Err(Refusal::Unread);
        }
        found.push(argv.to_vec());
        for inner in inner(argv) {
            match inner {
                Inner::Command(words) => self.gather_argv(&words, found, depth + 1)?,
                Inner::Script(text) => {
                    self.bytes += text.len();
                    let list = read(&text).filter(|_| self.bytes <= MOST_READ).ok_or(Refusal::Unread)?;
                    self.gather(&list, found, depth + 1)?;
                }
                Inner::Program(_) => {}
            }
        }
        Ok(())
    }

    /// Counts the work.
    fn count(&mut self, argv: &[String]) -> Checked {
        self.commands += 1;
        self.bytes += argv.iter().map(|word| word.len() + 1).sum::<usize>();
        if self.commands > MOST_COMMANDS || self.bytes > MOST_READ { Err(Refusal::Unread) } else { Ok(()) }
    }
}

/// What a part of a pipeline does.
#[derive(Default)]
struct Facts {
    /// It writes something from elsewhere.
    downloads: bool,
    /// It writes what an encoding had hidden.
    decodes: bool,
    /// It runs what it reads.
    reads_program: bool,
    /// What it is known to write.
    said: Vec<String>,
    /// What it is given to read in the command itself.
    given: Vec<String>,
    /// Commands to which it appends what it reads.
    appending: Vec<Vec<String>>,
}

/// Whether commands start `name` more than once each time, or beside themselves: what grows until nothing else fits.
fn forks(list: &[Pipeline], name: &str, is_background: bool) -> bool {
    list.iter().any(|pipeline| {
        let is_background = is_background || pipeline.is_background;
        let calls = pipeline.stages.iter().filter(|stage| calls(stage, name)).count();
        let inside = pipeline.stages.iter().any(|stage| match &stage.body {
            Body::Group(list) | Body::Function(_, list) => forks(list, name, is_background),
            Body::Simple(_) => false,
        });
        calls > 1 || calls == 1 && is_background || inside
    })
}

fn calls(stage: &Stage, name: &str) -> bool {
    let Body::Simple(words) = &stage.body else { return false };
    let is_name = |word: &Word| match word.as_slice() {
        [Piece::Variable { name: variable, .. }, ..] => name.strip_prefix('$') == Some(variable),
        _ => !name.is_empty() && plain(word) == Some(name),
    };
    words.iter().take(2).any(is_name)
}
