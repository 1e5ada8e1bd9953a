// The families of the kubelet's metrics. Each is made when it is first used: a process may have
// thousands of kubelets.

import { type Description, exponentialBuckets } from '#machinery/metrics/instruments.ts';

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

const REQUEST = ['method', 'path', 'server_type', 'long_running'];

const described = (name: string, help: string, ...labels: readonly string[]): Description => ({
  name: `kubelet_${name}`,
  help,
  labels,
});

export const COUNTERS = {
  runtimeOperations: described(
    'runtime_operations_total',
    'Calls to the container runtime.',
    'operation_type',
  ),
  runtimeErrors: described(
    'runtime_operations_errors_total',
    'Calls to the container runtime that failed.',
    'operation_type',
  ),
  sandboxErrors: described(
    'run_podsandbox_errors_total',
    'Sandboxes that the runtime could not start, by the handler of the RuntimeClass.',
    'runtime_handler',
  ),
  startedPods: described('started_pods_total', 'Sandboxes that were to be started.'),
  startedPodErrors: described('started_pods_errors_total', 'Sandboxes that could not be started.'),
  startedUserNamespaced: described(
    'started_user_namespaced_pods_total',
    'Sandboxes with user namespaces that were to be started.',
  ),
  startedUserNamespacedErrors: described(
    'started_user_namespaced_pods_errors_total',
    'Sandboxes with user namespaces that could not be started.',
  ),
  startedContainers: described(
    'started_containers_total',
    'Containers that were to be started.',
    'container_type',
  ),
  terminatedContainers: described(
    'terminated_containers_total',
    'Containers that have terminated.',
    'container_type',
    'exit_code',
    'reason',
  ),
  startedContainerErrors: described(
    'started_containers_errors_total',
    'Containers that could not be started.',
    'container_type',
    'code',
  ),
  rejections: described(
    'admission_rejections_total',
    'Pods that the kubelet rejected, by reason.',
    'reason',
  ),
  evictions: described(
    'evictions',
    'Pods that were evicted, by the signal that was the reason.',
    'eviction_signal',
  ),
  preemptions: described(
    'preemptions',
    'Pods that were ended for a critical pod, by the resource that it lacked.',
    'preemption_signal',
  ),
  imagesCollected: described(
    'image_garbage_collected_total',
    'Images that were removed, by reason.',
    'reason',
  ),
  imageVolumesRequested: described(
    'image_volume_requested_total',
    'Image volumes that containers asked for.',
  ),
  imageVolumesMounted: described(
    'image_volume_mounted_succeed_total',
    'Image volumes that were mounted.',
  ),
  imageVolumeErrors: described(
    'image_volume_mounted_errors_total',
    'Image volumes that could not be mounted.',
  ),
  deviceRegistrations: described(
    'device_plugin_registration_total',
    'Registrations of device plugins, by resource.',
    'resource_name',
  ),
  credentialPluginErrors: described(
    'credential_provider_plugin_errors_total',
    'Calls of credential provider plugins that failed, by plugin.',
    'plugin_name',
  ),
  requests: described('http_requests_total', 'Requests to the kubelet API.', ...REQUEST),
} satisfies Readonly<Record<string, Description>>;

export const HISTOGRAMS = {
  runtimeDuration: {
    description: described(
      'runtime_operations_duration_seconds',
      'Duration of calls to the container runtime.',
      'operation_type',
    ),
    bounds: RUNTIME_BUCKETS,
  },
  relistDuration: {
    description: described(
      'pleg_relist_duration_seconds',
      'Duration of listing all pods of the runtime.',
    ),
    bounds: DEFAULT_BUCKETS,
  },
  relistInterval: {
    description: described(
      'pleg_relist_interval_seconds',
      'Time between two listings of all pods of the runtime.',
    ),
    bounds: DEFAULT_BUCKETS,
  },
  sandboxDuration: {
    description: described(
      'run_podsandbox_duration_seconds',
      'Duration of starting a sandbox, by the handler of the RuntimeClass.',
      'runtime_handler',
    ),
    bounds: DEFAULT_BUCKETS,
  },
  imagePulls: {
    description: described(
      'image_pull_duration_seconds',
      'Duration of a pull and of its wait for others, by the size of the image.',
      'image_size_in_bytes',
    ),
    bounds: PULL_BUCKETS,
  },
  workerDuration: {
    description: described(
      'pod_worker_duration_seconds',
      'Duration of one sync of a pod, by the kind of sync.',
      'operation_type',
    ),
    bounds: DEFAULT_BUCKETS,
  },
  podStart: {
    description: described(
      'pod_start_duration_seconds',
      'Time from when the kubelet first sees a pod until its containers run.',
    ),
    bounds: POD_START_BUCKETS,
  },
  evictionStatsAge: {
    description: described(
      'eviction_stats_age_seconds',
      'Age of the measurement that an eviction was based on.',
      'eviction_signal',
    ),
    bounds: DEFAULT_BUCKETS,
  },
  deviceAllocation: {
    description: described(
      'device_plugin_alloc_duration_seconds',
      'Duration of an allocation by a device plugin, by resource.',
      'resource_name',
    ),
    bounds: DEFAULT_BUCKETS,
  },
  credentialPluginDuration: {
    description: described(
      'credential_provider_plugin_duration',
      'Duration of calls of credential provider plugins in seconds, by plugin.',
      'plugin_name',
    ),
    bounds: DEFAULT_BUCKETS,
  },
  requestDuration: {
    description: described(
      'http_requests_duration_seconds',
      'Duration of requests to the kubelet API.',
      ...REQUEST,
    ),
    bounds: DEFAULT_BUCKETS,
  },
  claimOperations: {
    description: {
      name: 'dra_operations_duration_seconds',
      help: 'Duration of preparing or unpreparing all ResourceClaims of a pod.',
      labels: ['operation_name', 'is_error'],
    },
    bounds: CLAIM_BUCKETS,
  },
} satisfies Readonly<
  Record<string, { readonly description: Description; readonly bounds: readonly number[] }>
>;

export type CounterName = keyof typeof COUNTERS;
export type HistogramName = keyof typeof HISTOGRAMS;

/** Counters without labels that exist from the start, as upstream's do. */
export const FROM_THE_START: readonly CounterName[] = [
  'startedPods',
  'startedUserNamespaced',
  'startedUserNamespacedErrors',
  'imageVolumesRequested',
  'imageVolumesMounted',
  'imageVolumeErrors',
];
