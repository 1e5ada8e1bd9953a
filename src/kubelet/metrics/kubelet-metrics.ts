// The kubelet's own metrics, with upstream's names, labels and buckets (pkg/kubelet/metrics and
// pkg/kubelet/server/metrics).

import type { Clock } from '#machinery/clock.ts';
import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  Instruments,
  type Sample,
} from '#machinery/metrics/instruments.ts';
import { type OpenResizes, ResizeMetrics } from './resize-metrics.ts';
import { ResourceManagerMetrics } from './resource-manager-metrics.ts';
import type { VolumeCount } from '../volumes/volume-counts.ts';
import type { ContainerType, RuntimeMetrics } from '../runtime/runtime-config.ts';

/** Prometheus' default buckets, in seconds. */
export const DEFAULT_BUCKETS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
const POD_START_BUCKETS: readonly number[] = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600,
];
const RUNTIME_BUCKETS = exponentialBuckets(0.005, 2.5, 14);
/** Upstream's 15 buckets from 0.1 to 40 seconds. */
const CLAIM_BUCKETS = exponentialBuckets(0.1, (40 / 0.1) ** (1 / 14), 15);
const PULL_BUCKETS: readonly number[] = [
  1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];
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
  readonly resourceManagers: ResourceManagerMetrics;
  readonly resizes: ResizeMetrics;
  #shutdown = { start: 0, end: 0 };
  readonly #runtimeOperations: Family<Counter>;
  readonly #runtimeErrors: Family<Counter>;
  readonly #runtimeDuration: Family<Histogram>;
  readonly #relistDuration: Family<Histogram>;
  readonly #relistInterval: Family<Histogram>;
  /** The monotonic time of the last relist. */
  #relistedAt: number | undefined;
  readonly #sandboxDuration: Family<Histogram>;
  readonly #sandboxErrors: Family<Counter>;
  readonly #imagePulls: Family<Histogram>;
  readonly #workerDuration: Family<Histogram>;
  readonly #podStart: Family<Histogram>;
  readonly #startedPods: Family<Counter>;
  readonly #startedPodErrors: Family<Counter>;
  readonly #startedUserNamespaced: Family<Counter>;
  readonly #startedUserNamespacedErrors: Family<Counter>;
  readonly #startedContainers: Family<Counter>;
  readonly #terminatedContainers: Family<Counter>;
  readonly #startedContainerErrors: Family<Counter>;
  readonly #rejections: Family<Counter>;
  readonly #evictions: Family<Counter>;
  readonly #evictionStatsAge: Family<Histogram>;
  readonly #preemptions: Family<Counter>;
  readonly #imagesCollected: Family<Counter>;
  readonly #imageVolumesRequested: Family<Counter>;
  readonly #imageVolumesMounted: Family<Counter>;
  readonly #imageVolumeErrors: Family<Counter>;
  readonly #deviceRegistrations: Family<Counter>;
  readonly #deviceAllocation: Family<Histogram>;
  readonly #claimOperations: Family<Histogram>;
  readonly #credentialPluginErrors: Family<Counter>;
  readonly #credentialPluginDuration: Family<Histogram>;
  readonly #requests: Family<Counter>;
  readonly #requestDuration: Family<Histogram>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.resourceManagers = new ResourceManagerMetrics(this.#instruments);
    this.resizes = new ResizeMetrics(this.#instruments);
    const counter = (name: string, help: string, ...labels: readonly string[]): Family<Counter> =>
      this.#instruments.counter({ name: `kubelet_${name}`, help, labels });
    const histogram = (
      name: string,
      help: string,
      bounds: readonly number[],
      ...labels: readonly string[]
    ): Family<Histogram> =>
      this.#instruments.histogram({ name: `kubelet_${name}`, help, labels }, bounds);
    this.#runtimeOperations = counter(
      'runtime_operations_total',
      'Calls to the container runtime.',
      'operation_type',
    );
    this.#runtimeErrors = counter(
      'runtime_operations_errors_total',
      'Calls to the container runtime that failed.',
      'operation_type',
    );
    this.#runtimeDuration = histogram(
      'runtime_operations_duration_seconds',
      'Duration of calls to the container runtime.',
      RUNTIME_BUCKETS,
      'operation_type',
    );
    this.#relistDuration = histogram(
      'pleg_relist_duration_seconds',
      'Duration of listing all pods of the runtime.',
      DEFAULT_BUCKETS,
    );
    this.#relistInterval = histogram(
      'pleg_relist_interval_seconds',
      'Time between two listings of all pods of the runtime.',
      DEFAULT_BUCKETS,
    );
    this.#sandboxDuration = histogram(
      'run_podsandbox_duration_seconds',
      'Duration of starting a sandbox, by the handler of the RuntimeClass.',
      DEFAULT_BUCKETS,
      'runtime_handler',
    );
    this.#sandboxErrors = counter(
      'run_podsandbox_errors_total',
      'Sandboxes that the runtime could not start, by the handler of the RuntimeClass.',
      'runtime_handler',
    );
    this.#imagePulls = histogram(
      'image_pull_duration_seconds',
      'Duration of a pull and of its wait for others, by the size of the image.',
      PULL_BUCKETS,
      'image_size_in_bytes',
    );
    this.#workerDuration = histogram(
      'pod_worker_duration_seconds',
      'Duration of one sync of a pod, by the kind of sync.',
      DEFAULT_BUCKETS,
      'operation_type',
    );
    this.#podStart = histogram(
      'pod_start_duration_seconds',
      'Time from when the kubelet first sees a pod until its containers run.',
      POD_START_BUCKETS,
    );
    this.#startedPods = counter('started_pods_total', 'Sandboxes that were to be started.');
    this.#startedPodErrors = counter(
      'started_pods_errors_total',
      'Sandboxes that could not be started.',
    );
    this.#startedUserNamespaced = counter(
      'started_user_namespaced_pods_total',
      'Sandboxes with user namespaces that were to be started.',
    );
    this.#startedUserNamespacedErrors = counter(
      'started_user_namespaced_pods_errors_total',
      'Sandboxes with user namespaces that could not be started.',
    );
    this.#startedContainers = counter(
      'started_containers_total',
      'Containers that were to be started.',
      'container_type',
    );
    this.#terminatedContainers = counter(
      'terminated_containers_total',
      'Containers that have terminated.',
      'container_type',
      'exit_code',
      'reason',
    );
    this.#startedContainerErrors = counter(
      'started_containers_errors_total',
      'Containers that could not be started.',
      'container_type',
      'code',
    );
    this.#rejections = counter(
      'admission_rejections_total',
      'Pods that the kubelet rejected, by reason.',
      'reason',
    );
    this.#evictions = counter(
      'evictions',
      'Pods that were evicted, by the signal that was the reason.',
      'eviction_signal',
    );
    this.#evictionStatsAge = histogram(
      'eviction_stats_age_seconds',
      'Age of the measurement that an eviction was based on.',
      DEFAULT_BUCKETS,
      'eviction_signal',
    );
    this.#preemptions = counter(
      'preemptions',
      'Pods that were ended for a critical pod, by the resource that it lacked.',
      'preemption_signal',
    );
    this.#imagesCollected = counter(
      'image_garbage_collected_total',
      'Images that were removed, by reason.',
      'reason',
    );
    this.#imageVolumesRequested = counter(
      'image_volume_requested_total',
      'Image volumes that containers asked for.',
    );
    this.#imageVolumesMounted = counter(
      'image_volume_mounted_succeed_total',
      'Image volumes that were mounted.',
    );
    this.#imageVolumeErrors = counter(
      'image_volume_mounted_errors_total',
      'Image volumes that could not be mounted.',
    );
    this.#deviceRegistrations = counter(
      'device_plugin_registration_total',
      'Registrations of device plugins, by resource.',
      'resource_name',
    );
    this.#deviceAllocation = histogram(
      'device_plugin_alloc_duration_seconds',
      'Duration of an allocation by a device plugin, by resource.',
      DEFAULT_BUCKETS,
      'resource_name',
    );
    this.#credentialPluginErrors = counter(
      'credential_provider_plugin_errors_total',
      'Calls of credential provider plugins that failed, by plugin.',
      'plugin_name',
    );
    this.#credentialPluginDuration = histogram(
      'credential_provider_plugin_duration',
      'Duration of calls of credential provider plugins in seconds, by plugin.',
      DEFAULT_BUCKETS,
      'plugin_name',
    );
    this.#claimOperations = this.#instruments.histogram(
      {
        name: 'dra_operations_duration_seconds',
        help: 'Duration of preparing or unpreparing all ResourceClaims of a pod.',
        labels: ['operation_name', 'is_error'],
      },
      CLAIM_BUCKETS,
    );
    const request = ['method', 'path', 'server_type', 'long_running'];
    this.#requests = counter('http_requests_total', 'Requests to the kubelet API.', ...request);
    this.#requestDuration = histogram(
      'http_requests_duration_seconds',
      'Duration of requests to the kubelet API.',
      DEFAULT_BUCKETS,
      ...request,
    );
    // Metrics without labels exist from the start, as upstream's do.
    this.#relistInterval.with();
    for (const family of [
      this.#startedPods,
      this.#startedUserNamespaced,
      this.#startedUserNamespacedErrors,
      this.#imageVolumesRequested,
      this.#imageVolumesMounted,
      this.#imageVolumeErrors,
    ]) {
      family.with();
    }
  }

  runtimeOperation(operation: string, seconds: number | undefined, failed: boolean): void {
    this.#runtimeOperations.with(operation).value++;
    if (seconds !== undefined) this.#runtimeDuration.with(operation).observe(seconds);
    if (failed) this.#runtimeErrors.with(operation).value++;
  }

  sandboxRun(handler: string, seconds: number, failed: boolean): void {
    this.#sandboxDuration.with(handler).observe(seconds);
    if (failed) this.#sandboxErrors.with(handler).value++;
  }

  imagePulled(bytes: number, seconds: number): void {
    const [, size = 'N/A'] = IMAGE_SIZES.findLast(([above]) => bytes > above) ?? [];
    this.#imagePulls.with(size).observe(seconds);
  }

  relisted(seconds: number): void {
    this.#relistDuration.with().observe(seconds);
    const now = this.#clock.monotonic();
    if (this.#relistedAt !== undefined)
      this.#relistInterval.with().observe((now - this.#relistedAt) / 1000);
    this.#relistedAt = now;
  }

  podSynced(operation: 'create' | 'sync' | 'kill' | 'terminated', seconds: number): void {
    this.#workerDuration.with(operation).observe(seconds);
  }

  podStarted(seconds: number): void {
    this.#podStart.with().observe(seconds);
  }

  sandboxStarted(failed: boolean, userNamespace: boolean): void {
    this.#startedPods.with().value++;
    if (failed) this.#startedPodErrors.with().value++;
    if (!userNamespace) return;
    this.#startedUserNamespaced.with().value++;
    if (failed) this.#startedUserNamespacedErrors.with().value++;
  }

  containerStarted(type: ContainerType, code?: string): void {
    this.#startedContainers.with(type).value++;
    if (code !== undefined) this.#startedContainerErrors.with(type, code).value++;
  }

  containerTerminated(type: ContainerType, exitCode: number, reason: string): void {
    this.#terminatedContainers.with(type, String(exitCode), reason).value++;
  }

  podRejected(reason: string): void {
    this.#rejections.with(reason).value++;
  }

  podEvicted(signal: string): void {
    this.#evictions.with(signal).value++;
  }

  evictionBasedOn(signal: string, ageSeconds: number): void {
    this.#evictionStatsAge.with(signal).observe(ageSeconds);
  }

  /** Records the wall-clock times of the node's last shutdown in milliseconds; 0: not yet. */
  shutdownTimes(start: number, end: number): void {
    this.#shutdown = { start, end };
  }

  podPreempted(resource: string): void {
    this.#preemptions.with(resource).value++;
  }

  imageCollected(reason: 'age' | 'space'): void {
    this.#imagesCollected.with(reason).value++;
  }

  imageVolumes(event: 'requested' | 'mounted' | 'failed', count: number): void {
    const families = {
      requested: this.#imageVolumesRequested,
      mounted: this.#imageVolumesMounted,
      failed: this.#imageVolumeErrors,
    };
    families[event].with().value += count;
  }

  podResized(success: boolean, ms: number): void {
    this.resizes.resized(success, ms);
  }

  credentialPluginRan(plugin: string, seconds: number, failed: boolean): void {
    this.#credentialPluginDuration.with(plugin).observe(seconds);
    if (failed) this.#credentialPluginErrors.with(plugin).value++;
  }

  deviceRegistered(resource: string): void {
    this.#deviceRegistrations.with(resource).value++;
  }

  deviceAllocated(resource: string, seconds: number): void {
    this.#deviceAllocation.with(resource).observe(seconds);
  }

  claimsHandled(
    operation: 'PrepareResources' | 'UnprepareResources',
    isError: boolean,
    seconds: number,
  ): void {
    this.#claimOperations.with(operation, String(isError)).observe(seconds);
  }

  /** Counts a request. `path`: the first part of a known path, or 'other'. */
  requestServed(method: string, path: string, longRunning: boolean, seconds: number): void {
    const labels = [method, path, 'readwrite', String(longRunning)];
    this.#requests.with(...labels).value++;
    this.#requestDuration.with(...labels).observe(seconds);
  }

  /**
   * Returns the kubelet's own metrics in Prometheus' text format, without the metrics common to all
   * components.
   */
  text(gauges: KubeletGauges): string {
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
