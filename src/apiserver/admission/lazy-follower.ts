// Follows objects from the first request that needs them on: what admission knows of policies and webhooks.

import { Follower, type FollowerConfig } from '#apiserver/catalog/follow.ts';
import type { AdmissionAttributes } from './plugin.ts';
import { refusal } from './policy/exempt.ts';

export interface LazyFollowerConfig extends FollowerConfig {
  /** Called back when the server stops. */
  readonly onStop: (callback: () => void) => void;
}

export class LazyFollower {
  readonly #config: LazyFollowerConfig;
  readonly #follow: (follower: Follower) => Promise<unknown>;
  #starting: Promise<void> | undefined;
  #started = false;

  /** `follow`: begins to follow the objects, and resolves when all that exist are known. */
  constructor(config: LazyFollowerConfig, follow: (follower: Follower) => Promise<unknown>) {
    this.#config = config;
    this.#follow = follow;
  }

  /** Whether the objects are known. */
  get started(): boolean {
    return this.#started;
  }

  /** Resolves when the objects are known. Rejects with Forbidden as long as they cannot be read: no request passes before that. */
  async ready(attributes: AdmissionAttributes): Promise<void> {
    // A store that could not be read may be asked again.
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
