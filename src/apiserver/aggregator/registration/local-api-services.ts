// Maintains an APIService for each group version that this server serves itself. APIServices of
// built-in groups are reconciled when the server starts, and belong to users afterwards.
// APIServices of definitions are created and deleted with their kinds. A user takes one over by
// removing its label.
//
// The group of metrics has none, so that installing metrics-server creates it, and deleting it
// brings back the metrics of this server.
//
//                          | not wanted       | wanted at start | wanted always
//   does not exist         | –                | create once     | create
//   without the label      | –                | –               | –
//   'onstart', made later  | –                | –               | –
//   'onstart', there before| delete once      | update once     | update once
//   'true'                 | delete           | update once     | update

import {
  type APIService as ServedAPIService,
  apiServices as apiServiceType,
} from '#api/groups/apiregistration/v1/index.ts';
import { nodeMetrics } from '#api/groups/metrics/v1beta1/index.ts';
import type { Client, ResourceClient } from '#client/client.ts';
import {
  RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeueAfter,
  runWorkers,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import type { Catalog, CatalogChange } from '../../catalog/catalog.ts';
import { isServed } from '../../catalog/snapshot.ts';
import { type APIService, type ApiServices, groupVersionOf } from '../api-services.ts';
import { builtInPriority, localPriority } from './priorities.ts';

const MANAGED = 'kube-aggregator.kubernetes.io/automanaged';
const ON_START = 'onstart';
const ALWAYS = 'true';
const WORKERS = 5;
/**
 * The delay in ms before an unwanted APIService is deleted, since another server on the same store
 * may have seen its definition earlier.
 */
const GRACE_MS = 2_000;
/** The number of concurrent creations when a server starts on an empty store. */
const BATCH = 32;

export interface LocalApiServicesConfig {
  readonly catalog: Catalog;
  readonly client: Client;
  readonly apiServices: ApiServices;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Desired {
  readonly mode: typeof ON_START | typeof ALWAYS;
  readonly spec: APIService['spec'];
}

export class LocalApiServices {
  readonly #config: LocalApiServicesConfig;
  readonly #queue: RateLimitingQueue;
  /** The names that existed when the server started. */
  #atStart: ReadonlySet<string> = new Set();
  /** The names that have been reconciled once. */
  readonly #synced = new Set<string>();
  /** The names of group versions whose last kind this server has uninstalled. */
  readonly #uninstalled = new Set<string>();
  /** The names that are not wanted, and wait for GRACE_MS. */
  readonly #suspects = new Set<string>();

  constructor(config: LocalApiServicesConfig) {
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock: config.clock });
  }

  /**
   * Reconciles the APIServices. Must be called when the table of APIServices and the catalog are
   * complete.
   */
  async syncAtStart(): Promise<void> {
    const { apiServices, catalog } = this.#config;
    if (!this.served) return;
    this.#atStart = new Set(Array.from(apiServices.all(), ({ metadata }) => metadata.name));
    this.#synced.clear();
    const versions = catalog.snapshot().groups.flatMap((group) => group.versions);
    const served = versions.filter((index) => index.served > 0);
    const names = new Set([
      ...served.map(({ group, version }) => `${version}.${group}`),
      ...this.#atStart,
    ]);
    const pending = [...names];
    while (pending.length > 0)
      await Promise.all(pending.splice(0, BATCH).map((name) => this.#sync(name, true)));
  }

  /** Maintains the APIServices until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { apiServices, catalog, logger } = this.#config;
    const ends = [
      catalog.onChange((change) => this.#onCatalogChange(change)),
      apiServices.onChange((name) => this.#queue.add(name)),
    ];
    try {
      await runWorkers(this.#queue, WORKERS, (name) => this.#sync(name, false), signal, {
        logger: logger.with({ controller: 'apiservice-autoregister' }),
      });
    } finally {
      for (const end of ends) end();
    }
  }

  #onCatalogChange({ added, removed, snapshot }: CatalogChange): void {
    for (const { type } of [...removed, ...added]) {
      const name = `${type.version}.${type.group}`;
      const isUninstalled = (snapshot.group(type.group)?.version(type.version)?.served ?? 0) === 0;
      if (isUninstalled) this.#uninstalled.add(name);
      else this.#uninstalled.delete(name);
      this.#queue.add(name);
    }
  }

  /** True if APIServices are served; --runtime-config may disable them. */
  get served(): boolean {
    const { group, version, resource } = apiServiceType;
    const kind = this.#config.catalog.snapshot().get(group, version, resource);
    return kind !== undefined && isServed(kind);
  }

  #desired(name: string): Desired | undefined {
    const { group, version } = groupVersionOf(name);
    if (group === apiServiceType.group || group === nodeMetrics.group) return undefined;
    const index = this.#config.catalog.snapshot().group(group)?.version(version);
    if (index === undefined || index.served === 0) return undefined;
    const priority = localPriority(group, version);
    const spec: APIService['spec'] = {
      ...(group !== '' && { group }),
      version,
      groupPriorityMinimum: priority.group,
      versionPriority: priority.version,
    };
    return { mode: builtInPriority(group, version) === undefined ? ALWAYS : ON_START, spec };
  }

  /** Reconciles one APIService. `starting`: other servers need not be waited for. */
  async #sync(name: string, starting: boolean): Promise<ReconcileResult> {
    if (!this.served) return reconciled;
    const current = this.#config.apiServices.get(name);
    const desired = this.#desired(name);
    const synced = this.#synced.has(name);
    const result = await this.#converge(name, current, desired, synced, starting);
    this.#synced.add(name);
    return result;
  }

  async #converge(
    name: string,
    current: APIService | undefined,
    desired: Desired | undefined,
    synced: boolean,
    starting: boolean,
  ): Promise<ReconcileResult> {
    if (desired !== undefined) this.#suspects.delete(name);
    if (desired?.mode === ON_START && synced) return reconciled;
    if (current === undefined) {
      if (desired !== undefined) await this.#create(name, desired);
      return reconciled;
    }
    const mode = current.metadata.labels?.[MANAGED];
    if (mode !== ON_START && mode !== ALWAYS) return reconciled;
    if (mode === ON_START && (synced || !this.#atStart.has(name))) return reconciled;
    if (desired === undefined) return this.#remove(name, current, starting);
    if (!semanticEqual(current.spec, desired.spec)) await this.#update(name, current, desired);
    return reconciled;
  }

  async #create(name: string, { mode, spec }: Desired): Promise<void> {
    try {
      await this.#access.create({ metadata: { name, labels: { [MANAGED]: mode } }, spec });
    } catch (error) {
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
  }

  async #update(name: string, { metadata }: APIService, { spec }: Desired): Promise<void> {
    try {
      await this.#access.patch(name, 'application/json-patch+json', [
        { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
        { op: 'replace', path: '/spec', value: spec },
      ]);
    } catch (error) {
      // The object has changed in the meantime. Its event triggers another reconciliation.
      if (
        !apierrors.isNotFound(error) &&
        !apierrors.isConflict(error) &&
        !apierrors.isInvalid(error)
      )
        throw error;
    }
  }

  async #remove(
    name: string,
    { metadata }: APIService,
    starting: boolean,
  ): Promise<ReconcileResult> {
    if (!starting && !this.#uninstalled.has(name) && !this.#suspects.has(name)) {
      this.#suspects.add(name);
      return requeueAfter(GRACE_MS);
    }
    this.#suspects.delete(name);
    this.#uninstalled.delete(name);
    try {
      await this.#access.delete(name, { preconditions: { uid: metadata.uid } });
    } catch (error) {
      if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) throw error;
    }
    return reconciled;
  }

  get #access(): ResourceClient<ServedAPIService> {
    return this.#config.client.resource(apiServiceType);
  }
}
