// The methods of CRI's RuntimeService, as calls of a Runtime of this process.

import type { Runtime } from '#cri/index.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { RpcHandlers } from '#machinery/grpc/server.ts';
import type { CriSchema } from './schema.ts';
import type { StreamingServer } from './streaming-server.ts';

type Handlers = RpcHandlers<CriSchema, 'RuntimeService'>;

/** The longest grace period, in seconds; the clock's timers cannot wait longer. */
const MAX_GRACE_SECONDS = 2 ** 31 / 1000;

/**
 * Returns the handlers. Methods that are missing here have no counterpart in the runtimes:
 * checkpoints, streams of lists, resources of sandboxes.
 */
export function runtimeService({ runtime }: Runtime, streaming: StreamingServer): Handlers {
  return {
    Version: (_, { signal }) => runtime.version({ signal }),
    Status: ({ verbose }, { signal }) => runtime.status({ verbose, signal }),
    UpdateRuntimeConfig: async ({ runtimeConfig }, { signal }) => {
      await runtime.updateRuntimeConfig(runtimeConfig ?? {}, { signal });
      return {};
    },
    RuntimeConfig: () => ({ linux: { cgroupDriver: 'CGROUPFS' } }),

    RunPodSandbox: async ({ config, runtimeHandler }, { signal }) => ({
      podSandboxId: await runtime.runPodSandbox(required(config, 'config'), runtimeHandler, {
        signal,
      }),
    }),
    StopPodSandbox: async ({ podSandboxId }, { signal }) => {
      await runtime.stopPodSandbox(podSandboxId, { signal });
      return {};
    },
    RemovePodSandbox: async ({ podSandboxId }, { signal }) => {
      await runtime.removePodSandbox(podSandboxId, { signal });
      return {};
    },
    PodSandboxStatus: ({ podSandboxId, verbose }, { signal }) =>
      runtime.podSandboxStatus(podSandboxId, { verbose, signal }),
    ListPodSandbox: async ({ filter }, { signal }) => ({
      items: await runtime.listPodSandbox(filter, { signal }),
    }),

    CreateContainer: async ({ podSandboxId, config, sandboxConfig }, { signal }) => ({
      containerId: await runtime.createContainer(
        podSandboxId,
        required(config, 'config'),
        sandboxConfig ?? {},
        { signal },
      ),
    }),
    StartContainer: async ({ containerId }, { signal }) => {
      await runtime.startContainer(containerId, { signal });
      return {};
    },
    StopContainer: async ({ containerId, timeout }, { signal }) => {
      const graceMs = Math.max(0, Math.min(timeout, MAX_GRACE_SECONDS)) * 1000;
      await runtime.stopContainer(containerId, graceMs, { signal });
      return {};
    },
    RemoveContainer: async ({ containerId }, { signal }) => {
      await runtime.removeContainer(containerId, { signal });
      return {};
    },
    ListContainers: async ({ filter }, { signal }) => ({
      containers: await runtime.listContainers(filter, { signal }),
    }),
    ContainerStatus: ({ containerId, verbose }, { signal }) =>
      runtime.containerStatus(containerId, { verbose, signal }),
    UpdateContainerResources: async ({ containerId, linux }, { signal }) => {
      await runtime.updateContainerResources(containerId, linux ?? {}, { signal });
      return {};
    },
    ReopenContainerLog: async ({ containerId }, { signal }) => {
      await runtime.reopenContainerLog(containerId, { signal });
      return {};
    },

    ExecSync: async ({ containerId, cmd, timeout }, { signal }) =>
      await runtime.execSync(containerId, cmd, {
        signal,
        ...(timeout > 0 && { timeoutMs: timeout * 1000 }),
      }),
    Exec: async ({ containerId, cmd, ...streams }, { signal }) => {
      // The caller learns now whether the container is there.
      await runtime.containerStatus(containerId, { signal });
      return { url: await streaming.exec(containerId, { ...streams, command: cmd }) };
    },
    Attach: async ({ containerId, ...streams }, { signal }) => {
      await runtime.containerStatus(containerId, { signal });
      return { url: await streaming.attach(containerId, streams) };
    },
    PortForward: async ({ podSandboxId }, { signal }) => {
      await runtime.podSandboxStatus(podSandboxId, { signal });
      return { url: await streaming.portForward(podSandboxId) };
    },

    ContainerStats: async ({ containerId }, { signal }) => ({
      stats: await runtime.containerStats(containerId, { signal }),
    }),
    ListContainerStats: async ({ filter }, { signal }) => ({
      stats: await runtime.listContainerStats(filter, { signal }),
    }),
    PodSandboxStats: async ({ podSandboxId }, { signal }) => ({
      stats: await runtime.podSandboxStats(podSandboxId, { signal }),
    }),
    ListPodSandboxStats: async ({ filter }, { signal }) => ({
      stats: await runtime.listPodSandboxStats(filter, { signal }),
    }),
    ...(runtime.listMetricDescriptors !== undefined && {
      ListMetricDescriptors: async (_: unknown, { signal }: { readonly signal: AbortSignal }) => ({
        descriptors: await runtime.listMetricDescriptors!({ signal }),
      }),
    }),
    ...(runtime.listPodSandboxMetrics !== undefined && {
      ListPodSandboxMetrics: async (_: unknown, { signal }: { readonly signal: AbortSignal }) => ({
        podMetrics: await runtime.listPodSandboxMetrics!({ signal }),
      }),
    }),
    ...(runtime.containerEvents !== undefined && {
      GetContainerEvents: (_: unknown, { signal }: { readonly signal: AbortSignal }) =>
        runtime.containerEvents!(signal),
    }),
  };
}

function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new RpcError('INVALID_ARGUMENT', `${name} is required`);
  return value;
}
