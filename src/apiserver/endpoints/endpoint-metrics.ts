// Metrics of the requests to one endpoint. Labels that all of its requests share (group, version,
// resource, subresource, component) belong to the endpoint. The others have few values, so
// searching a short list is faster than building a map key.

import type { Clock } from '#machinery/clock.ts';
import { Histogram } from '#machinery/metrics/instruments.ts';
import type { ApiRequest, EndpointMeter } from '../request.ts';

/** Upstream's buckets of apiserver_request_duration_seconds. */
const DURATION_BUCKETS_SECONDS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];
/** Upstream's buckets of apiserver_response_sizes. */
const SIZE_BUCKETS_BYTES = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** Upstream's buckets of apiserver_watch_list_duration_seconds. */
const WATCH_LIST_BUCKETS_SECONDS = [
  0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60,
];

export interface EndpointLabels {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** The subresource; the path for endpoints that belong to no resource. */
  readonly subresource: string;
  readonly component: string;
  /**
   * The release that removes the API, such as '1.25'; '' if unknown. Absent: the API is not
   * deprecated.
   */
  readonly deprecated?: { readonly removedRelease: string };
}

/** Requests with the same verb, scope and dryRun. */
export interface RequestSeries {
  readonly verb: string;
  readonly scope: string;
  readonly dryRun: string;
  readonly durations: Histogram;
  /** Sizes of the responses. Undefined for verbs whose sizes are not recorded. */
  readonly sizes: Histogram | undefined;
  /** The number of requests by status code. */
  readonly codes: { readonly code: number; count: number }[];
}

interface ScopedSeries<T> {
  readonly verb: string;
  readonly scope: string;
  readonly value: T;
}

/** Subresources whose requests have the verb CONNECT, with any method. */
const CONNECT_SUBRESOURCES: ReadonlySet<string> = new Set([
  'log',
  'exec',
  'portforward',
  'attach',
  'proxy',
]);
const VERBS: ReadonlySet<string> = new Set([
  'GET',
  'LIST',
  'WATCH',
  'POST',
  'PUT',
  'PATCH',
  'APPLY',
  'DELETE',
  'CONNECT',
]);
const APPLY_TYPE = 'application/apply-patch+yaml';

export class EndpointMetrics implements EndpointMeter {
  readonly labels: EndpointLabels;
  readonly #clock: Clock;
  readonly #requests: RequestSeries[] = [];
  readonly #sizes: ScopedSeries<Histogram>[] = [];
  readonly #watchLists: ScopedSeries<Histogram>[] = [];
  readonly #longRunning: ScopedSeries<{ count: number }>[] = [];
  #requestedDeprecated = false;

  constructor(labels: EndpointLabels, clock: Clock) {
    this.labels = labels;
    this.#clock = clock;
  }

  get requests(): readonly RequestSeries[] {
    return this.#requests;
  }

  get sizes(): readonly ScopedSeries<Histogram>[] {
    return this.#sizes;
  }

  get watchLists(): readonly ScopedSeries<Histogram>[] {
    return this.#watchLists;
  }

  /** The numbers of open requests without a deadline. */
  get longRunning(): readonly ScopedSeries<{ readonly count: number }>[] {
    return this.#longRunning;
  }

  /** True if a deprecated API was requested since the server started. */
  get requestedDeprecated(): boolean {
    return this.#requestedDeprecated;
  }

  /** `times`: the number of such requests that were served together. Default: one. */
  observe(request: ApiRequest, code: number, times = 1): void {
    const series = this.#seriesOf(verbOf(request), scopeOf(request), dryRunOf(request));
    series.durations.observe(this.#secondsOf(request), times);
    request.responseSizes = series.sizes;
    count(series.codes, code, times);
    if (this.labels.deprecated !== undefined) this.#requestedDeprecated = true;
  }

  observeWatchList(request: ApiRequest): void {
    const histogram = scoped(
      this.#watchLists,
      '',
      scopeOf(request),
      () => new Histogram(WATCH_LIST_BUCKETS_SECONDS),
    );
    histogram.observe(this.#secondsOf(request));
  }

  open(request: ApiRequest): (code: number) => void {
    // A watch of one object by a field selector has another scope here than in the metrics of
    // served requests, as upstream.
    const scope = request.info.name === '' ? scopeOf(request) : 'resource';
    const open = scoped(this.#longRunning, verbOf(request), scope, () => ({ count: 0 }));
    open.count++;
    request.isOpen = true;
    let closed = false;
    return (code) => {
      if (closed) return;
      closed = true;
      open.count--;
      this.observe(request, code);
    };
  }

  #secondsOf({ startedMs = 0 }: ApiRequest): number {
    return (this.#clock.monotonic() - startedMs) / 1000;
  }

  #seriesOf(verb: string, scope: string, dryRun: string): RequestSeries {
    for (const series of this.#requests) {
      if (series.verb === verb && series.scope === scope && series.dryRun === dryRun) return series;
    }
    const sizes =
      verb === 'GET' || verb === 'LIST'
        ? scoped(this.#sizes, verb, scope, () => new Histogram(SIZE_BUCKETS_BYTES))
        : undefined;
    const series = {
      verb,
      scope,
      dryRun,
      durations: new Histogram(DURATION_BUCKETS_SECONDS),
      sizes,
      codes: [],
    };
    this.#requests.push(series);
    return series;
  }
}

function count(codes: RequestSeries['codes'], code: number, times: number): void {
  for (const entry of codes) {
    if (entry.code === code) {
      entry.count += times;
      return;
    }
  }
  codes.push({ code, count: times });
}

function scoped<T>(list: ScopedSeries<T>[], verb: string, scope: string, make: () => T): T {
  for (const entry of list) {
    if (entry.verb === verb && entry.scope === scope) return entry.value;
  }
  const value = make();
  list.push({ verb, scope, value });
  return value;
}

/** Returns upstream's verb label, which depends on the API operation rather than on the method. */
function verbOf({ info, method, headers }: ApiRequest): string {
  if (info.isResourceRequest) {
    if (info.subresource !== '' && CONNECT_SUBRESOURCES.has(info.subresource)) return 'CONNECT';
    if (info.verb === 'watch') return 'WATCH';
    if (info.verb === 'list') return 'LIST';
  }
  switch (method) {
    case 'GET':
    case 'HEAD':
      return 'GET';
    case 'PATCH':
      return headers['content-type'] === APPLY_TYPE ? 'APPLY' : 'PATCH';
    default:
      // A method may be any word that a client sends, so unknown ones share a label.
      return VERBS.has(method) ? method : 'other';
  }
}

/**
 * Returns the scope label: one object, the objects of a namespace, or the objects of the cluster.
 */
function scopeOf({ info }: ApiRequest): string {
  if (!info.isResourceRequest) return '';
  const { verb } = info;
  const ofSeveral = verb === 'list' || verb === 'watch' || verb === 'deletecollection';
  if (!ofSeveral) return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

function dryRunOf({ query }: ApiRequest): string {
  if (query.size === 0 || !query.has('dryRun')) return '';
  return query.getAll('dryRun').every((value) => value === 'All') ? 'All' : 'invalid';
}
