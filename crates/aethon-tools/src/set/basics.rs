//! The small tools that need nothing but the program. Each is below the folder beside this file.

mod calculator;
mod current_time;
mod think;

use self::calculator::Calculator;
use self::current_time::CurrentTime;
use self::think::Think;
use super::ground::Ground;
use super::tool_set::ToolSet;

pub(super) fn set(ground: &Ground<'_>) -> ToolSet {
    ToolSet::new("basics", "Time, sums and thinking")
        .with(CurrentTime::new(ground.needs.clock.clone()))
        .with(Calculator::new())
        .with(Think::new())
}
