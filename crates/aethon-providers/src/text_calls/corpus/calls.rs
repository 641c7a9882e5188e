//! Responses that are calls, by family.

use super::cases::{Case, made};

const PARIS: &[(&str, &str)] = &[("get_weather", r#"{"city": "Paris"}"#)];
const PARIS_TYPED: &[(&str, &str)] =
    &[("get_weather", r#"{"city": "Paris", "days": 2, "detailed": true, "tags": ["rain", "wind"]}"#)];
const BOTH: &[(&str, &str)] = &[("get_weather", r#"{"city": "Paris"}"#), ("clock", "{}")];
const CLOCK: &[(&str, &str)] = &[("clock", "{}")];

pub(super) const CASES: &[Case] = &[
    // Hermes, Qwen, Granite.
    made(
        "hermes",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>",
        PARIS,
        "",
    ),
    made(
        "hermes, no end",
        "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}",
        PARIS,
        "",
    ),
    made(
        "hermes, blanks round it",
        "\n\n  <tool_call>{\"name\": \"clock\", \"arguments\": {}}</tool_call>\n\n",
        CLOCK,
        "",
    ),
    made(
        "hermes, a sentence before",
        "Let me look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>",
        PARIS,
        "Let me look.\n",
    ),
    made(
        "hermes, a sentence in the same line",
        "I'll check: <tool_call>{\"name\": \"clock\", \"arguments\": {}}</tool_call>",
        CLOCK,
        "I'll check: ",
    ),
    made(
        "hermes, thoughts before",
        "<think>\nThe clock, say <tool_call>.\n</think>\n\n<tool_call>\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_call>",
        CLOCK,
        "<think>\nThe clock, say <tool_call>.\n</think>",
    ),
    made(
        "hermes, the end of thoughts before",
        "I should look at the clock.\n</think>\n<tool_call>{\"name\": \"clock\", \"arguments\": {}}</tool_call>",
        CLOCK,
        "I should look at the clock.\n</think>",
    ),
    made(
        "hermes, two",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_call>",
        BOTH,
        "",
    ),
    made(
        "hermes, a list",
        "<tool_call>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}, {\"name\": \"clock\", \"arguments\": {}}]</tool_call>",
        BOTH,
        "",
    ),
    made(
        "hermes, arguments as text",
        "<tool_call>{\"name\": \"get_weather\", \"arguments\": \"{\\\"city\\\": \\\"Paris\\\"}\"}</tool_call>",
        PARIS,
        "",
    ),
    made(
        "hermes, as Python writes it",
        "<tool_call>\n{'name': 'get_weather', 'arguments': {'city': 'Paris'}}\n</tool_call>",
        PARIS,
        "",
    ),
    made(
        "hermes, its end in a string",
        "<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"echo '</tool_call> done'\"}}</tool_call>",
        &[("shell", r#"{"command": "echo '</tool_call> done'"}"#)],
        "",
    ),
    made(
        "hermes, one bracket too many",
        "<tool_call>{\"name\": \"clock\", \"arguments\": {}}}</tool_call>",
        CLOCK,
        "",
    ),
    made(
        "hermes, a made-up result behind",
        "<tool_call>{\"name\": \"clock\", \"arguments\": {}}</tool_call>\n<tool_response>noon</tool_response> It is noon.",
        CLOCK,
        "",
    ),
    made(
        "hermes, the end of the turn behind",
        "<tool_call>{\"name\": \"clock\", \"arguments\": {}}</tool_call><|im_end|>",
        CLOCK,
        "",
    ),
    made(
        "hermes, an unknown tool",
        "<tool_call>{\"name\": \"gong\", \"arguments\": {}}</tool_call>",
        &[("gong", "{}")],
        "",
    ),
    made(
        "hermes, broken",
        "<tool_call>\n{\"name\": \"clock\", \"arguments\": {\n</tool_call>",
        &[("clock", r#""{\"name\": \"clock\", \"arguments\": {\n""#)],
        "",
    ),
    made(
        "hermes, cut off",
        "<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls",
        &[("shell", r#""{\"name\": \"shell\", \"arguments\": {\"command\": \"ls""#)],
        "",
    ),
    made(
        "hermes, a file behind a code block in the text",
        "As said:\n```sh\nls\n```\n<tool_call>{\"name\": \"clock\", \"arguments\": {}}</tool_call>",
        CLOCK,
        "As said:\n```sh\nls\n```\n",
    ),
    made(
        "granite 3",
        "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]",
        PARIS,
        "",
    ),
    made(
        "granite 3.1",
        "<tool_call>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]",
        PARIS,
        "",
    ),
    made("phi 4", "<|tool_call|>[{\"name\": \"clock\", \"arguments\": {}}]<|/tool_call|>", CLOCK, ""),
    // Qwen-coder.
    made(
        "qwen-coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
        PARIS,
        "",
    ),
    made(
        "qwen-coder, typed",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n</parameter>\n<parameter=detailed>\nTrue\n</parameter>\n<parameter=tags>\n[\"rain\", \"wind\"]\n</parameter>\n</function>\n</tool_call>",
        PARIS_TYPED,
        "",
    ),
    made(
        "qwen-coder, lines",
        "<function=shell>\n<parameter=command>\ncat <<E\n  a < b\nE\n</parameter>\n</function>",
        &[("shell", r#"{"command": "cat <<E\n  a < b\nE"}"#)],
        "",
    ),
    made(
        "qwen-coder, two",
        "Both.\n<tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=clock>\n</function>\n</tool_call>",
        BOTH,
        "Both.\n",
    ),
    made(
        "qwen-coder, no end",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>",
        PARIS,
        "",
    ),
    made("llama 3.1 functions", "<function=get_weather>{\"city\": \"Paris\"}</function>", PARIS, ""),
    // Llama.
    made("llama, plain", "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}", PARIS, ""),
    made(
        "llama, plain with type",
        "{\"type\": \"function\", \"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}",
        PARIS,
        "",
    ),
    made(
        "llama, plain, two",
        "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}; {\"name\": \"clock\", \"parameters\": {}}",
        BOTH,
        "",
    ),
    made(
        "llama, tag",
        "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}<|eom_id|>",
        PARIS,
        "",
    ),
    made(
        "llama, tag, two",
        "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}; {\"name\": \"clock\", \"parameters\": {}}",
        BOTH,
        "",
    ),
    made("llama, tag and builtin", "<|python_tag|>get_weather(city=\"Paris\")", PARIS, ""),
    made("llama, pythonic", "[get_weather(city=\"Paris\")]", PARIS, ""),
    made(
        "llama, pythonic, typed",
        "[get_weather(city='Paris', days=2, detailed=True, tags=[\"rain\", 'wind'])]",
        PARIS_TYPED,
        "",
    ),
    made("llama, pythonic, two", "[get_weather(city=\"Paris\"), clock()]<|eot_id|>", BOTH, ""),
    made(
        "llama 4, pythonic with tokens",
        "<|python_start|>[get_weather(city=\"Paris\")]<|python_end|>",
        PARIS,
        "",
    ),
    // Plain JSON, of models that know no special form.
    made(
        "plain, in a block",
        "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```",
        PARIS,
        "",
    ),
    made(
        "plain, a list in a block",
        "```\n[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}, {\"name\": \"clock\", \"arguments\": {}}]\n```",
        BOTH,
        "",
    ),
    made(
        "plain, nested",
        "{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"arguments\": \"{\\\"city\\\": \\\"Paris\\\"}\"}}",
        PARIS,
        "",
    ),
    made(
        "plain, behind thoughts",
        "<think>I need the clock.</think>\n\n{\"name\": \"clock\", \"arguments\": {}}",
        CLOCK,
        "<think>I need the clock.</think>",
    ),
    // Mistral.
    made(
        "mistral",
        "[TOOL_CALLS] [{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]",
        PARIS,
        "",
    ),
    made(
        "mistral, ids",
        "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}, \"id\": \"a1b2c3d4e\"}, {\"name\": \"clock\", \"arguments\": {}, \"id\": \"f5g6h7i8j\"}]</s>",
        BOTH,
        "",
    ),
    made(
        "mistral, arguments",
        "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Paris\"}[TOOL_CALLS]clock[ARGS]{}",
        BOTH,
        "",
    ),
    made(
        "mistral, call ids",
        "[TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{\"city\": \"Paris\"}",
        PARIS,
        "",
    ),
    made(
        "mistral, no separator",
        "I'll look.[TOOL_CALLS]get_weather{\"city\": \"Paris\"}",
        PARIS,
        "I'll look.",
    ),
    made(
        "mistral, cut off",
        "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Pa",
        &[("get_weather", r#""{\"city\": \"Pa""#)],
        "",
    ),
    // DeepSeek.
    made(
        "deepseek v3",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Paris\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        PARIS,
        "",
    ),
    made(
        "deepseek r1, two",
        "<think>\nHm.\n</think>\n\nOne moment.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Paris\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>clock\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        BOTH,
        "<think>\nHm.\n</think>\n\nOne moment.",
    ),
    made(
        "deepseek v3.1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Paris\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>clock<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        BOTH,
        "",
    ),
    made(
        "deepseek v3.2",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Paris</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        &[("get_weather", r#"{"city": "Paris", "days": 2}"#)],
        "",
    ),
    // Harmony.
    made(
        "harmony",
        "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>",
        PARIS,
        "",
    ),
    made(
        "harmony, thoughts and a preamble",
        "<|channel|>analysis<|message|>I need <the> weather.<|end|><|start|>assistant<|channel|>commentary<|message|>Looking.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>",
        PARIS,
        "Looking.",
    ),
    made(
        "harmony, the recipient first",
        "<|start|>assistant to=functions.clock<|channel|>commentary json<|message|>{}",
        CLOCK,
        "",
    ),
    // Kimi.
    made(
        "kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Paris\"}<|tool_call_end|><|tool_calls_section_end|>",
        PARIS,
        "",
    ),
    made(
        "kimi, two behind words",
        "Sure!<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Paris\"}<|tool_call_end|><|tool_call_begin|>functions.clock:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        BOTH,
        "Sure!",
    ),
    // GLM.
    made(
        "glm 4.5",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>",
        PARIS,
        "",
    ),
    made(
        "glm 4.5, typed",
        "I'll see.\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n<arg_key>detailed</arg_key>\n<arg_value>true</arg_value>\n<arg_key>tags</arg_key>\n<arg_value>[\"rain\", \"wind\"]</arg_value>\n</tool_call>",
        PARIS_TYPED,
        "I'll see.\n",
    ),
    made(
        "glm 4.7, no line ends",
        "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call><tool_call>clock</tool_call>",
        BOTH,
        "",
    ),
    // MiniMax.
    made(
        "minimax m1",
        "<tool_calls>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_calls>",
        BOTH,
        "",
    ),
    made(
        "minimax m2",
        "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n</minimax:tool_call>",
        &[("get_weather", r#"{"city": "Paris", "days": 2}"#)],
        "",
    ),
    made(
        "minimax m2, two",
        "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\n<invoke name=\"clock\">\n</invoke>\n</minimax:tool_call>",
        BOTH,
        "",
    ),
    // Command.
    made(
        "command",
        "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}\n]<|END_ACTION|>",
        PARIS,
        "",
    ),
    made(
        "command, a plan before",
        "<|START_THINKING|>I will look.<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}, {\"tool_call_id\": \"1\", \"tool_name\": \"clock\", \"parameters\": {}}]<|END_ACTION|><|END_OF_TURN_TOKEN|>",
        BOTH,
        "<|START_THINKING|>I will look.<|END_THINKING|>",
    ),
    // Where the question calls for caution, a call that is the whole response still counts.
    Case {
        name: "asked for JSON, tokens",
        question: "Get me the weather in Paris as JSON.",
        result: "",
        answer: "Sure.\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>",
        calls: PARIS,
        text: "Sure.\n",
    },
    Case {
        name: "asked for an example, whole",
        question: "Is it, for example, warm in Paris?",
        result: "",
        answer: "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>",
        calls: PARIS,
        text: "",
    },
    Case {
        name: "after a result that has nothing to do with it",
        question: "And the weather in Paris?",
        result: "{\"city\": \"Paris\", \"name\": \"weather\"}",
        answer: "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>",
        calls: PARIS,
        text: "",
    },
];
