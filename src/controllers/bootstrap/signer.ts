// Signs the public kubeconfig (the ConfigMap cluster-info in kube-public) with each bootstrap token
// that is allowed to sign. A client that holds a token verifies by the signature that it has
// reached the right cluster.

import { createHmac } from 'node:crypto';
import { type ConfigMap, configMaps, type Secret, secrets } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual } from '#machinery/deep.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import {
  BOOTSTRAP_TOKEN_NAMESPACE,
  BOOTSTRAP_TOKEN_TYPE,
  expirationOf,
  signingToken,
} from '#api/groups/core/v1/bootstrap-token.ts';

const NAMESPACE = 'kube-public';
const NAME = 'cluster-info';
const CONTENT = 'kubeconfig';
const SIGNATURE = 'jws-kubeconfig-';
/** The only key on the queue: every event leads to the same reconcile. */
const KEY = '';

export class BootstrapSigner implements Controller {
  readonly name = 'bootstrap-signer-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #info: SharedInformer<Immutable<ConfigMap>>;
  readonly #tokens: SharedInformer<Immutable<Secret>>;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'bootstrap_signer_queue',
      workers: 1,
      reconcile: (_, signal) => this.#reconcile(signal),
    });
    this.#info = builder.watches(configMaps, () => KEY, {
      namespace: NAMESPACE,
      fieldSelector: `metadata.name=${NAME}`,
      predicate: { delete: false },
    });
    this.#tokens = builder.watches(secrets, () => KEY, {
      namespace: BOOTSTRAP_TOKEN_NAMESPACE,
      fieldSelector: `type=${BOOTSTRAP_TOKEN_TYPE}`,
    });
    this.run = builder.complete();
  }

  async #reconcile(signal: AbortSignal): Promise<ReconcileResult> {
    const info = this.#info.lister.get(NAMESPACE, NAME);
    const content = info?.data?.[CONTENT];
    if (info === undefined || content === undefined) return reconciled;
    const now = this.#config.clock.now();
    const all = this.#tokens.lister.list();
    const tokens = all.flatMap((secret) => signingToken(secret, now) ?? []);
    const others = Object.entries(info.data ?? {}).filter(([key]) => !key.startsWith(SIGNATURE));
    const data = Object.fromEntries([
      ...others,
      ...tokens.map(({ id, secret }) => [SIGNATURE + id, sign(content, id, secret)]),
    ]);
    if (!deepEqual(data, info.data)) {
      try {
        await this.#config.client
          .resource(configMaps)
          .namespace(NAMESPACE)
          .update({ ...info, data }, { signal });
      } catch (error) {
        if (apierrors.isConflict(error)) return requeue;
        if (!apierrors.isNotFound(error)) throw error;
      }
    }
    // An expired token signs nothing, whether its Secret is deleted or not.
    const ends = all.flatMap((secret) => expirationOf(secret) ?? []).filter((end) => end > now);
    return ends.length === 0 ? reconciled : requeueAfter(Math.min(...ends) - now);
  }
}

/**
 * Returns a JWS signature (RFC 7515, HS256) with a detached payload: the content is stored beside
 * it.
 */
export function sign(content: string, id: string, secret: string): string {
  const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');
  const header = encode(JSON.stringify({ alg: 'HS256', kid: id }));
  const signature = createHmac('sha256', secret)
    .update(`${header}.${encode(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
}
