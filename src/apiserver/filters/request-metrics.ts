// Counts and durations of requests. Counted in plain numbers, and given to prom-client when somebody asks: its own counters
// would cost more than the requests that they count.

import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

import type { Clock } from '../../machinery/clock.ts';
import type { ApiRequest, Filter, RequestInfo } from '../request.ts';
import { isLongRunning } from './request-info.ts';

const BUCKETS_SECONDS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 8, 16, 30, 60];

const MAX_SERIES = 10_000;
/** Of one resource and verb: as many are looked through for each request. */
const MAX_ALIKE = 128;

interface Series {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly code: number;
  count: number;
  seconds: number;
  /** How many took at most the bucket's time and more than the one before; the last is what took longer. */
  readonly buckets: number[];
}

export class RequestMetrics {
  readonly #clock: Clock;
  readonly #series: Series[] = [];
  /** By resource and verb, those of all subresources and codes. By parts: to put a key together costs more than to look for it. */
  readonly #byResource = new Map<string, Map<string, Series[]>>();
  /** What was counted last: what comes in great numbers is alike. */
  #lastInfo: RequestInfo | undefined;
  #lastSeries: Series | undefined;
  #inFlight = 0;

  constructor(config: { readonly clock: Clock }) {
    this.#clock = config.clock;
  }

  readonly filter: Filter = (next) => (request) => {
    const start = this.#clock.monotonic();
    this.#inFlight++;
    return next(request).then(
      (response) => {
        this.#inFlight--;
        this.#observe(request, response.code, (this.#clock.monotonic() - start) / 1000);
        return response;
      },
      (error: unknown) => {
        this.#inFlight--;
        throw error;
      },
    );
  };

  #observe({ info }: ApiRequest, code: number, seconds: number): void {
    const last = this.#lastSeries;
    const series = last?.code === code && this.#lastInfo === info ? last : this.#seriesOf(info, code);
    series.count++;
    if (isLongRunning(info)) return;
    series.seconds += seconds;
    let bucket = 0;
    while (bucket < BUCKETS_SECONDS.length && seconds > (BUCKETS_SECONDS[bucket] as number)) bucket++;
    series.buckets[bucket] = (series.buckets[bucket] as number) + 1;
  }

  #seriesOf(info: RequestInfo, code: number): Series {
    const series = this.#findSeries(info, code);
    this.#lastInfo = info;
    this.#lastSeries = series;
    return series;
  }

  #findSeries(info: RequestInfo, code: number): Series {
    // Names are not part of it: there may be any number of them. Nor are unknown resources.
    const known = code !== 404 && info.isResourceRequest;
    const resource = known ? info.resource : '';
    const { verb, apiGroup, apiVersion, subresource } = info;
    const several = this.#byResource.get(resource)?.get(verb);
    const group = known ? apiGroup : '';
    const version = known ? apiVersion : '';
    const part = known ? subresource : '';
    if (several !== undefined) {
      for (const one of several) {
        if (one.code === code && one.group === group && one.subresource === part && one.version === version) return one;
      }
    }
    const series: Series = {
      verb: verb.toUpperCase(),
      group,
      version,
      resource,
      subresource: part,
      code,
      count: 0,
      seconds: 0,
      buckets: Array.from({ length: BUCKETS_SECONDS.length + 1 }, () => 0),
    };
    // Who is refused may have asked for anything.
    if (this.#series.length >= MAX_SERIES || (several?.length ?? 0) >= MAX_ALIKE) return series;
    this.#series.push(series);
    if (several !== undefined) {
      several.push(series);
      return series;
    }
    const byVerb = this.#byResource.get(resource);
    if (byVerb === undefined) this.#byResource.set(resource, new Map([[verb, [series]]]));
    else byVerb.set(verb, [series]);
    return series;
  }

  /** Makes the counts readable under Kubernetes' own names. */
  register(registry: Registry): void {
    const labels = ['verb', 'group', 'version', 'resource', 'subresource'];
    const series = this.#series;
    const inFlight = (): number => this.#inFlight;
    const total = new Counter({
      name: 'apiserver_request_total',
      help: 'Requests answered, by verb, resource and code.',
      labelNames: [...labels, 'code'],
      registers: [],
      collect() {
        this.reset();
        for (const one of series) this.inc(labelsOf(one, true), one.count);
      },
    });
    const current = new Gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests that are being worked on.',
      registers: [],
      collect() {
        this.set(inFlight());
      },
    });
    for (const metric of [total, current, durationHistogram(series, labels)]) registry.registerMetric(metric);
  }
}

function labelsOf(series: Series, withCode: boolean): Record<string, string> {
  const { verb, group, version, resource, subresource, code } = series;
  return { verb, group, version, resource, subresource, ...(withCode && { code: String(code) }) };
}

/** A histogram whose values are summed up elsewhere. */
function durationHistogram(series: readonly Series[], labelNames: string[]): Histogram {
  const name = 'apiserver_request_duration_seconds';
  const histogram = new Histogram({ name, help: 'How long requests took.', labelNames, buckets: BUCKETS_SECONDS, registers: [] });
  const get = histogram.get.bind(histogram);
  histogram.get = async () => {
    const metric = await get();
    const values: typeof metric.values = [];
    for (const one of series) {
      const labels = labelsOf(one, false);
      let cumulative = 0;
      BUCKETS_SECONDS.forEach((le, index) => {
        cumulative += one.buckets[index] as number;
        values.push({ value: cumulative, labels: { ...labels, le }, metricName: `${name}_bucket` });
      });
      const total = one.buckets.reduce((sum, count) => sum + count, 0);
      values.push({ value: total, labels: { ...labels, le: '+Inf' }, metricName: `${name}_bucket` });
      values.push({ value: one.seconds, labels, metricName: `${name}_sum` });
      values.push({ value: total, labels, metricName: `${name}_count` });
    }
    return { ...metric, values };
  };
  return histogram;
}
