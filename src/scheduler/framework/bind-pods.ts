// Bindings of several pods as one call, for a scheduler that shares its process with the API server.

import type { Status } from '#machinery/apierrors.ts';

/** A pod and the node that it is to be bound to. */
export interface PodBinding {
  readonly namespace: string;
  readonly name: string;
  /** The UID of the pod: another pod with the name is not bound. */
  readonly uid: string;
  readonly node: string;
}

/**
 * The outcome of a binding. 'refused': nothing was done, and the binding needs a request of its own. A
 * Status: the error with which such a request would have failed.
 */
export type BindResult = 'bound' | 'refused' | Status;

/**
 * Binds the pods. Resolves with the outcome of each binding, in their order. Rejects if it is not known
 * which of them are bound.
 */
export type BindPods = (bindings: readonly PodBinding[]) => Promise<readonly BindResult[]>;
