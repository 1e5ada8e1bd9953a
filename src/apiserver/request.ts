// What passes through the handler chain: an API request and its response, independent of HTTP, so that the in-process
// transport walks the same chain (authentication excepted: it brings its user) without serialization.

import type { Verb } from '../client/transport.ts';
import type { WatchStream } from '../machinery/watch.ts';

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The grammar of request paths (Kubernetes' RequestInfo). */
export interface RequestInfo {
  readonly isResourceRequest: boolean;
  readonly path: string;
  /** API verb, or the lower-case HTTP method for non-resource requests. */
  readonly verb: Verb | 'watch' | 'get' | 'post' | 'put' | 'head' | 'options' | (string & {});
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Path segments after the resource and subresource (proxy paths). */
  readonly parts: readonly string[];
}

export type RequestBody =
  /** In-process: the object itself, immutable. */
  | { readonly kind: 'object'; readonly object: unknown }
  /** Over HTTP: read on demand, limited to 3 MiB. */
  | { readonly kind: 'bytes'; read(): Promise<Uint8Array> };

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: RequestBody;
  readonly info: RequestInfo;
  /** Set by authentication. */
  readonly user?: UserInfo;
  /** Aborts when the client goes away or the deadline passes. */
  readonly signal: AbortSignal;
  readonly remoteAddress: string;
  /** Collects `Warning` headers. */
  readonly warnings: string[];
}

/** `body` says what is to be sent; the HTTP side serializes it (or splices the bytes that are there), in-process takes the object. */
export interface ApiResponse {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
}

export type ResponseBody =
  | { readonly kind: 'none' }
  /** One encodable object: decoded or bytes, whichever is there; each is made from the other at most once. */
  | { readonly kind: 'object'; readonly object: EncodedObject }
  /** A list spliced from its items' bytes. */
  | { readonly kind: 'list'; readonly apiVersion: string; readonly listKind: string; readonly metadata: Readonly<Record<string, unknown>>; readonly items: readonly EncodedObject[] }
  | { readonly kind: 'watch'; readonly events: WatchStream<EncodedWatchEvent> }
  | { readonly kind: 'text'; readonly contentType: string; readonly text: string }
  | { readonly kind: 'bytes'; readonly contentType: string; readonly bytes: Uint8Array }
  | { readonly kind: 'stream'; readonly contentType: string; readonly stream: AsyncIterable<Uint8Array> };

/** An API object that is decoded and encoded at most once, whoever asks first. Shared by all readers; immutable. */
export interface EncodedObject {
  /** The normalized object, resourceVersion included. */
  object(): unknown;
  /** Its JSON, resourceVersion included. */
  json(): Uint8Array;
}

export interface EncodedWatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: EncodedObject;
}

export type Handler = (request: ApiRequest) => Promise<ApiResponse>;
/** A stage of the chain. */
export type Filter = (next: Handler) => Handler;
