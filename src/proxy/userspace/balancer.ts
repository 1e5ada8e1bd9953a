// Chooses a target for a client: the client's previous one with session affinity, otherwise a
// random one.

import type { Clock } from '#machinery/clock.ts';
import { contains, type IpRange, parseCidr, parseIp } from '#machinery/net/ip.ts';
import type { Random } from '#machinery/random.ts';
import type { Target } from '../model.ts';
import type { Route } from './frontends.ts';

export interface BalancerConfig {
  readonly clock: Clock;
  readonly random: Random;
  /** Reports whether a client is the node itself or one of its pods. */
  readonly isOwn: (client: string) => boolean;
}

interface Session {
  readonly target: string;
  readonly expiresMs: number;
}

/** The maximum number of remembered clients per service port; the oldest is dropped. */
const MAX_SESSIONS = 10_000;

const keyOf = ({ ip, port }: Target): string => `${ip} ${port}`;

export class Balancer {
  readonly #config: BalancerConfig;
  /** By port and client. */
  readonly #sessions = new Map<string, Map<string, Session>>();
  readonly #ranges = new WeakMap<Route, readonly IpRange[]>();

  constructor(config: BalancerConfig) {
    this.#config = config;
  }

  /**
   * Returns the targets for the client in the order in which to try them. Empty: the client is
   * rejected.
   */
  targetsFor(route: Route, client: string): readonly Target[] {
    if (!this.#allows(route, client)) return [];
    const candidates = this.#config.isOwn(client) ? route.ownTargets : route.targets;
    if (candidates.length === 0) return [];
    const start = this.#config.random.int(candidates.length);
    const rotated = [...candidates.slice(start), ...candidates.slice(0, start)];
    const kept = this.#kept(route, client);
    const index = kept === undefined ? -1 : rotated.findIndex((target) => keyOf(target) === kept);
    if (index > 0) rotated.unshift(...rotated.splice(index, 1));
    return rotated;
  }

  /** Records that the client has been connected to the target. */
  connected(route: Route, client: string, target: Target): void {
    if (route.affinitySeconds === 0) return;
    const sessions = this.#sessions.get(route.id) ?? new Map<string, Session>();
    this.#sessions.set(route.id, sessions);
    sessions.delete(client);
    sessions.set(client, {
      target: keyOf(target),
      expiresMs: this.#config.clock.monotonic() + route.affinitySeconds * 1000,
    });
    if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value as string);
  }

  /** Drops the state of removed ports. `ids`: the existing ports. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#sessions.keys()) if (!ids.has(id)) this.#sessions.delete(id);
  }

  #kept(route: Route, client: string): string | undefined {
    if (route.affinitySeconds === 0) return undefined;
    const session = this.#sessions.get(route.id)?.get(client);
    return session !== undefined && session.expiresMs > this.#config.clock.monotonic()
      ? session.target
      : undefined;
  }

  #allows(route: Route, client: string): boolean {
    if (route.sourceRanges.length === 0) return true;
    let ranges = this.#ranges.get(route);
    if (ranges === undefined) {
      ranges = route.sourceRanges.flatMap((text) => parseCidr(text) ?? []);
      this.#ranges.set(route, ranges);
    }
    const address = parseIp(client);
    return address !== undefined && ranges.some((range) => contains(range, address));
  }
}
