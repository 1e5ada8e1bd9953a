// Ephemeral volumes: creates a claim for each from the template in its pod. The pod owns the claim,
// which is deleted with it.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Pod,
  pods,
  type Volume,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { type Counter, Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isControlledBy, newControllerRef } from '../controller-ref.ts';
import { BY_CLAIM, byClaim, claimNameOf } from '../pod-claims.ts';
import { isNamespaceTerminating } from '../pod-control.ts';

type ReadPod = Immutable<Pod>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

export class EphemeralVolumeController implements Controller {
  readonly name = 'ephemeral-volume-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #recorder: EventRecorder;
  readonly #tries: Counter;
  readonly #failures: Counter;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const instruments = config.instruments ?? new Instruments();
    const counter = (name: string, help: string): Counter =>
      instruments.counter({ name: `ephemeral_volume_controller_${name}`, help }).with();
    this.#tries = counter('create_total', 'Claims that were to be made.');
    this.#failures = counter('create_failures_total', 'Claims that could not be made.');
    const builder = new ControllerBuilder(config, {
      queue: 'ephemeral_volume',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder('ephemeral_volume');
    this.#pods = builder.for(pods, {
      indexers: { [BY_CLAIM]: byClaim },
      predicate: { ...only(needsClaims), delete: false },
    });
    // A deleted claim may be needed by a pod, or may have had the name that another pod's claim
    // needs.
    this.#claims = builder.watches(
      persistentVolumeClaims,
      (claim) =>
        this.#pods.lister.byIndex(BY_CLAIM, objectKey(claim)).filter(needsClaims).map(objectKey),
      { predicate: { add: false, update: false } },
    );
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const pod = this.#pods.lister.getByKey(key);
    if (pod === undefined || !needsClaims(pod)) return reconciled;
    for (const volume of pod.spec.volumes ?? []) {
      if (volume.ephemeral === undefined) continue;
      const why = await this.#ensureClaim(pod, volume, signal);
      if (why === undefined) continue;
      const regarding = { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
      this.#recorder.event(
        regarding,
        'Warning',
        'FailedBinding',
        `ephemeral volume ${volume.name}: ${why}`,
      );
      return requeue;
    }
    return reconciled;
  }

  /** Creates the volume's claim. Returns why there is none; undefined on success. */
  async #ensureClaim(
    pod: ReadPod,
    volume: Immutable<Volume>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { namespace = '' } = pod.metadata;
    const name = claimNameOf(pod, volume) ?? '';
    const present = this.#claims.lister.get(namespace, name);
    if (present !== undefined) return ownership(present, pod);
    const template = volume.ephemeral?.volumeClaimTemplate;
    if (template === undefined) return undefined;
    const { annotations, labels } = template.metadata;
    const client = this.#config.client.resource(persistentVolumeClaims).namespace(namespace);
    this.#tries.value++;
    try {
      await client.create(
        {
          metadata: {
            name,
            ...(annotations !== undefined && { annotations }),
            ...(labels !== undefined && { labels }),
            ownerReferences: [newControllerRef(pod.metadata, { apiVersion: 'v1', kind: 'Pod' })],
          },
          spec: template.spec,
        },
        { signal },
      );
    } catch (error) {
      if (signal.aborted) throw error;
      this.#failures.value++;
      if (isNamespaceTerminating(error)) return undefined;
      // The existing claim may be the pod's own, missing in the cache.
      if (apierrors.isAlreadyExists(error))
        return ownership(await client.get(name, { signal }), pod);
      return `create PVC ${name}: ${errorMessage(error)}`;
    }
    return undefined;
  }
}

function needsClaims({ metadata, spec }: ReadPod): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined) === true
  );
}

function ownership(claim: ReadClaim, pod: ReadPod): string | undefined {
  if (isControlledBy(claim, pod)) return undefined;
  return `PVC ${objectKey(claim)} was not created for pod ${objectKey(pod)} (pod is not owner)`;
}
