// Which API servers run on one store: each keeps a key of its own there, which goes by itself when the server does.

import type { Endpoints } from '#api/groups/core/v1/index.ts';
import { decodeFromStorage, encodeForStorage } from '#api/machinery/codec/index.ts';
import { type Storage, StorageError } from '#storage/interface.ts';

const PREFIX = '/registry/masterleases/';
/** As long as Kubernetes gives a server that has died. */
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

  /** Throws StorageError. */
  async renew(): Promise<void> {
    const { address, port } = this.#own;
    await this.#storage.guaranteedUpdate(this.#key, (current) => {
      // Another value each time, since a write of the same is none.
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

  /** Of all that are alive, each once, in order. Throws StorageError. */
  async list(): Promise<readonly ServerAddress[]> {
    const { items } = await this.#storage.list(PREFIX);
    return items.flatMap(({ value, modRevision }) => {
      const { subsets = [] } = decodeFromStorage<Endpoints>(value, modRevision);
      const [{ addresses = [], ports = [] } = {}] = subsets;
      const [address, port] = [addresses[0]?.ip, ports[0]?.port ?? this.#own.port];
      return address === undefined ? [] : [{ address, port }];
    });
  }

  /** Throws StorageError. */
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
