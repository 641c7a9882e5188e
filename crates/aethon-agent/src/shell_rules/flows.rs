//! Data flow: redirections, and the files that the command itself wrote.

use std::rc::Rc;

use super::danger;
use super::judge::{Checked, Judge, OutputResult, nothing};
use super::marks::UNKNOWN;
use super::paths::tidy;
use super::refusal::Refusal;
use super::state::{Sink, Texts, concatenated, either};
use super::word::{Flow, Redirect};

impl Judge<'_> {
    /// Returns what standard input contains.
    pub(super) fn input(&self) -> Texts {
        self.streams.inputs.get(&0).map_or_else(nothing, |input| input.to_vec())
    }

    /// Applies a redirection.
    pub(super) fn redirect(&mut self, redirect: &Redirect) -> Checked {
        self.meter.steps(1)?;
        let empty = Vec::new();
        let texts = self.texts(redirect.target.get().unwrap_or(&empty))?;
        let number = |usual: u32| redirect.number.unwrap_or(usual);
        match redirect.flow {
            Flow::Text => {
                let is_word = redirect.target.get().is_some_and(|_| redirect.is_string);
                let end = if is_word { "\n" } else { "" };
                let texts = texts.into_iter().map(|text| text + end).collect();
                self.streams.inputs.insert(number(0), Rc::new(texts));
            }
            Flow::Read => {
                let content = self.contents(&texts)?;
                self.streams.inputs.insert(number(0), Rc::new(content));
            }
            Flow::CopyInput => {
                let source = texts[0].trim_end_matches('-').parse().ok();
                let content = source.and_then(|source: u32| self.streams.inputs.get(&source).cloned());
                self.streams
                    .inputs
                    .insert(number(0), content.unwrap_or_else(|| Rc::new(vec![UNKNOWN.to_string()])));
            }
            Flow::CopyOutput => match texts[0].trim_end_matches('-').parse::<u32>() {
                Ok(source) => {
                    let sink = self.streams.sinks.get(&source).cloned().unwrap_or(Sink::Lost);
                    self.streams.sinks.insert(number(1), sink);
                }
                Err(_) if texts[0] == "-" => {
                    self.streams.sinks.insert(number(1), Sink::Lost);
                }
                Err(_) => {
                    let sink = self.sink(&texts, false)?;
                    self.streams.sinks.insert(1, sink.clone());
                    self.streams.sinks.insert(2, sink);
                }
            },
            Flow::Write | Flow::Append | Flow::WriteBoth => {
                let sink = self.sink(&texts, redirect.flow == Flow::Append)?;
                if redirect.flow == Flow::Append {
                    let content = self.contents(&texts)?;
                    self.streams.inputs.entry(number(1)).or_insert_with(|| Rc::new(content));
                }
                if redirect.flow == Flow::WriteBoth {
                    self.streams.sinks.insert(2, sink.clone());
                }
                self.streams.sinks.insert(number(1), sink);
            }
        }
        Ok(())
    }

    /// The sink with these names. Unless appending, it truncates the file.
    fn sink(&mut self, paths: &Texts, adds: bool) -> Result<Sink, Refusal> {
        let mut files = Vec::new();
        for path in paths {
            self.check_write(path)?;
            let path = self.path(path);
            if let Some(number) = descriptor(&path) {
                if let Some(list) = self.files.processes.get(&path) {
                    return Ok(Sink::Process(Rc::clone(list)));
                }
                return Ok(self.streams.sinks.get(&number).cloned().unwrap_or(Sink::Lost));
            }
            if path == "/dev/null" {
                return Ok(Sink::Lost);
            }
            let before = vec![format!("{UNKNOWN}\n")];
            let content = if adds { self.files.texts.remove(&path).unwrap_or(before) } else { nothing() };
            self.meter.steps(1)?;
            self.files.texts.insert(path.clone(), content);
            files.push(path);
        }
        Ok(Sink::Files(files))
    }

    /// Refuses writing to a path that must not be written to.
    pub(super) fn check_write(&self, path: &str) -> Checked {
        match danger::write_danger(path).or_else(|| danger::write_danger(&self.path(path))) {
            Some(danger) if !self.is_elsewhere => Err(danger.into()),
            _ => Ok(()),
        }
    }

    /// Writes to standard output; returns what goes back to the caller.
    pub(super) fn write(&mut self, texts: Texts) -> OutputResult {
        match self.streams.sinks.get(&1).cloned().unwrap_or(Sink::Lost) {
            Sink::Pipe => Ok(texts),
            Sink::Lost => Ok(nothing()),
            Sink::Files(paths) => {
                for path in paths {
                    self.write_file(&path, &texts, true)?;
                }
                Ok(nothing())
            }
            Sink::Process(list) => self.feed(&list, texts),
        }
    }

    /// Writes to a file.
    pub(super) fn write_file(&mut self, path: &str, texts: &Texts, adds: bool) -> Checked {
        let path = self.path(path);
        if let Some(list) = self.files.processes.get(&path).cloned() {
            self.feed(&list, texts.clone())?;
            return Ok(());
        }
        let before = self.files.texts.remove(&path).filter(|_| adds).unwrap_or_else(nothing);
        let content = concatenated(before, texts, &mut self.meter)?;
        self.files.texts.insert(path, content);
        Ok(())
    }

    /// Feeds texts to commands that read them.
    fn feed(&mut self, list: &Rc<super::word::List>, texts: Texts) -> OutputResult {
        self.meter.enter()?;
        let saved = self.streams.clone();
        self.streams.inputs.insert(0, Rc::new(texts));
        self.streams.sinks.insert(1, Sink::Pipe);
        let written = self.in_subshell(|judge| judge.list(list))?;
        self.streams = saved;
        self.meter.leave();
        Ok(written)
    }

    /// Returns what files contain, as far as the command wrote it.
    pub(super) fn contents(&mut self, paths: &[String]) -> OutputResult {
        let mut texts: Option<Texts> = None;
        for path in paths {
            let content = self.known_contents(path).unwrap_or_else(|| vec![UNKNOWN.to_string()]);
            self.meter.bytes(content.iter().map(String::len).sum())?;
            texts = Some(match texts {
                Some(texts) => either(texts, content),
                None => content,
            });
        }
        Ok(texts.unwrap_or_else(nothing))
    }

    /// Returns the content of a file, if the command wrote it or it is an input.
    pub(super) fn known_contents(&self, path: &str) -> Option<Texts> {
        let path = self.path(path);
        if let Some(known) = self.files.texts.get(&path) {
            return Some(known.clone());
        }
        let number = descriptor(&path)?;
        self.streams.inputs.get(&number).map(|input| input.to_vec())
    }

    /// Resolves a path against the shell's current directory, if that is known.
    pub(super) fn path(&self, path: &str) -> String {
        match self.folder() {
            Some(folder) if !path.starts_with(['/', '~', '$']) => tidy(&format!("{folder}/{path}")),
            _ => tidy(path),
        }
    }

    pub(super) fn folder(&self) -> Option<String> {
        self.state.folders.last().cloned().flatten()
    }
}

/// The number in `/dev/stdin`, `/dev/fd/3` and the like.
pub(super) fn descriptor(path: &str) -> Option<u32> {
    match path {
        "/dev/stdin" => return Some(0),
        "/dev/stdout" => return Some(1),
        "/dev/stderr" => return Some(2),
        _ => {}
    }
    let number = path.strip_prefix("/dev/fd/").or_else(|| {
        let (process, number) = path.strip_prefix("/proc/")?.split_once("/fd/")?;
        (!process.contains('/')).then_some(number)
    });
    number?.parse().ok()
}
