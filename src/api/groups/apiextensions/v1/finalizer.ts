// The finalizer of definitions.

/** Keeps a definition that is being deleted until its objects are deleted. The server adds it when the deletion begins. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';
