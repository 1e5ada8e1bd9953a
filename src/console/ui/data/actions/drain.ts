// Drains a node as `kubectl drain` does: no new pods, then evictions, which respect disruption
// budgets, until the pods are gone.

import { type Clock, sleep } from '../../browser/clock.ts';
import type { Api } from '../server/api.ts';
import { ApiError, isNotFound, messageOf } from '../server/api-error.ts';
import type { KubeObject } from '../lists/live-object.ts';

export interface DrainPlan {
  readonly evicted: readonly KubeObject[];
  /** Pods that stay: those of DaemonSets, which would come back at once, and of the node's files. */
  readonly staying: readonly { readonly pod: KubeObject; readonly reason: string }[];
  /** The evicted pods that nothing creates again elsewhere. */
  readonly unmanaged: readonly KubeObject[];
  /** The evicted pods whose emptyDir volumes are lost. */
  readonly withLocalData: readonly KubeObject[];
}

/** Decides what a drain does with the pods of a node. */
export function drainPlan(pods: readonly KubeObject[]): DrainPlan {
  const staying: { readonly pod: KubeObject; readonly reason: string }[] = [];
  const evicted: KubeObject[] = [];
  for (const pod of pods) {
    const reason = reasonToStay(pod);
    if (reason === undefined) evicted.push(pod);
    else staying.push({ pod, reason });
  }
  const running = evicted.filter((pod) => !isFinished(pod));
  return {
    evicted,
    staying,
    unmanaged: running.filter((pod) => controllerOf(pod) === undefined),
    withLocalData: running.filter(hasLocalData),
  };
}

function reasonToStay(pod: KubeObject): string | undefined {
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined)
    return 'comes from a file of the node';
  if (controllerOf(pod)?.kind === 'DaemonSet' && !isFinished(pod)) return 'belongs to a DaemonSet';
  return undefined;
}

const controllerOf = ({ metadata: { ownerReferences = [] } }: KubeObject) =>
  ownerReferences.find(({ controller }) => controller === true);

const isFinished = ({ status }: KubeObject): boolean =>
  status?.['phase'] === 'Succeeded' || status?.['phase'] === 'Failed';

const hasLocalData = ({ spec }: KubeObject): boolean =>
  ((spec?.['volumes'] ?? []) as readonly object[]).some((volume) => 'emptyDir' in volume);

export type PodProgress =
  | { readonly kind: 'evicting' }
  /** A budget does not permit the eviction now; it is tried again. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** The eviction was accepted, and the pod ends. */
  | { readonly kind: 'ending' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly message: string };

export interface DrainServices {
  readonly api: Api;
  readonly clock: Clock;
}

/** Evictions at a time. */
const PARALLEL = 16;
/** The time between two attempts that a budget has rejected, as kubectl. */
const RETRY_MS = 5000;
const POLL_MS = 1000;

/**
 * Evicts the pods, and waits until they are gone. `onProgress` gets each change. Rejects only if the
 * signal aborts: evictions that were accepted go on then.
 */
export async function evictAll(
  services: DrainServices,
  pods: readonly KubeObject[],
  onProgress: (pod: KubeObject, progress: PodProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const queue = [...pods];
  const work = async (): Promise<void> => {
    for (let pod = queue.shift(); pod !== undefined; pod = queue.shift()) {
      const current = pod;
      await evict(services, pod, (progress) => onProgress(current, progress), signal);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

async function evict(
  { api, clock }: DrainServices,
  pod: KubeObject,
  onProgress: (progress: PodProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '', uid } = pod.metadata;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  onProgress({ kind: 'evicting' });
  try {
    for (;;) {
      try {
        await api.request(`${path}/eviction`, {
          method: 'POST',
          body: {
            apiVersion: 'policy/v1',
            kind: 'Eviction',
            metadata: { name, namespace },
            // Another pod of the same name is not meant.
            deleteOptions: { preconditions: { uid } },
          },
          signal,
        });
        break;
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 429) throw error;
        onProgress({ kind: 'waiting', message: messageOf(error) });
        await sleep(clock, RETRY_MS, signal);
      }
    }
    onProgress({ kind: 'ending' });
    while ((await uidAt(api, path, signal)) === uid) await sleep(clock, POLL_MS, signal);
    onProgress({ kind: 'gone' });
  } catch (error) {
    if (signal.aborted) throw error;
    // It has ended by itself, or another pod has its name.
    if (isNotFound(error) || (error instanceof ApiError && error.code === 409))
      onProgress({ kind: 'gone' });
    else onProgress({ kind: 'failed', message: messageOf(error) });
  }
}

async function uidAt(api: Api, path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await api.json<KubeObject>(path, { signal })).metadata.uid;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
