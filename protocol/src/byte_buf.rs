//! A reader over a frame that refuses lengths and counts above the bytes that remain.
