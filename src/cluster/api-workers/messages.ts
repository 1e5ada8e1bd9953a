// Messages between the main process and a worker on Node's IPC channel, which can carry the
// listening socket. They contain no secrets: those go by the link.

/** The descriptors of a worker's socket pairs. */
export const STORAGE_FD = 4;
export const LINK_FD = 5;

export type ToWorker =
  /** Sent with the listening socket, after 'ready': serve connections of it. */
  | { readonly kind: 'listen' }
  /** The settings have changed: read them again. */
  | { readonly kind: 'settings' }
  /** Make clients open this share of their connections anew. */
  | { readonly kind: 'shed'; readonly share: number }
  | { readonly kind: 'stop' };

export type FromWorker =
  /** It knows the state of the store, and can serve. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening' }
  /** The share of the last period for which its event loop was busy, from 0 to 1. */
  | { readonly kind: 'load'; readonly busy: number }
  | { readonly kind: 'failed'; readonly message: string };
