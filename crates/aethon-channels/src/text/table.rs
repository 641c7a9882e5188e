//! Formats a table as aligned lines of text, for platforms without tables.

use unicode_width::UnicodeWidthStr;

/// The maximum width of such a table. A wider one becomes a list of its rows.
const MAX_COLUMNS: usize = 64;

/// Formats these rows, the first of which is the header.
pub(super) fn lines(rows: &[Vec<String>]) -> Option<String> {
    let columns = rows.iter().map(Vec::len).max().filter(|columns| *columns > 0)?;
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    if widths.iter().sum::<usize>() + 3 * (columns - 1) > MAX_COLUMNS {
        return None;
    }
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = widths.iter().enumerate().map(|(column, width)| {
            let cell = row.get(column).map_or("", String::as_str);
            format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
        });
        out.push_str(cells.collect::<Vec<_>>().join(" | ").trim_end());
        out.push('\n');
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            out.push_str(&rules.join("-+-"));
            out.push('\n');
        }
    }
    Some(out)
}

/// Formats the table as a list of rows, with each cell after its column name.
pub(super) fn list(rows: &[Vec<String>]) -> String {
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let mut out = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let name = head.get(column).map_or("", String::as_str);
            let bullet = if column == 0 { "• " } else { "   " };
            let separator = if name.is_empty() { "" } else { ": " };
            out.push_str(&format!("{bullet}{name}{separator}{cell}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_in_every_script_and_wide_tables_become_lists() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = [row(["name", "n"]), row(["日本", "1"]), row(["x", "22"])];
        assert_eq!(lines(&table).unwrap(), "name | n\n-----+---\n日本 | 1\nx    | 22\n");
        let wide = [row(["a", "b"]), row([&"x".repeat(80), "1"])];
        assert!(lines(&wide).is_none());
        assert_eq!(list(&table), "• name: 日本\n   n: 1\n• name: x\n   n: 22\n");
    }
}
