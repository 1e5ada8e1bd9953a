// Encryption at rest, as configured by Kubernetes' EncryptionConfiguration. See README.md in
// src/storage.

import type { Random } from '#machinery/random.ts';
import type { Storage } from '../interface.ts';
import type { EncryptionConfiguration, GroupResource } from './config.ts';
import { EncryptedStorage } from './encrypted-storage.ts';
import { Transformer } from './transformer.ts';

export {
  type EncryptionConfiguration,
  type GroupResource,
  readEncryptionConfiguration,
} from './config.ts';

export interface EncryptionConfig {
  readonly storage: Storage;
  readonly configuration: EncryptionConfiguration;
  /**
   * Returns the resource of the object at a key; undefined for keys of no resource, which are never
   * encrypted.
   */
  readonly resourceOf: (key: string) => GroupResource | undefined;
  readonly random: Random;
}

/** Returns the storage with its values encrypted according to the configuration. */
export function encryptedStorage({
  storage,
  configuration,
  resourceOf,
  random,
}: EncryptionConfig): Storage {
  const plain = new Transformer([{ type: 'identity' }], random);
  const transformers = configuration.map(({ resources, providers }) => ({
    resources,
    transformer: new Transformer(providers, random),
  }));
  return new EncryptedStorage({
    storage,
    transformerFor(key) {
      const resource = resourceOf(key);
      if (resource === undefined) return plain;
      const chosen = transformers.find(({ resources }) =>
        resources.some((each) => covers(each, resource)),
      );
      return chosen?.transformer ?? plain;
    },
  });
}

function covers(pattern: GroupResource, { group, resource }: GroupResource): boolean {
  if (pattern.group === '*' && pattern.resource === '*') return true;
  return pattern.group === group && (pattern.resource === '*' || pattern.resource === resource);
}
