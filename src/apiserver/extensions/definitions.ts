// Follows CustomResourceDefinitions for all parts of the server that work with them. Each definition is decoded once
// for all of them, and kept by none: definitions are large. They come as to every watcher, so servers that share a
// store see the same.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { decodeState, Follower, type FollowerConfig } from '../catalog/follow.ts';
import type { EncodedObject } from '../request.ts';
import type { CustomResourceDefinition } from './description.ts';

/** Is called for each definition that exists, in the order of changes. Must not keep the definition itself. */
export interface DefinitionKeeper {
  /** `encoded`: the definition as the store has it. */
  set(definition: CustomResourceDefinition, encoded: EncodedObject): void;
  delete(name: string): void;
}

/** Definitions that are read in one turn of the event loop. */
const DEFINITIONS_PER_TURN = 8;

export class DefinitionFollower {
  readonly #follower: Follower;

  constructor(config: FollowerConfig) {
    this.#follower = new Follower(config);
  }

  /**
   * Resolves once the keepers have every definition that exists now. They are called one after the other. Rejects if
   * the store cannot be read.
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
    // Decoded definitions are large, and looked at once: no cache should have them.
    const options = { decode: decodeState, objectsPerTurn: DEFINITIONS_PER_TURN };
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
