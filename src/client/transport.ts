// How a client reaches the API server. Two implementations with one behaviour: HTTP, and in-process (the same handler chain,
// authorization and admission, without serialization). Components are given a Client and never know which it is.

import type { WatchEventType, WatchStream } from '#machinery/watch.ts';

export type Verb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

/** Query parameters, as REST names them: labelSelector, fieldSelector, limit, continue, resourceVersion, dryRun … */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path without query: '/api/v1/namespaces/default/pods/x'. Its segments are percent-encoded. */
  readonly path: string;
  readonly query?: Query;
  /** The object sent (or patch document). Not modified; the transport may keep it, so it must not be modified later either. */
  readonly body?: unknown;
  /** For PATCH: how `body` is to be read. Otherwise JSON. */
  readonly contentType?: PatchType;
  /** The form wanted, such as 'application/json;as=Table;v=v1;g=meta.k8s.io'; something in JSON. Default: the object as it is. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/** An event of the API's watch. `object` of a BOOKMARK carries only metadata.resourceVersion; of an ERROR it is a Status. */
export interface WatchEvent<T> {
  readonly type: WatchEventType;
  readonly object: T;
}

export interface Transport {
  /** Answers the decoded object (immutable). Throws StatusError (machinery/apierrors.ts) for every failure the server names, and for being unable to reach it (reason ServiceUnavailable with the cause). */
  request<T>(request: TransportRequest): Promise<T>;
  /** A GET with watch=true. Throws like request(); the stream ends when the server ends it. */
  watch<T>(request: TransportRequest): Promise<WatchStream<WatchEvent<T>>>;
  /** Raw text of a GET (logs, metrics, /readyz). */
  text(request: TransportRequest): Promise<string>;
  /** The same in pieces as they come, for bodies without an end in sight (following a log). Ends when the signal aborts. */
  stream(request: TransportRequest): Promise<AsyncIterable<Uint8Array>>;
  close(): void;
}
