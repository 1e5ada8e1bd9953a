// The health checks of the server, under upstream's names.

import { poolIsAlive } from '#machinery/files/thread-pool.ts';
import { type HealthCheck, logCheck, pingCheck, StartHooks } from '#machinery/serving/health.ts';
import type { Storage } from '#storage/interface.ts';

/**
 * The steps of each start, with the names and the order of upstream's checks. Hooks of upstream's
 * servers that do not exist here are left out.
 */
const START_HOOKS = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
] as const;

/** The steps that are done when the aggregator has started. */
export const AGGREGATION_HOOKS = [
  'start-cluster-authentication-info-controller',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
] as const;

export const HEALTH_PATHS = ['/healthz', '/livez', '/readyz'] as const;

export interface ServerHealthConfig {
  readonly storage: Storage;
  /** Reports whether the server is shutting down. */
  readonly isStopping: () => boolean;
  /** Returns checks of /healthz and /readyz that are not the server's own. */
  readonly otherChecks: () => readonly HealthCheck[];
}

export class ServerHealth {
  readonly #config: ServerHealthConfig;
  readonly #hooks = new StartHooks(START_HOOKS);

  constructor(config: ServerHealthConfig) {
    this.#config = config;
  }

  /** Records that steps of the start are done. */
  finish(...hooks: readonly (typeof START_HOOKS)[number][]): void {
    this.#hooks.finish(...hooks);
  }

  /** Records that all steps of the start are done. */
  finishAll(): void {
    this.#hooks.finish(...START_HOOKS);
  }

  checks(path: string): readonly HealthCheck[] {
    const storage = (): Promise<void> => this.#config.storage.health();
    const etcd: HealthCheck = { name: 'etcd', check: storage };
    const other = path === '/livez' ? [] : this.#config.otherChecks();
    const common = [path === '/readyz' ? poolCheck : pingCheck, logCheck, etcd, ...other];
    const hooks = this.#hooks.checks.flatMap((hook): readonly HealthCheck[] =>
      // Upstream lists this check a second time under another name.
      hook.name === 'poststarthook/kube-apiserver-autoregistration'
        ? [hook, { ...hook, name: 'autoregister-completion' }]
        : [hook],
    );
    if (path !== '/readyz') return [...common, ...hooks];
    const readiness: HealthCheck = { name: 'etcd-readiness', check: storage };
    const informers: HealthCheck = {
      name: 'informer-sync',
      check: () =>
        hooks
          .find(({ name }) => name === 'poststarthook/generic-apiserver-start-informers')
          ?.check(),
    };
    const shutdown: HealthCheck = {
      name: 'shutdown',
      check: () => {
        if (this.#config.isStopping()) throw new Error('process is shutting down');
      },
    };
    return [...common, readiness, informers, ...hooks, shutdown];
  }
}

/**
 * The timeout of the pool check, in ms. A full queue of libuv's thread pool is processed in less
 * time.
 */
const POOL_TIMEOUT_MS = 5000;

/**
 * The check 'ping' for readiness: libuv's thread pool completes a task. Without the pool no token
 * is verified and no response compressed, although the event loop responds.
 */
const poolCheck: HealthCheck = {
  name: pingCheck.name,
  check: async () => {
    if (!(await poolIsAlive(POOL_TIMEOUT_MS)))
      throw new Error(`libuv's thread pool is stuck for more than ${POOL_TIMEOUT_MS} ms`);
  },
};
