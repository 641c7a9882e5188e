//! Definitions that many types of this vocabulary share: stable words, text that is validated once, and setters.

/// Defines an enumeration of which each value has a word that never changes: on the wire, in the database, and for serde.
/// The function that finds a value by its word is called `parse`, or as it says before the colon.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$each:meta])* $value:ident = $word:literal,)+ }) => {
        $crate::words::words! { parse: $(#[$about])* pub enum $name { $($(#[$each])* $value = $word,)+ } }
    };
    ($parse:ident: $(#[$about:meta])* pub enum $name:ident { $($(#[$each:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize,
            ::schemars::JsonSchema,
        )]
        #[schemars(inline)]
        pub enum $name {
            $($(#[$each])* #[serde(rename = $word)] $value,)+
        }

        impl $name {
            /// All of them, in their order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// Returns its stable word.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// Returns the one with this word.
            pub fn $parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }
    };
}

/// Returns whether a name can be typed after a slash: 1 to 64 lower-case letters, digits and hyphens.
pub(crate) fn is_slash_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Lets a validated text be read from any text, and be written as one again. `parse` of the type validates.
macro_rules! parsed_text {
    ($name:ident, $invalid:ident) => {
        impl TryFrom<String> for $name {
            type Error = $invalid;

            fn try_from(text: String) -> Result<Self, $invalid> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.as_str().to_owned()
            }
        }
    };
    (shown $name:ident, $invalid:ident) => {
        $crate::words::parsed_text!($name, $invalid);

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Defines methods of a type that is built step by step: each sets the field of the name of its parameter.
macro_rules! setters {
    ($($(#[$about:meta])* pub fn $name:ident($field:ident: $type:ty);)+) => {
        $(
            $(#[$about])*
            #[must_use]
            pub fn $name(self, $field: $type) -> Self {
                Self { $field, ..self }
            }
        )+
    };
}

pub(crate) use {parsed_text, setters, words};
