//! The transactional state of a producer: what may be done when, and what each answer means.
