//! The tools that the model's service does not get, in words: because it takes only so many, or because it has refused
//! them.

use aethon_core::model::Capabilities;
use aethon_core::tool::ToolSpec;

/// How many tools a remark names.
const MAX_NAMED: usize = 8;

/// Says which of these tools a service does not get, and why.
pub(crate) fn left_out(specs: &[ToolSpec], model: &Capabilities) -> Vec<String> {
    let is_refused = |spec: &ToolSpec| model.tool_terms.refused.iter().any(|tool| tool.is(spec));
    let service = &model.provider;
    let (mut remarks, mut refused, mut surplus) = (Vec::new(), Vec::new(), Vec::new());
    for (spec, is_chosen) in specs.iter().zip(model.choose_tools(specs)) {
        match is_chosen {
            true => {}
            false if is_refused(spec) => refused.push(spec.name.as_str()),
            false => surplus.push(spec.name.as_str()),
        }
    }
    if let Some(most) = model.tool_terms.limit.filter(|_| !surplus.is_empty()) {
        let (count, names) = (surplus.len(), listed(&surplus));
        remarks
            .push(format!("{service} takes {most} tools in one request, so {count} are left out: {names}"));
    }
    if !refused.is_empty() {
        let names = listed(&refused);
        remarks.push(format!(
            "refused by {service}, and set aside until its server changes it or the program restarts: {names}"
        ));
    }
    remarks
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::serde_json::json;
    use aethon_core::tool::RefusedTool;

    use super::*;

    #[test]
    fn surplus_and_refused_tools_are_named() {
        let spec = |n: usize| ToolSpec::new(format!("s__t{n:02}"), "x", json!({"type": "object"}));
        let specs: Vec<ToolSpec> = (0..20).map(spec).collect();
        let mut model = Capabilities::new("openai", "m");
        assert!(left_out(&specs, &model).is_empty());
        model.tool_terms.limit = Some(17);
        model.tool_terms.refused = [RefusedTool::of(&specs[3])].into();
        assert_eq!(
            left_out(&specs, &model),
            [
                "openai takes 17 tools in one request, so 2 are left out: s__t18, s__t19",
                "refused by openai, and set aside until its server changes it or the program restarts: s__t03"
            ]
        );
        model.tool_terms.limit = Some(5);
        assert!(left_out(&specs, &model)[0].ends_with("s__t13 and 6 more"), "{:?}", left_out(&specs, &model));
    }
}
