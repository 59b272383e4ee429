//! Running a task: when transactions end (`boundary`), what state it is in (`state`), the exactly-once loop
//! (`exactly_once`), and the supervisor that starts it again after passing faults (`runner`).

pub mod boundary;
pub mod state;
