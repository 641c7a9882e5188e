//! The small tools that need nothing but the program. Each is below the folder beside this file.

mod calculator;
mod current_time;
mod think;

use self::calculator::Calculator;
use self::current_time::CurrentTime;
use self::think::Think;
use super::inputs::ToolInputs;
use super::tool_set::ToolSet;

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    ToolSet::new("basics", "Time, sums and thinking")
        .with(CurrentTime::new(inputs.needs.clock.clone()))
        .with(Calculator::new())
        .with(Think::new())
}
