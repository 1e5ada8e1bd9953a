// Encryption at rest, as configured by Kubernetes' EncryptionConfiguration. See README.md in
// src/storage.

import type { Storage } from '../interface.ts';
import { TransformedStorage } from '../transformed-storage.ts';
import type { GroupResource } from './config.ts';
import type { ValueEncryption } from './value-encryption.ts';

export {
  type EncryptionConfiguration,
  type GroupResource,
  readEncryptionConfiguration,
} from './config.ts';
export { KmsMetrics } from './kms/metrics.ts';
export { TransformationMetrics } from './transformation-metrics.ts';
export { type EncryptionServices, ValueEncryption } from './value-encryption.ts';

export interface EncryptionConfig {
  readonly storage: Storage;
  /** Returns what encrypts now. It may change while the storage is in use. */
  readonly encryption: () => ValueEncryption;
  /**
   * Returns the resource of the object at a key; undefined for keys of no resource, which are never
   * encrypted.
   */
  readonly resourceOf: (key: string) => GroupResource | undefined;
  /** Returns the name of a key in the database, which is authenticated. Default: the key. */
  readonly contextOf?: (key: string) => string;
}

/** Returns the storage with its values encrypted. */
export function encryptedStorage({
  storage,
  encryption,
  resourceOf,
  contextOf,
}: EncryptionConfig): Storage {
  return new TransformedStorage({
    storage,
    ...(contextOf !== undefined && { contextOf }),
    transformerFor: (key) => encryption().transformerFor(resourceOf(key)),
  });
}
