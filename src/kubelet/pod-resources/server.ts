// Serves the API of pod resources at pod-resources/kubelet.sock in the kubelet's root directory: which
// devices and claims the containers of this node have. Monitoring agents and topology-aware
// schedulers use it.

import type { Clock } from '#machinery/clock.ts';
import { TokenBucket } from '#machinery/token-bucket.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import type { Input } from '#machinery/grpc/schema.ts';
import { isSidecar } from '../pod/restart-policy.ts';
import type { Container, Pod } from '../types.ts';
import { podResourcesSchema, type PodResourcesSchema } from './schema.ts';

type PodMessage = Input<PodResourcesSchema, 'PodResources'>;
export type ContainerMessage = Omit<Input<PodResourcesSchema, 'ContainerResources'>, 'name'>;

export interface PodResourcesConfig {
  readonly clock: Clock;
  /** The path of the socket. */
  readonly path: string;
  /** Returns the pods that have resources of the node. */
  readonly active: () => readonly Pod[];
  /** Returns any pod of the node. */
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  /** Returns the resources of the container. */
  readonly resources: (pod: Pod, container: Container) => ContainerMessage;
  readonly allocatable: () => Input<PodResourcesSchema, 'AllocatableResourcesResponse'>;
  /** Called before a list: devices of pods that have ended are released. */
  readonly beforeList: () => void;
}

/** Upstream's limits for all callers together. */
const CALLS_PER_SECOND = 100;
const BURST = 10;

/** Serves until the signal aborts. Rejects if the socket cannot be made. */
export async function servePodResources(
  config: PodResourcesConfig,
  signal: AbortSignal,
): Promise<void> {
  const { clock, path, active, pod, allocatable, beforeList } = config;
  const bucket = new TokenBucket({ clock, perSecond: CALLS_PER_SECOND, burst: BURST });
  const limited = <T>(work: () => T): T => {
    if (bucket.tryTake()) return work();
    throw new RpcError('RESOURCE_EXHAUSTED', 'rejected by rate limit');
  };
  const server = new RpcServer(podResourcesSchema);
  server.addService('PodResourcesLister', {
    List: () =>
      limited(() => {
        beforeList();
        return { podResources: active().map((found) => podMessage(config, found)) };
      }),
    GetAllocatableResources: () => limited(allocatable),
    Get: ({ podName, podNamespace }) =>
      limited(() => {
        const found = pod(podNamespace, podName);
        if (found === undefined) {
          throw new RpcError('UNKNOWN', `pod ${podName} in namespace ${podNamespace} not found`);
        }
        return { podResources: podMessage(config, found) };
      }),
  });
  await server.listen(path);
  if (signal.aborted) server.close();
  else signal.addEventListener('abort', () => server.close(), { once: true });
}

/** Returns the resources of sidecars and regular containers. */
function podMessage({ resources }: PodResourcesConfig, pod: Pod): PodMessage {
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
  return {
    name: pod.metadata.name,
    namespace: pod.metadata.namespace ?? '',
    containers: [...sidecars, ...pod.spec.containers].map((container) => ({
      name: container.name,
      ...resources(pod, container),
    })),
  };
}
