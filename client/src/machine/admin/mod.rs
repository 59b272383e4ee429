//! Admin calls: one file each builds the request and reads the answer.
