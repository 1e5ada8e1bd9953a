// An API request and its response as the handler chain handles them, independent of HTTP. The
// in-process transport uses the same chain without serialization; only authentication is skipped,
// since such a request carries its user.

import type { Encoded } from '#client/in-process.ts';
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

/** The parts of a request path (Kubernetes' RequestInfo). */
export interface RequestInfo {
  readonly isResourceRequest: boolean;
  readonly path: string;
  /** The API verb, or the lower-case HTTP method for non-resource requests. */
  readonly verb: Verb | 'watch' | 'get' | 'post' | 'put' | 'head' | 'options' | (string & {});
  readonly apiGroup: string;
  readonly apiVersion: string;
  /**
   * The namespace; '' for cluster-scoped resources and for requests across all namespaces. For a
   * Namespace, its own name.
   */
  readonly namespace: string;
  /**
   * Whether the path names a resource inside of a namespace. False for /namespaces/NAME itself,
   * which is cluster-scoped.
   */
  readonly inNamespace: boolean;
  readonly resource: string;
  readonly subresource: string;
  /** The name in the path, or the name that the field selector of a list or watch requires. */
  readonly name: string;
  /** The name in the path; '' for a path of a collection. */
  readonly pathName: string;
  /**
   * The legacy prefix of the path, such as /api/v1/watch/pods. It is also the verb that is
   * authorized.
   */
  readonly pathVerb: '' | 'watch' | 'proxy';
  /** Path segments after the resource and subresource (proxy paths). */
  readonly parts: readonly string[];
}

export type RequestBody =
  /** In-process: the object itself, which is immutable. */
  | { readonly kind: 'object'; readonly object: unknown }
  /**
   * Over HTTP: the bytes, read on demand; at once if they have arrived. At most 3 MiB; throws
   * StatusError (413) beyond.
   */
  | {
      readonly kind: 'bytes';
      read(): Awaitable<Uint8Array>;
      /**
       * Returns the body as a stream, of any size and with back-pressure; an alternative to read().
       * The stream fails if the client disconnects before its end. Absent: there is no body, or
       * only read() is offered.
       */
      readonly stream?: () => Readable;
    };

/** A request to change protocols (SPDY, WebSocket). Only requests over HTTP/1.1 have one. */
export interface Upgrade {
  /**
   * Takes over the raw connection, and the bytes that the client has already sent. The caller also
   * writes the HTTP response, and returns a body of kind 'taken'. A StatusError that is thrown
   * before this call is sent as usual.
   */
  take(): { readonly socket: Duplex; readonly head: Uint8Array };
}

/**
 * The authorities of peers. TLS accepts the certificates of both; the meaning of a certificate
 * depends on the authority that signed it.
 */
export interface PeerAuthorities {
  /** The authority of client certificates, in PEM. */
  readonly clientCa?: string;
  /** The authority of front proxies' certificates, in PEM. */
  readonly requestHeaderCa?: string;
}

/** Counts the requests of one endpoint (EndpointMetrics). */
export interface EndpointMeter {
  /** Records a request that has been served. */
  observe(request: ApiRequest, code: number): void;
  /** Records how long a watch took to send its initial events. */
  observeWatchList(request: ApiRequest): void;
  /**
   * Counts a request without a deadline as open until the returned function is called, which
   * records it as served with that code. Further calls do nothing.
   */
  open(request: ApiRequest): (code: number) => void;
}

/** The classification of a request by priority and fairness. */
export interface RequestFlow {
  /** The UIDs of its FlowSchema and its priority level; '' if the object does not exist yet. */
  readonly schemaUid: string;
  readonly levelUid: string;
}

/** The record of a request in the audit log, for what the request and its response do not say. */
export interface RequestAudit {
  /** Reports whether the request is recorded at this level of detail, or at a higher one. */
  records(level: 'Metadata' | 'Request' | 'RequestResponse'): boolean;
  /** Adds an annotation. The first value of a key stays. */
  annotate(key: string, value: string): void;
  /**
   * The request continues as this user. `constraint`: the verb of the constrained mode of
   * impersonation that allowed it.
   */
  impersonated(user: UserInfo, constraint: string | undefined): void;
  /** The metadata of the request's object. */
  requestMetadata(metadata: unknown): void;
  /** The object of the request in its JSON form, at the level Request. It may be modified afterwards. */
  requestObject(object: object): void;
  requestPatch(patch: unknown): void;
}

export interface ApiRequest {
  readonly method: string;
  /** The path as it was sent, percent-encoded, without the query. */
  readonly path: string;
  /** The path with the query, as they were sent. */
  readonly requestUri: string;
  readonly query: URLSearchParams;
  /**
   * Headers by lower-case name. The values of a header that was sent several times are joined by
   * commas.
   */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * Names and values of headers in turn, as they were sent. Absent for requests that did not come
   * over HTTP.
   */
  readonly rawHeaders: readonly string[] | undefined;
  readonly body: RequestBody;
  /**
   * The deadline on the monotonic clock, in ms. Set by the deadline filter. Absent: there is no
   * time limit.
   */
  deadlineMs?: number;
  /** Set by the request info filter, which is the first filter that may fail. */
  info: RequestInfo;
  /** Set by authentication, replaced by impersonation. */
  user?: UserInfo;
  /**
   * Aborts when the client disconnects, the deadline passes or the server stops. Created when it is
   * first read.
   */
  readonly signal: AbortSignal;
  readonly remoteAddress: string;
  /** The texts of `Warning` headers. */
  readonly warnings: string[];
  readonly upgrade?: Upgrade;
  /** The subject of the peer's TLS certificate, from which authentication derives the user. */
  readonly peerCertificate?: PeerCertificate;
  /**
   * Identifies the request in audit logs and in the response's Audit-Id header: the request's own
   * Audit-ID unchanged, otherwise a UUID. Undefined for requests that came over no connection.
   */
  readonly auditId?: string;
  /** Annotations for the audit log about the credentials. Set by the authenticator. */
  credentialNotes?: Readonly<Record<string, string>>;
  /** Set by the audit filter. Absent: the audit policy does not record the request. */
  audit?: RequestAudit;
  /** The component of this process that sent the request, where its user does not identify it. */
  readonly component?: string;
  /** Set by priority and fairness. Its UIDs are response headers. */
  flow?: RequestFlow;
  /** Counts the request. Set by the router. Absent: no endpoint serves the request. */
  endpoint?: EndpointMeter;
  /** The histogram for the size of the response. Set once the request is counted. */
  responseSizes?: Histogram;
  /** When the request arrived, in ms of the monotonic clock. */
  startedMs?: number;
  /**
   * The response is a stream that continues after the handler has returned it. The code that opened
   * it records its end.
   */
  isOpen?: boolean;
  /**
   * The connection stays open although no user was authenticated: the response costs little, such as
   * that of a static file, and a browser loads several of them at once.
   */
  keepsConnection?: boolean;
  /** Aborts `signal` with `reason`. */
  abort(reason: unknown): void;
  /**
   * Removes a cookie from the headers, so that it is not passed on to other servers. Other cookies
   * stay.
   */
  dropCookie(name: string): void;
}

/** The subject of a certificate that is valid now and signed by an authority of the server. */
export interface PeerCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** The values of the subject's attribute for the UID of a user: one in a usable certificate. */
  readonly uids?: readonly string[];
  /** When the certificate, or one of its issuers, expires, in wall-clock ms. */
  readonly notAfter: number;
  /** The SHA-256 digest of the certificate, in lower-case hex. */
  readonly fingerprint?: string;
  /** The client authority has signed the certificate. Default: true. */
  readonly isClient?: boolean;
  /** The front proxy authority has signed the certificate. Default: false. */
  readonly isFrontProxy?: boolean;
}

/**
 * A response. `body` describes the content: the HTTP side serializes it or splices existing bytes,
 * and the in-process transport takes the object.
 */
export interface ApiResponse {
  readonly code: number;
  /** With lower-case names. Only set-cookie has a list: its values cannot be joined. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body: ResponseBody;
  /** The negotiated format of 'object', 'list' and 'watch' bodies. Default: compact JSON. */
  readonly format?: ResponseFormat;
}

export interface ResponseFormat {
  readonly mediaType:
    | 'application/json'
    | 'application/yaml'
    | 'application/vnd.kubernetes.protobuf';
  readonly pretty?: boolean;
  /**
   * Encodes objects of the endpoint's kind for the media type protobuf. Absent: the body has only
   * common kinds.
   */
  readonly protobuf?: ProtobufCodec;
}

export type ResponseBody =
  | { readonly kind: 'none' }
  /** One object, decoded or encoded. Each form is derived from the other at most once. */
  | { readonly kind: 'object'; readonly object: EncodedObject }
  /** A list that is spliced from its items' bytes. */
  | {
      readonly kind: 'list';
      readonly apiVersion: string;
      readonly listKind: string;
      readonly metadata: Readonly<Record<string, unknown>>;
      readonly items: readonly EncodedObject[];
      /** Items have their own kind and apiVersion, or need none. Default: false. */
      readonly identifiedItems?: boolean;
      /** Set for a Table: the items are its rows. In-process clients get no such list. */
      readonly columnDefinitions?: readonly object[];
    }
  | { readonly kind: 'watch'; readonly events: WatchStream<EncodedWatchEvent> }
  | { readonly kind: 'text'; readonly contentType: string; readonly text: string }
  | { readonly kind: 'bytes'; readonly contentType: string; readonly bytes: Uint8Array }
  /**
   * A stream of bytes. `contentType`: '' for none. `length`: the length of the whole body, if
   * known. `gzip`: the same body, compressed.
   */
  | {
      readonly kind: 'stream';
      readonly contentType: string;
      readonly stream: AsyncIterable<Uint8Array>;
      readonly length?: number;
      readonly gzip?: { readonly gzipLength: number; gzip(): Iterable<Uint8Array> };
    }
  /**
   * The connection was taken over (see Upgrade), so no response is written. `done` resolves when
   * both sides have ended.
   */
  | { readonly kind: 'taken'; readonly done: Promise<void> };

/**
 * An immutable API object, shared by all readers. It is decoded and encoded at most once. It has
 * every form that clients in this process use, so that none of them falls back to a slower one.
 */
export interface EncodedObject extends Required<Omit<Encoded, 'state'>>, Pick<Encoded, 'state'> {
  /** Returns the normalized object, with its resourceVersion. */
  object(): unknown;
  /** Returns the object's JSON with its resourceVersion, and a newline at the end. */
  jsonLine(): Uint8Array;
  /**
   * Returns the length in bytes of the object's JSON as an item of a list. Kind and apiVersion are
   * left out unless items are `identified`.
   */
  itemLength(identified?: boolean): number;
  /**
   * Writes the item's JSON into `target` at `offset`, and returns the offset after it. `target`
   * must have room.
   */
  copyItem(target: Buffer, offset: number, identified?: boolean): number;
  /**
   * Returns the object in protobuf with its envelope, encoded once. `codec`: the codec of the
   * object's kind; not needed for kinds that every endpoint may return (Status, metadata only,
   * discovery). Throws Error if it is needed and missing.
   */
  protobuf(codec?: ProtobufCodec): Buffer;
}

export interface EncodedWatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: EncodedObject;
  /** Returns the event as a line of JSON, encoded once for all watchers. */
  frame(): Uint8Array;
  /** Returns the event in protobuf, after its length. `codec`: as in EncodedObject.protobuf. */
  protobufFrame(codec?: ProtobufCodec): Uint8Array;
}

/** Handles a request. Errors are rejections; a handler never throws. */
export type Handler = (request: ApiRequest) => Promise<ApiResponse>;
/** A stage of the chain. */
export type Filter = (next: Handler) => Handler;
