//! The tools that access the web.

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::web::web_tools;

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    let web = web_tools(inputs.options, inputs.needs.documents.clone());
    let set = ToolSet::new("web", "The web").with(web.fetch).with(web.json_rpc);
    let set = match web.search {
        Ok(search) => set.with(search),
        Err(why) => set.switched_off(&["web_search"], why, "tools.web_search.provider"),
    };
    match web.github {
        Ok(github) => set.with(github),
        Err(why) => set.switched_off(&["github"], why, "tools.github.token"),
    }
}
