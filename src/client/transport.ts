// The interface between a client and the API server. There are two implementations with one
// behaviour: HTTP, and in-process (the same handler chain, authorization and admission, without
// serialization). Components get a Client and do not know its transport.

import type { WatchEventType, WatchStream } from '#machinery/watch.ts';

export type Verb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

/**
 * Query parameters as in the REST API: labelSelector, fieldSelector, limit, continue,
 * resourceVersion, dryRun …
 */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /**
   * The absolute path without query: '/api/v1/namespaces/default/pods/x'. Its segments are
   * percent-encoded.
   */
  readonly path: string;
  readonly query?: Query;
  /**
   * The object to send, or a patch document. The transport does not modify it, and may keep it: it
   * must not be modified later.
   */
  readonly body?: unknown;
  /** The type of a PATCH body. Default: JSON. */
  readonly contentType?: PatchType;
  /**
   * The requested form, a JSON one such as 'application/json;as=Table;v=v1;g=meta.k8s.io'. Default:
   * the object itself.
   */
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/**
 * An event of the API's watch. The `object` of a BOOKMARK has only metadata.resourceVersion; that
 * of an ERROR is a Status.
 */
export interface WatchEvent<T> {
  readonly type: WatchEventType;
  readonly object: T;
}

export interface Transport {
  /**
   * Returns the decoded object, which is immutable. Rejects with StatusError
   * (machinery/apierrors.ts): with the error of the server, or, if it cannot be reached, with
   * reason ServiceUnavailable and the cause.
   */
  request<T>(request: TransportRequest): Promise<T>;
  /** Sends a GET with watch=true. Rejects as request(). The stream ends when the server ends it. */
  watch<T>(request: TransportRequest): Promise<WatchStream<WatchEvent<T>>>;
  /** Returns the raw text of a GET (logs, metrics, /readyz). */
  text(request: TransportRequest): Promise<string>;
  /**
   * Returns the body in pieces as they arrive, for bodies without a foreseeable end (following a
   * log). Ends when the signal aborts.
   */
  stream(request: TransportRequest): Promise<AsyncIterable<Uint8Array>>;
  close(): void;
}
