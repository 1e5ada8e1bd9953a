// Metrics of the proxy, with the names of upstream's kube-proxy.

import type { Clock } from '#machinery/clock.ts';
import { exponentialBuckets, Instruments } from '#machinery/metrics/instruments.ts';

const SYNC_BUCKETS = exponentialBuckets(0.001, 2, 15);
const PROGRAMMING_BUCKETS = [
  0.25,
  0.5,
  ...Array.from({ length: 59 }, (_, index) => 1 + index),
  ...Array.from({ length: 12 }, (_, index) => 60 + 5 * index),
  ...Array.from({ length: 7 }, (_, index) => 120 + 30 * index),
];

export type SyncKind = 'full' | 'partial';

export class ProxyMetrics {
  readonly #clock: Clock;
  readonly #instruments = new Instruments();
  readonly #families: readonly string[];
  #queuedMs = 0;
  #syncedMs = 0;
  /** Ports with traffic policy Local and without local endpoints, by traffic policy and family. */
  #withoutLocal: readonly (readonly [labels: readonly string[], value: number])[] = [];
  #pending = { service: 0, endpoint: 0 };
  readonly #durations;
  readonly #durationsByKind;
  readonly #changes;
  readonly #failures;
  readonly #programming;
  readonly #health;
  readonly #flowDurations;
  readonly #flowsRemoved;

  /**
   * @param config.families 'IPv4', 'IPv6': one transaction programs all of them, so they have equal
   * times
   */
  constructor(config: { readonly clock: Clock; readonly families: readonly string[] }) {
    this.#clock = config.clock;
    this.#families = config.families;
    const instruments = this.#instruments;
    const labels = ['ip_family'];
    const durations = (name: string, help: string): ReturnType<Instruments['histogram']> =>
      instruments.histogram({ name: `kubeproxy_${name}`, help, labels }, SYNC_BUCKETS);
    this.#durations = durations(
      'sync_proxy_rules_duration_seconds',
      'SyncProxyRules latency in seconds',
    );
    this.#durationsByKind = {
      full: durations(
        'sync_full_proxy_rules_duration_seconds',
        'SyncProxyRules latency in seconds for full resyncs',
      ),
      partial: durations(
        'sync_partial_proxy_rules_duration_seconds',
        'SyncProxyRules latency in seconds for partial resyncs',
      ),
    };
    const counter = (name: string, help: string): ReturnType<Instruments['counter']> =>
      instruments.counter({ name: `kubeproxy_${name}`, help });
    this.#changes = {
      service: counter(
        'sync_proxy_rules_service_changes_total',
        'Cumulative proxy rules Service changes',
      ),
      endpoint: counter(
        'sync_proxy_rules_endpoint_changes_total',
        'Cumulative proxy rules Endpoint changes',
      ),
    };
    this.#failures = instruments.counter({
      name: 'kubeproxy_sync_proxy_rules_nftables_sync_failures_total',
      help: 'Cumulative proxy nftables sync failures',
      labels,
    });
    this.#programming = instruments.histogram(
      {
        name: 'kubeproxy_network_programming_duration_seconds',
        help: 'In Cluster Network Programming Latency in seconds',
        labels,
      },
      PROGRAMMING_BUCKETS,
    );
    const probes = (name: string): ReturnType<Instruments['counter']> =>
      instruments.counter({
        name: `kubeproxy_proxy_${name}_total`,
        help: `Cumulative proxy ${name} HTTP status`,
        labels: ['code'],
      });
    this.#health = { healthz: probes('healthz'), livez: probes('livez') };
    this.#flowDurations = durations(
      'conntrack_reconciler_sync_duration_seconds',
      'ReconcileConntrackFlowsLatency latency in seconds',
    );
    this.#flowsRemoved = instruments.counter({
      name: 'kubeproxy_conntrack_reconciler_deleted_entries_total',
      help: 'Cumulative conntrack flows deleted by conntrack reconciler',
      labels,
    });
    const gauge = (name: string, help: string, value: () => number): void =>
      instruments.gauge({ name: `kubeproxy_sync_proxy_rules_${name}`, help }, () => [
        [[], value()],
      ]);
    gauge(
      'service_changes_pending',
      'Pending proxy rules Service changes',
      () => this.#pending.service,
    );
    gauge(
      'endpoint_changes_pending',
      'Pending proxy rules Endpoint changes',
      () => this.#pending.endpoint,
    );
    const byFamily = (name: string, help: string, value: () => number): void =>
      instruments.gauge({ name: `kubeproxy_sync_proxy_rules_${name}`, help, labels }, () =>
        this.#families.map((family) => [[family], value()]),
      );
    byFamily(
      'last_timestamp_seconds',
      'The last time proxy rules were successfully synced',
      () => this.#syncedMs / 1000,
    );
    byFamily(
      'last_queued_timestamp_seconds',
      'The last time a sync of proxy rules was queued',
      () => this.#queuedMs / 1000,
    );
    instruments.gauge(
      {
        name: 'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
        help: 'Number of services with a Local traffic policy and no endpoints',
        labels: ['traffic_policy', 'ip_family'],
      },
      () => this.#withoutLocal,
    );
  }

  changed(kind: 'service' | 'endpoint'): void {
    this.#changes[kind].with().value++;
    this.#pending[kind]++;
    this.#queuedMs = this.#clock.now();
  }

  /** Records that pending changes are being programmed. */
  started(): void {
    this.#pending = { service: 0, endpoint: 0 };
  }

  synced(kind: SyncKind, seconds: number, withoutLocal: ReadonlyMap<string, number>): void {
    for (const family of this.#families) {
      this.#durations.with(family).observe(seconds);
      this.#durationsByKind[kind].with(family).observe(seconds);
    }
    this.#syncedMs = this.#clock.now();
    this.#withoutLocal = [...withoutLocal].map(([key, value]) => [key.split(' '), value]);
  }

  failed(): void {
    for (const family of this.#families) this.#failures.with(family).value++;
  }

  /** Records a programmed change. `triggeredMs`: when the pod or service changed. */
  programmed(triggeredMs: number): void {
    for (const family of this.#families)
      this.#programming.with(family).observe((this.#clock.now() - triggeredMs) / 1000);
  }

  probed(endpoint: 'healthz' | 'livez', code: number): void {
    this.#health[endpoint].with(String(code)).value++;
  }

  flowsRemoved(family: string, removed: number, seconds: number): void {
    this.#flowDurations.with(family).observe(seconds);
    this.#flowsRemoved.with(family).value += removed;
  }

  text(): string {
    return this.#instruments.text();
  }
}
