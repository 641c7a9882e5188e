//! Masks secrets while a record is written as JSON.
//!
//! The masking sits between a value and its serializer, so that a record needs no copy as a document first.

use std::cell::Cell;

use aethon_core::secret::MASK;
use aethon_guard::redact::Redactor;
use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A value that is serialized with the secrets in all its strings masked, the keys of maps included. A string under a
/// key that names a secret is masked whatever it looks like.
pub(crate) struct Masked<'m, T: ?Sized> {
    redactor: &'m Redactor,
    position: Position<'m>,
    value: &'m T,
}

/// Where a string stands.
#[derive(Clone, Copy)]
enum Position<'m> {
    Value(Treatment),
    /// A key, which says how its value is treated.
    Key(&'m Cell<Treatment>),
}

/// How a string is treated.
#[derive(Clone, Copy)]
enum Treatment {
    /// What looks like a secret is masked.
    Search,
    /// All of it is masked: its key names a secret.
    Mask,
    /// It is left as it is: the tag that tells the parts of a document apart.
    Leave,
}

impl Treatment {
    fn of_value(key: &str) -> Self {
        match key {
            "type" => Self::Leave,
            key if Redactor::names_secret(key) => Self::Mask,
            _ => Self::Search,
        }
    }
}

impl<'m, T: ?Sized> Masked<'m, T> {
    pub(crate) fn new(redactor: &'m Redactor, value: &'m T) -> Self {
        Self { redactor, position: Position::Value(Treatment::Search), value }
    }
}

impl<T: Serialize + ?Sized> Serialize for Masked<'_, T> {
    fn serialize<S: Serializer>(&self, inner: S) -> Result<S::Ok, S::Error> {
        let Self { redactor, position, value } = *self;
        value.serialize(Masking { redactor, position, inner })
    }
}

/// A serializer that masks strings on their way to the inner one.
struct Masking<'m, S> {
    redactor: &'m Redactor,
    position: Position<'m>,
    inner: S,
}

/// Passes these methods on to the inner serializer: none of them is given a string.
macro_rules! pass_on {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {
        $(fn $method(self, $($name: $type),*) -> Result<S::Ok, S::Error> {
            self.inner.$method($($name),*)
        })*
    };
}

/// Begins a compound value, the parts of which are masked one by one.
macro_rules! compound {
    ($($method:ident($($name:ident: $type:ty),*) -> $compound:ident;)*) => {
        $(fn $method(self, $($name: $type),*) -> Result<Self::$compound, S::Error> {
            Ok(Parts { redactor: self.redactor, of_value: Treatment::Search, inner: self.inner.$method($($name),*)? })
        })*
    };
}

impl<'m, S: Serializer> Serializer for Masking<'m, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Parts<'m, S::SerializeSeq>;
    type SerializeTuple = Parts<'m, S::SerializeTuple>;
    type SerializeTupleStruct = Parts<'m, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Parts<'m, S::SerializeTupleVariant>;
    type SerializeMap = Parts<'m, S::SerializeMap>;
    type SerializeStruct = Parts<'m, S::SerializeStruct>;
    type SerializeStructVariant = Parts<'m, S::SerializeStructVariant>;

    fn serialize_str(self, text: &str) -> Result<S::Ok, S::Error> {
        match self.position {
            Position::Value(Treatment::Leave) => return self.inner.serialize_str(text),
            Position::Value(Treatment::Mask) if !text.is_empty() => return self.inner.serialize_str(MASK),
            Position::Value(_) => {}
            Position::Key(of_value) => of_value.set(Treatment::of_value(text)),
        }
        self.inner.serialize_str(&self.redactor.redact_kept(text))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let Self { redactor, position, inner } = self;
        inner.serialize_some(&Masked { redactor, position, value })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let Self { redactor, position, inner } = self;
        inner.serialize_newtype_struct(name, &Masked { redactor, position, value })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_newtype_variant(name, index, variant, &Masked::new(self.redactor, value))
    }

    pass_on! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_f32(value: f32);
        serialize_f64(value: f64);
        serialize_char(value: char);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    compound! {
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, len: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeStructVariant;
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// A compound value that is being written.
struct Parts<'m, C> {
    redactor: &'m Redactor,
    /// In a map, how the value after the last key is treated.
    of_value: Treatment,
    inner: C,
}

/// Implements the traits of compounds whose parts have no names.
macro_rules! unnamed {
    ($($compound:ident::$method:ident;)*) => {
        $(impl<C: $compound> $compound for Parts<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
                self.inner.$method(&Masked::new(self.redactor, value))
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        })*
    };
}

unnamed! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

/// Implements the traits of compounds whose parts have names of our own, which are not looked at.
macro_rules! named {
    ($($compound:ident),*) => {
        $(impl<C: $compound> $compound for Parts<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), C::Error> {
                let treatment = if name == "type" { Treatment::Leave } else { Treatment::Search };
                let position = Position::Value(treatment);
                self.inner.serialize_field(name, &Masked { redactor: self.redactor, position, value })
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        })*
    };
}

named!(SerializeStruct, SerializeStructVariant);

impl<C: SerializeMap> SerializeMap for Parts<'_, C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        let of_value = Cell::new(Treatment::Search);
        let position = Position::Key(&of_value);
        self.inner.serialize_key(&Masked { redactor: self.redactor, position, value })?;
        self.of_value = of_value.get();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        let position = Position::Value(self.of_value);
        self.inner.serialize_value(&Masked { redactor: self.redactor, position, value })
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.inner.end()
    }
}

#[cfg(test)]
#[test]
fn every_string_is_masked_and_the_json_stays_valid() {
    use aethon_core::secret::Secret;
    use serde_json::{Value, json};
    let redactor = Redactor::new([Secret::new("open sesame")]);
    let masked = |document: &Value| serde_json::to_value(Masked::new(&redactor, document)).unwrap();
    let document = json!({
        "type": "tool_call",
        "input": {"password": "x", "command": "echo open sesame", "tokens": "none", "n": 7, "token": 12},
        "list": ["sk-abcdefgh12345678", {"text": "b3BlbiBzZXNhbWU="}, {"open sesame": 1}, "fine"],
        "secret": ["kept", {"type": "open sesame"}, {"type": {"password": "", "x": "open sesame"}}, null, 1.5],
    });
    let expected = json!({
        "type": "tool_call",
        "input": {"password": "***", "command": "echo ***", "tokens": "none", "n": 7, "token": 12},
        "list": ["***", {"text": "***="}, {"***": 1}, "fine"],
        "secret": ["kept", {"type": "open sesame"}, {"type": {"password": "", "x": "***"}}, null, 1.5],
    });
    assert_eq!(masked(&document), expected);
}
