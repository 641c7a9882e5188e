//! A turn on the terminal: the reply as it comes, tool calls in a line, questions with their exact arguments.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::event::{ChatEvent, Outcome};
use crate::render::{Stream, Style, columns_of, plain};

/// The widest a reply is set; longer lines are hard to read.
const WIDEST: usize = 100;

/// How often the block that is still coming in is drawn again.
const FRAME: Duration = Duration::from_millis(50);

/// What one turn shows.
pub(super) struct Screen {
    style: Style,
    stream: Stream,
    said: bool,
    /// Lines on the screen that are taken back when more comes in.
    draft: usize,
    drawn: Option<Instant>,
}

/// The style of standard output.
pub(crate) fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let width = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns)).clamp(20, WIDEST);
    Style { colour: terminal && !crate::environment::no_color(), width }
}

impl Screen {
    pub(super) fn new(style: Style) -> Self {
        Self { style, stream: Stream::new(style), said: false, draft: 0, drawn: None }
    }

    /// Shows an event; returns the outcome at the end.
    pub(super) fn show(&mut self, event: ChatEvent) -> Option<Outcome> {
        match event {
            ChatEvent::Text(text) => {
                let settled = self.stream.push(&text);
                self.paragraph(&settled);
                self.preview();
            }
            ChatEvent::Tool { name, state, input, output } => {
                self.tool(&name, &state, input.as_ref(), output.as_deref())
            }
            ChatEvent::Notice(text) => self.aside("note", &text),
            ChatEvent::Error(text) => {
                self.aside("error", &text);
                // The outcome says the same again.
                self.said = true;
            }
            ChatEvent::ApprovalDone { reason, .. } if reason == "timeout" => {
                self.aside("note", "no answer in time: denied")
            }
            ChatEvent::Done(outcome) => return Some(self.done(outcome)),
            ChatEvent::Approval { .. } | ChatEvent::ApprovalDone { .. } | ChatEvent::Lost(_) => {}
        }
        None
    }

    /// The question, as exact as it will be carried out.
    pub(super) fn question(&mut self, tool: &str, input: &Value, summary: &str) {
        self.settle();
        let arguments = serde_json::to_string_pretty(input).unwrap_or_default();
        put(&format!("{}\n", self.style.bold(&format!("? {tool} needs your approval: {}", plain(summary)))));
        for line in plain(&arguments).lines() {
            put(&format!("    {line}\n"));
        }
    }

    fn done(&mut self, outcome: Outcome) -> Outcome {
        self.settle();
        match outcome.stop_reason.as_str() {
            "stopped" => self.aside("note", "stopped"),
            // Nothing was streamed where the program itself had something to say.
            _ if !self.said && !outcome.text.trim().is_empty() => {
                let text = crate::render::markdown(&outcome.text, self.style);
                self.paragraph(&text);
            }
            _ => {}
        }
        put("\n");
        outcome
    }

    fn tool(&mut self, name: &str, state: &str, input: Option<&Value>, output: Option<&str>) {
        self.settle();
        let short = |text: &str| {
            let line = plain(text).replace('\n', " ");
            if line.chars().count() > 60 { line.chars().take(59).chain(['…']).collect() } else { line }
        };
        let line = match state {
            "running" => format!("· {name} {}", short(&input.map(Value::to_string).unwrap_or_default())),
            _ => format!("· {name}: {state} {}", short(output.unwrap_or_default())),
        };
        put(&format!("{}\n", self.style.dim(line.trim_end())));
    }

    fn aside(&mut self, kind: &str, text: &str) {
        self.settle();
        put(&format!("{}\n", self.style.bold(&format!("{kind}: {}", plain(text)))));
    }

    /// Draws the block that is still coming in, on a terminal: as much of its end as the screen holds.
    fn preview(&mut self) {
        if !self.style.colour || self.drawn.is_some_and(|drawn| drawn.elapsed() < FRAME) {
            return;
        }
        let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
        let room = usize::from(rows).saturating_sub(3).max(1);
        let text = self.stream.unfinished();
        // A line that is wider than the screen takes several rows of it.
        let height = |line: &&str| columns_of(line).div_ceil(usize::from(columns).max(1)).max(1);
        let mut used = 0;
        let fits = |line: &&str| {
            used += height(line);
            used <= room
        };
        let mut shown: Vec<&str> = text.lines().rev().take_while(fits).collect();
        shown.reverse();
        let gap = if self.said && !shown.is_empty() { "\n" } else { "" };
        let body: String = shown.iter().map(|line| format!("{line}\n")).collect();
        self.take_back();
        put(&format!("{gap}{body}"));
        self.draft = shown.iter().map(height).sum::<usize>() + gap.len();
        self.drawn = Some(Instant::now());
    }

    fn take_back(&mut self) {
        if self.draft > 0 {
            put(&format!("\u{1b}[{}A\u{1b}[J", self.draft));
            self.draft = 0;
        }
    }

    fn settle(&mut self) {
        self.take_back();
        let rest = self.stream.finish();
        self.paragraph(&rest);
    }

    fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.take_back();
            if self.said {
                put("\n");
            }
            self.said = true;
            put(text);
        }
    }
}

/// Writes to standard output at once. A closed pipe ends what is shown and nothing else.
pub(super) fn put(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
