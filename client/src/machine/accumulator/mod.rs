//! Open and sealed batches per partition, from append to result.
