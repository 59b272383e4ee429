//! FindCoordinator: the request, and what its answer means. The cache of coordinators.
