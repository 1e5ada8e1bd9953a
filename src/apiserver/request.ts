// What passes through the handler chain: an API request and its response, independent of HTTP, so that the in-process
// transport walks the same chain (authentication excepted: it brings its user) without serialization.

import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { Duplex, Readable } from 'node:stream';

import type { Verb } from '#client/transport.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { Histogram } from '#machinery/metrics/instruments.ts';

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
  /** '' for cluster-scoped resources and for requests across all namespaces. A request for a Namespace has its name here, too. */
  readonly namespace: string;
  /** Whether the path names a resource inside of a namespace. False for /namespaces/NAME itself, which is cluster-scoped. */
  readonly inNamespace: boolean;
  readonly resource: string;
  readonly subresource: string;
  /** The name in the path, or the one that the field selector of a list or watch demands. */
  readonly name: string;
  /** The name in the path; '' for a path of a collection. */
  readonly pathName: string;
  /** The legacy prefix of the path, which is then the verb that is authorized: /api/v1/watch/pods. */
  readonly pathVerb: '' | 'watch' | 'proxy';
  /** Path segments after the resource and subresource (proxy paths). */
  readonly parts: readonly string[];
}

export type RequestBody =
  /** In-process: the object itself, immutable. */
  | { readonly kind: 'object'; readonly object: unknown }
  /** Over HTTP: read on demand, at once if it is there; limited to 3 MiB, throws StatusError (413) beyond. */
  | {
      readonly kind: 'bytes';
      read(): Awaitable<Uint8Array>;
      /**
       * The body as it arrives, of any size and with back-pressure, instead of read(). Fails if the client leaves before the end. Absent:
       * there is no body, or only read() is offered.
       */
      readonly stream?: () => Readable;
    };

/** A request to change protocols (SPDY, WebSocket). Only HTTP/1.1 connections have one. */
export interface Upgrade {
  /**
   * Takes the raw connection over, with what the client sent already. The one who calls it writes the HTTP response too and
   * answers a body of kind 'taken'. Until then, a StatusError is answered as usual.
   */
  take(): { readonly socket: Duplex; readonly head: Uint8Array };
}

/** Where the requests of one endpoint are counted (EndpointMetrics). */
export interface EndpointMeter {
  /** Records a request that has been served. */
  observe(request: ApiRequest, code: number): void;
  /** Records how long it took until a watch had its initial events. */
  observeWatchList(request: ApiRequest): void;
  /**
   * Counts a request without a deadline as open until the function that it returns is called, which records it as served with
   * that code. Further calls do nothing.
   */
  open(request: ApiRequest): (code: number) => void;
}

export interface ApiRequest {
  readonly method: string;
  /** As it was sent, percent-encoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names. The values of a header that was sent several times are joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn, as they were sent. Absent for requests that did not come over HTTP. */
  readonly rawHeaders: readonly string[] | undefined;
  readonly body: RequestBody;
  /** When its time is over, on the monotonic clock. Set by the deadline filter. Absent: it has no time limit. */
  deadlineMs?: number;
  /** Set by the filter of that name, which is the first that may fail. */
  info: RequestInfo;
  /** Set by authentication, replaced by impersonation. */
  user?: UserInfo;
  /** Aborts when the client goes away, the deadline passes or the server stops. Made when it is first asked for. */
  readonly signal: AbortSignal;
  readonly remoteAddress: string;
  /** Collects the texts of `Warning` headers. */
  readonly warnings: string[];
  readonly upgrade?: Upgrade;
  /** What the peer proved by its TLS certificate; authentication makes a user of it. */
  readonly peerCertificate?: PeerCertificate;
  /**
   * Identifies the request in audit logs and in the response's Audit-Id header: the request's own Audit-ID as it is, otherwise a UUID.
   * Undefined for requests that came by no connection.
   */
  readonly auditId?: string | undefined;
  /** The component of this process that sent the request, where its user does not identify it. */
  readonly component?: string | undefined;
  /** Set by the router: where the request is counted. Absent: no endpoint serves it. */
  endpoint?: EndpointMeter;
  /** Set once the request is counted: where the size of its response is recorded. */
  responseSizes?: Histogram;
  /** When the request came, in milliseconds of the clock's monotonic scale. */
  startedMs?: number;
  /** The response is a stream that goes on after the handler has returned it; the opener records its end. */
  isOpen?: boolean;
  /** Aborts `signal` with `reason`. */
  abort(reason: unknown): void;
}

/** The subject of a certificate that an authority of the server has signed, and that is valid now. */
export interface PeerCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** When it, or an issuer of it, expires: wall-clock milliseconds. */
  readonly notAfter: number;
  /** The authority of clients has signed it. Default: true. */
  readonly isClient?: boolean;
  /** The authority of front proxies has signed it. Default: false. */
  readonly isFrontProxy?: boolean;
}

/** `body` says what is to be sent; the HTTP side serializes it (or splices the bytes that are there), in-process takes the object. */
export interface ApiResponse {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
  /** How 'object', 'list' and 'watch' bodies are written, as negotiated. Default: compact JSON. */
  readonly format?: ResponseFormat;
}

export interface ResponseFormat {
  readonly mediaType:
    | 'application/json'
    | 'application/yaml'
    | 'application/vnd.kubernetes.protobuf';
  readonly pretty?: boolean;
  /** Encodes the objects of the endpoint's kind where the media type is protobuf. Absent: there are only common kinds in the body. */
  readonly protobuf?: ProtobufCodec;
}

export type ResponseBody =
  | { readonly kind: 'none' }
  /** One encodable object: decoded or bytes, whichever is there; each is made from the other at most once. */
  | { readonly kind: 'object'; readonly object: EncodedObject }
  /** A list spliced from its items' bytes. */
  | {
      readonly kind: 'list';
      readonly apiVersion: string;
      readonly listKind: string;
      readonly metadata: Readonly<Record<string, unknown>>;
      readonly items: readonly EncodedObject[];
      /** Items have their kind and apiVersion, too. Default: false. */
      readonly identifiedItems?: boolean;
    }
  | { readonly kind: 'watch'; readonly events: WatchStream<EncodedWatchEvent> }
  | { readonly kind: 'text'; readonly contentType: string; readonly text: string }
  | { readonly kind: 'bytes'; readonly contentType: string; readonly bytes: Uint8Array }
  /** `contentType`: '' for none. `length`: of the whole body, if it is known. `gzip`: the same body, which is kept compressed. */
  | {
      readonly kind: 'stream';
      readonly contentType: string;
      readonly stream: AsyncIterable<Uint8Array>;
      readonly length?: number | undefined;
      readonly gzip?: { readonly gzipLength: number; gzip(): Iterable<Uint8Array> };
    }
  /** The connection was taken over (see Upgrade): nothing is written. `done` resolves when both sides have ended. */
  | { readonly kind: 'taken'; readonly done: Promise<void> };

/** An API object that is decoded and encoded at most once, whoever asks first. Shared by all readers; immutable. */
export interface EncodedObject {
  /** The normalized object, resourceVersion included. */
  object(): unknown;
  /** Its JSON with a newline at the end, resourceVersion included. */
  jsonLine(): Uint8Array;
  /** How many bytes its JSON has as an item of a list, where kind and apiVersion are left out, unless items are `identified`. */
  itemLength(identified?: boolean): number;
  /** Writes that JSON into `target` from `offset` on and answers the offset behind it. There must be room. */
  copyItem(target: Buffer, offset: number, identified?: boolean): number;
  /**
   * The object in protobuf with its envelope, encoded once. `codec`: of the object's kind; not needed for the kinds that every endpoint
   * may return (Status, metadata alone, discovery). Throws Error where it is missing.
   */
  protobuf(codec?: ProtobufCodec): Buffer;
}

export interface EncodedWatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: EncodedObject;
  /** The event as a line of JSON, encoded once for all who watch. */
  frame(): Uint8Array;
  /** The same in protobuf, its length before it. `codec`: as for the object. */
  protobufFrame(codec?: ProtobufCodec): Uint8Array;
}

/** What goes wrong is a rejection; it never throws. */
export type Handler = (request: ApiRequest) => Promise<ApiResponse>;
/** A stage of the chain. */
export type Filter = (next: Handler) => Handler;
