// The kubelet's own metrics, with upstream's names, labels and buckets (pkg/kubelet/metrics and
// pkg/kubelet/server/metrics).

import type { Clock } from '#machinery/clock.ts';
import {
  type Counter,
  type Family,
  type Histogram,
  Instruments,
  type Sample,
} from '#machinery/metrics/instruments.ts';
import {
  type CounterName,
  COUNTERS,
  FROM_THE_START,
  type HistogramName,
  HISTOGRAMS,
} from './families.ts';
import { type OpenResizes, ResizeMetrics } from './resize-metrics.ts';
import { ResourceManagerMetrics } from './resource-manager-metrics.ts';
import type { VolumeCount } from '../volumes/volume-counts.ts';
import type { ContainerType, RuntimeMetrics } from '../runtime/runtime-config.ts';

const MiB = 2 ** 20;
/** The sizes of images above which a label is used, in bytes. */
const IMAGE_SIZES: readonly (readonly [above: number, label: string])[] = [
  [0, '0-10MB'],
  [10 * MiB, '10MB-100MB'],
  [100 * MiB, '100MB-500MB'],
  [500 * MiB, '500MB-1GB'],
  [1024 * MiB, '1GB-5GB'],
  [5 * 1024 * MiB, '5GB-10GB'],
  [10 * 1024 * MiB, '10GB-20GB'],
  [20 * 1024 * MiB, '20GB-30GB'],
  [30 * 1024 * MiB, '30GB-40GB'],
  [40 * 1024 * MiB, '40GB-60GB'],
  [60 * 1024 * MiB, '60GB-100GB'],
  [100 * 1024 * MiB, 'GT100GB'],
];
const NONE: readonly string[] = [];

/** Functions that read current values when metrics are read. */
export interface KubeletGauges {
  readonly nodeName: string;
  /** Returns the number of ready sandboxes. */
  runningPods(): number;
  /** Returns the number of containers by state. */
  containers(): Readonly<Record<'created' | 'running' | 'exited' | 'unknown', number>>;
  /** Returns the number of pods from the API and from static manifests. */
  desiredPods(): { readonly api: number; readonly static: number };
  /** Returns the wall-clock time of the last relist in milliseconds; 0 before the first. */
  lastRelist(): number;
  resizes(): OpenResizes;
  /** Returns the number of volumes by plugin and state. */
  volumes(): readonly VolumeCount[];
}

export class KubeletMetrics implements RuntimeMetrics {
  readonly #clock: Clock;
  readonly #instruments = new Instruments();
  readonly #startedAt: number;
  readonly resizes: ResizeMetrics;
  #resourceManagers: ResourceManagerMetrics | undefined;
  #shutdown = { start: 0, end: 0 };
  /** The monotonic time of the last relist. */
  #relistedAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.resizes = new ResizeMetrics(this.#instruments);
  }

  get resourceManagers(): ResourceManagerMetrics {
    return (this.#resourceManagers ??= new ResourceManagerMetrics(this.#instruments));
  }

  #counter(name: CounterName): Family<Counter> {
    return this.#instruments.counter(COUNTERS[name]);
  }

  #histogram(name: HistogramName): Family<Histogram> {
    const { description, bounds } = HISTOGRAMS[name];
    return this.#instruments.histogram(description, bounds);
  }

  runtimeOperation(operation: string, seconds: number | undefined, failed: boolean): void {
    this.#counter('runtimeOperations').with(operation).value++;
    if (seconds !== undefined) this.#histogram('runtimeDuration').with(operation).observe(seconds);
    if (failed) this.#counter('runtimeErrors').with(operation).value++;
  }

  sandboxRun(handler: string, seconds: number, failed: boolean): void {
    this.#histogram('sandboxDuration').with(handler).observe(seconds);
    if (failed) this.#counter('sandboxErrors').with(handler).value++;
  }

  imagePulled(bytes: number, seconds: number): void {
    const [, size = 'N/A'] = IMAGE_SIZES.findLast(([above]) => bytes > above) ?? [];
    this.#histogram('imagePulls').with(size).observe(seconds);
  }

  relisted(seconds: number): void {
    this.#histogram('relistDuration').with().observe(seconds);
    const now = this.#clock.monotonic();
    if (this.#relistedAt !== undefined)
      this.#histogram('relistInterval')
        .with()
        .observe((now - this.#relistedAt) / 1000);
    this.#relistedAt = now;
  }

  podSynced(operation: 'create' | 'sync' | 'kill' | 'terminated', seconds: number): void {
    this.#histogram('workerDuration').with(operation).observe(seconds);
  }

  podStarted(seconds: number): void {
    this.#histogram('podStart').with().observe(seconds);
  }

  sandboxStarted(failed: boolean, userNamespace: boolean): void {
    this.#counter('startedPods').with().value++;
    if (failed) this.#counter('startedPodErrors').with().value++;
    if (!userNamespace) return;
    this.#counter('startedUserNamespaced').with().value++;
    if (failed) this.#counter('startedUserNamespacedErrors').with().value++;
  }

  containerStarted(type: ContainerType, code?: string): void {
    this.#counter('startedContainers').with(type).value++;
    if (code !== undefined) this.#counter('startedContainerErrors').with(type, code).value++;
  }

  containerTerminated(type: ContainerType, exitCode: number, reason: string): void {
    this.#counter('terminatedContainers').with(type, String(exitCode), reason).value++;
  }

  podRejected(reason: string): void {
    this.#counter('rejections').with(reason).value++;
  }

  podEvicted(signal: string): void {
    this.#counter('evictions').with(signal).value++;
  }

  evictionBasedOn(signal: string, ageSeconds: number): void {
    this.#histogram('evictionStatsAge').with(signal).observe(ageSeconds);
  }

  /** Records the wall-clock times of the node's last shutdown in milliseconds; 0: not yet. */
  shutdownTimes(start: number, end: number): void {
    this.#shutdown = { start, end };
  }

  podPreempted(resource: string): void {
    this.#counter('preemptions').with(resource).value++;
  }

  imageCollected(reason: 'age' | 'space'): void {
    this.#counter('imagesCollected').with(reason).value++;
  }

  imageVolumes(event: 'requested' | 'mounted' | 'failed', count: number): void {
    const counters = {
      requested: 'imageVolumesRequested',
      mounted: 'imageVolumesMounted',
      failed: 'imageVolumeErrors',
    } as const;
    this.#counter(counters[event]).with().value += count;
  }

  podResized(success: boolean, ms: number): void {
    this.resizes.resized(success, ms);
  }

  credentialPluginRan(plugin: string, seconds: number, failed: boolean): void {
    this.#histogram('credentialPluginDuration').with(plugin).observe(seconds);
    if (failed) this.#counter('credentialPluginErrors').with(plugin).value++;
  }

  deviceRegistered(resource: string): void {
    this.#counter('deviceRegistrations').with(resource).value++;
  }

  deviceAllocated(resource: string, seconds: number): void {
    this.#histogram('deviceAllocation').with(resource).observe(seconds);
  }

  claimsHandled(
    operation: 'PrepareResources' | 'UnprepareResources',
    isError: boolean,
    seconds: number,
  ): void {
    this.#histogram('claimOperations').with(operation, String(isError)).observe(seconds);
  }

  /** Counts a request. `path`: the first part of a known path, or 'other'. */
  requestServed(method: string, path: string, longRunning: boolean, seconds: number): void {
    const labels = [method, path, 'readwrite', String(longRunning)];
    this.#counter('requests').with(...labels).value++;
    this.#histogram('requestDuration')
      .with(...labels)
      .observe(seconds);
  }

  /**
   * Returns the kubelet's own metrics in Prometheus' text format, without the metrics common to all
   * components.
   */
  text(gauges: KubeletGauges): string {
    // Metrics without labels exist from the start, as upstream's do.
    this.#resourceManagers ??= new ResourceManagerMetrics(this.#instruments);
    for (const name of FROM_THE_START) this.#counter(name).with();
    this.#histogram('relistInterval').with();
    const gauge = (
      name: string,
      help: string,
      labels: readonly string[],
      samples: readonly Sample[],
    ): void => this.#instruments.gauge({ name, help, labels }, () => samples);
    gauge(
      'kubelet_node_name',
      'The name of the node; the value is always 1.',
      ['node'],
      [[[gauges.nodeName], 1]],
    );
    gauge('kubelet_running_pods', 'Pods with a running sandbox.', NONE, [
      [NONE, gauges.runningPods()],
    ]);
    gauge(
      'kubelet_running_containers',
      'Containers by state.',
      ['container_state'],
      Object.entries(gauges.containers()).map(([state, count]): Sample => [[state], count]),
    );
    const desired = gauges.desiredPods();
    gauge(
      'kubelet_desired_pods',
      'Pods that the kubelet is to run.',
      ['static'],
      [
        [['false'], desired.api],
        [['true'], desired.static],
      ],
    );
    gauge('kubelet_mirror_pods', 'Mirrors of static pods that the API is to have.', NONE, [
      [NONE, desired.static],
    ]);
    gauge(
      'kubelet_pleg_last_seen_seconds',
      'When all pods were last listed, in seconds since the Unix epoch.',
      NONE,
      [[NONE, gauges.lastRelist() / 1000]],
    );
    gauge(
      'kubelet_graceful_shutdown_start_time_seconds',
      'When the last shutdown of the node began, in seconds since the Unix epoch.',
      NONE,
      [[NONE, Math.floor(this.#shutdown.start / 1000)]],
    );
    gauge(
      'kubelet_graceful_shutdown_end_time_seconds',
      'When the pods had ended for the last shutdown, in seconds since the Unix epoch.',
      NONE,
      [[NONE, Math.floor(this.#shutdown.end / 1000)]],
    );
    gauge(
      'process_start_time_seconds',
      'When the kubelet started, in seconds since the Unix epoch.',
      NONE,
      [[NONE, this.#startedAt / 1000]],
    );
    gauge(
      'volume_manager_total_volumes',
      'Volumes of pods by plugin and state.',
      ['plugin_name', 'state'],
      gauges.volumes().map(({ plugin, state, count }): Sample => [[plugin, state], count]),
    );
    this.resizes.set(gauges.resizes());
    return this.#instruments.text();
  }

  /** Returns a function that returns the seconds since this call. */
  timer(): () => number {
    const start = this.#clock.monotonic();
    return () => (this.#clock.monotonic() - start) / 1000;
  }
}
