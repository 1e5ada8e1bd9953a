// Network policies of a node: runs the agent if the machine allows it, and notifies the kubelet
// when a pod's addresses are programmed. It outlives an agent that fails and is restarted.

import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { handBridgedTraffic } from '#machinery/net/bridge.ts';
import { type Nft, NftSession, obstacleToNft } from '#machinery/net/nft/index.ts';
import type { Random } from '#machinery/random.ts';
import { Announcements } from './announcements.ts';
import type { Pod } from './model.ts';
import { NftablesBackend } from './nftables/nftables-backend.ts';
import { type PolicyTableSettings, tableCommands } from './nftables/table.ts';
import { PolicyAgent } from './policy-agent.ts';

export interface NodePoliciesConfig {
  readonly client: Client;
  readonly nodeName: string;
  readonly settings: PolicyTableSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Runs nft. Default: the program nft, one process for many small transactions. */
  readonly nft?: Nft;
}

/** How long a pod waits for the API server's list of policies, in milliseconds. */
const CATCH_UP_TIMEOUT_MS = 5000;

/** Waiting calls of podAddressesReady, by the pod's key. */
type Waiters = Map<string, Set<() => void>>;

export class NodePolicies {
  readonly #config: NodePoliciesConfig;
  readonly #logger: Logger;
  readonly #announcements = new Announcements();
  readonly #waiters: Waiters = new Map();
  #agent: PolicyAgent | undefined;
  /** Policies are not enforced on this machine, so pods do not wait. */
  #isOff = false;

  constructor(config: NodePoliciesConfig) {
    this.#config = config;
    this.#logger = config.logger.with({ component: 'network-policy', node: config.nodeName });
  }

  /**
   * Resolves when the rules of all policies that the API server has at the time of the call apply
   * to the pod's addresses; if it does not respond in time, of the policies that are known here. To
   * be called before the first container of a sandbox starts. It has no time limit; rejects with
   * the signal's reason when the signal aborts.
   */
  async podAddressesReady(
    pod: Pod,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const { key, isNew } = this.#announcements.add(pod, addresses);
    if (isNew) await this.#catchUp(pod.metadata.namespace ?? '', signal);
    signal.throwIfAborted();
    if (this.#isOff) return;
    const waiters = this.#waiters.get(key) ?? new Set();
    this.#waiters.set(key, waiters);
    await new Promise<void>((resolve, reject) => {
      const ready = (): void => {
        signal.removeEventListener('abort', aborted);
        resolve();
      };
      const aborted = (): void => {
        waiters.delete(ready);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', aborted, { once: true });
      waiters.add(ready);
      this.#agent?.announced(key);
    });
  }

  async #catchUp(namespace: string, signal: AbortSignal): Promise<void> {
    // An agent that starts later begins with a list.
    const agent = this.#agent;
    if (agent === undefined) return;
    const limit = new AbortController();
    const reason = new Error('the API server does not answer');
    const timer = this.#config.clock.setTimer(CATCH_UP_TIMEOUT_MS, () => limit.abort(reason));
    try {
      await agent.catchUp(namespace, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      signal.throwIfAborted();
      this.#logger.warn('network policies: a pod starts with the policies that are known', {
        namespace,
        err: error,
      });
    } finally {
      timer.cancel();
    }
  }

  /** Drops a pod that is gone from this node; other pods may get its addresses. */
  podForgotten(uid: string): void {
    const key = this.#announcements.forget(uid);
    if (key !== undefined) this.#agent?.announced(key);
  }

  /**
   * Runs until the signal aborts. Programmed rules stay in the kernel, since the pods keep running,
   * too.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { nft, clock } = this.#config;
    if (nft !== undefined) return this.#runWith(nft, signal);
    const session = new NftSession({ clock });
    try {
      await this.#runWith(session, signal);
    } finally {
      await session.close();
    }
  }

  async #runWith(nft: Nft, signal: AbortSignal): Promise<void> {
    const { client, nodeName, settings, clock, random } = this.#config;
    const obstacle = await obstacleToNft(
      nft,
      `${tableCommands({ ...settings, table: `${settings.table}-probe` }).join('\n')}\n`,
    );
    if (obstacle !== undefined) return this.#stayOff(obstacle, signal);
    if (settings.bridge !== undefined && !(await handBridgedTraffic(settings.bridge))) {
      this.#logger.warn('network policies: not enforced between pods of this node', {
        bridge: settings.bridge,
        reason: 'the kernel has no br_netfilter',
      });
    }
    const backend = new NftablesBackend({ nft, settings, clock, logger: this.#logger });
    const agent = new PolicyAgent({
      client,
      nodeName,
      backend,
      announcements: this.#announcements,
      clock,
      random,
      logger: this.#logger,
      onProgrammed: (keys) => this.#resolve(keys),
    });
    this.#agent = agent;
    for (const key of this.#waiters.keys()) agent.announced(key);
    try {
      await agent.run(signal);
    } finally {
      this.#agent = undefined;
      backend.close();
    }
  }

  async #stayOff(reason: string, signal: AbortSignal): Promise<void> {
    this.#logger.warn('network policies: not enforced on this node', { reason });
    this.#isOff = true;
    this.#resolve(new Set(this.#waiters.keys()));
    if (signal.aborted) return;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }

  #resolve(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      const waiters = this.#waiters.get(key);
      this.#waiters.delete(key);
      for (const ready of waiters ?? []) ready();
    }
  }
}
