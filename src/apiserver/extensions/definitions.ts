// Follows CustomResourceDefinitions for all parts of the server that use them. Each definition is
// decoded once for all of them. None keeps it, since definitions are large. The source is a watch,
// so servers that share a store see the same.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { decodeState, Follower, type FollowerConfig } from '../catalog/follow.ts';
import type { EncodedObject } from '../request.ts';
import type { CustomResourceDefinition } from './description.ts';

/**
 * Receives each existing definition, and then every change, in order. Must not keep the definition
 * itself.
 */
export interface DefinitionKeeper {
  /** Called for a new or changed definition. `encoded`: the definition as stored. */
  set(definition: CustomResourceDefinition, encoded: EncodedObject): void;
  delete(name: string): void;
}

/** The number of definitions that are read in one turn of the event loop. */
const DEFINITIONS_PER_TURN = 8;

export class DefinitionFollower {
  readonly #follower: Follower;

  constructor(config: FollowerConfig) {
    this.#follower = new Follower(config);
  }

  /**
   * Starts following. Resolves once the keepers have received every existing definition. They are
   * called one after the other. While a definition cannot be decoded, the server is not ready, and
   * waits, as upstream: it can be repaired or deleted in the store. Rejects when the follower stops.
   */
  async start(keepers: readonly DefinitionKeeper[]): Promise<void> {
    const keeper = {
      set: (object: KubeObject, encoded: EncodedObject) => {
        for (const each of keepers)
          each.set(object as unknown as CustomResourceDefinition, encoded);
      },
      delete: (name: string) => {
        for (const each of keepers) each.delete(name);
      },
    };
    // Decoded definitions are large and read once, so they bypass the cache.
    const options = { decode: decodeState, objectsPerTurn: DEFINITIONS_PER_TURN, waits: true };
    await this.#follower.follow(
      'apiextensions.k8s.io',
      'customresourcedefinitions',
      keeper,
      options,
    );
  }

  stop(): void {
    this.#follower.stop();
  }
}
