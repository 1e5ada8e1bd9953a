// Cleans up generated tokens: Secrets that older versions created for each ServiceAccount. A token
// that was unused for a year is invalidated, and after another year without use it is deleted.
// Tokens that users requested stay.

import {
  configMaps,
  type Pod,
  pods,
  type Secret,
  secrets,
  type ServiceAccount,
  serviceAccounts,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import * as wait from '#machinery/wait.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

type ReadSecret = Immutable<Secret>;

export interface LegacyTokenCleanerConfig extends ControllerConfig {
  /** The time for which a token must be unused, in milliseconds. Default: 365 days. */
  readonly cleanUpPeriodMs?: number;
  /** The time between two passes over all tokens. Default: a day. */
  readonly lookPeriodMs?: number;
}

const DAY_MS = 86_400_000;
const TYPE = 'kubernetes.io/service-account-token';
const ACCOUNT_NAME = 'kubernetes.io/service-account.name';
const LAST_USED = 'kubernetes.io/legacy-token-last-used';
const INVALID_SINCE = 'kubernetes.io/legacy-token-invalid-since';
/** The ConfigMap in which the API server records since when uses are tracked. */
const TRACKING = {
  namespace: 'kube-system',
  name: 'kube-apiserver-legacy-service-account-token-tracking',
} as const;

export class LegacyTokenCleaner implements Controller {
  readonly name = 'legacy-serviceaccount-token-cleaner-controller';
  readonly run: Controller['run'];
  readonly #config: LegacyTokenCleanerConfig;
  readonly #secrets: SharedInformer<ReadSecret>;
  readonly #accounts: SharedInformer<Immutable<ServiceAccount>>;
  readonly #pods: SharedInformer<Immutable<Pod>>;
  readonly #periodMs: number;

  constructor(config: LegacyTokenCleanerConfig) {
    const { clock, lookPeriodMs = DAY_MS } = config;
    this.#config = config;
    this.#periodMs = config.cleanUpPeriodMs ?? 365 * DAY_MS;
    const builder = new ControllerBuilder(config, {
      queue: 'legacy_service_account_token_cleaner',
      workers: 1,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#secrets = builder.informerFor(secrets, { fieldSelector: `type=${TYPE}` });
    this.#accounts = builder.informerFor(serviceAccounts);
    this.#pods = builder.informerFor(pods);
    // Periods are counted in days, so events wake nothing: one pass per day is enough.
    builder.alongside((signal) =>
      wait.until({ clock, signal, periodMs: lookPeriodMs }, async () => {
        for (const key of this.#secrets.lister.keys()) builder.queue.add(key);
      }),
    );
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const secret = this.#secrets.lister.getByKey(key);
    if (secret === undefined || !this.#isUnused(secret) || !(await this.#isTracked(signal)))
      return reconciled;
    const { name, namespace = '', uid, resourceVersion, labels } = secret.metadata;
    const inNamespace = this.#config.client.resource(secrets).namespace(namespace);
    const invalidSince = dayMs(labels?.[INVALID_SINCE]);
    try {
      if (invalidSince === undefined) {
        const day = new Date(this.#config.clock.now()).toISOString().slice(0, 10);
        const patch = { metadata: { uid, resourceVersion, labels: { [INVALID_SINCE]: day } } };
        await inNamespace.patch(name, 'application/merge-patch+json', patch, { signal });
      } else if (invalidSince < this.#longAgo()) {
        await inNamespace.delete(name, { preconditions: { uid, resourceVersion }, signal });
      }
    } catch (error) {
      // The token was used or changed meanwhile: check it again.
      if (apierrors.isConflict(error)) return requeue;
      if (!apierrors.isNotFound(error)) throw error;
    }
    return reconciled;
  }

  /** Returns the time before which a last use counts as unused. */
  #longAgo(): number {
    return this.#config.clock.now() - this.#periodMs;
  }

  /** Reports whether the token was generated, no pod mounts it, and its last use is long ago. */
  #isUnused(secret: ReadSecret): boolean {
    const {
      name,
      namespace = '',
      creationTimestamp,
      deletionTimestamp,
      annotations,
      labels,
    } = secret.metadata;
    if (deletionTimestamp !== undefined || (parseTime(creationTimestamp) ?? 0) >= this.#longAgo())
      return false;
    const account = this.#accounts.lister.get(namespace, annotations?.[ACCOUNT_NAME] ?? '');
    if (account?.secrets?.some((reference) => reference.name === name) !== true) return false;
    const lastUsed = labels?.[LAST_USED];
    if (lastUsed !== undefined && (dayMs(lastUsed) ?? Number.POSITIVE_INFINITY) >= this.#longAgo())
      return false;
    return !this.#pods.lister.list(namespace).some((pod) => mentions(pod, name));
  }

  /** Reports whether uses have been tracked for the whole period. Earlier uses are unknown. */
  async #isTracked(signal: AbortSignal): Promise<boolean> {
    try {
      const { data } = await this.#config.client
        .resource(configMaps)
        .namespace(TRACKING.namespace)
        .get(TRACKING.name, { signal });
      const since = dayMs(data?.['since']);
      return since !== undefined && since < this.#longAgo();
    } catch (error) {
      if (apierrors.isNotFound(error)) return false;
      throw error;
    }
  }
}

/**
 * Returns the beginning of a day such as 2026-01-31, in milliseconds since the epoch; undefined for
 * invalid text.
 */
function dayMs(day: string | undefined): number | undefined {
  return day !== undefined && /^\d{4}-\d\d-\d\d$/.test(day)
    ? parseTime(`${day}T00:00:00Z`)
    : undefined;
}

function mentions({ spec }: Immutable<Pod>, name: string): boolean {
  const { volumes, containers, initContainers, ephemeralContainers, imagePullSecrets } = spec;
  if (imagePullSecrets?.some((reference) => reference.name === name) === true) return true;
  const inVolumes = volumes?.some(
    ({ secret, projected }) =>
      secret?.secretName === name ||
      projected?.sources?.some((source) => source.secret?.name === name) === true,
  );
  if (inVolumes === true) return true;
  return [...containers, ...(initContainers ?? []), ...(ephemeralContainers ?? [])].some(
    ({ env, envFrom }) =>
      env?.some(({ valueFrom }) => valueFrom?.secretKeyRef?.name === name) === true ||
      envFrom?.some(({ secretRef }) => secretRef?.name === name) === true,
  );
}
