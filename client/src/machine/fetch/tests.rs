pub(super) mod batches;
