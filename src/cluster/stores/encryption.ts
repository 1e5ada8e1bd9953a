// Encryption at rest of a cluster's store, from the file that --encryption-provider-config names.

import { errorMessage } from '#machinery/error-message.ts';
import { readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';
import { allSchemas } from '#api/all-schemas.ts';
import { storagePrefix } from '#apiserver/registry/storage-prefix.ts';
import type { Random } from '#machinery/random.ts';
import {
  encryptedStorage,
  type EncryptionConfiguration,
  type GroupResource,
  readEncryptionConfiguration,
} from '#storage/encryption/index.ts';
import type { Storage } from '#storage/interface.ts';
import { UserError } from '../user-error.ts';

const FLAG = '--encryption-provider-config';

/** Throws a UserError that lists all errors of the file. */
export function readEncryptionFile(path: string): EncryptionConfiguration {
  try {
    return readEncryptionConfiguration(parseYaml(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new UserError(`${FLAG}: ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

export function encryptStorage(
  storage: Storage,
  configuration: EncryptionConfiguration,
  random: Random,
): Storage {
  return encryptedStorage({
    storage,
    configuration,
    resourceOf: resourceOfKeys(allSchemas.resources()),
    random,
  });
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
