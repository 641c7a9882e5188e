//! Paragraphs, lists and tables on their way to the output, as Markdown.

use crate::output::Output;

/// How many cells of a row are shown.
const MAX_CELLS: usize = 256;

/// Puts text together.
pub(crate) struct Flow<'o, 's> {
    out: &'o mut Output<'s>,
    /// The paragraph that is being written, outside of tables.
    line: String,
    tables: Vec<Table>,
}

/// A table that is open, and its row.
#[derive(Default)]
struct Table {
    rows: usize,
    cells: Vec<String>,
    is_in_cell: bool,
}

impl<'o, 's> Flow<'o, 's> {
    pub(crate) fn new(out: &'o mut Output<'s>) -> Self {
        Self { out, line: String::new(), tables: Vec::new() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.out.is_full()
    }

    pub(crate) fn note(&mut self, sentence: impl Into<String>) {
        self.out.note(sentence);
    }

    /// Adds text to the paragraph or the cell.
    pub(crate) fn text(&mut self, text: &str) {
        match self.cell() {
            Some(cell) => cell.push_str(text),
            None => self.line.push_str(text),
        }
    }

    /// Adds text in which line ends and indentation of the file mean one space. XML has no form feed.
    pub(crate) fn prose(&mut self, text: &str) {
        let mut was_space = self.is_at_start();
        let mut plain = String::with_capacity(text.len());
        for character in text.chars() {
            let is_space = matches!(character, ' ' | '\n' | '\r' | '\t' | '\u{c}');
            if !is_space {
                plain.push(character);
            } else if !was_space {
                plain.push(' ');
            }
            was_space = is_space;
        }
        self.text(&plain);
    }

    /// Ends a line within a paragraph.
    pub(crate) fn break_line(&mut self) {
        match self.cell() {
            Some(cell) => cell.push(' '),
            None => self.line.push('\n'),
        }
    }

    /// Returns whether the paragraph has no text yet.
    pub(crate) fn is_at_start(&self) -> bool {
        match self.tables.iter().rev().find(|table| table.is_in_cell).and_then(|table| table.cells.last()) {
            Some(cell) => cell.trim().is_empty(),
            None => self.line.trim().is_empty(),
        }
    }

    /// Ends a paragraph.
    pub(crate) fn end_paragraph(&mut self) {
        if let Some(cell) = self.cell() {
            return cell.push(' ');
        }
        self.end_line();
        self.gap();
    }

    /// Ends an item of a list, which has no empty line behind it.
    pub(crate) fn end_line(&mut self) {
        if let Some(cell) = self.cell() {
            return cell.push(' ');
        }
        let line = std::mem::take(&mut self.line);
        let trimmed = line.trim_end();
        if !trimmed.trim().is_empty() {
            self.out.push(trimmed);
            self.out.push("\n");
        }
    }

    /// Writes a line of its own, such as the mark of a page.
    pub(crate) fn mark(&mut self, mark: &str) {
        self.end_paragraph();
        self.out.push(mark);
        self.out.push("\n\n");
        self.out.flush();
    }

    pub(crate) fn begin_table(&mut self) {
        if self.cell().is_none() {
            self.end_paragraph();
        }
        self.tables.push(Table::default());
    }

    pub(crate) fn begin_cell(&mut self) {
        let Some(table) = self.tables.last_mut() else { return };
        table.is_in_cell = true;
        table.cells.push(String::new());
    }

    pub(crate) fn end_cell(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.is_in_cell = false;
        }
    }

    /// Adds an empty cell, which the one before covers.
    pub(crate) fn empty_cell(&mut self) {
        self.begin_cell();
        self.end_cell();
    }

    /// Drops the last cell of the row, which was begun and has no text.
    pub(crate) fn drop_cell(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.is_in_cell = false;
            if table.cells.last().is_some_and(|cell| cell.trim().is_empty()) {
                table.cells.pop();
            }
        }
    }

    /// Returns whether the row that is open has no text.
    pub(crate) fn is_row_empty(&self) -> bool {
        self.tables.last().is_none_or(|table| table.cells.iter().all(|cell| cell.trim().is_empty()))
    }

    pub(crate) fn end_row(&mut self) {
        let Some(table) = self.tables.last_mut() else { return };
        table.is_in_cell = false;
        let cells = std::mem::take(&mut table.cells);
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            return;
        }
        let is_first = table.rows == 0;
        table.rows += 1;
        if self.tables.len() > 1 {
            // A table in a cell: its rows become part of the text of the cell.
            let cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
            let row = cells.join(", ") + "; ";
            if let Some(outer) = self.tables.iter_mut().rev().skip(1).find(|table| table.is_in_cell)
                && let Some(cell) = outer.cells.last_mut()
            {
                cell.push_str(&row);
            }
            return;
        }
        write_row(self.out, &cells, is_first);
    }

    pub(crate) fn end_table(&mut self) {
        if self.tables.last().is_some_and(|table| !table.cells.is_empty()) {
            self.end_row();
        }
        self.tables.pop();
        if self.tables.is_empty() {
            self.gap();
        }
    }

    /// Ends everything that is open.
    pub(crate) fn finish(mut self) {
        while !self.tables.is_empty() {
            self.end_table();
        }
        self.end_line();
    }

    fn gap(&mut self) {
        self.out.gap();
    }

    fn cell(&mut self) -> Option<&mut String> {
        self.tables.iter_mut().rev().find(|table| table.is_in_cell)?.cells.last_mut()
    }
}

/// Writes a row as Markdown; the first one of a table is its head.
pub(crate) fn write_row(out: &mut Output<'_>, cells: &[impl AsRef<str>], is_first: bool) {
    let shown = &cells[..cells.len().min(MAX_CELLS)];
    let mut row = String::from("|");
    for cell in shown {
        row.push(' ');
        let mut is_blank = true;
        for word in cell.as_ref().split_whitespace() {
            if !is_blank {
                row.push(' ');
            }
            is_blank = false;
            row.push_str(&word.replace('|', "\\|"));
        }
        row.push_str(if is_blank { "|" } else { " |" });
    }
    row.push('\n');
    out.push(&row);
    if is_first {
        out.push(&format!("|{}\n", " --- |".repeat(shown.len())));
    }
    if cells.len() > MAX_CELLS {
        out.note(format!("Some rows have more than {MAX_CELLS} cells; the rest of them is left out."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Flow<'_, '_>)) -> String {
        let mut text = String::new();
        let mut sink = |piece: &str| text.push_str(piece);
        let mut out = Output::new(&mut sink);
        let mut flow = Flow::new(&mut out);
        write(&mut flow);
        flow.finish();
        out.finish();
        text
    }

    #[test]
    fn tables_become_rows_even_inside_each_other() {
        let written = text(|flow| {
            flow.text("before");
            flow.begin_table();
            for row in [["a", "b|c"], ["1", "2\n3"]] {
                for cell in row {
                    flow.begin_cell();
                    flow.text(cell);
                    flow.end_paragraph();
                    flow.end_cell();
                }
                flow.end_row();
            }
            flow.begin_cell();
            flow.text("x ");
            flow.begin_table();
            flow.begin_cell();
            flow.text("inner");
            flow.end_cell();
            flow.end_row();
            flow.end_table();
            flow.end_cell();
            flow.end_table();
            flow.text("after");
        });
        assert_eq!(written, "before\n\n| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n| x inner; |\n\nafter\n");
    }
}
