// Keeps a deleted claim as long as a pod with a node refers to it.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isControlledBy } from '../controller-ref.ts';
import { BY_CLAIM, byClaim, claimNameOf } from '../pod-claims.ts';
import { isPodTerminal } from '../pod-state.ts';
import { concernsProtection, protect, PVC_PROTECTION } from './finalizers.ts';

type ReadPod = Immutable<Pod>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

export class PvcProtectionController implements Controller {
  readonly name = 'persistentvolumeclaim-protection-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #pods: SharedInformer<ReadPod>;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'pvcprotection',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#claims = builder.for(persistentVolumeClaims, {
      predicate: concernsProtection(PVC_PROTECTION),
    });
    this.#pods = builder.watches(pods, byClaim, {
      indexers: { [BY_CLAIM]: byClaim },
      // Only a pod that is gone, has ended or never had a node can release a claim.
      predicate: {
        ...only((pod) => pod.spec.nodeName === undefined || isPodTerminal(pod) || isShutDown(pod)),
        delete: undefined,
      },
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const claim = this.#claims.lister.getByKey(key);
    if (claim === undefined) return reconciled;
    const isUsed = (stop: AbortSignal): Promise<boolean> => this.#isUsed(claim, stop);
    const { client } = this.#config;
    return await protect(
      { client, type: persistentVolumeClaims, finalizer: PVC_PROTECTION, isUsed },
      claim,
      signal,
    );
  }

  /**
   * Reports whether a pod uses the claim. Reads the API after the cache, because a pod may be newer
   * than the cache.
   */
  async #isUsed(claim: ReadClaim, signal: AbortSignal): Promise<boolean> {
    if (this.#pods.lister.byIndex(BY_CLAIM, objectKey(claim)).some((pod) => uses(pod, claim)))
      return true;
    const { items } = await this.#config.client
      .resource(pods)
      .namespace(claim.metadata.namespace ?? '')
      .list({ signal });
    return items.some((pod) => uses(pod, claim));
  }
}

/**
 * Reports whether the pod uses the claim. A pod without a node does not: the kubelet starts no pod
 * whose claim is being deleted.
 */
function uses(pod: ReadPod, claim: ReadClaim): boolean {
  if (pod.spec.nodeName === undefined) return false;
  return (pod.spec.volumes ?? []).some((volume) => {
    if (claimNameOf(pod, volume) !== claim.metadata.name) return false;
    // The claim of an ephemeral volume is deleted with its pod, which may wait for the claim.
    return volume.ephemeral === undefined || (!isShutDown(pod) && isControlledBy(claim, pod));
  });
}

/** Reports whether the kubelet has shut the pod down, or it was deleted by force. */
function isShutDown({ metadata }: ReadPod): boolean {
  return (
    metadata.deletionTimestamp !== undefined && (metadata.deletionGracePeriodSeconds ?? 0) === 0
  );
}
