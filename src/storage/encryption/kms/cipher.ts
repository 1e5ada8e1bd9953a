// Values that are encrypted with keys of a key management plugin: `k8s:enc:kms:v2:NAME:` and an
// envelope. Decrypted keys are kept, so that the plugin is asked once for each of them.

import { type Awaitable } from '#machinery/awaitable.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import type { Opened } from '../../transformed-storage.ts';
import { type Cipher, MARK } from '../cipher.ts';
import { SEED, valueKeyOf, type ValueKey } from './data-key.ts';
import { decodeEnvelope, encodeEnvelope, type KeyEnvelope, keyOf } from './envelope.ts';
import type { KmsPlugin, KmsServices } from './plugin.ts';

/**
 * Decrypted keys in memory. There is one for each key of the plugin and each start of a server that
 * has written values. Upstream keeps them for a day without a limit.
 */
const CAPACITY = 10_000;

export class KmsCipher implements Cipher {
  readonly prefix: Buffer;
  readonly #plugin: KmsPlugin;
  readonly #services: KmsServices;
  readonly #keys = new LruCache<string, ValueKey>({ capacity: CAPACITY });
  /** Keys that the plugin is decrypting. */
  readonly #decrypting = new Map<string, Promise<ValueKey>>();
  /** The seed that wrote last. */
  #written: ValueKey | undefined;

  constructor(plugin: KmsPlugin, services: KmsServices) {
    this.prefix = Buffer.from(`${MARK}kms:v2:${plugin.name}:`);
    this.#plugin = plugin;
    this.#services = services;
  }

  seal(value: Uint8Array, context: string): Uint8Array {
    const { key, envelope } = this.#plugin.writing();
    if (key !== this.#written) {
      this.#written = key;
      this.#keep(keyOf(envelope), key);
    }
    const { random, metrics } = this.#services;
    metrics.used('to_storage', this.#plugin.name, envelope.keyId);
    return encodeEnvelope(envelope, key.seal(value, context, random));
  }

  open(data: Uint8Array, context: string): Awaitable<Opened> {
    const envelope = decodeEnvelope(data);
    const present = this.#plugin.current().envelope;
    const stale = envelope.keyId !== present.keyId || envelope.encryptedDekSourceType !== SEED;
    const open = (key: ValueKey): Opened => {
      this.#services.metrics.used('from_storage', this.#plugin.name, envelope.keyId);
      return { value: key.open(envelope.encryptedData, context), stale };
    };
    const id = keyOf(envelope);
    const known = this.#keys.get(id);
    return known === undefined ? this.#decrypted(id, envelope).then(open) : open(known);
  }

  #decrypted(id: string, envelope: KeyEnvelope): Promise<ValueKey> {
    let decrypting = this.#decrypting.get(id);
    if (decrypting === undefined) {
      decrypting = this.#decrypt(id, envelope).finally(() => this.#decrypting.delete(id));
      this.#decrypting.set(id, decrypting);
    }
    return decrypting;
  }

  async #decrypt(id: string, envelope: KeyEnvelope): Promise<ValueKey> {
    const secret = await this.#plugin.decrypt(envelope);
    const key = valueKeyOf(envelope.encryptedDekSourceType, secret);
    this.#keep(id, key);
    return key;
  }

  #keep(id: string, key: ValueKey): void {
    this.#keys.set(id, key);
    this.#services.metrics.cached(this.#plugin.name, this.#keys.size);
  }
}
