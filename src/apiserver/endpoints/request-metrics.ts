// Counts and durations of requests, under upstream's names. As upstream, only requests that reach
// an endpoint count. Others (rejected by authentication or authorization, or with an unknown path)
// would create any number of series.

import type { Clock } from '#machinery/clock.ts';
import {
  type Counter,
  counterText,
  type Description,
  Family,
  gaugeText,
  type Histogram,
  histogramsText,
  type Sample,
} from '#machinery/metrics/instruments.ts';
import type { ApiRequest, Filter } from '../request.ts';
import { type EndpointLabels, EndpointMetrics } from './endpoint-metrics.ts';

const ENDPOINT_LABELS = ['group', 'version', 'resource', 'subresource', 'component'];

const REQUESTS: Description = {
  name: 'apiserver_request_total',
  help: 'Requests served, by verb, endpoint and status code.',
  labels: ['verb', 'dry_run', 'scope', 'code', ...ENDPOINT_LABELS],
};
const DURATIONS: Description = {
  name: 'apiserver_request_duration_seconds',
  help:
    'Seconds from when a request came until its response was ready. Of watches and other ' +
    'streams: until they ended.',
  labels: ['verb', 'dry_run', 'scope', ...ENDPOINT_LABELS],
};
const SIZES: Description = {
  name: 'apiserver_response_sizes',
  help: 'Bytes of the responses to reads, as sent over connections.',
  labels: ['verb', 'scope', ...ENDPOINT_LABELS],
};
const LONG_RUNNING: Description = {
  name: 'apiserver_longrunning_requests',
  help: 'Open requests of those without a deadline: watches, logs, exec, proxies.',
  labels: ['verb', 'scope', ...ENDPOINT_LABELS],
};
const WATCH_LISTS: Description = {
  name: 'apiserver_watch_list_duration_seconds',
  help: 'Seconds until a watch that asked for the current state had all of it to send.',
  labels: ['scope', 'group', 'version', 'resource'],
};
const DEPRECATED: Description = {
  name: 'apiserver_requested_deprecated_apis',
  help: 'Deprecated APIs that were requested.',
  labels: ['group', 'version', 'resource', 'subresource', 'removed_release'],
};
const IN_FLIGHT: Description = {
  name: 'apiserver_current_inflight_requests',
  help: 'The most requests that were executed at a time within the last second.',
  labels: ['request_kind'],
};

/**
 * The number of requests that are executed concurrently: now, and the maximum within the current
 * second of the clock.
 */
class InFlight {
  #current = 0;
  #peak = 0;
  #second = 0;

  begin(now: number, requests = 1): void {
    this.#current += requests;
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#peak = this.#current;
    } else if (this.#current > this.#peak) this.#peak = this.#current;
  }

  end(requests = 1): void {
    this.#current -= requests;
  }

  peak(now: number): number {
    return Math.floor(now / 1000) - this.#second <= 1 ? this.#peak : this.#current;
  }
}

export class RequestMetrics {
  readonly #clock: Clock;
  /**
   * Endpoints by their labels, so that a resource that is uninstalled and installed again keeps its
   * counts.
   */
  readonly #endpoints = new Map<string, EndpointMetrics>();
  readonly #reads = new InFlight();
  readonly #writes = new InFlight();

  constructor(config: { readonly clock: Clock }) {
    this.#clock = config.clock;
  }

  /**
   * Returns the metrics of an endpoint. The router sets them as `request.endpoint` of each request.
   */
  endpoint(labels: EndpointLabels): EndpointMetrics {
    const { group, version, resource, subresource, component } = labels;
    const key = JSON.stringify([group, version, resource, subresource, component]);
    let endpoint = this.#endpoints.get(key);
    if (endpoint === undefined) {
      endpoint = new EndpointMetrics(labels, this.#clock);
      this.#endpoints.set(key, endpoint);
    }
    return endpoint;
  }

  readonly filter: Filter = (next) => (request) => {
    const start = this.#clock.monotonic();
    const inFlight =
      request.method === 'GET' || request.method === 'HEAD' ? this.#reads : this.#writes;
    request.startedMs = start;
    inFlight.begin(start);
    return next(request).then(
      (response) => {
        inFlight.end();
        if (request.isOpen !== true) request.endpoint?.observe(request, response.code);
        return response;
      },
      (error: unknown) => {
        inFlight.end();
        throw error;
      },
    );
  };

  /**
   * Begins writes that are served together, without the filter. Returns the function that ends
   * them, called once with the number of those that were served and their status code. `request`:
   * one of them; the others differ from it by the object.
   */
  beginTogether(
    request: ApiRequest,
    requests: number,
    labels: EndpointLabels,
  ): (served: number, code: number) => void {
    const start = this.#clock.monotonic();
    request.startedMs = start;
    this.#writes.begin(start, requests);
    return (served, code) => {
      this.#writes.end(requests);
      if (served > 0) this.endpoint(labels).observe(request, code, served);
    };
  }

  /** Returns the metrics in Prometheus' text format. */
  text(): string {
    const now = this.#clock.monotonic();
    const inFlight: Sample[] = [
      [['readOnly'], this.#reads.peak(now)],
      [['mutating'], this.#writes.peak(now)],
    ];
    return [
      counterText(this.#requestCounts()),
      this.#histogramText(DURATIONS, (endpoint) =>
        endpoint.requests.map(({ verb, dryRun, scope, durations }) => ({
          values: [verb, dryRun, scope, ...labelValues(endpoint)],
          instrument: durations,
        })),
      ),
      this.#histogramText(SIZES, (endpoint) =>
        // Responses to components of this process are not encoded, so they have no size.
        endpoint.sizes
          .filter(({ value }) => value.count > 0)
          .map(({ verb, scope, value }) => ({
            values: [verb, scope, ...labelValues(endpoint)],
            instrument: value,
          })),
      ),
      this.#histogramText(WATCH_LISTS, (endpoint) =>
        endpoint.watchLists.map(({ scope, value }) => {
          const { group, version, resource } = endpoint.labels;
          return { values: [scope, group, version, resource], instrument: value };
        }),
      ),
      this.#gaugeText(LONG_RUNNING, (endpoint) =>
        endpoint.longRunning.map(({ verb, scope, value }) => [
          [verb, scope, ...labelValues(endpoint)],
          value.count,
        ]),
      ),
      this.#gaugeText(DEPRECATED, ({ labels, requestedDeprecated }) => {
        const { group, version, resource, subresource, deprecated } = labels;
        return requestedDeprecated
          ? [[[group, version, resource, subresource, deprecated?.removedRelease ?? ''], 1]]
          : [];
      }),
      gaugeText(IN_FLIGHT, inFlight),
    ].join('');
  }

  #requestCounts(): Family<Counter> {
    const family = new Family(REQUESTS, () => ({ value: 0 }));
    for (const endpoint of this.#endpoints.values()) {
      for (const { verb, dryRun, scope, codes } of endpoint.requests) {
        for (const { code, count } of codes) {
          family.with(verb, dryRun, scope, String(code), ...labelValues(endpoint)).value += count;
        }
      }
    }
    return family;
  }

  #histogramText(
    description: Description,
    series: (
      endpoint: EndpointMetrics,
    ) => readonly { readonly values: readonly string[]; readonly instrument: Histogram }[],
  ): string {
    return histogramsText(description, [...this.#endpoints.values()].flatMap(series));
  }

  #gaugeText(
    description: Description,
    samples: (endpoint: EndpointMetrics) => readonly Sample[],
  ): string {
    const all = [...this.#endpoints.values()].flatMap(samples);
    return all.length === 0 ? '' : gaugeText(description, all);
  }
}

function labelValues({ labels }: EndpointMetrics): readonly string[] {
  return [labels.group, labels.version, labels.resource, labels.subresource, labels.component];
}
