// The finalizers of jobs' pods: a pod keeps its own until the pod is counted.

import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { type Lister, objectKey } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { OwnWrites } from '../own-writes.ts';
import { TRACKING_FINALIZER } from './job-pods.ts';

type ReadPod = Immutable<Pod>;

/** The number of finalizers that are removed at once. */
const FINALIZER_WORKERS = 16;

export class PodFinalizers {
  readonly #client: Client;
  readonly #pods: Pick<Lister<ReadPod>, 'getByKey'>;
  readonly #writes: OwnWrites;

  /** `pods`: the cached pods. `writes`: records the patches. */
  constructor(client: Client, pods: Pick<Lister<ReadPod>, 'getByKey'>, writes: OwnWrites) {
    this.#client = client;
    this.#pods = pods;
    this.#writes = writes;
  }

  /** Removes the finalizer of a pod. Returns the pod; undefined if it is gone. */
  async remove(pod: ReadPod, signal: AbortSignal): Promise<ReadPod | undefined> {
    const { name, namespace = '', uid } = pod.metadata;
    const patch = {
      metadata: { uid, '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] },
    };
    try {
      return await this.#client
        .resource(pods)
        .namespace(namespace)
        .patch(name, 'application/strategic-merge-patch+json', patch, { signal });
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      // A conflict may mean that another pod has the name: then the cache will show that this pod
      // is gone.
      throw error;
    }
  }

  /**
   * Removes the finalizers of pods whose UIDs are in the status. Returns the UIDs of the pods
   * without a finalizer.
   */
  async release(
    key: string,
    doomed: readonly ReadPod[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const released = new Set<string>();
    const pending = doomed.values();
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      for (const pod of pending) {
        try {
          const patched = await this.remove(pod, signal);
          if (patched !== undefined)
            this.#writes.wrote(key, patched, this.#pods.getByKey(objectKey(pod)) ?? patched);
          released.add(pod.metadata.uid);
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(FINALIZER_WORKERS, doomed.length) }, work));
    if (failures.length > 0) throw failures[0];
    return released;
  }
}
