// Detects lost nodes by the leases that their kubelets renew every ten seconds. The condition Ready
// of a node follows only after about 50 s.

import { leases } from '#api/groups/coordination/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';

export interface NodeLeasesConfig {
  readonly client: Client;
  readonly clock: Clock;
}

const NAMESPACE = 'kube-node-lease';
/**
 * A kubelet renews its lease every 10 s, and one renewal may be late. Times of other machines'
 * clocks are not used.
 */
const LOST_MS = 15_000;

interface Seen {
  readonly renewTime: string;
  /** When the renewal was first observed, by this machine's clock. */
  readonly at: number;
}

export class NodeLeases {
  readonly #config: NodeLeasesConfig;
  readonly #seen = new Map<string, Seen>();

  constructor(config: NodeLeasesConfig) {
    this.#config = config;
  }

  /**
   * Reads the leases of these nodes, and drops others. A missing or unreadable lease is ignored.
   */
  async read(names: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#config;
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    for (const name of names) {
      try {
        const { spec } = await client.resource(leases).namespace(NAMESPACE).get(name, { signal });
        const renewTime = spec?.renewTime ?? '';
        if (this.#seen.get(name)?.renewTime !== renewTime)
          this.#seen.set(name, { renewTime, at: clock.monotonic() });
      } catch (error) {
        if (!apierrors.isNotFound(error)) throw error;
        this.#seen.delete(name);
      }
    }
  }

  isLost(name: string): boolean {
    const seen = this.#seen.get(name);
    return seen !== undefined && this.#config.clock.monotonic() - seen.at > LOST_MS;
  }

  get anyLost(): boolean {
    return [...this.#seen.keys()].some((name) => this.isLost(name));
  }
}
