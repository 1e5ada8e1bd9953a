// Computes how many pods a budget expects: the sum of the desired replicas of its pods'
// controllers.

import { deployments, replicaSets, statefulSets } from '#api/groups/apps/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { type Pod, replicationControllers } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import type { InformerSource, SharedInformer } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';
import { controllerOf } from '../controller-ref.ts';
import { groupOf, type ScaleClient } from '../scale-client.ts';

interface Scaled extends KubeObject {
  readonly spec: { readonly replicas?: number };
}

export interface Expected {
  readonly count: number;
  /** Names of pods without a controller: the expected number is unknown for them. */
  readonly unmanaged: readonly string[];
}

export class ExpectedPods {
  readonly #scales: ScaleClient;
  /** Informers of scalable controllers, by group and kind. */
  readonly #informers: ReadonlyMap<string, SharedInformer<Scaled>>;

  constructor(informers: InformerSource, scales: ScaleClient) {
    this.#scales = scales;
    const kinds: readonly ResourceType<Scaled>[] = [
      deployments,
      replicaSets,
      statefulSets,
      replicationControllers,
    ];
    this.#informers = new Map(
      kinds.map((type) => [`${type.kind}.${type.group}`, informers.informerFor(type)]),
    );
  }

  /**
   * Returns the expected number. Throws Error if a pod's controller does not exist or has no scale
   * subresource.
   */
  async of(pods: readonly Immutable<Pod>[], signal: AbortSignal): Promise<Expected> {
    const scales = new Map<string, number>();
    const unmanaged: string[] = [];
    for (const { metadata } of pods) {
      const reference = controllerOf({ metadata });
      if (reference === undefined) {
        unmanaged.push(metadata.name);
        continue;
      }
      const found = await this.#find(reference, metadata.namespace ?? '', signal);
      if (found === undefined)
        throw new Error(`found no controllers for pod ${quote(metadata.name)}`);
      scales.set(found.uid, found.replicas);
    }
    return { count: [...scales.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged };
  }

  async #find(
    reference: Immutable<OwnerReference>,
    namespace: string,
    signal: AbortSignal,
  ): Promise<{ readonly uid: string; readonly replicas: number } | undefined> {
    const group = groupOf(reference.apiVersion);
    const informer = this.#informers.get(`${reference.kind}.${group}`);
    if (informer === undefined) return this.#scaleOf(reference, group, namespace, signal);
    const owner = informer.lister.get(namespace, reference.name);
    if (owner === undefined || owner.metadata.uid !== reference.uid) return undefined;
    // The ReplicaSet of a Deployment has the size of the rollout's current step, so the
    // Deployment's replicas count.
    const above = reference.kind === 'ReplicaSet' ? controllerOf(owner) : undefined;
    if (above !== undefined && above.kind === 'Deployment')
      return this.#find(above, namespace, signal);
    return { uid: owner.metadata.uid, replicas: owner.spec.replicas ?? 1 };
  }

  async #scaleOf(
    { kind, name, uid }: Immutable<OwnerReference>,
    group: string,
    namespace: string,
    signal: AbortSignal,
  ): Promise<{ readonly uid: string; readonly replicas: number } | undefined> {
    const resource = await this.#scales.resourceOf({ group, kind }, signal);
    if (!resource.scalable) {
      const what = group === '' ? resource.resource : `${resource.resource}.${group}`;
      throw new Error(`${what} does not implement the scale subresource`);
    }
    try {
      const scale = await this.#scales.get(resource, namespace, name, signal);
      return scale.metadata.uid === uid ? { uid, replicas: scale.spec.replicas ?? 0 } : undefined;
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  }
}
