//! The list of parts for programs: CycloneDX, in JSON.

use super::parts::Part;
use anyhow::Result;
use serde_json::{Value, json};

/// Returns the document. It has no serial number and no time, so that the same parts give the same bytes.
pub(crate) fn document(version: &str, parts: &[Part]) -> Result<String> {
    let own = format!("pkg:generic/aethon@{version}");
    let mut dependencies = vec![json!({
        "ref": own,
        "dependsOn": parts.iter().map(|part| &part.purl).collect::<Vec<_>>(),
    })];
    dependencies.extend(parts.iter().map(|part| json!({"ref": part.purl, "dependsOn": part.uses})));
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "aethon",
                "version": version,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": parts.iter().map(component).collect::<Vec<_>>(),
        "dependencies": dependencies,
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

fn component(part: &Part) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": part.purl,
        "name": part.name,
        "version": part.version,
        "purl": part.purl,
        "scope": "required",
        "licenses": [{"expression": part.licence}],
    });
    if let Some(sum) = &part.sum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_a_component_and_every_reference_leads_to_one() {
        let part = |name: &str, uses: &[&str]| Part {
            name: name.to_owned(),
            version: "1".to_owned(),
            purl: format!("pkg:cargo/{name}@1"),
            licence: "MIT OR Apache-2.0".to_owned(),
            sum: Some("00".repeat(32)),
            uses: uses.iter().map(|one| (*one).to_owned()).collect(),
            ..Part::default()
        };
        let parts = [part("a", &["pkg:cargo/b@1"]), part("b", &[])];
        let document: Value = serde_json::from_str(&document("0.3.0", &parts).unwrap()).unwrap();
        let components = document["components"].as_array().unwrap();
        assert_eq!(components.len(), 2);
        assert_eq!(components[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(components[0]["hashes"][0]["content"], "00".repeat(32));
        let dependencies = document["dependencies"].as_array().unwrap();
        assert_eq!(dependencies.len(), 3);
        for used in dependencies.iter().flat_map(|one| one["dependsOn"].as_array().unwrap()) {
            assert!(components.iter().any(|component| component["bom-ref"] == *used), "{used}");
        }
    }
}
