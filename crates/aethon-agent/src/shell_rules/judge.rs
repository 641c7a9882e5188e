//! Walks through a command and everything that it runs, until it finds something that must not run.
//!
//! The judge is a shell that executes nothing: it tracks variables, files and the contents of pipes as far as they can
//! be known, takes every branch, and charges each step. A command that exceeds the budget is refused, because it was
//! not read to its end.

use std::rc::Rc;

use super::entries::Entry;
use super::marks::{UNKNOWN, is_mark};
use super::meter::Meter;
use super::paths::Homes;
use super::reader::read;
use super::refusal::Refusal;
use super::state::{Files, ShellState, Sink, Streams, Texts, Value, concatenated, either};
use super::word::{Body, List, Pipeline, Stage, Word};

/// A name, and the value that it had before.
pub(super) type Before = (String, Option<Rc<Vec<Value>>>);

/// Judges one command.
pub(super) struct Judge<'r> {
    pub(super) entries: &'r [Entry],
    pub(super) homes: &'r Homes,
    pub(super) meter: Meter,
    pub(super) state: ShellState,
    pub(super) streams: Streams,
    pub(super) files: Files,
    /// The states at places where a loop or a function may have been left early.
    pub(super) left_early: Vec<ShellState>,
    /// Local names of the running functions, with the values that they had before.
    pub(super) own_names: Vec<Vec<Before>>,
    /// The functions that are running.
    pub(super) running: Vec<Call>,
    /// Whether the commands run on another machine or in a container.
    pub(super) is_elsewhere: bool,
    /// Whether git hooks are running, which may run git in turn.
    pub(super) is_in_git: bool,
    /// Every command that may run, as its words.
    pub(super) seen: Vec<Vec<String>>,
}

/// A running function.
pub(super) struct Call {
    pub(super) name: String,
    /// The state when it was called; `None` while it is only being defined.
    pub(super) before: Option<ShellState>,
}

/// Nothing was found so far, or the refusal.
pub(super) type Checked = Result<(), Refusal>;
/// What a command writes to its output, or the refusal.
pub(super) type OutputResult = Result<Texts, Refusal>;

/// The output of a command that writes nothing.
pub(super) fn nothing() -> Texts {
    vec![String::new()]
}

impl<'r> Judge<'r> {
    pub(super) fn new(entries: &'r [Entry], homes: &'r Homes) -> Self {
        Self {
            entries,
            homes,
            meter: Meter::default(),
            state: ShellState::default(),
            streams: Streams::default(),
            files: Files::default(),
            left_early: Vec::new(),
            own_names: Vec::new(),
            running: Vec::new(),
            is_elsewhere: false,
            is_in_git: false,
            seen: Vec::new(),
        }
    }

    pub(super) fn home(&self) -> &'r str {
        self.homes.own()
    }

    /// Judges a text that a shell reads.
    pub(super) fn script(&mut self, text: &str) -> OutputResult {
        self.meter.bytes(text.len())?;
        self.meter.enter()?;
        let list = read(text).ok_or(Refusal::TooInvolved)?;
        let written = self.list(&list)?;
        self.meter.leave();
        Ok(written)
    }

    /// Runs the exit traps.
    pub(super) fn end(&mut self) -> OutputResult {
        let mut written = nothing();
        for trap in std::mem::take(&mut self.state.traps) {
            written = concatenated(written, &self.script(&trap)?, &mut self.meter)?;
        }
        Ok(written)
    }

    pub(super) fn list(&mut self, list: &List) -> OutputResult {
        let mut written = nothing();
        for pipeline in list {
            let more = if pipeline.is_conditional {
                let before = self.state.copied(&mut self.meter)?;
                let more = self.pipeline(pipeline)?;
                self.state.join(before, &mut self.meter)?;
                either(more, nothing())
            } else {
                self.pipeline(pipeline)?
            };
            written = concatenated(written, &more, &mut self.meter)?;
        }
        Ok(written)
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> OutputResult {
        self.meter.steps(1)?;
        if super::forks::forks(std::slice::from_ref(pipeline), "$0", false) {
            return Err(super::danger::FORK_BOMB.into());
        }
        let [only] = pipeline.stages.as_slice() else { return self.connected(pipeline) };
        if !pipeline.is_background {
            return self.stage(only);
        }
        self.in_subshell(|judge| judge.stage(only))
    }

    /// Judges commands connected by pipes.
    fn connected(&mut self, pipeline: &Pipeline) -> OutputResult {
        let saved = self.streams.clone();
        let mut written = nothing();
        for (at, stage) in pipeline.stages.iter().enumerate() {
            self.streams = saved.clone();
            if at > 0 {
                self.streams.inputs.insert(0, Rc::new(written));
            }
            if at + 1 < pipeline.stages.len() {
                self.streams.sinks.insert(1, Sink::Pipe);
            }
            written = self.in_subshell(|judge| judge.stage(stage))?;
        }
        self.streams = saved;
        Ok(written)
    }

    /// Walks in a subshell, whose state is discarded afterwards.
    pub(super) fn in_subshell(&mut self, walk: impl FnOnce(&mut Self) -> OutputResult) -> OutputResult {
        let before = self.state.copied(&mut self.meter)?;
        let traps = std::mem::take(&mut self.state.traps);
        let mut written = walk(self)?;
        written = concatenated(written, &self.end()?, &mut self.meter)?;
        self.state = before;
        self.state.traps = traps;
        Ok(written)
    }

    /// Returns the output of a command substitution.
    pub(super) fn substitution(&mut self, list: &List) -> OutputResult {
        self.meter.enter()?;
        let saved = self.streams.clone();
        self.streams.sinks.insert(1, Sink::Pipe);
        let written = self.in_subshell(|judge| judge.list(list))?;
        self.streams = saved;
        self.meter.leave();
        let mut trimmed = Texts::new();
        for text in written {
            trimmed.push(text.trim_end_matches('\n').to_owned());
            // An unknown end may be empty, and then the line ends before it are trimmed too.
            let known = text.trim_end_matches(|c| c == '\n' || is_mark(c));
            if text[known.len()..].trim_end_matches('\n').contains('\n') {
                trimmed.push(known.to_owned());
            }
        }
        Ok(trimmed)
    }

    /// The file that `<(…)` or `>(…)` stands for.
    pub(super) fn process(&mut self, list: &Rc<List>, is_read: bool) -> Result<String, Refusal> {
        self.meter.enter()?;
        self.meter.steps(1)?;
        let path = format!("/dev/fd/{}", 1_000_000 + self.files.texts.len() + self.files.processes.len());
        let saved = self.streams.clone();
        if is_read {
            self.streams.sinks.insert(1, Sink::Pipe);
            let written = self.in_subshell(|judge| judge.list(list))?;
            self.files.texts.insert(path.clone(), written);
        } else {
            self.streams.inputs.insert(0, Rc::new(vec![UNKNOWN.to_string()]));
            self.in_subshell(|judge| judge.list(list))?;
            self.files.processes.insert(path.clone(), Rc::clone(list));
        }
        self.streams = saved;
        self.meter.leave();
        Ok(path)
    }

    pub(super) fn stage(&mut self, stage: &Stage) -> OutputResult {
        self.meter.enter()?;
        self.meter.steps(1)?;
        let written = if stage.redirects.is_empty() {
            self.body(&stage.body)?
        } else {
            let saved = self.streams.clone();
            for redirect in &stage.redirects {
                self.redirect(redirect)?;
            }
            let stays = matches!(&stage.body, Body::Simple(words) if super::word::is_only(words, "exec"));
            let written = match &stage.body {
                // `$(< file)`
                Body::Simple(words) if words.is_empty() => {
                    let text = self.input();
                    self.write(text)?
                }
                body => self.body(body)?,
            };
            if !stays {
                self.streams = saved;
            }
            written
        };
        self.meter.leave();
        Ok(written)
    }

    fn body(&mut self, body: &Body) -> OutputResult {
        match body {
            Body::Simple(words) => self.simple(words),
            Body::Group(list) => self.list(list),
            Body::Subshell(list) => self.in_subshell(|judge| judge.list(list)),
            Body::If { parts, has_else } => self.choose(parts, *has_else),
            Body::For { name, words, body } => self.repeat(name, words.as_deref(), body),
            Body::While { test, body } => self.repeat_while(test, body),
            Body::Case { word, arms } => {
                self.texts(word)?;
                let before = self.state.copied(&mut self.meter)?;
                let mut after = before.copied(&mut self.meter)?;
                let mut written = nothing();
                for (patterns, list) in arms {
                    self.state = before.copied(&mut self.meter)?;
                    for pattern in patterns {
                        self.texts(pattern)?;
                    }
                    written = either(written, self.list(list)?);
                    // One arm may fall through into the next.
                    let state = self.state.copied(&mut self.meter)?;
                    after.join(state, &mut self.meter)?;
                }
                self.state = after;
                Ok(written)
            }
            Body::Function(name, body) => {
                if super::forks::forks_in(body, name) {
                    return Err(super::danger::FORK_BOMB.into());
                }
                // The function may never be called, but its body is checked.
                let positional = self.state.take("@");
                let unknown = (0..3).map(|_| UNKNOWN.to_string()).collect();
                self.state.set("@", vec![Value::array(unknown, 1)], &mut self.meter)?;
                self.running.push(Call { name: name.clone(), before: None });
                let files = self.in_subshell(|judge| judge.stage(body));
                self.running.pop();
                files?;
                self.state.put("@", positional);
                self.state.functions.insert(name.clone(), vec![Rc::clone(body)]);
                Ok(nothing())
            }
            Body::Test(words) => {
                for word in words {
                    for text in self.computed(word)? {
                        self.computed_text(&text)?;
                    }
                }
                Ok(nothing())
            }
        }
    }

    fn choose(&mut self, parts: &[List], has_else: bool) -> OutputResult {
        let mut written = self.list(parts.first().unwrap_or(&List::new()))?;
        let mut tested = self.state.copied(&mut self.meter)?;
        let mut after: Option<ShellState> = None;
        for (at, part) in parts.iter().enumerate().skip(1) {
            self.state = tested.copied(&mut self.meter)?;
            let more = self.list(part)?;
            let is_test = at % 2 == 0 && !(has_else && at + 1 == parts.len());
            written = either(written.clone(), concatenated(written, &more, &mut self.meter)?);
            if is_test {
                tested = self.state.copied(&mut self.meter)?;
                continue;
            }
            let state = self.state.copied(&mut self.meter)?;
            match &mut after {
                Some(after) => after.join(state, &mut self.meter)?,
                None => after = Some(state),
            }
        }
        let mut after = after.unwrap_or_default();
        if !has_else {
            after.join(tested, &mut self.meter)?;
        }
        self.state = after;
        Ok(written)
    }

    fn repeat(&mut self, name: &str, words: Option<&[Word]>, body: &List) -> OutputResult {
        let lists = match words {
            Some(words) => self.fields(words)?,
            None => self
                .state
                .get("@", "")
                .iter()
                .map(|value| value.0.iter().map(|(_, text)| text.clone()).collect())
                .collect(),
        };
        let before = self.state.copied(&mut self.meter)?;
        let mut after: Option<ShellState> = None;
        let mut written: Option<Texts> = None;
        for list in lists {
            self.state = before.copied(&mut self.meter)?;
            let mut own = nothing();
            for text in list {
                self.meter.steps(1)?;
                self.state.set(name, vec![Value::text(text)], &mut self.meter)?;
                own = concatenated(own, &self.list(body)?, &mut self.meter)?;
                self.come_back()?;
            }
            written = Some(match written {
                Some(written) => either(written, own),
                None => own,
            });
            let state = self.state.copied(&mut self.meter)?;
            match &mut after {
                Some(after) => after.join(state, &mut self.meter)?,
                None => after = Some(state),
            }
        }
        self.state = after.unwrap_or(before);
        Ok(written.unwrap_or_else(nothing))
    }

    /// Walks a loop that runs an unknown number of times; while it reads known lines, it runs as often as there are
    /// lines.
    fn repeat_while(&mut self, test: &List, body: &List) -> OutputResult {
        let mut written = self.list(test)?;
        let first = self.state.copied(&mut self.meter)?;
        let mut input = self.input();
        let mut passes = 0;
        loop {
            let before = self.state.copied(&mut self.meter)?;
            let more = self.list(body)?;
            written = either(written.clone(), concatenated(written, &more, &mut self.meter)?);
            let more = self.list(test)?;
            written = either(written.clone(), concatenated(written, &more, &mut self.meter)?);
            self.come_back()?;
            self.meter.steps(1)?;
            let left = self.input();
            if left != input {
                // It consumed a part of its input.
                input = left;
                continue;
            }
            passes += 1;
            let changed = self.state.changed(&before);
            if changed.is_empty() || passes > 2 {
                break;
            }
            self.state.join(before, &mut self.meter)?;
            if passes == 2 {
                for name in changed {
                    self.state.set(&name, vec![Value::text(UNKNOWN)], &mut self.meter)?;
                }
            }
        }
        self.state.join(first, &mut self.meter)?;
        Ok(written)
    }

    /// Continues after a place that may have been left early.
    pub(super) fn come_back(&mut self) -> Checked {
        for state in std::mem::take(&mut self.left_early) {
            let again = state.copied(&mut self.meter)?;
            self.state.join(state, &mut self.meter)?;
            // An enclosing loop may be left too.
            if self.left_early.len() < 4 {
                self.left_early.push(again);
            }
        }
        Ok(())
    }
}
