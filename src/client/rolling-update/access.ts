// Reads and changes the replication controllers and pods of one namespace for rolling updates.

import {
  type Pod,
  pods,
  type ReplicationController,
  replicationControllers,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import * as wait from '#machinery/wait.ts';
import type { Client, ResourceClient } from '../client.ts';
import type { Controller, Timing } from './types.ts';

const RETRIES = { durationMs: 10, factor: 5, steps: 5 } as const;

export class NamespaceAccess {
  readonly controllers: ResourceClient<ReplicationController>;
  readonly #pods: ResourceClient<Pod>;
  readonly #timing: Timing;

  constructor(client: Client, namespace: string, timing: Timing) {
    this.controllers = client.resource(replicationControllers).namespace(namespace);
    this.#pods = client.resource(pods).namespace(namespace);
    this.#timing = timing;
  }

  /** Returns the controller; undefined if it does not exist. */
  async find(name: string): Promise<Controller | undefined> {
    try {
      return await this.controllers.get(name);
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Changes the current state of a controller. Retries after a conflict. */
  async change(
    name: string,
    change: (controller: Controller) => New<ReplicationController>,
  ): Promise<Controller> {
    const { clock, signal } = this.#timing;
    return wait.retryOnError(
      { clock, backoff: RETRIES, ...(signal !== undefined && { signal }) },
      apierrors.isConflict,
      async () => this.controllers.update(change(await this.controllers.get(name))),
    );
  }

  /** Sets annotations. The value undefined removes an annotation. */
  annotate(
    name: string,
    annotations: Readonly<Record<string, string | undefined>>,
  ): Promise<Controller> {
    return this.change(name, (controller) => ({
      ...controller,
      metadata: {
        ...controller.metadata,
        annotations: withoutUndefined({ ...controller.metadata.annotations, ...annotations }),
      },
    }));
  }

  /**
   * Scales a controller, and waits until it has created or deleted its pods. Rejects with
   * WaitTimeoutError.
   */
  async scale(name: string, replicas: number): Promise<Controller> {
    const patch = { spec: { replicas } };
    await this.controllers.patch(name, 'application/merge-patch+json', patch, {
      subresource: 'scale',
    });
    return this.#synced(name, replicas);
  }

  /** Waits until the controller has as many pods as its spec requires. */
  async settled(name: string): Promise<Controller> {
    const { spec } = await this.controllers.get(name);
    return this.#synced(name, spec.replicas ?? 1);
  }

  async #synced(name: string, replicas: number): Promise<Controller> {
    let current: Controller | undefined;
    try {
      await wait.pollImmediately(this.poll(), async () => {
        current = await this.controllers.get(name);
        const { metadata, status } = current;
        const isSeen = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
        return isSeen && status.replicas === replicas;
      });
    } catch (error) {
      if (!(error instanceof wait.WaitTimeoutError)) throw error;
      throw new wait.WaitTimeoutError(`timed out waiting for "${name}" to be synced`);
    }
    return current as Controller;
  }

  /** Returns the controller's pods that are not being deleted. */
  async podsOf({ spec }: Controller): Promise<readonly Immutable<Pod>[]> {
    const labelSelector = Object.entries(spec.selector ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
    const { items } = await this.#pods.list({ labelSelector });
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async available(controller: Controller): Promise<number> {
    return (await this.podsOf(controller)).filter(isReady).length;
  }

  async deletePod(name: string): Promise<void> {
    try {
      await this.#pods.delete(name);
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  }

  async labelPod(name: string, key: string, value: string): Promise<void> {
    const patch = { metadata: { labels: { [key]: value } } };
    try {
      await this.#pods.patch(name, 'application/merge-patch+json', patch);
    } catch (error) {
      // The object was deleted meanwhile.
      if (!apierrors.isNotFound(error)) throw error;
    }
  }

  poll(): wait.PollConfig {
    const { clock, signal, pollIntervalMs: intervalMs, timeoutMs } = this.#timing;
    return { clock, intervalMs, timeoutMs, ...(signal !== undefined && { signal }) };
  }

  sleep(ms: number): Promise<void> {
    return this.#timing.clock.sleep(ms, this.#timing.signal);
  }
}

export function isReady({ status }: Immutable<Pod>): boolean {
  return (
    status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ===
    true
  );
}

function withoutUndefined(
  values: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Record<string, string>;
}
