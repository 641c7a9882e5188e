//! Models and their costs.

mod anthropic;
mod budget;
mod catalog;
mod context;
mod dialects;
mod local_models;
mod model_test;
mod money;
mod offline;
mod openai;
mod provider_search;
mod structured_answers;
mod usage;
mod wire_formats;
