//! Models and their costs.

mod anthropic;
mod budget;
mod catalog;
mod choice;
mod context;
mod dialects;
mod embeddings;
mod failures;
mod fallbacks;
mod first_model;
mod gateways;
mod local_models;
mod model_test;
mod money;
mod odd_streams;
mod offline;
mod ollama_window;
mod openai;
mod provider_search;
mod structured_answers;
mod usage;
mod wire_formats;
