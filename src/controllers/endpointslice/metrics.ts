// Metrics of the slice controllers, with upstream's names.

import {
  type Counter,
  type Description,
  exponentialBuckets,
  type Family,
  type Histogram,
  type Instruments,
} from '#machinery/metrics/instruments.ts';
import type { SliceTotals } from './plan.ts';

const PER_SYNC_BUCKETS = exponentialBuckets(2, 2, 15);
/** The default buckets of Prometheus. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface SliceMetricsConfig {
  readonly instruments: Instruments;
  /** The prefix of all names. */
  readonly subsystem: string;
  /** The source of the slices, for help texts. */
  readonly subject: string;
}

/** The metrics of both controllers. */
export class SliceMetrics {
  readonly #config: SliceMetricsConfig;
  readonly #changes: Family<Counter>;
  readonly #added: Histogram;
  readonly #removed: Histogram;
  /** By the service's key: the totals over all address families at the last reconcile. */
  readonly #latest = new Map<string, Pick<SliceTotals, 'endpoints' | 'slices' | 'fewestSlices'>>();

  constructor(config: SliceMetricsConfig) {
    const { instruments, subject } = config;
    this.#config = config;
    this.#changes = instruments.counter(
      this.description('changes', 'Writes of slices.', 'operation'),
    );
    this.#added = this.perSync(
      'endpoints_added_per_sync',
      `Endpoints that a look at ${subject} added.`,
    );
    this.#removed = this.perSync(
      'endpoints_removed_per_sync',
      `Endpoints that a look at ${subject} removed.`,
    );
    const gauge = (name: string, help: string, of: 'endpoints' | 'slices' | 'fewestSlices'): void =>
      instruments.gauge(this.description(name, help), () => [
        [[], sumOf([...this.#latest.values()], of)],
      ]);
    gauge('endpoints_desired', 'Endpoints that there should be.', 'endpoints');
    gauge('num_endpoint_slices', 'Slices that there are.', 'slices');
    gauge('desired_endpoint_slices', 'Into how few slices the endpoints would go.', 'fewestSlices');
  }

  wrote(operation: 'create' | 'update' | 'delete'): void {
    this.#changes.with(operation).value++;
  }

  /** Records a reconcile. `families`: the totals of each address family of the service. */
  looked(key: string, families: readonly SliceTotals[]): void {
    this.#added.observe(sumOf(families, 'added'));
    this.#removed.observe(sumOf(families, 'removed'));
    this.#latest.set(key, {
      endpoints: sumOf(families, 'endpoints'),
      slices: sumOf(families, 'slices'),
      fewestSlices: sumOf(families, 'fewestSlices'),
    });
  }

  /** Drops the totals of a service that has no slices any more. */
  forget(key: string): void {
    this.#latest.delete(key);
  }

  protected description(name: string, help: string, ...labels: readonly string[]): Description {
    return { name: `${this.#config.subsystem}_${name}`, help, labels };
  }

  /** Returns a histogram that observes one value per reconcile. */
  protected perSync(name: string, help: string): Histogram {
    return this.#config.instruments
      .histogram(this.description(name, help), PER_SYNC_BUCKETS)
      .with();
  }
}

/** Metrics for services whose slices are computed from pods. */
export class ServiceSliceMetrics extends SliceMetrics {
  readonly #syncs: Family<Counter>;
  readonly #changed: Family<Histogram>;
  /** By the service's key: its traffic distribution. */
  readonly #distributions = new Map<string, string>();

  constructor(instruments: Instruments) {
    super({ instruments, subsystem: 'endpoint_slice_controller', subject: 'a service' });
    this.#syncs = instruments.counter(this.description('syncs', 'Looks at a service.', 'result'));
    this.#changed = instruments.histogram(
      this.description(
        'endpointslices_changed_per_sync',
        'Slices written.',
        'topology',
        'traffic_distribution',
      ),
      DEFAULT_BUCKETS,
    );
    const distribution = this.description(
      'services_count_by_traffic_distribution',
      'Services that say where their traffic should go.',
      'traffic_distribution',
    );
    instruments.gauge(distribution, () => {
      const counts = new Map<string, number>();
      for (const value of this.#distributions.values())
        counts.set(value, (counts.get(value) ?? 0) + 1);
      return [...counts].map(([value, count]) => [[value], count]);
    });
  }

  /** Counts a reconcile. 'stale': it was delayed because the cache lacked own writes. */
  synced(result: 'success' | 'stale' | 'error'): void {
    this.#syncs.with(result).value++;
  }

  /**
   * Records changed slices. `distribution`: the service's traffic distribution; undefined if it has
   * none or uses hints by zone.
   */
  changed(
    key: string,
    slices: number,
    sharesByZone: boolean,
    distribution: string | undefined,
  ): void {
    this.#changed.with(sharesByZone ? 'Auto' : 'Disabled', distribution ?? '').observe(slices);
    if (distribution === undefined) this.#distributions.delete(key);
    else this.#distributions.set(key, distribution);
  }

  override forget(key: string): void {
    super.forget(key);
    this.#distributions.delete(key);
  }
}

/** Metrics for slices that mirror Endpoints. */
export class MirroringMetrics extends SliceMetrics {
  readonly #updated: Histogram;
  readonly #skipped: Histogram;
  readonly #duration: Histogram;

  constructor(instruments: Instruments) {
    const subject = 'an Endpoints object';
    super({ instruments, subsystem: 'endpoint_slice_mirroring_controller', subject });
    this.#updated = this.perSync(
      'endpoints_updated_per_sync',
      `Endpoints that a look at ${subject} changed.`,
    );
    this.#skipped = this.perSync(
      'addresses_skipped_per_sync',
      'Addresses that are none, or too many to be mirrored.',
    );
    const duration = this.description(
      'endpoints_sync_duration',
      `How long a look at ${subject} took, in seconds.`,
    );
    this.#duration = instruments.histogram(duration, exponentialBuckets(0.001, 2, 15)).with();
  }

  override looked(key: string, families: readonly SliceTotals[]): void {
    super.looked(key, families);
    this.#updated.observe(sumOf(families, 'updated'));
  }

  skipped(addresses: number): void {
    this.#skipped.observe(addresses);
  }

  took(seconds: number): void {
    this.#duration.observe(seconds);
  }
}

function sumOf<K extends string>(all: readonly Readonly<Record<K, number>>[], name: K): number {
  return all.reduce((sum, totals) => sum + totals[name], 0);
}
