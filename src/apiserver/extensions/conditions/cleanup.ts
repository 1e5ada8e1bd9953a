// Deletes the objects of a definition that is being deleted, and then removes the finalizer that
// keeps the definition. The objects are deleted in the registry, without admission. Objects with
// finalizers of their own delay the end.

import { isConditionTrue, withCondition } from '#api/groups/apiextensions/v1/conditions.ts';
import { CLEANUP_FINALIZER } from '#api/groups/apiextensions/v1/finalizer.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { internalContext } from '../../catalog/internal-client.ts';
import type { ListAnswer, Rest } from '../../registry/rest.ts';
import { everything } from '../../registry/selection.ts';
import { acceptedNamesOf, type Definition } from './definition.ts';

export interface CleanupConfig {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** How long other servers may still create objects after the deletion has begun, in ms. */
  readonly settleMs: number;
  /**
   * Writes status and finalizers. Returns undefined if the definition has changed or is deleted.
   */
  readonly update: (definition: Definition) => Promise<Definition | undefined>;
}

interface Progress {
  readonly uid: string;
  /** The monotonic time of the first attempt, in ms. */
  readonly since: number;
  delayMs: number;
}

type Reason =
  | 'InstanceDeletionInProgress'
  | 'InstanceDeletionFailed'
  | 'InstanceDeletionCheck'
  | 'InstanceDeletionCompleted'
  | 'NeverEstablished'
  | 'OverlappingBuiltInResource';

/** Resources whose objects belong to the server itself, and must not be deleted. */
const BUILT_IN: ReadonlySet<string> = new Set([
  'apiservices.apiregistration.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
]);
const PAGE = 500;
/** The delays between checks of remaining objects, in ms, from the first to the longest one. */
const [FIRST_LOOK_MS, LONGEST_LOOK_MS] = [10, 5_000];
/** The time in ms after which the condition reports remaining objects. */
const PATIENCE_MS = 60_000;

/** Reports whether the objects of a definition have to be deleted. */
export function isCleanupDue({ metadata }: Definition): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).includes(CLEANUP_FINALIZER)
  );
}

export class Cleanup {
  readonly #config: CleanupConfig;
  readonly #progress = new Map<string, Progress>();

  constructor(config: CleanupConfig) {
    this.#config = config;
  }

  /** Forgets a deleted definition. */
  forget(name: string): void {
    this.#progress.delete(name);
  }

  /**
   * Does the next steps for a definition. Throws if objects cannot be deleted; the condition then
   * has the reason.
   */
  async proceed(definition: Definition): Promise<ReconcileResult> {
    const { clock } = this.#config;
    const { name, uid } = definition.metadata;
    let progress = this.#progress.get(name);
    if (progress?.uid !== uid) {
      const begun = await this.#update(
        definition,
        'InstanceDeletionInProgress',
        'CustomResource deletion is in progress',
      );
      if (begun === undefined) return requeue;
      progress = { uid, since: clock.monotonic(), delayMs: FIRST_LOOK_MS };
      this.#progress.set(name, progress);
      definition = begun;
    }
    const { group, names } = definition.spec;
    if (BUILT_IN.has(`${names.plural}.${group}`)) {
      return this.#finish(
        definition,
        'OverlappingBuiltInResource',
        'instances overlap with built-in resources in storage',
      );
    }
    if (!isConditionTrue(definition.status, 'Established')) {
      return this.#finish(definition, 'NeverEstablished', 'resource was never established');
    }
    const settled = progress.since + this.#config.settleMs - clock.monotonic();
    if (settled > 0) return requeueAfter(settled);
    return this.#deleteInstances(definition, progress);
  }

  async #deleteInstances(definition: Definition, progress: Progress): Promise<ReconcileResult> {
    const rest = this.#restOf(definition);
    if (rest === undefined) {
      const resource = `${acceptedNamesOf(definition).plural}.${definition.spec.group}`;
      const error = new Error(
        `unable to find a custom resource client for ${resource}: the resource is not installed`,
      );
      return this.#fail(definition, 'InstanceDeletionFailed', 'could not list instances', error);
    }
    let remaining: readonly KubeObject[];
    try {
      remaining = await firstPage(rest);
    } catch (error) {
      return this.#fail(definition, 'InstanceDeletionFailed', 'could not list instances', error);
    }
    if (remaining.some(({ metadata }) => metadata.deletionTimestamp === undefined)) {
      try {
        await deleteAll(rest);
        remaining = await firstPage(rest);
      } catch (error) {
        return this.#fail(
          definition,
          'InstanceDeletionFailed',
          'could not issue all deletes',
          error,
        );
      }
    }
    if (remaining.length === 0)
      return this.#finish(definition, 'InstanceDeletionCompleted', 'removed all instances');
    if (this.#config.clock.monotonic() - progress.since >= PATIENCE_MS) {
      const error = new Error('context deadline exceeded');
      return this.#fail(
        definition,
        'InstanceDeletionCheck',
        'could not confirm zero CustomResources remaining',
        error,
      );
    }
    const { delayMs } = progress;
    progress.delayMs = Math.min(delayMs * 2, LONGEST_LOOK_MS);
    return requeueAfter(delayMs);
  }

  /**
   * Returns the verbs of the definition's objects; undefined if its kind is not installed (yet).
   */
  #restOf({ spec: { group, names } }: Definition): Instances | undefined {
    const rest = this.#config.catalog.snapshot().stored(group, names.plural)?.rest;
    return rest?.list === undefined || rest.deleteCollection === undefined
      ? undefined
      : (rest as Instances);
  }

  /** Removes the finalizer, so that the definition is deleted. */
  async #finish(definition: Definition, reason: Reason, message: string): Promise<ReconcileResult> {
    const finalizers = (definition.metadata.finalizers ?? []).filter(
      (finalizer) => finalizer !== CLEANUP_FINALIZER,
    );
    const released = { ...definition, metadata: { ...definition.metadata, finalizers } };
    return (await this.#update(released, reason, message)) === undefined ? requeue : reconciled;
  }

  /** Records why the objects cannot be deleted, and throws. The attempt is repeated later. */
  async #fail(
    definition: Definition,
    reason: Reason,
    what: string,
    error: unknown,
  ): Promise<never> {
    this.#progress.delete(definition.metadata.name);
    await this.#update(definition, reason, `${what}: ${errorMessage(error)}`);
    throw error;
  }

  #update(
    definition: Definition,
    reason: Reason,
    message: string,
  ): Promise<Definition | undefined> {
    const isOver = [
      'InstanceDeletionCompleted',
      'NeverEstablished',
      'OverlappingBuiltInResource',
    ].includes(reason);
    const condition = {
      type: 'Terminating',
      status: isOver ? 'False' : 'True',
      reason,
      message,
    } as const;
    const status = withCondition(definition.status, condition, this.#config.clock.now());
    return this.#config.update({ ...definition, status });
  }
}

const FIRST_PAGE = {
  selection: everything,
  limit: PAGE,
  continue: '',
  resourceVersion: '',
  resourceVersionMatch: '',
} as const;

type Instances = Required<Pick<Rest, 'list' | 'deleteCollection'>>;

async function firstPage(rest: Instances): Promise<readonly KubeObject[]> {
  const { items } = await rest.list(internalContext(''), FIRST_PAGE);
  return items.map((item) => item.object() as KubeObject);
}

/** Requests the deletion of all objects, page by page. */
async function deleteAll(rest: Instances): Promise<void> {
  let token: string | undefined = '';
  while (token !== undefined) {
    const page: ListAnswer = await rest.deleteCollection(
      internalContext(''),
      { dryRun: false },
      { ...FIRST_PAGE, continue: token },
    );
    token = page.continue;
  }
}
