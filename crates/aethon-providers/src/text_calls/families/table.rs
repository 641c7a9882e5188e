//! The families with special tokens, one row each, and the detection of their openers.

use super::bodies;
use crate::text_calls::family::{Beginning, Family, begins_with};

/// All families with special tokens.
pub(crate) static FAMILIES: [Family; 10] = [
    // Hermes, Qwen and many models trained on their data: `<tool_call>{"name": …, "arguments": …}</tool_call>`,
    // repeated, or with a list inside; the last end tag may be missing. Qwen-coder and GLM put their own formats
    // between the same tags.
    Family {
        openers: &["<tool_call>"],
        closers: &["</tool_call>"],
        markup: &[(bodies::FUNCTION, "</function>"), ("<arg_key>", "</tool_call>")],
        has_bare_names: true,
        is_sequence: true,
        bodies: &[bodies::json, bodies::function, bodies::argument_keys],
        ..Family::EMPTY
    },
    // Granite 3 and Phi 4: the same format with other tokens.
    Family {
        openers: &["<|tool_call|>"],
        closers: &["<|/tool_call|>", "<|end_tool_call|>"],
        is_sequence: true,
        bodies: &[bodies::json],
        ..Family::EMPTY
    },
    // Qwen-coder, Step and Nemotron: `<function=NAME><parameter=KEY>VALUE</parameter></function>`, inside
    // `<tool_call>` or not. Llama 3.1 has JSON between the same tags.
    Family {
        openers: &[bodies::FUNCTION],
        closers: &["</function>", "</tool_call>"],
        markup: &[(bodies::FUNCTION, "</function>")],
        bodies: &[bodies::function],
        ..Family::EMPTY
    },
    // Mistral: `[TOOL_CALLS]` before a JSON list, or before each `NAME{…}`, `NAME[ARGS]{…}` and
    // `NAME[CALL_ID]ID[ARGS]{…}`. The ids that it invents are dropped: they are unique within a response at best.
    Family {
        openers: &["[TOOL_CALLS]"],
        inner: &["[CALL_ID]", "[ARGS]"],
        closers: &["[/TOOL_CALLS]"],
        has_bare_names: true,
        bodies: &[bodies::json_up_to_opener, bodies::bracketed_name],
        ..Family::EMPTY
    },
    // Llama 3 and 4 with tokens: `<|python_tag|>{"name": …, "parameters": …}`, several separated by `;`, and
    // `<|python_start|>[name(key="value")]<|python_end|>`. `plain` handles calls without tokens.
    Family {
        openers: &["<|python_tag|>", "<|python_start|>"],
        closers: &["<|python_end|>"],
        has_bare_names: true,
        is_sequence: true,
        bodies: &[bodies::json_objects, bodies::python_calls, bodies::cut_off_python],
        ..Family::EMPTY
    },
    // DeepSeek V3 and R1: `<｜tool▁calls▁begin｜>`, and for each call `<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME`, a
    // block of JSON, `<｜tool▁call▁end｜>`. V3.1: `NAME<｜tool▁sep｜>{…}` between the same tokens. Converted models write
    // some tokens with other bars and spaces.
    Family {
        openers: &[
            "<｜tool▁calls▁begin｜>",
            "<｜tool_calls_begin｜>",
            "<｜tool▁call▁begin｜>",
            "<｜tool_call_begin｜>",
        ],
        inner: &["<｜tool▁sep｜>", "<｜tool_sep｜>", "```"],
        closers: &[
            "<｜tool▁call▁end｜>",
            "<｜tool_call_end｜>",
            "<｜tool▁calls▁end｜>",
            "<｜tool_calls_end｜>",
        ],
        has_bare_names: true,
        bodies: &[bodies::separated_name],
        ..Family::EMPTY
    },
    // DeepSeek from V3.2 on: the markup of MiniMax with `｜DSML｜` in its tags.
    Family {
        openers: &["<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"],
        closers: &["</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"],
        markup: &[(bodies::DSML_INVOKE, bodies::DSML_INVOKE_END)],
        bodies: &[bodies::dsml_invoke],
        ..Family::EMPTY
    },
    // Kimi K2: `<|tool_calls_section_begin|>`, and for each call
    // `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
    Family {
        openers: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"],
        inner: &[bodies::KIMI_ARGUMENTS],
        closers: &["<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
        has_bare_names: true,
        bodies: &[bodies::numbered_name],
        ..Family::EMPTY
    },
    // MiniMax M1: `<tool_calls>`, one JSON call per line, `</tool_calls>`. M2: `<minimax:tool_call>`, and for each
    // call `<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>`.
    Family {
        openers: &["<minimax:tool_call>", "<tool_calls>", "<function_calls>"],
        closers: &["</minimax:tool_call>", "</tool_calls>", "</function_calls>"],
        markup: &[(bodies::INVOKE, bodies::INVOKE_END)],
        is_sequence: true,
        bodies: &[bodies::json, bodies::invoke],
        ..Family::EMPTY
    },
    // Command R7B and Command A: `<|START_ACTION|>[{"tool_name": …, "parameters": …}]<|END_ACTION|>`.
    Family {
        openers: &["<|START_ACTION|>"],
        closers: &["<|END_ACTION|>"],
        bodies: &[bodies::json],
        ..Family::EMPTY
    },
];

/// The family of calls without special tokens, which `plain` parses.
pub(crate) static PLAIN: Family = Family { is_sequence: true, ..Family::EMPTY };

/// What begins a response in Harmony.
const HARMONY_OPENERS: [&str; 4] =
    ["<|channel|>analysis", "<|channel|>commentary", "<|channel|>final", "<|start|>assistant"];

/// Tokens after the end of a response. Some models continue and invent the result.
pub(crate) const ENDS: [&str; 14] = [
    "<|im_end|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "</s>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<｜end▁of▁sentence｜>",
    "<|END_OF_TURN_TOKEN|>",
    "<end_of_turn>",
    "<tool_response>",
    "<|observation|>",
    "<|user|>",
    "<|end|>",
];

/// The beginning of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Opening {
    Family(&'static Family),
    /// Harmony, which puts text and thoughts between tokens as well.
    Harmony,
    /// The beginning of an opener; more input is needed.
    Partial,
    Nothing,
}

/// Returns what this text begins with.
pub(crate) fn opening(text: &str) -> Opening {
    let mut is_partial = false;
    for family in &FAMILIES {
        match begins_with(text, family.openers) {
            Beginning::With(_) => return Opening::Family(family),
            Beginning::Partly => is_partial = true,
            Beginning::Not => {}
        }
    }
    match begins_with(text, &HARMONY_OPENERS) {
        Beginning::With(_) => Opening::Harmony,
        Beginning::Partly => Opening::Partial,
        Beginning::Not if is_partial => Opening::Partial,
        Beginning::Not => Opening::Nothing,
    }
}
