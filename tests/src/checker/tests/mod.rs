//! The checker, checked: hand-written histories with and without each anomaly, and a good history that is damaged in every place.

mod histories;
mod mutations;
mod story;
