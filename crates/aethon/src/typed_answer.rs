//! An answer as a type: its JSON Schema goes with the message, and the engine has the model correct what does not fit.

use aethon_core::answer_schema::AnswerSchema;
use aethon_core::message::{Reply, TurnEnd};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// Returns the schema of a type, without what only describes the document it is in.
pub(crate) fn schema<T: JsonSchema>() -> Result<AnswerSchema> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    let generated = settings.into_generator().into_root_schema_for::<T>().to_value();
    AnswerSchema::parse(generated)
        .map_err(|why| Error::failed(format!("{} cannot be the type of an answer: {why}", T::schema_name())))
}

/// Reads the answer of a turn that was asked for such JSON.
pub(crate) fn read<T: DeserializeOwned>(reply: &Reply) -> Result<T> {
    if reply.end != TurnEnd::End {
        return Err(Error::failed(format!("the turn ended without an answer that fits: {}", reply.text)));
    }
    serde_json::from_str(&reply.text).map_err(|error| {
        // The schema cannot say all that a type checks, such as a value that its own `Deserialize` refuses.
        Error::failed(format!("the answer fits the schema of its type, but not the type: {error}"))
            .because(error)
    })
}
