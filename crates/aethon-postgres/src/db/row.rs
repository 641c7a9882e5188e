//! Rows as the server returns them.

use tokio_postgres::Row as Raw;
use tokio_postgres::types::Type;

use crate::error::Error;

/// A row.
pub(crate) struct Row<'r>(pub(super) &'r Raw);

impl<'r> Row<'r> {
    /// Returns a column, by its number.
    pub(crate) fn get<T: FromColumn>(&self, column: usize) -> Result<T, Error> {
        T::from_column(self.0, column)
    }

    /// Returns a text; an empty one for null.
    pub(crate) fn text(&self, column: usize) -> Result<&'r str, Error> {
        Ok(self.text_or_null(column)?.unwrap_or_default())
    }

    pub(crate) fn text_or_null(&self, column: usize) -> Result<Option<&'r str>, Error> {
        Ok(self.0.try_get(column)?)
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<&'r [u8], Error> {
        Ok(self.0.try_get(column)?)
    }
}

/// A type as which a column can be read.
pub(crate) trait FromColumn: Sized {
    fn from_column(row: &Raw, column: usize) -> Result<Self, Error>;
}

impl FromColumn for i64 {
    fn from_column(row: &Raw, column: usize) -> Result<Self, Error> {
        Option::from_column(row, column)?.ok_or_else(|| Error::column("number"))
    }
}

impl FromColumn for Option<i64> {
    fn from_column(row: &Raw, column: usize) -> Result<Self, Error> {
        // Lengths and literals are shorter numbers.
        if row.columns().get(column).is_some_and(|column| *column.type_() == Type::INT4) {
            return Ok(row.try_get::<_, Option<i32>>(column)?.map(i64::from));
        }
        Ok(row.try_get(column)?)
    }
}

impl FromColumn for u32 {
    fn from_column(row: &Raw, column: usize) -> Result<Self, Error> {
        u32::try_from(i64::from_column(row, column)?).map_err(|_| Error::column("small number"))
    }
}

/// The types that the client library reads itself.
macro_rules! as_they_are {
    ($($kind:ty),+) => {
        $(impl FromColumn for $kind {
            fn from_column(row: &Raw, column: usize) -> Result<Self, Error> {
                Ok(row.try_get(column)?)
            }
        })+
    };
}

as_they_are!(bool, f64, String, Option<bool>, Option<f64>, Option<String>);
