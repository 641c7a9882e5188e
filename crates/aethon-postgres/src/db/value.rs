//! Values bound to statements.
//!
//! They are owned, so that the work of a transaction can run again after its connection was lost, and each says its type, so that
//! a statement needs one round trip and no name on the server: that is what connection poolers in transaction mode allow.

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Truth(bool),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// The type to announce. That of null follows from the statement.
    pub(crate) fn kind(&self) -> Type {
        match self {
            Self::Null => Type::UNKNOWN,
            Self::Integer(_) => Type::INT8,
            Self::Truth(_) => Type::BOOL,
            Self::Real(_) => Type::FLOAT8,
            Self::Text(_) => Type::TEXT,
            Self::Bytes(_) => Type::BYTEA,
        }
    }
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) => number.to_sql(kind, out),
            Self::Truth(truth) => truth.to_sql(kind, out),
            Self::Real(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// What can be bound to a statement.
pub(crate) trait ToValue {
    fn to_value(&self) -> Value;
}

impl ToValue for Value {
    fn to_value(&self) -> Value {
        self.clone()
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value {
        // The server's texts hold every character but this one.
        Value::Text(if self.contains('\0') { self.replace('\0', "\u{fffd}") } else { self.to_owned() })
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value {
        self.as_str().to_value()
    }
}

impl ToValue for Cow<'_, str> {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

impl ToValue for i64 {
    fn to_value(&self) -> Value {
        Value::Integer(*self)
    }
}

impl ToValue for u32 {
    fn to_value(&self) -> Value {
        Value::Integer(i64::from(*self))
    }
}

impl ToValue for bool {
    fn to_value(&self) -> Value {
        Value::Truth(*self)
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value {
        Value::Real(*self)
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value {
        Value::Bytes(self.clone())
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value {
        Value::Bytes(self.to_vec())
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value {
        Value::Bytes(self.to_vec())
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

/// The values of a statement.
pub(crate) trait Params {
    fn values(self) -> Vec<Value>;
}

impl Params for [Value; 0] {
    fn values(self) -> Vec<Value> {
        Vec::new()
    }
}

impl<A: ToValue, B: ToValue> Params for (A, B) {
    fn values(self) -> Vec<Value> {
        vec![self.0.to_value(), self.1.to_value()]
    }
}

/// Lists of each length. With one rule for all, an empty list would have no element type.
macro_rules! lists {
    ($($length:literal)+) => {
        $(impl<T: ToValue> Params for [T; $length] {
            fn values(self) -> Vec<Value> {
                self.iter().map(ToValue::to_value).collect()
            }
        })+
    };
}

lists! { 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 }

/// Values of different types.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        [$($crate::db::ToValue::to_value(&$value)),*]
    };
}

pub(crate) use params;
