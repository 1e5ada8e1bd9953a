// The finalizer of definitions.

/**
 * Keeps a definition until its objects are deleted. The server adds it when the deletion of the
 * definition begins.
 */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';
