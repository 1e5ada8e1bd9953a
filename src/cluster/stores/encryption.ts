// Encryption at rest of a cluster's store, from the file that --encryption-provider-config names.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse as parseYaml } from 'yaml';
import { allSchemas } from '#api/all-schemas.ts';
import { databaseForm } from '#apiserver/registry/database-form.ts';
import { storagePrefix } from '#apiserver/registry/storage-prefix.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { HealthCheck } from '#machinery/serving/health.ts';
import * as wait from '#machinery/wait.ts';
import {
  encryptedStorage,
  type EncryptionConfiguration,
  type GroupResource,
  KmsMetrics,
  readEncryptionConfiguration,
  TransformationMetrics,
  ValueEncryption,
} from '#storage/encryption/index.ts';
import type { Storage } from '#storage/interface.ts';
import { ReloadedFile, SERVER_ID_HASH } from '../access/reloaded-file.ts';
import { UserError } from '../user-error.ts';
import { type EtcdConfig, etcdPrefix, type StoreChoice } from './open-storage.ts';

export interface EncryptionFlags {
  /** The file of an EncryptionConfiguration. Default: nothing is encrypted at rest. */
  readonly encryptionProviderConfig?: string;
  /** Whether the file is read again when it changes. Default: false. */
  readonly encryptionProviderConfigAutomaticReload?: boolean;
}

export interface EncryptionServices {
  /** The store of the cluster: values in etcd have a form that upstream reads. */
  readonly store: StoreChoice;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Loaded {
  readonly configuration: EncryptionConfiguration;
  readonly encryption: ValueEncryption;
}

const FLAG = '--encryption-provider-config';
/** How long the plugins of another configuration have until they are healthy. */
const HEALTH_TIMEOUT_MS = 10_000;
const HEALTH_PERIOD_MS = 100;
/** The root of the keys of a cluster's storage. */
const ROOT = '/registry';

export class Encryption {
  readonly #services: EncryptionServices;
  readonly #metrics: KmsMetrics;
  readonly #transformations: TransformationMetrics;
  readonly #file: ReloadedFile<Loaded>;
  readonly #reloads: boolean;
  readonly #stopping = new AbortController();

  private constructor(path: string, reloads: boolean, services: EncryptionServices) {
    this.#services = services;
    this.#reloads = reloads;
    this.#metrics = new KmsMetrics(services.clock, SERVER_ID_HASH);
    this.#transformations = new TransformationMetrics(services.clock);
    const text = readFileSync(path, 'utf8');
    this.#file = new ReloadedFile({
      ...services,
      path,
      subject: 'encryption',
      text,
      current: this.#make(readText(text)),
      retries: () => true,
      read: (changed) => this.#replacement(readText(changed)),
    });
  }

  /**
   * Reads the file, and asks its key management plugins once. One that is not there is no error: its
   * values cannot be read or written until it is. Undefined: the flag is not set. Rejects with a
   * UserError that lists all errors of the file.
   */
  static async of(
    flags: EncryptionFlags,
    services: EncryptionServices,
  ): Promise<Encryption | undefined> {
    const { encryptionProviderConfig: file, encryptionProviderConfigAutomaticReload } = flags;
    if (file === undefined) {
      if (encryptionProviderConfigAutomaticReload === true)
        throw new UserError(
          `${FLAG}-automatic-reload needs ${FLAG}: it is the file that is read again`,
        );
      return undefined;
    }
    const path = resolve(file);
    try {
      const made = new Encryption(path, encryptionProviderConfigAutomaticReload === true, services);
      await made.#file.current.encryption.start();
      return made;
    } catch (error) {
      throw new UserError(`${FLAG}: ${path}: ${errorMessage(error)}`, { cause: error });
    }
  }

  /**
   * Returns the storage with its values encrypted. Closing it leaves the plugins connected: see
   * `close`. Throws UserError for a prefix that cannot be one.
   */
  around(storage: Storage, etcd: Pick<EtcdConfig, 'prefix'> | undefined): Storage {
    const prefix = etcdPrefix(etcd?.prefix);
    return encryptedStorage({
      storage,
      encryption: () => this.#file.current.encryption,
      resourceOf: resourceOfKeys(allSchemas.resources()),
      ...(prefix !== undefined && {
        contextOf: (key) => (key.startsWith(ROOT) ? prefix + key.slice(ROOT.length) : key),
      }),
    });
  }

  /** Returns upstream's check for /healthz and /readyz; none if there are no plugins to check. */
  checks(): readonly HealthCheck[] {
    const { encryption } = this.#file.current;
    if (!this.#reloads && !encryption.hasPlugins) return [];
    return [{ name: 'kms-providers', check: () => encryption.check() }];
  }

  metrics(): string {
    const { encryption } = this.#file.current;
    return (
      (this.#reloads ? this.#file.metrics() : '') +
      this.#transformations.text() +
      (encryption.hasPlugins ? this.#metrics.text() : '')
    );
  }

  /** Reads the file again until `close`, if the flags want it. */
  async keepLoaded(): Promise<void> {
    if (this.#reloads) await this.#file.keepLoaded(this.#stopping.signal, () => undefined);
  }

  /** Ends the connections to plugins. Nothing is written or read after that. */
  close(): void {
    this.#stopping.abort();
    this.#file.current.encryption.close();
  }

  #make(configuration: EncryptionConfiguration): Loaded {
    const encryption = new ValueEncryption(configuration, {
      ...this.#services,
      metrics: this.#metrics,
      transformations: this.#transformations,
      ...(this.#services.store === 'etcd' && { form: databaseForm }),
    });
    return { configuration, encryption };
  }

  /** Returns what to use from now on. Rejects if one of its plugins is not healthy. */
  async #replacement(configuration: EncryptionConfiguration): Promise<Loaded> {
    const { current } = this.#file;
    if (isDeepStrictEqual(configuration, current.configuration)) return current;
    const made = this.#make(configuration);
    try {
      await made.encryption.start();
      await this.#becomesHealthy(made.encryption);
    } catch (error) {
      made.encryption.close();
      throw error;
    }
    void this.#closeLater(current);
    return made;
  }

  async #becomesHealthy(encryption: ValueEncryption): Promise<void> {
    let problem: unknown;
    const config = {
      clock: this.#services.clock,
      signal: this.#stopping.signal,
      intervalMs: HEALTH_PERIOD_MS,
      timeoutMs: HEALTH_TIMEOUT_MS,
    };
    try {
      await wait.pollImmediately(config, async () => {
        try {
          await encryption.check();
          return true;
        } catch (error) {
          problem = error;
          return false;
        }
      });
    } catch (error) {
      throw new Error(
        `health check for new transformers failed, polling error ${errorMessage(error)}: ` +
          errorMessage(problem),
        { cause: error },
      );
    }
  }

  /** Requests that began before the change end with the configuration before it. */
  async #closeLater({ configuration, encryption }: Loaded): Promise<void> {
    const timeouts = configuration.flatMap(({ providers }) =>
      providers.map((provider) => (provider.type === 'kms' ? provider.timeoutMs : 0)),
    );
    const graceMs = 2 * timeouts.reduce((sum, each) => sum + each, 0);
    try {
      await this.#services.clock.sleep(graceMs, this.#stopping.signal);
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error;
    } finally {
      encryption.close();
    }
  }
}

/** Throws an error that lists all errors of the file. */
function readText(text: string): EncryptionConfiguration {
  return readEncryptionConfiguration(parseYaml(text));
}

/**
 * Returns a function from keys to resources. `resources`: the built-in ones, whose keys follow
 * storagePrefix. The keys of custom resources contain their group.
 */
export function resourceOfKeys(
  resources: readonly GroupResource[],
): (key: string) => GroupResource | undefined {
  const byPrefix = new Map<string, GroupResource>();
  for (const { group, resource } of resources) {
    const prefix = storagePrefix({ group, resource });
    const known = byPrefix.get(prefix);
    // Events are in two groups and filed once, as the core group's.
    if (known === undefined || group === '') byPrefix.set(prefix, { group, resource });
  }
  return (key) => {
    const [, root, first = '', second = ''] = key.split('/');
    if (root !== 'registry') return undefined;
    const found =
      byPrefix.get(`/registry/${first}/${second}/`) ?? byPrefix.get(`/registry/${first}/`);
    return found ?? (first.includes('.') ? { group: first, resource: second } : undefined);
  };
}
