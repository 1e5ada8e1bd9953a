// ResourceClaims of pods: creates them from the templates that pods name, records them in the pods'
// status, removes the reservations of ended pods, and deletes the claims with their pods.

import { type Pod, type PodResourceClaim, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type ResourceClaim,
  resourceClaims,
  type ResourceClaimTemplate,
  resourceClaimTemplates,
} from '#api/groups/resource/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import {
  type Counter,
  countSamples,
  type Family,
  Instruments,
} from '#machinery/metrics/instruments.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { BY_CONTROLLER, byController, controllerOf, newControllerRef } from '../controller-ref.ts';
import { OwnWrites } from '../own-writes.ts';
import { isNamespaceTerminating } from '../pod-control.ts';
import { isPodTerminal } from '../pod-state.ts';

type ReadPod = Immutable<Pod>;
type ReadClaim = Immutable<ResourceClaim>;

const COMPONENT = 'resource_claim';
const POD_CLAIM_NAME = 'resource.kubernetes.io/pod-claim-name';
const FINALIZER = 'resource.kubernetes.io/delete-protection';

export class ResourceClaimController implements Controller {
  readonly name = 'resourceclaim-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #templates: SharedInformer<Immutable<ResourceClaimTemplate>>;
  readonly #claimQueue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #creations: Family<Counter>;
  /** By the pod's key: claims that were created for it. */
  readonly #writes: OwnWrites;

  constructor(config: ControllerConfig) {
    this.#config = config;
    this.#writes = new OwnWrites({ clock: config.clock });
    const instruments = config.instruments ?? new Instruments();
    this.#creations = instruments.counter({
      name: 'resourceclaim_controller_creates_total',
      help: 'Claims that were to be made from a template.',
      labels: ['status', 'admin_access'],
    });
    const labels = ['allocated', 'admin_access', 'source'];
    instruments.gauge(
      { name: 'resourceclaim_controller_resource_claims', help: 'Claims.', labels },
      () => countSamples(this.#claims.lister.list().map(metricLabels)),
    );
    const builder = new ControllerBuilder(config, {
      queue: 'resource_claim',
      workers: 5,
      reconcile: (key, signal) => this.#reconcilePod(key, signal),
    });
    this.#claimQueue = builder.addQueue({
      queue: 'resource_claim_claims',
      workers: 5,
      reconcile: (key, signal) => this.#reconcileClaim(key, signal),
    });
    this.#recorder = builder.recorder(COMPONENT);
    this.#pods = builder.for(pods, {
      predicate: { ...only(namesClaims), delete: false },
      onSeen: (pod) => {
        if (usesClaims(pod) && isDone(pod)) this.#wakeClaimsOf(pod);
      },
      onGone: (pod) => this.#podGone(pod),
    });
    this.#claims = builder.watches(resourceClaims, objectKey, {
      indexers: { [BY_CONTROLLER]: byController },
      predicate: { delete: false },
      enqueue: (key) => this.#claimQueue.add(key),
    });
    builder.watches(resourceClaims, podKeyOf, {
      onSeen: (claim) => {
        const key = podKeyOf(claim);
        if (key !== undefined) this.#writes.seen(key, claim);
      },
      onGone: (claim) => {
        const key = podKeyOf(claim);
        if (key !== undefined) this.#writes.gone(key, claim);
      },
    });
    this.#templates = builder.watches(
      resourceClaimTemplates,
      (template) => this.#podsWaitingFor(template),
      {
        predicate: { update: false, delete: false },
      },
    );
    this.run = builder.complete();
  }

  #podsWaitingFor({ metadata }: Immutable<ResourceClaimTemplate>): readonly string[] {
    return this.#pods.lister
      .list(metadata.namespace ?? '')
      .filter(({ spec }) =>
        spec.resourceClaims?.some(
          ({ resourceClaimTemplateName }) => resourceClaimTemplateName === metadata.name,
        ),
      )
      .map(objectKey);
  }

  #podGone(pod: ReadPod): void {
    if (!usesClaims(pod)) return;
    this.#writes.forget(objectKey(pod));
    this.#wakeClaimsOf(pod);
  }

  #wakeClaimsOf(pod: ReadPod): void {
    const { namespace = '', uid } = pod.metadata;
    for (const name of claimNamesOf(pod)) this.#claimQueue.add(`${namespace}/${name}`);
    for (const claim of this.#claims.lister.byIndex(BY_CONTROLLER, uid))
      this.#claimQueue.add(objectKey(claim));
  }

  async #reconcilePod(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const pod = this.#pods.lister.getByKey(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod))
      return reconciled;
    const behindMs = this.#writes.remainingMs(key);
    if (behindMs > 0) return requeueAfter(behindMs);
    const made = new Map<string, string>();
    try {
      for (const podClaim of pod.spec.resourceClaims ?? []) {
        if (podClaim.resourceClaimTemplateName === undefined) continue;
        const claim = await this.#claimFor(
          pod,
          podClaim,
          podClaim.resourceClaimTemplateName,
          signal,
        );
        made.set(podClaim.name, claim.metadata.name);
      }
      await this.#noteIn(pod, made, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error) || isNamespaceTerminating(error)) return reconciled;
      throw error;
    }
    return reconciled;
  }

  async #counted<T>(
    template: Immutable<ResourceClaimTemplate>['spec'],
    create: () => Promise<T>,
  ): Promise<T> {
    let status = 'failure';
    try {
      const created = await create();
      status = 'success';
      return created;
    } finally {
      this.#creations.with(status, String(asksForAdminAccess(template.spec))).value++;
    }
  }

  /**
   * Returns the claim that was created from the template for this pod. Creates it if it does not
   * exist.
   */
  async #claimFor(
    pod: ReadPod,
    podClaim: Immutable<PodResourceClaim>,
    templateName: string,
    signal: AbortSignal,
  ): Promise<ReadClaim> {
    const { name, namespace = '', uid } = pod.metadata;
    const own = this.#claims.lister.byIndex(BY_CONTROLLER, uid);
    const present = own.find(
      (claim) => isFor(claim, podClaim.name) && claim.metadata.deletionTimestamp === undefined,
    );
    if (present !== undefined) return present;
    try {
      const template = this.#templates.lister.get(namespace, templateName);
      if (template === undefined)
        throw new Error(`resource claim template "${templateName}": not found`);
      const { labels, annotations } = template.spec.metadata;
      const created = await this.#counted(template.spec, () =>
        this.#config.client.resource(resourceClaims).create(
          {
            metadata: {
              generateName: `${name}-${podClaim.name}-`,
              namespace,
              ...(labels !== undefined && { labels }),
              annotations: { ...annotations, [POD_CLAIM_NAME]: podClaim.name },
              ownerReferences: [newControllerRef(pod.metadata, { apiVersion: 'v1', kind: 'Pod' })],
            },
            spec: template.spec.spec,
          },
          { signal },
        ),
      );
      this.#writes.wrote(objectKey(pod), created, this.#claims.lister.getByKey(objectKey(created)));
      return created;
    } catch (error) {
      if (!signal.aborted && !isNamespaceTerminating(error)) {
        const regarding = { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
        const message = `PodResourceClaim ${podClaim.name}: ${errorMessage(error)}`;
        this.#recorder.event(regarding, 'Warning', 'FailedResourceClaimCreation', message);
      }
      throw error;
    }
  }

  /**
   * Records the claims in the pod's status, from which the kubelet and the scheduler read them.
   * `made`: by the claim's name in the pod.
   */
  async #noteIn(
    pod: ReadPod,
    made: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<void> {
    const noted = pod.status.resourceClaimStatuses ?? [];
    const isNoted = [...made].every(([name, claim]) =>
      noted.some((status) => status.name === name && status.resourceClaimName === claim),
    );
    if (isNoted) return;
    const { name, namespace = '', uid } = pod.metadata;
    const resourceClaimStatuses = [...made].map(([podClaim, resourceClaimName]) => ({
      name: podClaim,
      resourceClaimName,
    }));
    const patch = { metadata: { uid }, status: { resourceClaimStatuses } };
    await this.#config.client
      .resource(pods)
      .namespace(namespace)
      .patch(name, 'application/strategic-merge-patch+json', patch, {
        subresource: 'status',
        signal,
      });
  }

  async #reconcileClaim(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const cached = this.#claims.lister.getByKey(key);
    if (cached === undefined) return reconciled;
    const { namespace = '', name, uid } = cached.metadata;
    const client = this.#config.client.resource(resourceClaims).namespace(namespace);
    try {
      let claim = cached;
      const reservedFor = claim.status.reservedFor ?? [];
      const valid: (typeof reservedFor)[number][] = [];
      for (const consumer of reservedFor) {
        const isPod = (consumer.apiGroup ?? '') === '' && consumer.resource === 'pods';
        if (!isPod || (await this.#stillUses(namespace, consumer, signal))) valid.push(consumer);
      }
      const released = valid.length < reservedFor.length;
      const goes = claim.metadata.deletionTimestamp !== undefined;
      if (released || (goes && valid.length === 0 && claim.status.allocation !== undefined)) {
        const { reservedFor: _, allocation, ...rest } = claim.status;
        // A claim that no pod uses is deallocated. It is allocated again when a pod uses it.
        const status =
          valid.length > 0
            ? { ...rest, reservedFor: valid, ...(allocation && { allocation }) }
            : rest;
        claim = await client.updateStatus({ ...claim, status }, { signal });
      }
      const isFree =
        claim.status.allocation === undefined && (claim.status.reservedFor ?? []).length === 0;
      // Otherwise the scheduler may have added the finalizer, which it writes before the devices.
      if (isFree && (released || goes) && claim.metadata.finalizers?.includes(FINALIZER) === true) {
        const finalizers = claim.metadata.finalizers.filter((finalizer) => finalizer !== FINALIZER);
        claim = await client.update(
          { ...claim, metadata: { ...claim.metadata, finalizers } },
          { signal },
        );
      }
      const owner = controllerOf(claim);
      if (owner?.kind !== 'Pod' || claim.metadata.deletionTimestamp !== undefined)
        return reconciled;
      const pod = this.#pods.lister.get(namespace, owner.name);
      // The garbage collector deletes the claims of deleted pods.
      if (pod?.metadata.uid === owner.uid && isDone(pod))
        await client.delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (!apierrors.isNotFound(error)) throw error;
    }
    return reconciled;
  }

  async #stillUses(
    namespace: string,
    consumer: { readonly name: string; readonly uid: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    const cached = this.#pods.lister.get(namespace, consumer.name);
    if (cached?.metadata.uid === consumer.uid) return !isDone(cached);
    // The cache may be stale.
    try {
      const live = await this.#config.client
        .resource(pods)
        .namespace(namespace)
        .get(consumer.name, { signal });
      return live.metadata.uid === consumer.uid && !isDone(live);
    } catch (error) {
      if (apierrors.isNotFound(error)) return false;
      throw error;
    }
  }
}

/** Reports whether the pod has ended, or will never start. */
function isDone(pod: ReadPod): boolean {
  return isPodTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec.nodeName);
}

function isFor({ metadata }: ReadClaim, podClaimName: string): boolean {
  return metadata.annotations?.[POD_CLAIM_NAME] === podClaimName;
}

function podKeyOf(claim: ReadClaim): string | undefined {
  const owner = controllerOf(claim);
  return owner?.kind === 'Pod' ? `${claim.metadata.namespace}/${owner.name}` : undefined;
}

function claimNamesOf({ spec, status }: ReadPod): readonly string[] {
  const direct = (spec.resourceClaims ?? []).flatMap(
    ({ resourceClaimName }) => resourceClaimName ?? [],
  );
  const extended = status.extendedResourceClaimStatus?.resourceClaimName;
  return [
    ...direct,
    ...(extended === undefined ? [] : [extended]),
    ...(status.resourceClaimStatuses ?? []).flatMap(
      ({ resourceClaimName }) => resourceClaimName ?? [],
    ),
  ];
}

function asksForAdminAccess({ devices }: ReadClaim['spec']): boolean {
  return (devices?.requests ?? []).some(({ exactly }) => exactly?.adminAccess === true);
}

/**
 * Returns the labels of metrics: whether the claim is allocated, requests admin access, and how it
 * was created.
 */
function metricLabels({
  metadata: { annotations = {} },
  spec,
  status,
}: ReadClaim): readonly string[] {
  let source = '';
  if (annotations['resource.kubernetes.io/extended-resource-claim'] === 'true')
    source = 'extended_resource';
  else if ((annotations[POD_CLAIM_NAME] ?? '') !== '') source = 'resource_claim_template';
  return [String(status.allocation !== undefined), String(asksForAdminAccess(spec)), source];
}

function namesClaims({ spec }: ReadPod): boolean {
  return spec.resourceClaims !== undefined;
}

/** Reports whether the pod has claims, also that of its extended resources. */
function usesClaims(pod: ReadPod): boolean {
  return namesClaims(pod) || pod.status.extendedResourceClaimStatus !== undefined;
}
