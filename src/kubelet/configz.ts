// /configz: the configuration of this kubelet in the form of upstream's KubeletConfiguration
// (kubelet.config.k8s.io/v1beta1). It contains only fields that apply here, with their effective
// values.

import { formatDuration } from '#machinery/text/duration.ts';
import { newQuantity } from '#machinery/text/quantity.ts';
import type { KubeletConfig } from './config.ts';
import { DEFAULT_EVICTION, type EvictionSettings } from './eviction/settings.ts';
import { DEFAULT_IMAGE_GC } from './images/image-records.ts';
import {
  DEFAULT_RESOURCE_MANAGERS,
  type ResourceManagerSettings,
} from './resource-managers/settings.ts';
import { DEFAULT_ACCESS } from './server/access.ts';
import { IDS_PER_POD } from './user-namespaces/user-namespaces.ts';

const MASKED = '<masked>';

export interface ConfigzInput {
  readonly config: KubeletConfig;
  readonly port: number;
  readonly maxPods: number;
  readonly podLogsDir: string;
}

export function kubeletConfiguration({
  config,
  port,
  maxPods,
  podLogsDir,
}: ConfigzInput): Readonly<Record<string, unknown>> {
  const access = { ...DEFAULT_ACCESS, ...config.access };
  const seconds = (ms: number): string => formatDuration(ms);
  const eviction = { ...DEFAULT_EVICTION, ...config.eviction };
  const imageGc = { ...DEFAULT_IMAGE_GC, ...config.imageGc };
  return {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    enableServer: config.server !== undefined,
    ...(config.staticPodPath !== undefined && { staticPodPath: config.staticPodPath }),
    ...urlFields(config),
    podLogsDir,
    fileCheckFrequency: seconds(config.staticPodCheckMs ?? 20_000),
    ...(config.server?.listeners.host !== undefined && { address: config.server.listeners.host }),
    port,
    rotateCertificates: config.requestedCertificates?.client === true,
    serverTLSBootstrap: config.requestedCertificates?.serving === true,
    authentication: {
      x509: {},
      webhook: { enabled: access.tokenWebhook, cacheTTL: seconds(access.tokenTtlMs) },
      anonymous: { enabled: false },
    },
    authorization: {
      mode: access.authorizationMode,
      webhook: {
        cacheAuthorizedTTL: seconds(access.authorizedTtlMs),
        cacheUnauthorizedTTL: seconds(access.unauthorizedTtlMs),
      },
    },
    registryPullQPS: config.pullRate?.perSecond ?? 0,
    registryBurst: config.pullRate?.burst ?? 10,
    eventRecordQPS: config.eventsPerSecond ?? 50,
    eventBurst: config.eventBurst ?? 100,
    enableDebuggingHandlers: true,
    clusterDomain: config.clusterDomain ?? 'cluster.local',
    ...(config.clusterDNS !== undefined && { clusterDNS: config.clusterDNS }),
    nodeStatusUpdateFrequency: seconds(config.nodeCheckMs ?? 10_000),
    nodeStatusReportFrequency: seconds(config.nodeReportMs ?? 300_000),
    nodeLeaseDurationSeconds: 40,
    maxPods,
    ...(config.podCIDRs?.[0] !== undefined && { podCIDR: config.podCIDRs[0] }),
    ...(config.hostFiles !== false && { resolvConf: config.resolvConf ?? '/etc/resolv.conf' }),
    contentType: 'application/json',
    serializeImagePulls: config.maxParallelPulls === 1,
    ...(config.maxParallelPulls !== undefined && {
      maxParallelImagePulls: config.maxParallelPulls,
    }),
    ...(config.swapBehavior !== undefined && {
      memorySwap: { swapBehavior: config.swapBehavior },
    }),
    seccompDefault: config.seccompDefault === 'RuntimeDefault',
    userNamespaces: { idsPerPod: config.userNamespaceIdsPerPod ?? IDS_PER_POD },
    enableControllerAttachDetach: true,
    failSwapOn: false,
    containerLogMaxSize: newQuantity(
      config.containerLogMaxBytes ?? 10 * 1024 * 1024,
      'BinarySI',
    ).toString(),
    containerLogMaxFiles: config.containerLogMaxFiles ?? 5,
    configMapAndSecretChangeDetectionStrategy: 'Watch',
    enforceNodeAllocatable: eviction.enforceAllocatable ? ['pods'] : ['none'],
    ...(config.kubeReserved !== undefined && { kubeReserved: config.kubeReserved }),
    ...(config.systemReserved !== undefined && { systemReserved: config.systemReserved }),
    ...(config.cgroupRoot !== undefined && { cgroupRoot: config.cgroupRoot }),
    cgroupsPerQOS: config.cgroupRoot !== undefined,
    podPidsLimit: config.podPidsLimit ?? -1,
    ...managerFields({ ...DEFAULT_RESOURCE_MANAGERS, ...config.resourceManagers }),
    ...evictionFields(eviction),
    imageMinimumGCAge: seconds(imageGc.minAgeMs),
    imageMaximumGCAge: seconds(imageGc.maxAgeMs),
    imageGCHighThresholdPercent: imageGc.highThresholdPercent,
    imageGCLowThresholdPercent: imageGc.lowThresholdPercent,
    volumeStatsAggPeriod: seconds(eviction.volumeStatsMs),
    ...(config.allowedUnsafeSysctls !== undefined && {
      allowedUnsafeSysctls: config.allowedUnsafeSysctls,
    }),
    enableSystemLogHandler: config.systemLogsDir !== undefined,
    enableSystemLogQuery: false,
    enableProfilingHandler: false,
    enableDebugFlagsHandler: false,
    ...(config.shutdownPeriods !== undefined && {
      shutdownGracePeriodByPodPriority: config.shutdownPeriods.map(({ priority, seconds }) => ({
        priority,
        shutdownGracePeriodSeconds: seconds,
      })),
    }),
    ...(config.taints !== undefined && { registerWithTaints: config.taints }),
    registerNode: true,
    crashLoopBackOff: { maxContainerRestartPeriod: seconds(config.maxRestartBackoffMs ?? 300_000) },
  };
}

/** Returns the URL of manifests without its password. Headers are named, but their values are not. */
function urlFields({
  staticPodUrl,
  staticPodUrlHeaders = {},
  staticPodUrlCheckMs = 20_000,
}: KubeletConfig): Readonly<Record<string, unknown>> {
  if (staticPodUrl === undefined) return {};
  const url = new URL(staticPodUrl);
  if (url.password !== '') url.password = MASKED;
  return {
    httpCheckFrequency: formatDuration(staticPodUrlCheckMs),
    staticPodURL: url.href,
    staticPodURLHeader: Object.fromEntries(
      Object.keys(staticPodUrlHeaders).map((name) => [name, [MASKED]]),
    ),
  };
}

function managerFields(settings: ResourceManagerSettings): Readonly<Record<string, unknown>> {
  const { cpuManagerPolicyOptions, reservedSystemCPUs, reservedMemory } = settings;
  const { topologyManagerPolicyOptions } = settings;
  return {
    cpuManagerPolicy: settings.cpuManagerPolicy,
    ...(Object.keys(cpuManagerPolicyOptions).length > 0 && { cpuManagerPolicyOptions }),
    cpuManagerReconcilePeriod: formatDuration(settings.cpuManagerReconcileMs),
    memoryManagerPolicy: settings.memoryManagerPolicy,
    topologyManagerPolicy: settings.topologyManagerPolicy,
    topologyManagerScope: settings.topologyManagerScope,
    ...(Object.keys(topologyManagerPolicyOptions).length > 0 && { topologyManagerPolicyOptions }),
    ...(reservedSystemCPUs !== '' && { reservedSystemCPUs }),
    ...(reservedMemory.length > 0 && { reservedMemory }),
  };
}

function evictionFields(settings: EvictionSettings): Readonly<Record<string, unknown>> {
  const { hard, soft, softGracePeriod, minimumReclaim } = settings;
  const maps = {
    evictionHard: hard,
    evictionSoft: soft,
    evictionSoftGracePeriod: softGracePeriod,
    evictionMinimumReclaim: minimumReclaim,
  };
  return {
    ...Object.fromEntries(Object.entries(maps).filter(([, map]) => Object.keys(map).length > 0)),
    evictionPressureTransitionPeriod: formatDuration(settings.pressureTransitionMs),
    evictionMaxPodGracePeriod: settings.maxPodGracePeriodSeconds,
    localStorageCapacityIsolation: settings.localStorageIsolation,
  };
}
