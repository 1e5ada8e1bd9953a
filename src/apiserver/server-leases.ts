// The live API servers of one store: each server has a key there, which expires when the server
// ends.

import type { Endpoints } from '#api/groups/core/v1/index.ts';
import { decodeFromStorage, encodeForStorage } from '#api/machinery/codec/index.ts';
import { type Storage, StorageError } from '#storage/interface.ts';

const PREFIX = '/registry/masterleases/';
/** The time to live of a server's key, in ms, as upstream. */
const LIFETIME_MS = 15_000;

export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

export class ServerLeases {
  readonly #storage: Storage;
  readonly #own: ServerAddress;

  constructor(storage: Storage, own: ServerAddress) {
    this.#storage = storage;
    this.#own = own;
  }

  /** Creates the server's key, or extends its life. Throws StorageError. */
  async renew(): Promise<void> {
    const { address, port } = this.#own;
    await this.#storage.guaranteedUpdate(this.#key, (current) => {
      // The value changes each time, since a write of an equal value would not be made.
      const before =
        current === undefined
          ? undefined
          : decodeFromStorage<Endpoints>(current.value, current.modRevision);
      const object = {
        kind: 'Endpoints',
        apiVersion: 'v1',
        metadata: { generation: (before?.metadata.generation ?? 0) + 1 },
        subsets: [
          { addresses: [{ ip: address }], ports: [{ name: 'https', port, protocol: 'TCP' }] },
        ],
      };
      return { action: 'put', value: encodeForStorage(object), ttlMs: LIFETIME_MS };
    });
  }

  /**
   * Returns the addresses of all live servers, without duplicates, in order. Throws StorageError.
   */
  async list(): Promise<readonly ServerAddress[]> {
    const { items } = await this.#storage.list(PREFIX);
    return items.flatMap(({ value, modRevision }) => {
      const { subsets = [] } = decodeFromStorage<Endpoints>(value, modRevision);
      const [{ addresses = [], ports = [] } = {}] = subsets;
      const [address, port] = [addresses[0]?.ip, ports[0]?.port ?? this.#own.port];
      return address === undefined ? [] : [{ address, port }];
    });
  }

  /** Deletes the server's key. Throws StorageError. */
  async leave(): Promise<void> {
    try {
      await this.#storage.delete(this.#key);
    } catch (error) {
      if (!(error instanceof StorageError && error.reason === 'KeyNotFound')) throw error;
    }
  }

  get #key(): string {
    const { address, port } = this.#own;
    return `${PREFIX}${address}:${port}`;
  }
}
