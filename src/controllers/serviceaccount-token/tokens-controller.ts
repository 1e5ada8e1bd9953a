// Fills Secrets of type service-account-token: a user creates such a Secret, this controller adds a
// token of the ServiceAccount that it names, and deletes the Secret with the ServiceAccount.

import {
  type Secret,
  secrets,
  type ServiceAccount,
  serviceAccounts,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey, type SharedInformer, splitKey } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import type { LegacyTokenOf } from './legacy-token.ts';

type ReadSecret = Immutable<Secret>;
type ReadAccount = Immutable<ServiceAccount>;

export interface TokensControllerConfig extends ControllerConfig {
  readonly sign: (of: LegacyTokenOf) => string;
  /** The root CA, as PEM. Default: Secrets contain no CA. */
  readonly rootCa?: string;
}

const TYPE = 'kubernetes.io/service-account-token';
const ACCOUNT_NAME = 'kubernetes.io/service-account.name';
const ACCOUNT_UID = 'kubernetes.io/service-account.uid';
const BY_ACCOUNT = 'account';

export class TokensController implements Controller {
  readonly name = 'serviceaccount-token-controller';
  readonly run: Controller['run'];
  readonly #config: TokensControllerConfig;
  readonly #secrets: SharedInformer<ReadSecret>;
  readonly #accounts: SharedInformer<ReadAccount>;

  constructor(config: TokensControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'serviceaccount_tokens_secret',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    // Accounts that may still name a deleted Secret: 'namespace/account/secret'.
    const references = builder.addQueue({
      queue: 'serviceaccount_tokens_service',
      workers: 1,
      reconcile: (key, signal) => this.#dropReference(key, signal),
    });
    this.#accounts = builder.watches(
      serviceAccounts,
      (account) => this.#secrets.lister.byIndex(BY_ACCOUNT, objectKey(account)).map(objectKey),
      { predicate: { update: false } },
    );
    const fieldSelector = `type=${TYPE}`;
    this.#secrets = builder.for(secrets, {
      fieldSelector,
      indexers: { [BY_ACCOUNT]: byAccount },
      predicate: { delete: false },
    });
    builder.watches(secrets, referenceTo, {
      fieldSelector,
      predicate: { add: false, update: false },
      enqueue: (key) => references.add(key),
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const secret = this.#secrets.lister.getByKey(key);
    const accountName = secret?.metadata.annotations?.[ACCOUNT_NAME];
    if (
      secret === undefined ||
      accountName === undefined ||
      secret.metadata.deletionTimestamp !== undefined
    )
      return reconciled;
    const { name, namespace = '', uid } = secret.metadata;
    const account = await this.#accountOf(secret, accountName, signal);
    const inNamespace = this.#config.client.resource(secrets).namespace(namespace);
    try {
      if (account === undefined) await inNamespace.delete(name, { preconditions: { uid }, signal });
      else await this.#fill(secret, account, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (!apierrors.isNotFound(error)) throw error;
    }
    return reconciled;
  }

  /** Returns the account of the Secret; undefined if it is gone. */
  async #accountOf(
    { metadata }: ReadSecret,
    name: string,
    signal: AbortSignal,
  ): Promise<ReadAccount | undefined> {
    const { namespace = '', annotations } = metadata;
    const uid = annotations?.[ACCOUNT_UID];
    const isMeant = (account: ReadAccount): boolean =>
      uid === undefined || uid === '' || account.metadata.uid === uid;
    const cached = this.#accounts.lister.get(namespace, name);
    if (cached !== undefined && isMeant(cached)) return cached;
    // The cache may be stale, and a deleted Secret cannot be restored.
    try {
      const live = await this.#config.client
        .resource(serviceAccounts)
        .namespace(namespace)
        .get(name, { signal });
      return isMeant(live) ? live : undefined;
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #fill(secret: ReadSecret, account: ReadAccount, signal: AbortSignal): Promise<void> {
    const { rootCa, sign, client } = this.#config;
    const { name, namespace = '', annotations } = secret.metadata;
    const encoded = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
    const data: Record<string, string> = { ...secret.data };
    const serviceAccount = { name: account.metadata.name, uid: account.metadata.uid };
    if (rootCa !== undefined) data['ca.crt'] = encoded(rootCa);
    data['namespace'] ||= encoded(namespace);
    data['token'] ||= encoded(sign({ namespace, secret: name, serviceAccount }));
    const isFull =
      Object.entries(data).every(([key, value]) => secret.data?.[key] === value) &&
      annotations?.[ACCOUNT_UID] === serviceAccount.uid;
    if (isFull) return;
    const metadata = {
      ...secret.metadata,
      annotations: { ...annotations, [ACCOUNT_UID]: serviceAccount.uid },
    };
    await client.resource(secrets).update({ ...secret, metadata, data }, { signal });
  }

  async #dropReference(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const at = key.lastIndexOf('/');
    const { namespace, name } = splitKey(key.slice(0, at));
    const secretName = key.slice(at + 1);
    const client = this.#config.client.resource(serviceAccounts).namespace(namespace);
    try {
      const account = await client.get(name, { signal });
      const kept = account.secrets?.filter((reference) => reference.name !== secretName);
      if (kept === undefined || kept.length === account.secrets?.length) return reconciled;
      // A new Secret has the name.
      if (this.#secrets.lister.get(namespace, secretName) !== undefined) return reconciled;
      const { secrets: _, ...rest } = account;
      await client.update(kept.length === 0 ? rest : { ...rest, secrets: kept }, { signal });
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (!apierrors.isNotFound(error)) throw error;
    }
    return reconciled;
  }
}

function byAccount({ metadata }: ReadSecret): readonly string[] {
  const account = metadata.annotations?.[ACCOUNT_NAME];
  return account === undefined ? [] : [`${metadata.namespace}/${account}`];
}

/** Returns 'namespace/account/secret' for a Secret that its account may name. */
function referenceTo({ metadata }: ReadSecret): string | undefined {
  const account = metadata.annotations?.[ACCOUNT_NAME];
  return account === undefined ? undefined : `${metadata.namespace}/${account}/${metadata.name}`;
}
