//! Spreadsheets: XLSX row by row, the others whole.

use std::io::Cursor;

use calamine::{
    Data, ExcelDateTime, OdsError, Reader, Sheet, SheetVisible, Sheets, Xls, XlsbError, Xlsx, XlsxError,
    open_workbook_from_rs,
};

use crate::error::Error;
use crate::flow::{Flow, write_row};
use crate::output::Output;

/// The most columns that are shown.
const MAX_COLUMN: usize = 256;

/// The forms of spreadsheets in a ZIP.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    Xlsx,
    Xlsb,
    Ods,
}

/// Reads a spreadsheet in a ZIP.
pub(crate) fn read(bytes: Vec<u8>, form: Form, out: &mut Output<'_>) -> Result<(), Error> {
    let cursor = Cursor::new(bytes);
    match form {
        Form::Xlsx => row_by_row(open_workbook_from_rs(cursor).map_err(xlsx_damaged)?, out),
        Form::Xlsb => {
            let book = open_workbook_from_rs(cursor);
            whole(
                Sheets::Xlsb(book.map_err(|fault: XlsbError| Error::damaged("the spreadsheet", fault))?),
                out,
            )
        }
        Form::Ods => match open_workbook_from_rs(cursor) {
            Ok(book) => whole(Sheets::Ods(book), out),
            Err(OdsError::Password) => Err(Error::needs_password()),
            Err(fault) => Err(Error::damaged("the spreadsheet", fault)),
        },
    }
}

fn xlsx_damaged(fault: XlsxError) -> Error {
    match fault {
        XlsxError::Password => Error::needs_password(),
        fault => Error::damaged("the spreadsheet", fault),
    }
}

/// Reads a document of before 2007, or an encrypted one of after.
pub(crate) fn read_compound(bytes: Vec<u8>, out: &mut Output<'_>) -> Result<(), Error> {
    let has = |name: &str| {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes.windows(wide.len()).any(|window| window == wide)
    };
    if has("EncryptedPackage") {
        return Err(Error::needs_password());
    }
    let kind = [
        ("WordDocument", "Word", "docx"),
        ("PowerPoint Document", "PowerPoint", "pptx"),
        ("__substg1.0", "Outlook", "eml"),
    ];
    if let Some((_, program, new)) = kind.iter().find(|(mark, _, _)| has(mark)) {
        return Err(Error::new(format!("it is an old file of {program}; save it as .{new} or PDF")));
    }
    match open_workbook_from_rs::<Xls<_>, _>(Cursor::new(bytes)) {
        Ok(book) => whole(Sheets::Xls(book), out),
        Err(calamine::XlsError::Password) => Err(Error::needs_password()),
        Err(fault) => Err(Error::damaged("the spreadsheet", fault)),
    }
}

/// Reads rows as they come: a single cell far out does not make room for all before it.
fn row_by_row(mut book: Xlsx<Cursor<Vec<u8>>>, out: &mut Output<'_>) -> Result<(), Error> {
    for sheet in book.sheets_metadata().to_vec() {
        if out.is_full() {
            break;
        }
        begin(&sheet, out);
        let mut cells = match book.worksheet_cells_reader(&sheet.name) {
            Ok(cells) => cells,
            Err(fault) => {
                out.note(format!("The sheet {:?} could not be read: {fault}.", sheet.name));
                continue;
            }
        };
        let mut rows = Rows::default();
        loop {
            match cells.next_cell() {
                Ok(Some(cell)) => {
                    let (row, column) = cell.get_position();
                    let value = shown(&Data::from(cell.get_value().clone()));
                    rows.cell(row, column, value, out);
                }
                Ok(None) => break,
                Err(fault) => {
                    out.note(format!("The sheet {:?} breaks off: {fault}.", sheet.name));
                    break;
                }
            }
            if out.is_full() {
                break;
            }
        }
        rows.finish(out);
    }
    Ok(())
}

fn whole(mut book: Sheets<Cursor<Vec<u8>>>, out: &mut Output<'_>) -> Result<(), Error> {
    for sheet in book.sheets_metadata().to_vec() {
        if out.is_full() {
            break;
        }
        begin(&sheet, out);
        let range = match book.worksheet_range(&sheet.name) {
            Ok(range) => range,
            Err(fault) => {
                out.note(format!("The sheet {:?} could not be read: {fault}.", sheet.name));
                continue;
            }
        };
        let mut rows = Rows::default();
        for (row, column, value) in range.used_cells() {
            rows.cell(to_u32(row), to_u32(column), shown(value), out);
            if out.is_full() {
                break;
            }
        }
        rows.finish(out);
    }
    Ok(())
}

fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn begin(sheet: &Sheet, out: &mut Output<'_>) {
    let hidden = if sheet.visible == SheetVisible::Visible { "" } else { " (hidden)" };
    out.gap();
    Flow::new(out).mark(&format!("## Sheet: {}{hidden}", sheet.name));
}

/// Collects the cells of a row until the next one begins. Rows without cells are left out.
#[derive(Default)]
struct Rows {
    row: Option<u32>,
    cells: Vec<String>,
    has_rows: bool,
}

impl Rows {
    fn cell(&mut self, row: u32, column: u32, value: String, out: &mut Output<'_>) {
        if self.row != Some(row) {
            self.finish(out);
            self.row = Some(row);
        }
        let column = column as usize;
        if value.is_empty() {
            return;
        }
        if column >= MAX_COLUMN {
            return out.note(format!("Only the first {MAX_COLUMN} columns of a sheet are here."));
        }
        if self.cells.len() <= column {
            self.cells.resize(column + 1, String::new());
        }
        self.cells[column] = value;
    }

    fn finish(&mut self, out: &mut Output<'_>) {
        if self.cells.iter().any(|cell| !cell.is_empty()) {
            write_row(out, &self.cells, !self.has_rows);
            self.has_rows = true;
        }
        self.cells.clear();
    }
}

fn shown(value: &Data) -> String {
    match value {
        Data::Int(number) => number.to_string(),
        Data::Float(number) => float(*number),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Bool(value) => if *value { "TRUE" } else { "FALSE" }.to_owned(),
        Data::DateTime(moment) => date(moment),
        Data::Error(error) => error.to_string(),
        Data::Empty => String::new(),
    }
}

/// Programs show fifteen digits, so that 0.1 + 0.2 is 0.3.
fn float(number: f64) -> String {
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}

fn date(moment: &ExcelDateTime) -> String {
    if moment.is_duration() {
        let seconds = (moment.as_f64() * 86_400.0).round();
        let (hours, rest) = ((seconds / 3600.0).trunc(), (seconds % 3600.0).abs());
        return format!("{hours}:{:02}:{:02}", (rest / 60.0).trunc(), rest % 60.0);
    }
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    match (moment.as_f64() < 1.0, time == "00:00:00") {
        (true, _) => time,
        (false, true) => date,
        (false, false) => format!("{date} {time}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_programs_show_them() {
        for (number, expected) in
            [(0.1 + 0.2, "0.3"), (42.0, "42"), (-1.5, "-1.5"), (1e21, "1000000000000000000000")]
        {
            assert_eq!(float(number), expected);
        }
    }
}
