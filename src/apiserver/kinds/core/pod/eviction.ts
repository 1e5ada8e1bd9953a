// Eviction: a deletion that a disruption budget of the pod may reject.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import {
  stillProcessed,
  takeDisruption,
} from '#apiserver/kinds/policy/pod-disruption-budget/disruption.ts';
import type { PodDisruptionBudget } from '#apiserver/kinds/policy/pod-disruption-budget/index.ts';
import type { UpdateStatus } from '#apiserver/catalog/internal-client.ts';
import type { FindKind } from '#apiserver/catalog/kind.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import { plainRest } from '#apiserver/registry/plain-rest.ts';
import type { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { DeleteOptions, Rest } from '#apiserver/registry/rest.ts';
import type { RequestContext } from '#apiserver/registry/strategy.ts';
import { withCondition } from './conditions.ts';
import type { Pod } from './pod.ts';
import { podStatusStrategy } from './strategy.ts';

interface Eviction extends KubeObject {
  readonly deleteOptions?: Omit<DeleteOptions, 'dryRun'> & { readonly dryRun?: readonly string[] };
}

const EVICTED = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  message: 'Eviction API: evicting',
} as const;

/** The number of attempts of an eviction that conflicts with changes of its pod. */
const ATTEMPTS = 20;

export interface EvictionServices {
  readonly clock: Clock;
  /** Finds the kind of the budgets. */
  readonly findKind: FindKind;
  /** Updates the budget's status. */
  readonly updateStatus: UpdateStatus;
}

/** Serves pods/eviction. */
export function evictionRest(store: ResourceStore<Pod>, services: EvictionServices): Rest {
  return {
    async create(context, name, object, options) {
      const eviction = object as Eviction;
      if ((eviction.metadata.name ?? '') !== name) {
        throw apierrors.badRequest('name in URL does not match name in Eviction object');
      }
      await options.validate?.(eviction, undefined);
      const { dryRun: requested = [], ...deleteOptions } = eviction.deleteOptions ?? {};
      const dryRun = options.dryRun || requested.includes('All');
      await new EvictionOfPod({
        ...services,
        store,
        context,
        name,
        fieldManager: options.fieldManager,
      }).evict({
        ...deleteOptions,
        dryRun,
      });
      return new FreshObject({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        code: 201,
      });
    },
  };
}

interface EvictionConfig extends EvictionServices {
  readonly store: ResourceStore<Pod>;
  readonly context: RequestContext;
  readonly name: string;
  readonly fieldManager: string;
}

class EvictionOfPod {
  readonly #config: EvictionConfig;

  constructor(config: EvictionConfig) {
    this.#config = config;
  }

  async evict(options: DeleteOptions): Promise<void> {
    const { store, context, name } = this.#config;
    const insists = (options.preconditions?.resourceVersion ?? '') !== '';
    for (let attempt = 1; ; attempt++) {
      const pod = await store.find(context.namespace, name);
      if (pod === undefined) throw apierrors.notFound(store.type, name);
      if (!needsNoBudget(pod)) return this.#evictWithin(pod, options, insists);
      // A pod that has not started may become healthy in the meantime, and then its budget counts.
      // The preconditions detect that.
      const guarded =
        pod.status.phase === 'Pending' && pod.metadata.deletionTimestamp === undefined && !insists;
      try {
        return await this.#delete(guarded ? unchanged(pod, options) : options);
      } catch (error) {
        if (!apierrors.isConflict(error) || insists || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Evicts a running pod if its budget allows it. */
  async #evictWithin(pod: Pod, options: DeleteOptions, insists: boolean): Promise<void> {
    const budget = await this.#budgetOf(pod);
    if (budget === undefined) return this.#delete(options);
    if (!isReady(pod) && allowsUnhealthy(budget)) {
      try {
        return await this.#delete(insists ? options : unchanged(pod, options));
      } catch (error) {
        // The pod has changed, and may have become healthy.
        if (apierrors.isConflict(error) && !insists) throw stillProcessed(budget.metadata.name);
        throw error;
      }
    }
    await this.#take(budget, pod, options.dryRun);
    return this.#delete(options);
  }

  async #budgetOf(pod: Pod): Promise<PodDisruptionBudget | undefined> {
    const { findKind, context } = this.#config;
    const { findAll } = plainRest(findKind('policy', 'poddisruptionbudgets')?.rest ?? {});
    const all = ((await findAll?.(context.namespace)) ?? []) as readonly PodDisruptionBudget[];
    const [budget, ...more] = all.filter(({ spec }) =>
      labelSelectorAsSelector(spec.selector).matches(pod.metadata.labels),
    );
    if (more.length > 0) {
      const message =
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
      const head = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
      throw new apierrors.StatusError({ ...head, message, code: 500 });
    }
    return budget;
  }

  async #take(
    { metadata: { name } }: PodDisruptionBudget,
    pod: Pod,
    dryRun: boolean,
  ): Promise<void> {
    const { updateStatus, context, clock } = this.#config;
    await updateStatus<PodDisruptionBudget & KubeObject>(
      'policy',
      'poddisruptionbudgets',
      context.namespace,
      name,
      (current) => takeDisruption(current, pod.metadata.name, clock.now()),
      dryRun,
    );
  }

  /**
   * Deletes the pod. A condition with the reason is written first, so that it is visible on the
   * pod.
   */
  async #delete(options: DeleteOptions): Promise<void> {
    const { store, context, name, clock, fieldManager } = this.#config;
    let { preconditions } = options;
    if (!options.dryRun) {
      const { object: marked } = await store
        .view(podStatusStrategy)
        .update(
          context,
          name,
          { apply: (pod) => markEvicted(pod as Pod, preconditions, clock.now()) },
          { dryRun: false, fieldManager },
        );
      const { resourceVersion = '' } = (marked.object() as Pod).metadata;
      if ((preconditions?.resourceVersion ?? '') !== '')
        preconditions = { ...preconditions, resourceVersion };
    }
    await store.delete(context, name, {
      ...options,
      ...(preconditions !== undefined && { preconditions }),
    });
  }
}

/**
 * Reports whether the pod has ended, is ending or has not started, so that its eviction disrupts
 * nothing.
 */
function needsNoBudget({ metadata, status }: Pod): boolean {
  return (
    ['Succeeded', 'Failed', 'Pending'].includes(status.phase ?? '') ||
    metadata.deletionTimestamp !== undefined
  );
}

function isReady({ status }: Pod): boolean {
  return (
    status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ===
    true
  );
}

/**
 * Reports whether an unhealthy pod may be evicted without counting, because enough others are
 * healthy.
 */
function allowsUnhealthy({
  spec,
  status: { currentHealthy, desiredHealthy },
}: PodDisruptionBudget): boolean {
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

function unchanged({ metadata: { resourceVersion } }: Pod, options: DeleteOptions): DeleteOptions {
  return { ...options, preconditions: { ...options.preconditions, resourceVersion } };
}

function markEvicted(pod: Pod, preconditions: DeleteOptions['preconditions'], now: number): Pod {
  const { uid, resourceVersion } = pod.metadata;
  const { uid: wantedUid = uid, resourceVersion: wantedVersion = resourceVersion } =
    preconditions ?? {};
  const conflict = (
    what: string,
    wanted: string,
    current: string | undefined,
    why: string,
  ): Error =>
    apierrors.conflict(
      { group: '', resource: 'Pod' },
      pod.metadata.name,
      `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${current}). ${why}`,
    );
  if (wantedUid !== '' && wantedUid !== uid) {
    throw conflict('UID', wantedUid, uid, 'The object might have been deleted and then recreated');
  }
  if (wantedVersion !== '' && wantedVersion !== resourceVersion) {
    throw conflict(
      'ResourceVersion',
      wantedVersion,
      resourceVersion,
      'The object might have been modified',
    );
  }
  const condition = {
    ...EVICTED,
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
  };
  return {
    ...pod,
    status: { ...pod.status, conditions: withCondition(pod.status.conditions, condition, now) },
  };
}
