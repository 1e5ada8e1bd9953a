// The metrics of this layer, with the names, labels and buckets of CoreDNS.

import {
  Counter,
  counterText,
  type Description,
  exponentialBuckets,
  Family,
  gaugeText,
  Histogram,
  histogramText,
  type Sample,
} from '#machinery/metrics/instruments.ts';
import { rcodeName, typeName } from './wire/types.ts';

export type Protocol = 'udp' | 'tcp';
export type IpFamilyLabel = '1' | '2';
/** The part that answered, by the name of the corresponding CoreDNS plugin. */
export type AnsweredBy = 'kubernetes' | 'hosts' | 'forward' | 'cache' | '';

const counters = (name: string, help: string, ...labels: readonly string[]): Family<Counter> =>
  new Family({ name: `coredns_${name}`, help, labels }, () => new Counter());
const histograms = (
  name: string,
  help: string,
  buckets: readonly number[],
  ...labels: readonly string[]
): Family<Histogram> =>
  new Family({ name: `coredns_${name}`, help, labels }, () => new Histogram(buckets));

const DURATION_BUCKETS = exponentialBuckets(0.00025, 2, 16);
const SIZE_BUCKETS = [
  0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16_000, 32_000, 48_000, 64_000,
];
/** The server block of a Corefile for all names. */
const SERVER = 'dns://:53';
const VIEW = '';

/** Functions that read current sizes. */
export interface Gauges {
  readonly cache: { readonly success: number; readonly denial: number };
}

export class DnsMetrics {
  readonly #requests = counters(
    'dns_requests_total',
    'Queries.',
    'server',
    'zone',
    'view',
    'proto',
    'family',
    'type',
  );
  readonly #requestSize = histograms(
    'dns_request_size_bytes',
    'Size of queries.',
    SIZE_BUCKETS,
    'server',
    'zone',
    'view',
    'proto',
  );
  readonly #responseSize = histograms(
    'dns_response_size_bytes',
    'Size of answers.',
    SIZE_BUCKETS,
    'server',
    'zone',
    'view',
    'proto',
  );
  readonly #duration = histograms(
    'dns_request_duration_seconds',
    'Time from a query to its answer.',
    DURATION_BUCKETS,
    'server',
    'zone',
    'view',
  );
  readonly #responses = counters(
    'dns_responses_total',
    'Answers.',
    'server',
    'zone',
    'view',
    'rcode',
    'plugin',
  );
  readonly #dropped = counters(
    'coxswain_dropped_total',
    'Packets that were not answered.',
    'reason',
  );
  readonly #cacheHits = counters(
    'cache_hits_total',
    'Answers from the cache.',
    'server',
    'type',
    'zones',
    'view',
  );
  readonly #cacheMisses = counters(
    'cache_misses_total',
    'Questions that the cache has no answer to.',
    'server',
    'zones',
    'view',
  );
  readonly #cacheRequests = counters(
    'cache_requests_total',
    'Questions to the cache.',
    'server',
    'zones',
    'view',
  );
  readonly #rejects = counters(
    'forward_max_concurrent_rejects_total',
    'Questions refused because too many were in flight.',
  );
  readonly #broken = counters(
    'forward_healthcheck_broken_total',
    'Questions asked while no server was healthy.',
  );
  readonly #upstreamDuration = histograms(
    'proxy_request_duration_seconds',
    'Time that an upstream server took.',
    DURATION_BUCKETS,
    'proxy_name',
    'to',
    'rcode',
  );
  readonly #upstreamFailures = counters(
    'proxy_healthcheck_failures_total',
    'Failed health checks.',
    'proxy_name',
    'to',
  );
  readonly #panics = counters('panics_total', 'Errors while a query was handled.');
  readonly #reloadFailures = counters(
    'reload_failed_total',
    'Configurations that could not be used.',
  );
  /** Instruments by the last combination of labels: nearly all queries have the same. */
  readonly #requestCounters = new Map<number, Counter>();
  readonly #responseCounters = new Map<string, Counter>();
  readonly #sizes: Readonly<
    Record<Protocol, { readonly request: Histogram; readonly response: Histogram }>
  >;
  readonly #durations: Histogram;
  #gauges: () => Gauges = () => ({ cache: { success: 0, denial: 0 } });

  constructor() {
    const sizes = (proto: Protocol): { request: Histogram; response: Histogram } => ({
      request: this.#requestSize.with(SERVER, '.', VIEW, proto),
      response: this.#responseSize.with(SERVER, '.', VIEW, proto),
    });
    this.#sizes = { udp: sizes('udp'), tcp: sizes('tcp') };
    this.#durations = this.#duration.with(SERVER, '.', VIEW);
    this.#rejects.with();
    this.#broken.with();
    this.#panics.with();
    this.#reloadFailures.with();
  }

  /** Sets the functions that are called when metrics are read. */
  setGauges(gauges: () => Gauges): void {
    this.#gauges = gauges;
  }

  request(proto: Protocol, v6: boolean, type: number, size: number): void {
    const id = (type << 2) | (v6 ? 2 : 0) | (proto === 'tcp' ? 1 : 0);
    let counter = this.#requestCounters.get(id);
    if (counter === undefined) {
      counter = this.#requests.with(SERVER, '.', VIEW, proto, v6 ? '2' : '1', typeName(type));
      // Clients choose the type: types without a name share a counter, and are not cached here.
      if (typeName(type) !== 'other') this.#requestCounters.set(id, counter);
    }
    counter.value++;
    this.#sizes[proto].request.observe(size);
  }

  response(proto: Protocol, rcode: number, by: AnsweredBy, size: number, seconds: number): void {
    const id = `${by}${rcode}`;
    let counter = this.#responseCounters.get(id);
    if (counter === undefined) {
      counter = this.#responses.with(SERVER, '.', VIEW, rcodeName(rcode), by);
      this.#responseCounters.set(id, counter);
    }
    counter.value++;
    this.#sizes[proto].response.observe(size);
    this.#durations.observe(seconds);
  }

  dropped(reason: 'client' | 'malformed' | 'overload'): void {
    this.#dropped.with(reason).value++;
  }

  cacheHit(type: 'success' | 'denial'): void {
    this.#cacheRequests.with(SERVER, '.', VIEW).value++;
    this.#cacheHits.with(SERVER, type, '.', VIEW).value++;
  }

  cacheMiss(): void {
    this.#cacheRequests.with(SERVER, '.', VIEW).value++;
    this.#cacheMisses.with(SERVER, '.', VIEW).value++;
  }

  forwardRejected(): void {
    this.#rejects.with().value++;
  }

  allUnhealthy(): void {
    this.#broken.with().value++;
  }

  upstreamAnswered(to: string, rcode: number, seconds: number): void {
    this.#upstreamDuration.with('forward', to, rcodeName(rcode)).observe(seconds);
  }

  upstreamFailed(to: string): void {
    this.#upstreamFailures.with('forward', to).value++;
  }

  failed(): void {
    this.#panics.with().value++;
  }

  reloadFailed(): void {
    this.#reloadFailures.with().value++;
  }

  /** Returns all metrics in Prometheus' text format. */
  text(): string {
    const { cache } = this.#gauges();
    const entries: Description = {
      name: 'coredns_cache_entries',
      help: 'Answers in the cache.',
      labels: ['server', 'type', 'zones', 'view'],
    };
    const samples: readonly Sample[] = [
      [[SERVER, 'denial', '.', VIEW], cache.denial],
      [[SERVER, 'success', '.', VIEW], cache.success],
    ];
    const families = [
      this.#requests,
      this.#responses,
      this.#dropped,
      this.#cacheHits,
      this.#cacheMisses,
      this.#cacheRequests,
    ];
    const others = [
      this.#rejects,
      this.#broken,
      this.#upstreamFailures,
      this.#panics,
      this.#reloadFailures,
    ];
    return [
      ...[...families, ...others].map(counterText),
      ...[this.#requestSize, this.#responseSize, this.#duration, this.#upstreamDuration].map(
        histogramText,
      ),
      gaugeText(entries, samples),
    ].join('');
  }
}
