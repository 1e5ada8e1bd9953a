// The store of a cluster: in memory, in a file of its own, or on an etcd cluster that others may share.

import { readFileSync } from 'node:fs';
import { databaseForm } from '#apiserver/registry/database-form.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { type Storage, StorageError } from '#storage/interface.ts';
import { TransformedStorage } from '#storage/transformed-storage.ts';
import { finishRestore } from './snapshot.ts';
import { UserError } from '../user-error.ts';

const STORE_CHOICES = ['embedded', 'memory', 'etcd'] as const;
export type StoreChoice = (typeof STORE_CHOICES)[number];

export interface EtcdConfig {
  /** Such as 'https://10.0.0.1:2379'; at least one. */
  readonly servers: readonly string[];
  /** PEM files. */
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** The prefix of all keys. Default: /registry. */
  readonly prefix?: string;
}

export interface StoreConfig {
  readonly choice: StoreChoice;
  readonly etcd: EtcdConfig | undefined;
  /** The directory of the embedded store. */
  readonly dir: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called when the embedded store can write no more: the server has to be started again. */
  readonly onFailure?: (error: Error) => void;
  /** Called while a large embedded store is read, with the objects and changes so far and in all. */
  readonly onProgress?: (read: number, total: number) => void;
}

/** Throws UserError for settings that cannot be, StorageError for a store that cannot be opened. */
export async function openStorage(config: StoreConfig): Promise<Storage> {
  const { choice, clock, random, dir, etcd } = config;
  const logger = config.logger.with({ component: 'storage' });
  if (choice === 'memory') {
    const { createMemoryStorage } = await import('#storage/memory/index.ts');
    return createMemoryStorage({ clock, logger });
  }
  if (choice === 'embedded') {
    const { openEmbeddedStorage } = await import('#storage/embedded/index.ts');
    finishRestore(dir);
    const { onFailure, onProgress } = config;
    return openEmbeddedStorage({
      clock,
      logger,
      dataDir: dir,
      onFailure,
      ...(onProgress !== undefined && { onProgress }),
    });
  }
  if (etcd === undefined || etcd.servers.length === 0) {
    throw new UserError(
      '--store etcd needs --etcd-servers, such as https://10.0.0.1:2379,https://10.0.0.2:2379',
    );
  }
  const { openEtcdStorage, parseEndpoint } = await import('#storage/etcd/index.ts');
  for (const server of etcd.servers) {
    try {
      parseEndpoint(server);
    } catch (error) {
      throw new UserError(`--etcd-servers: ${(error as Error).message}`, { cause: error });
    }
  }
  const { caFile, certFile, keyFile } = etcd;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new UserError('--etcd-certfile and --etcd-keyfile belong together: give both or neither');
  }
  const stored = await openEtcdStorage({
    clock,
    random,
    logger,
    endpoints: etcd.servers,
    tls: {
      ca: pem('--etcd-cafile', caFile),
      cert: pem('--etcd-certfile', certFile),
      key: pem('--etcd-keyfile', keyFile),
    },
    prefix: etcdPrefix(etcd.prefix),
  }).catch((error: unknown) => {
    if (!(error instanceof StorageError) || error.reason !== 'Unavailable') throw error;
    const message = `etcd cannot be used (--etcd-servers ${etcd.servers.join(',')}): ${error.message}`;
    throw new UserError(message, { cause: error });
  });
  const storage = new TransformedStorage({
    storage: stored,
    transformerFor: () => databaseForm,
    isFixed: true,
  });
  const { openWatchCache } = await import('#storage/watch-cache/index.ts');
  try {
    return await openWatchCache({ storage, clock, logger, prefix: '/registry/' });
  } catch (error) {
    await storage.close();
    throw error;
  }
}

function pem(flag: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UserError(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Returns the prefix with one slash at its beginning and none at its end, as kube-apiserver reads
 * the flag.
 */
export function etcdPrefix(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const parts = text.split('/').filter((part) => part !== '');
  if (parts.length === 0)
    throw new UserError(
      '--etcd-prefix must not be empty: /registry is what it is without the flag',
    );
  return `/${parts.join('/')}`;
}
