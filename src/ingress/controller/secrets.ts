// The Secrets that the configuration references. Each has its own watch: other Secrets are never
// read.

import { type Secret, secrets } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SharedInformer } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';

export interface SecretsConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called when one of the Secrets has changed, or has been read for the first time. */
  readonly onChange: () => void;
}

interface Followed {
  readonly informer: SharedInformer<Immutable<Secret>>;
  /** When the watch began, in monotonic milliseconds. */
  readonly start: number;
  readonly stop: AbortController;
  readonly run: Promise<void>;
}

/** The maximum number of watched Secrets. */
const MAX_SECRETS = 5000;

export class ReferencedSecrets {
  readonly #config: SecretsConfig;
  readonly #followed = new Map<string, Followed>();
  #asked = new Set<string>();

  constructor(config: SecretsConfig) {
    this.#config = config;
  }

  /** Returns the Secret, and watches it from now on. 'pending': it has not been read yet. */
  get(namespace: string, name: string): Immutable<Secret> | 'pending' | undefined {
    const key = `${namespace}/${name}`;
    this.#asked.add(key);
    let followed = this.#followed.get(key);
    if (followed === undefined) {
      if (this.#followed.size >= MAX_SECRETS) return undefined;
      followed = this.#follow(namespace, name);
      this.#followed.set(key, followed);
    }
    const { informer } = followed;
    return informer.hasSynced() ? informer.lister.get(namespace, name) : 'pending';
  }

  /**
   * Resolves when every watched Secret has been read, or after the timeout. Later calls do not wait
   * again for a Secret that timed out (for example a forbidden one). Returns whether the call has
   * waited.
   */
  async settle(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#config;
    const since = clock.monotonic() - timeoutMs;
    const pending = [...this.#followed.values()].filter(
      ({ informer, start }) => !informer.hasSynced() && start > since,
    );
    if (pending.length === 0) return false;
    const timeout = new AbortController();
    const timer = clock.setTimer(timeoutMs, () => timeout.abort(new Error('it takes too long')));
    await Promise.allSettled(pending.map(({ informer }) => informer.waitForSync(timeout.signal)));
    timer.cancel();
    return true;
  }

  /** Ends the watches of Secrets that were not requested since the last call. */
  sweep(): void {
    for (const [key, { stop }] of this.#followed) {
      if (this.#asked.has(key)) continue;
      stop.abort(new Error('nothing refers to it'));
      this.#followed.delete(key);
    }
    this.#asked = new Set();
  }

  async stop(): Promise<void> {
    const all = [...this.#followed.values()];
    for (const { stop } of all) stop.abort(new Error('the ingress stops'));
    await Promise.all(all.map(({ run }) => run));
  }

  #follow(namespace: string, name: string): Followed {
    const { client, clock, random, logger, onChange } = this.#config;
    const informer = new SharedInformer<Immutable<Secret>>({
      name: `ingress secret ${namespace}/${name}`,
      source: client.resource(secrets).namespace(namespace),
      fieldSelector: `metadata.name=${name}`,
      clock,
      random,
      logger,
    });
    informer.addEventHandler({ onAdd: onChange, onUpdate: onChange, onDelete: onChange });
    const stop = new AbortController();
    const run = informer.run(stop.signal);
    // A Secret that does not exist causes no event.
    informer.waitForSync(stop.signal).then(onChange, () => undefined);
    return { informer, start: clock.monotonic(), stop, run };
  }
}
