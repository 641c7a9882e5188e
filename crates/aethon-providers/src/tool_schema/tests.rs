//! Odd schemas of other programs, in every dialect.

use aethon_core::message::{Block, Role, ToolCall};
use aethon_core::provider::Provider;
use aethon_core::tool::ToolSpec;
use serde_json::{Value, json};

use super::fitted::FittedTools;
use super::reduce::SchemaForm;
use super::strict::{self, Dialect};
use crate::testing::{call, message, request, result};

fn form(dialect: Dialect) -> SchemaForm {
    SchemaForm::of(match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => Provider::OpenAi,
        Dialect::Anthropic => Provider::Anthropic,
        Dialect::Gemini => Provider::Gemini,
        Dialect::Bedrock => Provider::Bedrock,
        Dialect::Mistral => Provider::Mistral,
        Dialect::Ollama => Provider::Ollama,
    })
}

fn fitted(schema: Value, dialect: Dialect) -> ToolSpec {
    let spec = ToolSpec::new("x__t", "does it", schema);
    FittedTools::of([spec].iter(), form(dialect)).specs[0].clone()
}

fn common(schema: Value) -> Value {
    fitted(schema, Dialect::OpenAiChat).parameters
}

/// Returns an object with one property.
fn of(property: Value) -> Value {
    json!({"type": "object", "properties": {"a": property}})
}

fn odd_schemas() -> Vec<Value> {
    let in_top = |keyword: &str, value: Value| {
        let mut schema =
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        schema[keyword] = value;
        schema
    };
    let mut odd = vec![
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": null}),
        json!({"type": "object", "properties": []}),
        json!({"type": ["object", "null"], "properties": {}}),
        in_top("anyOf", json!([{"required": ["a"]}, {"required": ["b"]}])),
        in_top("oneOf", json!([{"required": ["a"]}, {"required": ["b"]}])),
        in_top("allOf", json!([{"properties": {"c": {"type": "integer"}}, "required": ["c"]}])),
        in_top("anyOf", json!([])),
        in_top("anyOf", json!("x")),
        in_top("not", json!({"required": ["a", "b"]})),
        in_top("enum", json!([{"a": "x"}])),
        in_top("const", json!({"a": "x"})),
        in_top("if", json!({"required": ["a"]})),
        in_top("dependencies", json!({"a": ["b"]})),
        in_top("dependentRequired", json!({"a": ["b"]})),
        in_top("patternProperties", json!({"^x": {"type": "str"}})),
        in_top("required", json!("a")),
        in_top("required", json!(null)),
        in_top("required", json!(true)),
        in_top("required", json!(["a", "a", "nothing", 3])),
        in_top("additionalProperties", json!("no")),
        in_top("additionalProperties", json!({"$ref": "#/$defs/none"})),
        in_top("$schema", json!("http://json-schema.org/draft-04/schema#")),
        json!({"$ref": "#/definitions/A", "definitions": {"A": of(json!({"type": "string"}))}}),
        json!({"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
            "$defs": {"A": of(json!({"type": "string"})), "B": {"properties": {"b": {"$ref": "#/$defs/A"}}}}}),
        json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": {
            "type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}, "right": {"$ref": "#/$defs/Tree"}}}}}),
        json!({"type": "object", "properties": {"me": {"$ref": "#"}}}),
        json!({"type": "object", "properties": {"größe in cm": {"type": "integer"}}, "required": ["größe in cm"]}),
        json!({"type": "object", "properties": {"$filter": {"type": "string"}, "a/b": {}, "": {"type": "string"}}}),
        json!({"type": "object", "properties": {"x".repeat(80): {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": null, "b": 3, "c": "string", "d": true, "e": false, "f": []}}),
    ];
    odd.extend(odd_properties().into_iter().map(of));
    odd
}

/// Returns schemas of single properties.
fn odd_properties() -> Vec<Value> {
    vec![
        json!({"$ref": "#/$defs/Missing"}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "#anchor", "description": "kept"}),
        json!({"$ref": 7}),
        json!({"type": "array"}),
        json!({"type": "array", "items": true}),
        json!({"type": "array", "items": [{"type": "string"}, {"type": "number"}]}),
        json!({"type": "array", "prefixItems": [{"type": "string"}]}),
        json!({"type": "array", "items": {"type": "array"}}),
        json!({"type": "array", "items": null, "minItems": "2", "uniqueItems": "yes"}),
        json!({"type": "file"}),
        json!({"type": "str"}),
        json!({"type": "STRING"}),
        json!({"type": 5}),
        json!({"type": null}),
        json!({"type": []}),
        json!({"type": ["string", "integer", "null"]}),
        json!({"type": ["string", "string", "any"]}),
        json!({"type": "string", "required": true}),
        json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}),
        json!({"type": "integer", "maximum": 9, "exclusiveMaximum": false}),
        json!({"type": "integer", "exclusiveMinimum": true}),
        json!({"type": "integer", "minimum": "0", "multipleOf": 0}),
        json!({"type": "number", "divisibleBy": 2, "exclusiveMinimum": 0}),
        json!({"type": "string", "minLength": -1, "maxLength": 5.0, "pattern": 7, "format": 3}),
        json!({"type": "string", "format": "uri", "pattern": "^x"}),
        json!({"type": "string", "nullable": true}),
        json!({"type": "string", "enum": []}),
        json!({"type": "string", "enum": "x"}),
        json!({"type": "string", "enum": ["a", "a", null, 3]}),
        json!({"enum": [true, null, {"a": 1}]}),
        json!({"const": "x"}),
        json!({"const": null}),
        json!({"anyOf": [{"type": "string"}, null, true]}),
        json!({"anyOf": []}),
        json!({"anyOf": [{"$ref": "#/properties/a"}]}),
        json!({"oneOf": [{"type": "array"}, {"type": "object", "properties": null}]}),
        json!({"allOf": [{"type": "object", "properties": {"x y": {}}}, {"required": ["x y"]}]}),
        json!({"allOf": [{"allOf": [{"type": "str"}]}]}),
        json!({"not": {"type": "null"}, "if": {}, "then": {}, "else": {}}),
        json!({"title": null, "description": ["x"], "examples": "x", "default": null, "x-order": 1}),
        json!({"type": "object", "properties": {"b": {"type": "dict"}}, "required": "b", "propertyNames": {}}),
        json!({"type": "object", "additionalProperties": {"type": "list"}, "minProperties": 1}),
        json!({"contentEncoding": "base64", "readOnly": true, "deprecated": true, "$comment": "x"}),
        json!((0..40).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}))),
    ]
}

#[test]
fn odd_schemas_fit_every_dialect() {
    let odd = odd_schemas();
    assert!(odd.len() >= 60, "{}", odd.len());
    for dialect in strict::ALL {
        for schema in &odd {
            let spec = fitted(schema.clone(), dialect);
            let refused = strict::refusal(dialect, &spec.name, &spec.description, &spec.parameters);
            assert_eq!(refused, Ok(()), "{dialect:?}: {schema} became {}", spec.parameters);
        }
    }
}

#[test]
fn unfitted_schemas_are_mostly_refused() {
    let refused = |dialect, schema: &Value| strict::refusal(dialect, "x__t", "does it", schema).is_err();
    for dialect in strict::ALL {
        let odd = odd_schemas();
        let count = odd.iter().filter(|schema| refused(dialect, schema)).count();
        assert!(count >= odd.len() / 2, "{dialect:?}: {count}");
    }
}

#[test]
fn plain_schema_stays_as_it_is() {
    let plain = json!({"type": "object", "properties": {
        "path": {"type": "string", "description": "where"},
        "depth": {"type": "integer", "minimum": 1, "maximum": 9},
        "kinds": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    }, "required": ["path"]});
    for dialect in strict::ALL {
        assert_eq!(fitted(plain.clone(), dialect).parameters, plain, "{dialect:?}");
    }
}

#[test]
fn references_are_drawn_in_and_cycles_are_cut() {
    let schema = json!({"type": "object", "properties": {
        "to": {"$ref": "#/$defs/Person", "description": "the receiver"},
        "tree": {"$ref": "#/$defs/Tree"},
        "gone": {"$ref": "#/$defs/None"},
    }, "$defs": {
        "Person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        "Tree": {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
    }});
    assert_eq!(
        common(schema)["properties"],
        json!({
            "to": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
                "description": "the receiver"},
            "tree": {"type": "object", "properties": {"below": {"type": "array", "items": {"type": "object"}}}},
            "gone": {},
        })
    );
}

#[test]
fn keywords_beside_a_reference_apply_as_well() {
    let sent = common(json!({"type": "object", "properties": {
        "to": {
            "$ref": "#/$defs/A%2DPerson%20%7Bx%7D", "description": "the receiver",
            "properties": {"phone": {"type": "string"}, "name": {"type": "string", "maxLength": 9}},
            "required": ["phone"],
        },
    }, "$defs": {"A-Person {x}": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "description": "someone",
    }}}));
    let to = &sent["properties"]["to"];
    assert_eq!(to["description"], "the receiver");
    assert_eq!(
        to["properties"],
        json!({"phone": {"type": "string"}, "name": {"type": "string", "maxLength": 9}})
    );
    assert_eq!(to["required"], json!(["phone", "name"]));
    assert_eq!(to["type"], "object");
}

#[test]
fn references_that_multiply_stay_small() {
    let level = |n: usize| {
        let next = json!({"$ref": format!("#/$defs/L{}", n + 1)});
        let fields: serde_json::Map<_, _> =
            (0..10).map(|field| (format!("f{field}"), next.clone())).collect();
        json!({"type": "object", "properties": fields})
    };
    let levels: serde_json::Map<_, _> = (0..12).map(|n| (format!("L{n}"), level(n))).collect();
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/L0"}}, "$defs": levels});
    let size = common(schema).to_string().len();
    assert!(size < 512 * 1024, "{size}");
}

#[test]
fn combinations_at_the_top_become_one_object() {
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "oneOf": [
        {"properties": {"path": {"type": "string"}, "mode": {"type": "integer"}}, "required": ["path", "mode"]},
        {"properties": {"url": {"type": "string"}, "mode": {"type": "string"}}, "required": ["url", "mode"]},
    ]});
    for dialect in strict::ALL {
        let spec = fitted(schema.clone(), dialect);
        assert_eq!(spec.description, "does it Give one of: `path`; `url`.");
        assert_eq!(
            spec.parameters,
            json!({"type": "object", "required": ["id", "mode"], "properties": {
                "id": {"type": "string"}, "path": {"type": "string"}, "url": {"type": "string"},
                "mode": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            }})
        );
    }
    let all = json!({"allOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}}, "required": ["b"]},
    ]});
    assert_eq!(common(all)["required"], json!(["a", "b"]));
}

#[test]
fn remarks_leave_room_in_a_long_description() {
    let schema = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let spec = ToolSpec::new("x__t", "y".repeat(1024), schema);
    let fitted = FittedTools::of([spec].iter(), SchemaForm::Common);
    let description = &fitted.specs[0].description;
    assert!(
        description.chars().count() <= 1024 && description.ends_with("Give one of: `a`; `b`."),
        "{description}"
    );
}

#[test]
fn old_drafts_are_read() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "integer", "required": true, "minimum": 0, "exclusiveMinimum": true},
        "b": {"type": "str", "required": false},
    }});
    assert_eq!(
        common(schema),
        json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "integer", "exclusiveMinimum": 0}, "b": {"type": "string"},
        }})
    );
}

#[test]
fn names_in_an_object_that_is_written_as_text_are_mapped_back() {
    let schema = json!({"type": "object", "properties": {
        "$filter": {"type": "object", "properties": {"a b": {"type": "string"}}},
        "plain": {"type": "string"},
    }});
    let tools = FittedTools::of([ToolSpec::new("x__t", "does it", schema)].iter(), SchemaForm::Common);
    let properties = &tools.specs[0].parameters["properties"];
    let sent =
        |fields: &Value| fields.as_object().unwrap().keys().find(|name| *name != "plain").unwrap().clone();
    let (filter, below) = (sent(properties), sent(&properties[sent(properties)]["properties"]));
    let called = json!({filter: json!({below: "x"}).to_string(), "plain": "{\"a\": 1}"});
    let Block::ToolCall(call) = call("1", "x__t", called) else { panic!("no call") };
    assert_eq!(tools.back(call).input, json!({"$filter": "{\"a b\":\"x\"}", "plain": "{\"a\": 1}"}));
}

#[test]
fn names_are_mapped_both_ways_and_below() {
    let schema = json!({"type": "object", "required": ["größe in cm"], "properties": {
        "größe in cm": {"type": "integer", "description": "how tall"},
        "$filter": {"type": "object", "properties": {"a b": {"type": "string"}}},
        "rows": {"type": "array", "items": {"anyOf": [{"properties": {"c d": {}}}, {"type": "string"}]}},
        "map": {"additionalProperties": {"properties": {"e f": {}}}},
        "plain": {"type": "string"},
    }});
    let spec = ToolSpec::new("3d.tool", "does it", schema);
    let own = json!({"größe in cm": 180, "$filter": {"a b": "x", "free key": 1}, "rows": [{"c d": 1}, "z"],
        "map": {"any thing": {"e f": 2}}, "plain": "ok", "unknown key": [1]});
    for dialect in strict::ALL {
        let tools = FittedTools::of([spec.clone()].iter(), form(dialect));
        let sent = &tools.specs[0];
        assert_eq!(strict::refusal(dialect, &sent.name, &sent.description, &sent.parameters), Ok(()));
        let asked = request(vec![
            message(Role::Assistant, vec![call("1", "3d.tool", own.clone())]),
            message(Role::Tool, vec![result("1", "3d.tool", "done")]),
        ]);
        let written = tools.request(&asked);
        let Block::ToolCall(out) = &written.messages[0].content[0] else { panic!("no call") };
        let Block::ToolResult(answered) = &written.messages[1].content[0] else { panic!("no result") };
        assert_eq!((&out.name, &answered.name), (&sent.name, &sent.name));
        let fields = out.input.as_object().unwrap();
        for name in sent.parameters["required"].as_array().unwrap() {
            assert_eq!(fields[name.as_str().unwrap()], 180);
        }
        let back = tools.back(ToolCall { id: "2".into(), ..out.clone() });
        assert_eq!((back.name.as_str(), &back.input), ("3d.tool", &own), "{dialect:?}");
    }
}

#[test]
fn request_without_odd_tools_is_not_copied() {
    let spec = ToolSpec::new("shell", "runs", of(json!({"type": "string"})));
    let tools = FittedTools::of([spec].iter(), SchemaForm::Common);
    let asked = request(vec![message(Role::Assistant, vec![call("1", "shell", json!({"a": "x"}))])]);
    assert!(std::sync::Arc::ptr_eq(&tools.request(&asked).messages, &asked.messages));
}
