// The state of a request on its way through the chain. Values that most requests do not need (the
// abort signal, the parsed query) are created on demand, since most requests are reads of a few
// microseconds.

import type { Histogram } from '#machinery/metrics/instruments.ts';
import { Link } from '#machinery/collections/linked-list.ts';
import type { EndpointMetrics } from './endpoints/endpoint-metrics.ts';
import type { AuditIds } from './http/audit-ids.ts';
import type {
  ApiRequest,
  PeerCertificate,
  RequestAudit,
  RequestBody,
  RequestFlow,
  RequestInfo,
  Upgrade,
  UserInfo,
} from './request.ts';

export interface RequestFields {
  readonly method: string;
  readonly path: string;
  /** The query, without the question mark; '' if there is none. Or the parsed query. */
  readonly query: string | URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly rawHeaders?: readonly string[];
  readonly body: RequestBody;
  readonly remoteAddress: string;
  readonly user?: UserInfo;
  readonly component?: string;
  readonly upgrade?: Upgrade;
  readonly peerCertificate?: PeerCertificate;
  /**
   * A signal that aborts the request with its own reason, in addition to abort(). Called when the
   * request's own signal is first read.
   */
  readonly parentSignal?: () => AbortSignal;
  /** The warnings of the request, an array that the caller keeps. */
  readonly warnings?: string[];
  /** Creates audit IDs. Absent: the request has none. */
  readonly auditIds?: AuditIds;
}

const EMPTY_QUERY = new URLSearchParams();

const NO_INFO: RequestInfo = {
  isResourceRequest: false,
  path: '',
  verb: '',
  apiGroup: '',
  apiVersion: '',
  namespace: '',
  inNamespace: false,
  resource: '',
  subresource: '',
  name: '',
  pathName: '',
  pathVerb: '',
  parts: [],
};

/** A request. It is also a link in its listener's list of requests in flight. */
export class RequestState extends Link implements ApiRequest {
  readonly method: string;
  readonly path: string;
  headers: Readonly<Record<string, string | undefined>>;
  rawHeaders: readonly string[] | undefined;
  readonly body: RequestBody;
  readonly remoteAddress: string;
  readonly warnings: string[];
  readonly upgrade: Upgrade | undefined;
  readonly peerCertificate: PeerCertificate | undefined;
  readonly component: string | undefined;
  deadlineMs?: number;
  info: RequestInfo = NO_INFO;
  user?: UserInfo;
  flow?: RequestFlow;
  credentialNotes?: Readonly<Record<string, string>>;
  audit?: RequestAudit;
  endpoint?: EndpointMetrics;
  responseSizes?: Histogram;
  startedMs = 0;
  isOpen = false;
  keepsConnection = false;
  #query: string | URLSearchParams;
  readonly #sentQuery: string | URLSearchParams;
  readonly #auditIds: AuditIds | undefined;
  #auditId: string | undefined;
  readonly #parentSignal: (() => AbortSignal) | undefined;
  #controller: AbortController | undefined;
  #signal: AbortSignal | undefined;
  #abortReason: unknown;

  constructor(fields: RequestFields) {
    super();
    this.method = fields.method;
    this.path = fields.path;
    this.headers = fields.headers;
    this.rawHeaders = fields.rawHeaders;
    this.body = fields.body;
    this.remoteAddress = fields.remoteAddress;
    this.warnings = fields.warnings ?? [];
    this.upgrade = fields.upgrade;
    this.peerCertificate = fields.peerCertificate;
    this.user = fields.user;
    this.component = fields.component;
    this.#query = fields.query;
    this.#sentQuery = fields.query;
    this.#parentSignal = fields.parentSignal;
    this.#auditIds = fields.auditIds;
  }

  get query(): URLSearchParams {
    if (typeof this.#query === 'string') {
      this.#query = this.#query === '' ? EMPTY_QUERY : parseQuery(this.#query);
    }
    return this.#query;
  }

  get requestUri(): string {
    const query =
      typeof this.#sentQuery === 'string' ? this.#sentQuery : this.#sentQuery.toString();
    return query === '' ? this.path : `${this.path}?${query}`;
  }

  get auditId(): string | undefined {
    if (this.#auditId === undefined && this.#auditIds !== undefined) {
      const sentId = this.headers['audit-id'];
      this.#auditId = sentId === undefined || sentId === '' ? this.#auditIds.next() : sentId;
    }
    return this.#auditId;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
      const own = this.#controller.signal;
      this.#signal =
        this.#parentSignal === undefined ? own : AbortSignal.any([own, this.#parentSignal()]);
    }
    return this.#signal;
  }

  abort(reason: unknown): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }

  dropCookie(name: string): void {
    const { cookie } = this.headers;
    if (cookie === undefined) return;
    const rest = withoutCookie(cookie, name);
    this.headers = { ...this.headers, cookie: rest === '' ? undefined : rest };
    const raw: string[] = [];
    const sent = this.rawHeaders ?? [];
    for (let at = 0; at + 1 < sent.length; at += 2) {
      const isCookie = sent[at]!.toLowerCase() === 'cookie';
      const value = isCookie ? withoutCookie(sent[at + 1]!, name) : sent[at + 1]!;
      if (!isCookie || value !== '') raw.push(sent[at]!, value);
    }
    if (this.rawHeaders !== undefined) this.rawHeaders = raw;
  }
}

/** Returns a Cookie header without the cookies of a name. */
function withoutCookie(header: string, name: string): string {
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '' && pair.split('=', 1)[0]?.trim() !== name)
    .join('; ');
}

const WRONG_PARAMETER = /;|%(?![0-9a-f]{2})/i;

/** Parses a query. As upstream, parameters with a semicolon or a wrong escape are left out. */
function parseQuery(text: string): URLSearchParams {
  if (!WRONG_PARAMETER.test(text)) return new URLSearchParams(text);
  const right = text.split('&').filter((parameter) => !WRONG_PARAMETER.test(parameter));
  return new URLSearchParams(right.join('&'));
}
