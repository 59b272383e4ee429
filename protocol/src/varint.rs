//! Variable-length integers: zigzag for records, unsigned for flexible messages.
