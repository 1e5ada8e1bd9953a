// An encrypted storage for tests whose keys are in the configuration.

import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Storage } from '../../interface.ts';
import {
  encryptedStorage,
  type GroupResource,
  KmsMetrics,
  readEncryptionConfiguration,
  TransformationMetrics,
  ValueEncryption,
} from '../index.ts';

/**
 * Returns the storage with the values of one resource encrypted by the providers, in order.
 * `resourceOf`: the resources of keys. Default: all keys are of that one.
 */
export function encryptedBy(
  storage: Storage,
  providers: readonly object[],
  { group, resource }: GroupResource,
  resourceOf: (key: string) => GroupResource | undefined = () => ({ group, resource }),
): Storage {
  const clock = new VirtualClock();
  const configuration = readEncryptionConfiguration({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: [group === '' ? resource : `${resource}.${group}`], providers }],
  });
  const encryption = new ValueEncryption(configuration, {
    clock,
    random: new SeededRandom('nonces'),
    logger: silentLogger,
    metrics: new KmsMetrics(clock, ''),
    transformations: new TransformationMetrics(clock),
  });
  return encryptedStorage({
    storage,
    encryption: () => encryption,
    resourceOf,
  });
}

/** A provider with a key of 32 equal bytes. */
export const aesGcmProvider = (name = 'a'): object => ({
  aesgcm: { keys: [{ name, secret: Buffer.alloc(32, 1).toString('base64') }] },
});
