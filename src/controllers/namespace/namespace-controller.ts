// Empties namespaces that are being deleted, reports the progress in their status, and finalizes
// them when nothing remains.

import { type Namespace, namespaces, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { discoverResources, hasVerbs } from '../discovery.ts';
import { conditionsWith } from './conditions.ts';
import { type ContentResult, deleteContent } from './content.ts';

export interface NamespaceControllerConfig extends ControllerConfig {
  /** The number of namespaces that are emptied at once. Default: 10. */
  readonly workers?: number;
}

/** The finalizer in a namespace's spec that this controller removes at the end. */
const FINALIZER = 'kubernetes';

export class NamespaceController implements Controller {
  readonly name = 'namespace-controller';
  readonly run: Controller['run'];
  readonly #config: NamespaceControllerConfig;
  readonly #namespaces: SharedInformer<Immutable<Namespace>>;

  constructor(config: NamespaceControllerConfig) {
    const { workers = 10 } = config;
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'namespace',
      workers,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
    this.#namespaces = builder.for(namespaces, {
      predicate: { ...only(isTerminating), delete: false },
    });
    // Pods take longest to be deleted: the last deletion wakes their namespace at once.
    builder.watches(pods, ({ metadata }) => this.#terminating(metadata.namespace), {
      predicate: { add: false, update: false },
    });
    this.run = builder.complete();
  }

  /** Returns the name if the namespace is terminating. */
  #terminating(name: string = ''): string | undefined {
    const namespace = this.#namespaces.lister.getByKey(name);
    return namespace !== undefined && isTerminating(namespace) ? name : undefined;
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const cached = this.#namespaces.lister.getByKey(name);
    if (cached?.metadata.deletionTimestamp === undefined) return reconciled;
    const namespace = await this.#read(name, signal);
    if (namespace === undefined || namespace.metadata.uid !== cached.metadata.uid)
      return reconciled;
    const finalizers = namespace.spec.finalizers ?? [];
    if (namespace.metadata.deletionTimestamp === undefined || !finalizers.includes(FINALIZER))
      return reconciled;
    const { result, discoveryFailure } = await this.#deleteContent(name, signal);
    const empty =
      discoveryFailure === undefined && result.failures.length === 0 && result.remaining.size === 0;
    const written = await this.#writeConditions(namespace, result, discoveryFailure, signal);
    if (!written) return requeue;
    if (empty) return this.#finalize(name, namespace.metadata.uid, signal);
    if (result.failures.length > 0 || discoveryFailure !== undefined) return requeue;
    // Checks again after half of the estimate; the deletion of the last pod wakes the namespace
    // anyway.
    return requeueAfter((result.estimateSeconds / 2 + 1) * 1000);
  }

  async #deleteContent(
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly result: ContentResult; readonly discoveryFailure: string | undefined }> {
    const { client, clock } = this.#config;
    const { resources, failures } = await discoverResources(client, signal);
    const deletable = resources.filter(
      (resource) => resource.namespaced && resource.preferred && hasVerbs(resource, 'delete'),
    );
    const result = await deleteContent(client, deletable, name, clock.now(), signal);
    if (failures.size === 0) return { result, discoveryFailure: undefined };
    const listed = [...failures]
      .map(([groupVersion, reason]) => `${groupVersion}: ${reason}`)
      .join(', ');
    const summary = `unable to retrieve the complete list of server APIs: ${listed}`;
    return {
      result,
      discoveryFailure: `Discovery failed for some groups, ${failures.size} failing: ${summary}`,
    };
  }

  /**
   * Writes the conditions. Returns false if the namespace was written meanwhile: it must be
   * reconciled again.
   */
  async #writeConditions(
    namespace: Immutable<Namespace>,
    result: ContentResult,
    discoveryFailure: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, clock } = this.#config;
    const present = namespace.status.conditions ?? [];
    const conditions = conditionsWith(
      present,
      { ...result, discoveryFailure },
      formatTime(clock.now()),
    );
    if (conditions === present) return true;
    try {
      await client
        .resource(namespaces)
        .updateStatus({ ...namespace, status: { ...namespace.status, conditions } }, { signal });
      return true;
    } catch (error) {
      if (apierrors.isNotFound(error)) return true;
      if (apierrors.isConflict(error)) return false;
      throw error;
    }
  }

  async #finalize(name: string, uid: string, signal: AbortSignal): Promise<ReconcileResult> {
    const namespace = await this.#read(name, signal);
    if (namespace === undefined || namespace.metadata.uid !== uid) return reconciled;
    const finalizers = (namespace.spec.finalizers ?? []).filter(
      (finalizer) => finalizer !== FINALIZER,
    );
    const { finalizers: _finalizers, ...spec } = namespace.spec;
    const body = {
      ...namespace,
      apiVersion: 'v1',
      kind: 'Namespace',
      spec: finalizers.length === 0 ? spec : { ...spec, finalizers },
    };
    try {
      await this.#config.client
        .resource(namespaces)
        .subresource(name, 'finalize', body, { method: 'PUT', signal });
      return reconciled;
    } catch (error) {
      if (apierrors.isNotFound(error)) return reconciled;
      if (apierrors.isConflict(error)) return requeue;
      throw error;
    }
  }

  async #read(name: string, signal: AbortSignal): Promise<Immutable<Namespace> | undefined> {
    return apierrors.unlessMissing(this.#config.client.resource(namespaces).get(name, { signal }));
  }
}

function isTerminating({ metadata }: Immutable<Namespace>): boolean {
  return metadata.deletionTimestamp !== undefined;
}
