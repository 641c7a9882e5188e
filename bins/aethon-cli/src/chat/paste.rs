//! Long pastes stand in the line as one word, so that they do not fill the screen; the whole text is sent and remembered.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use reedline::{
    FileBackedHistory, History, HistoryItem, HistoryItemId, HistorySessionId, Result, SearchQuery,
};

use super::named_file::NamedFile;
use super::words::{bare, grouped};

/// A paste with more lines than this is folded.
const MAX_LINES: usize = 20;

/// A paste with more characters than this is folded.
const MAX_CHARS: usize = 4000;

/// The pastes of this chat.
#[derive(Debug, Clone, Default)]
pub(super) struct Pastes {
    folded: Arc<Mutex<Vec<Folded>>>,
    /// The words of pastes that begin with `@`, without punctuation after them.
    names: Arc<Mutex<HashSet<String>>>,
    /// The pictures from the clipboard, behind their marks.
    pictures: Arc<Mutex<Vec<(String, NamedFile)>>>,
    /// The line so far, at each Enter behind a backslash. Such a backslash was typed for the new line; one in a pasted text was not.
    continued: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug)]
struct Folded {
    /// What stands in the line.
    mark: String,
    text: String,
}

impl Pastes {
    /// Remembers which files a pasted text names, so that it cannot have them sent.
    pub(super) fn note(&self, text: &str) {
        let names = text.split_whitespace().filter(|word| word.starts_with('@'));
        let mut all = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(names.map(|word| bare(word).to_owned()));
    }

    /// Returns whether a word such as `@notes.md` came with a paste.
    pub(super) fn have_named(&self, word: &str) -> bool {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).contains(bare(word))
    }

    /// Returns what stands in the line for a pasted text.
    pub(super) fn fold(&self, text: String) -> String {
        self.note(&text);
        let (lines, chars) = (text.lines().count(), text.chars().count());
        if lines <= MAX_LINES && chars <= MAX_CHARS {
            return text;
        }
        let mut all = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        let size = if lines > 1 { format!("{lines} lines") } else { format!("{chars} characters") };
        let mark = format!("[paste {}: {size}]", all.len() + 1);
        all.push(Folded { mark: mark.clone(), text });
        mark
    }

    /// Keeps the output of a command, and returns what stands in the line for it.
    pub(super) fn keep_output(&self, text: String, lines: usize) -> String {
        self.note(&text);
        let mut all = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        let size = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
        let mark = format!("[output {}: {size}]", all.len() + 1);
        all.push(Folded { mark: mark.clone(), text });
        mark
    }

    /// Keeps a picture in PNG, and returns what stands in the line for it. It goes with the message that has this mark.
    pub(super) fn keep_picture(&self, bytes: Vec<u8>) -> String {
        let mut all = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        let number = all.len() + 1;
        let mark = format!("[picture {number}: {} bytes]", grouped(bytes.len() as u64));
        let file = NamedFile { name: format!("picture-{number}.png"), mime: "image/png", bytes };
        all.push((mark.clone(), file));
        mark
    }

    /// Returns the pictures whose marks stand in a text.
    pub(super) fn pictures_in(&self, text: &str) -> Vec<NamedFile> {
        let all = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(mark, _)| text.contains(mark)).map(|(_, file)| file.clone()).collect()
    }

    /// Remembers a line to which Enter added one, because it ended in a backslash.
    pub(super) fn note_continued(&self, line: &str) {
        self.continued.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    }

    /// Forgets these, when another line begins.
    pub(super) fn forget_continued(&self) {
        self.continued.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Removes the backslashes that were typed for new lines.
    fn without_marks(&self, line: &str) -> String {
        let all = self.continued.lock().unwrap_or_else(PoisonError::into_inner);
        let is_mark = |at: usize| {
            let end = at + 1;
            line[end..].starts_with('\n') && all.iter().any(|so_far| line.get(..end) == Some(so_far.as_str()))
        };
        let kept = line.char_indices().filter(|(at, c)| *c != '\\' || !is_mark(*at));
        kept.map(|(_, c)| c).collect()
    }

    /// Returns a line with the whole texts, and without the marks of new lines.
    pub(super) fn unfold(&self, line: &str) -> String {
        let line = &*self.without_marks(line);
        let all = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        let mut whole = String::with_capacity(line.len());
        let mut rest = line;
        // From the left, so that a mark within a pasted text is only text.
        while let Some((at, folded)) =
            all.iter().filter_map(|folded| Some((rest.find(&folded.mark)?, folded))).min_by_key(|(at, _)| *at)
        {
            whole.push_str(&rest[..at]);
            whole.push_str(&folded.text);
            rest = &rest[at + folded.mark.len()..];
        }
        whole + rest
    }
}

/// A history that remembers whole texts.
pub(super) struct WholeHistory {
    /// The file.
    pub(super) file: FileBackedHistory,
    /// The pastes behind their placeholders.
    pub(super) pastes: Pastes,
}

impl History for WholeHistory {
    fn save(&mut self, mut item: HistoryItem) -> Result<HistoryItem> {
        item.command_line = self.pastes.unfold(&item.command_line);
        self.file.save(item)
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        self.file.load(id)
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        self.file.count(query)
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        self.file.search(query)
    }

    fn update(&mut self, id: HistoryItemId, updater: &dyn Fn(HistoryItem) -> HistoryItem) -> Result<()> {
        self.file.update(id, updater)
    }

    fn clear(&mut self) -> Result<()> {
        self.file.clear()
    }

    fn delete(&mut self, id: HistoryItemId) -> Result<()> {
        self.file.delete(id)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.file.sync()
    }

    fn session(&self) -> Option<HistorySessionId> {
        self.file.session()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pastes_are_folded_and_come_back_whole() {
        let pastes = Pastes::default();
        assert_eq!(pastes.fold("a\nb".into()), "a\nb");
        let long = "line\n".repeat(200);
        let tricky = format!("[paste 1: 200 lines]{}", "x".repeat(5000));
        assert_eq!(pastes.fold(long.clone()), "[paste 1: 200 lines]");
        assert_eq!(pastes.fold(tricky.clone()), "[paste 2: 5020 characters]");
        let line = "see [paste 2: 5020 characters] and [paste 1: 200 lines] and [paste 3: 1 lines]";
        assert_eq!(pastes.unfold(line), format!("see {tricky} and {long} and [paste 3: 1 lines]"));
    }
}
