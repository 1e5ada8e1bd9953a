// Follows objects in memory from the first request that needs them: policies and webhook
// configurations.

import { Follower, type FollowerConfig } from '#apiserver/catalog/follow.ts';
import type { AdmissionAttributes } from './plugin.ts';
import { refusal } from './policy/exempt.ts';

export interface LazyFollowerConfig extends FollowerConfig {
  /** Registers a callback for the server's stop. */
  readonly onStop: (callback: () => void) => void;
}

export class LazyFollower {
  readonly #config: LazyFollowerConfig;
  readonly #follow: (follower: Follower) => Promise<unknown>;
  #starting: Promise<void> | undefined;
  #started = false;

  /**
   * Creates the follower. `follow` starts following the objects, and resolves when all existing
   * ones are in memory.
   */
  constructor(config: LazyFollowerConfig, follow: (follower: Follower) => Promise<unknown>) {
    this.#config = config;
    this.#follow = follow;
  }

  /** True once all existing objects are in memory. */
  get started(): boolean {
    return this.#started;
  }

  /**
   * Resolves when the objects are in memory. Rejects with Forbidden as long as they cannot be read:
   * no request is admitted before that.
   */
  async ready(attributes: AdmissionAttributes): Promise<void> {
    // After a failure the next request tries again.
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    try {
      await this.#starting;
    } catch (error) {
      this.#config.logger.warn('admission: configuration cannot be read', { err: error });
      throw refusal(attributes, 'not yet ready to handle request');
    }
  }

  async #start(): Promise<void> {
    const follower = new Follower(this.#config);
    this.#config.onStop(() => follower.stop());
    try {
      await this.#follow(follower);
    } catch (error) {
      follower.stop();
      throw error;
    }
    this.#started = true;
  }
}
