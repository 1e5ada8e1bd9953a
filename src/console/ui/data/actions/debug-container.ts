// Adds an ephemeral container to a pod and waits until it runs.

import { type Clock, sleep } from '../../browser/clock.ts';
import type { Api } from '../server/api.ts';
import type { KubeObject } from '../lists/live-object.ts';

const POLL_MS = 500;
const TIMEOUT_MS = 60_000;

interface EphemeralStatus {
  readonly name: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: object;
    readonly terminated?: { readonly reason?: string; readonly exitCode?: number };
  };
}

/**
 * Returns the name of the container once it runs. Throws if its image cannot be pulled, if it ends,
 * or if it does not run within a minute.
 */
export async function addDebugContainer(
  { api, clock }: { readonly api: Api; readonly clock: Clock },
  pod: KubeObject,
  image: string,
  target: string,
): Promise<string> {
  const namespace = encodeURIComponent(pod.metadata.namespace ?? '');
  const path = `/api/v1/namespaces/${namespace}/pods/${encodeURIComponent(pod.metadata.name)}`;
  const existing = (pod.spec?.['ephemeralContainers'] ?? []) as readonly { name: string }[];
  // Containers are never removed, so their number is free.
  const name = `debugger-${existing.length + 1}`;
  await api.request(`${path}/ephemeralcontainers`, {
    method: 'PATCH',
    contentType: 'application/strategic-merge-patch+json',
    body: {
      spec: {
        ephemeralContainers: [
          {
            name,
            image,
            stdin: true,
            tty: true,
            ...(target !== '' &&
              !target.startsWith('debugger-') && { targetContainerName: target }),
          },
        ],
      },
    },
  });
  const deadline = clock.now() + TIMEOUT_MS;
  for (;;) {
    const current = await api.json<KubeObject>(path);
    const statuses = (current.status?.['ephemeralContainerStatuses'] ??
      []) as readonly EphemeralStatus[];
    const state = statuses.find((status) => status.name === name)?.state;
    if (state?.running !== undefined) return name;
    if (state?.terminated !== undefined)
      throw new Error(`the debug container ended: ${state.terminated.reason ?? ''}`);
    if (/Err|BackOff|Invalid/.test(state?.waiting?.reason ?? ''))
      throw new Error(`${state?.waiting?.reason}: ${state?.waiting?.message ?? ''}`);
    if (clock.now() > deadline) throw new Error('the debug container does not run after a minute');
    await sleep(clock, POLL_MS);
  }
}
