// /configz: the configuration of this kubelet in the form of upstream's KubeletConfiguration
// (kubelet.config.k8s.io/v1beta1). It contains only fields that apply here, with their effective
// values.

import { formatDuration } from '#machinery/text/duration.ts';
import type { KubeletConfig } from './config.ts';
import { DEFAULT_ACCESS } from './server/access.ts';

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
  return {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    enableServer: config.server !== undefined,
    ...(config.staticPodPath !== undefined && { staticPodPath: config.staticPodPath }),
    podLogsDir,
    fileCheckFrequency: seconds(config.staticPodCheckMs ?? 20_000),
    ...(config.server?.listeners.host !== undefined && { address: config.server.listeners.host }),
    port,
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
    serializeImagePulls: false,
    enableControllerAttachDetach: true,
    failSwapOn: false,
    containerLogMaxSize: `${Math.floor((config.containerLogMaxBytes ?? 10 * 1024 * 1024) / (1024 * 1024))}Mi`,
    containerLogMaxFiles: config.containerLogMaxFiles ?? 5,
    configMapAndSecretChangeDetectionStrategy: 'Watch',
    enforceNodeAllocatable: ['none'],
    enableSystemLogHandler: false,
    enableSystemLogQuery: false,
    enableProfilingHandler: false,
    enableDebugFlagsHandler: false,
    ...(config.taints !== undefined && { registerWithTaints: config.taints }),
    registerNode: true,
    crashLoopBackOff: { maxContainerRestartPeriod: seconds(config.maxRestartBackoffMs ?? 300_000) },
  };
}
