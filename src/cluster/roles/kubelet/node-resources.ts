// The options of `cox kubelet` about the resources of the node: when pods are evicted, what is kept
// for the system, and what is removed to free space.

import { DEFAULT_EVICTION } from '#kubelet/eviction/settings.ts';
import {
  mergeHardDefaults,
  parseThresholds,
  ThresholdError,
  type ThresholdStatements,
} from '#kubelet/eviction/thresholds.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import type { PullRate } from '#kubelet/images/image-manager.ts';
import { SysctlAllowlist, SysctlPatternError } from '#kubelet/sysctls.ts';
import type { Taint } from '#api/groups/core/v1/index.ts';
import { ALL_IDS } from '#kubelet/user-namespaces/id-ranges.ts';
import { IDS_PER_POD } from '#kubelet/user-namespaces/user-namespaces.ts';
import { parseQuantity, type Quantity, QuantityError } from '#machinery/text/quantity.ts';
import { UserError } from '../../user-error.ts';
import {
  type ResourceManagerOptions,
  resourceManagerSettings,
  withReservedCpus,
} from './resource-manager-options.ts';
import { type ShutdownOptions, shutdownPeriods } from './shutdown-options.ts';
import { type StaticPodOptions, staticPodSettings } from './static-pod-options.ts';

type Settings = Readonly<Record<string, string>>;

/** With upstream's names. Durations are milliseconds. */
export interface NodeResourceOptions
  extends ResourceManagerOptions, ShutdownOptions, StaticPodOptions {
  readonly evictionHard?: Settings;
  readonly evictionSoft?: Settings;
  readonly evictionSoftGracePeriod?: Settings;
  readonly evictionMinimumReclaim?: Settings;
  readonly evictionPressureTransitionPeriod?: number;
  /** Seconds. */
  readonly evictionMaxPodGracePeriod?: number;
  readonly mergeDefaultEvictionSettings?: boolean;
  readonly localStorageCapacityIsolation?: boolean;
  readonly volumeStatsAggPeriod?: number;
  readonly imageGcHighThreshold?: number;
  readonly imageGcLowThreshold?: number;
  readonly minimumImageTtlDuration?: number;
  readonly imageMaximumGcAge?: number;
  readonly kubeReserved?: Settings;
  readonly systemReserved?: Settings;
  readonly enforceNodeAllocatable?: readonly string[];
  readonly cgroupRoot?: string;
  /** -1: no limit. */
  readonly podMaxPids?: number;
  readonly allowedUnsafeSysctls?: readonly string[];
  readonly containerLogMaxSize?: string;
  readonly containerLogMaxFiles?: number;
  readonly fileCheckFrequency?: number;
  readonly eventQps?: number;
  readonly eventBurst?: number;
  readonly nodeStatusUpdateFrequency?: number;
  readonly nodeStatusReportFrequency?: number;
  readonly resolvConf?: string;
  readonly registerWithTaints?: readonly Taint[];
  readonly maxContainerRestartPeriod?: number;
  readonly podLogsDir?: string;
  /** Default: true. */
  readonly enableSystemLogHandler?: boolean;
  readonly swapBehavior?: string;
  readonly serializeImagePulls?: boolean;
  readonly maxParallelImagePulls?: number;
  readonly registryQps?: number;
  readonly registryBurst?: number;
  readonly seccompDefault?: boolean;
  readonly userNamespacesIdsPerPod?: number;
}

type ResourceSettings = Pick<
  KubeletConfig,
  | 'eviction'
  | 'imageGc'
  | 'kubeReserved'
  | 'systemReserved'
  | 'allowedUnsafeSysctls'
  | 'cgroupRoot'
  | 'podPidsLimit'
  | 'containerLogMaxBytes'
  | 'containerLogMaxFiles'
  | 'staticPodCheckMs'
  | 'staticPodUrl'
  | 'staticPodUrlHeaders'
  | 'staticPodUrlCheckMs'
  | 'eventsPerSecond'
  | 'eventBurst'
  | 'nodeCheckMs'
  | 'nodeReportMs'
  | 'resolvConf'
  | 'taints'
  | 'maxRestartBackoffMs'
  | 'resourceManagers'
  | 'shutdownPeriods'
  | 'swapBehavior'
  | 'maxParallelPulls'
  | 'pullRate'
  | 'seccompDefault'
  | 'userNamespaceIdsPerPod'
>;

/**
 * Returns the settings of the kubelet. `featureGates`: 'Name=true,…'. Throws UserError for the first
 * option that is invalid.
 */
export function resourceSettings(
  options: NodeResourceOptions,
  featureGates = '',
): ResourceSettings {
  const { allowedUnsafeSysctls } = options;
  const resourceManagers = resourceManagerSettings(options, featureGates);
  const { kubeReserved, systemReserved } = withReservedCpus(
    options.reservedCpus,
    options.kubeReserved,
    options.systemReserved,
  );
  checkReserved('kubeReserved (--kube-reserved)', kubeReserved);
  checkReserved('systemReserved (--system-reserved)', systemReserved);
  checkSysctls(allowedUnsafeSysctls ?? []);
  const logFiles = options.containerLogMaxFiles;
  if (logFiles !== undefined && logFiles <= 1)
    throw invalid(
      `containerLogMaxFiles (--container-log-max-files) ${logFiles} must be greater than 1`,
    );
  return defined({
    eviction: evictionSettings(options),
    imageGc: imageGcSettings(options),
    kubeReserved,
    systemReserved,
    allowedUnsafeSysctls,
    ...cgroupSettings(options),
    containerLogMaxBytes: logSize(options.containerLogMaxSize),
    containerLogMaxFiles: logFiles,
    staticPodCheckMs: options.fileCheckFrequency,
    ...staticPodSettings(options),
    eventsPerSecond: notNegative('eventRecordQPS (--event-qps)', options.eventQps),
    eventBurst: notNegative('eventBurst (--event-burst)', options.eventBurst),
    nodeCheckMs: options.nodeStatusUpdateFrequency,
    nodeReportMs: options.nodeStatusReportFrequency,
    resolvConf: options.resolvConf,
    taints: options.registerWithTaints,
    maxRestartBackoffMs: options.maxContainerRestartPeriod,
    resourceManagers,
    shutdownPeriods: shutdownPeriods(options),
    swapBehavior: swapBehaviorOf(options.swapBehavior),
    maxParallelPulls: parallelPulls(options),
    pullRate: pullRate(options),
    seccompDefault: options.seccompDefault === true ? 'RuntimeDefault' : undefined,
    userNamespaceIdsPerPod: idsPerPod(options.userNamespacesIdsPerPod),
  });
}

/** Fields that are absent from the result are those of a node without cgroups of pods. */
function cgroupSettings({ cgroupRoot, podMaxPids = -1 }: NodeResourceOptions): {
  readonly cgroupRoot: string | undefined;
  readonly podPidsLimit: number | undefined;
} {
  const root = cgroupRoot === '' ? undefined : cgroupRoot;
  if (root !== undefined && !/^(\/|(\/[A-Za-z0-9][A-Za-z0-9_.-]{0,62}){1,8})$/.test(root))
    throw invalid(`cgroupRoot (--cgroup-root) ${JSON.stringify(root)} is no path such as /NAME`);
  if (podMaxPids === 0 || podMaxPids < -1)
    throw invalid(`podPidsLimit (--pod-max-pids) ${podMaxPids} must be positive, or -1`);
  if (podMaxPids > 0 && root === undefined)
    throw invalid('podPidsLimit (--pod-max-pids) needs cgroupRoot (--cgroup-root)');
  return { cgroupRoot: root, podPidsLimit: podMaxPids > 0 ? podMaxPids : undefined };
}

function evictionSettings(options: NodeResourceOptions): KubeletConfig['eviction'] {
  const { evictionHard, enforceNodeAllocatable = ['pods'] } = options;
  for (const what of enforceNodeAllocatable)
    if (!['pods', 'none', ''].includes(what))
      throw invalid(
        `enforceNodeAllocatable (--enforce-node-allocatable) has ${JSON.stringify(what)}: ` +
          'only "pods" and "none" are supported',
      );
  const hard =
    evictionHard !== undefined && options.mergeDefaultEvictionSettings === true
      ? mergeHardDefaults(evictionHard)
      : (evictionHard ?? DEFAULT_EVICTION.hard);
  const statements: ThresholdStatements = {
    hard,
    soft: options.evictionSoft ?? {},
    softGracePeriod: options.evictionSoftGracePeriod ?? {},
    minimumReclaim: options.evictionMinimumReclaim ?? {},
    enforceAllocatable: enforceNodeAllocatable.includes('pods'),
  };
  const { soft, softGracePeriod, minimumReclaim } = statements;
  checkThresholds('evictionHard (--eviction-hard)', { hard });
  checkThresholds(
    'evictionSoft (--eviction-soft) and evictionSoftGracePeriod (--eviction-soft-grace-period)',
    { soft, softGracePeriod },
  );
  checkThresholds('evictionMinimumReclaim (--eviction-minimum-reclaim)', { hard, minimumReclaim });
  return {
    ...statements,
    ...defined({
      pressureTransitionMs: options.evictionPressureTransitionPeriod,
      maxPodGracePeriodSeconds: options.evictionMaxPodGracePeriod,
      localStorageIsolation: options.localStorageCapacityIsolation,
      volumeStatsMs: options.volumeStatsAggPeriod,
    }),
  };
}

/** Throws UserError, which begins with the names of the options, if they cannot be parsed. */
function checkThresholds(names: string, statements: Partial<ThresholdStatements>): void {
  const none = { hard: {}, soft: {}, softGracePeriod: {}, minimumReclaim: {} };
  try {
    parseThresholds({ ...none, enforceAllocatable: false, ...statements });
  } catch (error) {
    if (error instanceof ThresholdError) throw invalid(`${names}: ${error.message}`);
    throw error;
  }
}

function imageGcSettings(options: NodeResourceOptions): KubeletConfig['imageGc'] {
  const { imageGcHighThreshold: high = 85, imageGcLowThreshold: low = 80 } = options;
  const { minimumImageTtlDuration: minAge = 120_000, imageMaximumGcAge: maxAge = 0 } = options;
  for (const [name, value] of [
    ['imageGCHighThresholdPercent (--image-gc-high-threshold)', high],
    ['imageGCLowThresholdPercent (--image-gc-low-threshold)', low],
  ] as const)
    if (!Number.isInteger(value) || value < 0 || value > 100)
      throw invalid(`${name} ${value} must be between 0 and 100, inclusive`);
  if (low >= high)
    throw invalid(
      `imageGCLowThresholdPercent (--image-gc-low-threshold) ${low} must be less than ` +
        `imageGCHighThresholdPercent (--image-gc-high-threshold) ${high}`,
    );
  if (maxAge > 0 && maxAge <= minAge)
    throw invalid(
      'imageMaximumGCAge (--image-maximum-gc-age) must be greater than imageMinimumGCAge ' +
        '(--minimum-image-ttl-duration)',
    );
  return {
    highThresholdPercent: high,
    lowThresholdPercent: low,
    minAgeMs: minAge,
    maxAgeMs: maxAge,
  };
}

function swapBehaviorOf(behavior = ''): KubeletConfig['swapBehavior'] {
  if (behavior === '') return undefined;
  if (behavior === 'NoSwap' || behavior === 'LimitedSwap') return behavior;
  throw invalid(
    `memorySwap.swapBehavior ${JSON.stringify(behavior)} must be one of: "", "LimitedSwap" or "NoSwap"`,
  );
}

function parallelPulls(options: NodeResourceOptions): number | undefined {
  const { serializeImagePulls: isSerial, maxParallelImagePulls: max } = options;
  if (max !== undefined && max < 1)
    throw invalid(`maxParallelImagePulls ${max} must be a positive number`);
  if (max !== undefined && max > 1 && isSerial !== false) {
    throw invalid(
      'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls ' +
        '(--serialize-image-pulls) is set to false',
    );
  }
  return isSerial === true ? 1 : max;
}

function idsPerPod(count: number | undefined): number | undefined {
  if (count === undefined) return undefined;
  const fail = (problem: string): UserError => invalid(`userNamespaces.idsPerPod must ${problem}`);
  if (count < IDS_PER_POD) throw fail(`not be less than ${IDS_PER_POD}`);
  if (count % IDS_PER_POD !== 0) throw fail(`be a multiple of ${IDS_PER_POD}`);
  if (count >= ALL_IDS) throw fail(`not be more than ${ALL_IDS - 1}`);
  return count;
}

/** Returns undefined if the rate is not limited. */
function pullRate({
  registryQps = 5,
  registryBurst = 10,
}: NodeResourceOptions): PullRate | undefined {
  notNegative('registryPullQPS (--registry-qps)', registryQps);
  notNegative('registryBurst (--registry-burst)', registryBurst);
  return registryQps === 0 ? undefined : { perSecond: registryQps, burst: registryBurst };
}

function checkReserved(name: string, amounts: Settings | undefined): void {
  for (const [resource, text] of Object.entries(amounts ?? {})) {
    if (!['cpu', 'memory', 'ephemeral-storage', 'pid'].includes(resource))
      throw invalid(`${name}: cannot reserve ${JSON.stringify(resource)} resource`);
    if (amountOf(name, text).sign() < 0)
      throw invalid(`${name}: resource quantity for ${resource} cannot be negative: ${text}`);
  }
}

function checkSysctls(patterns: readonly string[]): void {
  try {
    SysctlAllowlist.check(patterns);
  } catch (error) {
    if (error instanceof SysctlPatternError)
      throw invalid(`allowedUnsafeSysctls (--allowed-unsafe-sysctls): ${error.message}`);
    throw error;
  }
}

function logSize(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const bytes = amountOf('containerLogMaxSize (--container-log-max-size)', text).value();
  if (bytes <= 0) throw invalid('containerLogMaxSize (--container-log-max-size) must be positive');
  return bytes;
}

function notNegative(name: string, value: number | undefined): number | undefined {
  if (value !== undefined && value < 0)
    throw invalid(`${name} ${value} must not be a negative number`);
  return value;
}

function amountOf(name: string, text: string): Quantity {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) throw invalid(`${name}: ${text}: ${error.message}`);
    throw error;
  }
}

function invalid(problem: string): UserError {
  return new UserError(`invalid configuration: ${problem}`);
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns the object without fields that are undefined. */
function defined<T extends object>(fields: T): Defined<T> {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as Defined<T>;
}
