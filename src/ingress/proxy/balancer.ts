// Chooses the back end and the endpoint of a request.

import type { Backend, Endpoint, RouteAction, WeightedBackend } from '../model.ts';

/**
 * The maximum number of services with a state. The oldest are dropped, so that their rotation
 * restarts.
 */
const MAX_KEYS = 10_000;

export class Balancer {
  /** Smooth weighted round robin: the current weight of each back end of an action. */
  readonly #weights = new WeakMap<RouteAction, number[]>();
  /** By key: the number of requests to a back end, across configurations. */
  readonly #turns = new Map<string, number>();

  /** Returns the next back end by weight; undefined if all weights are zero. */
  pick(action: RouteAction): WeightedBackend | undefined {
    const { backends } = action;
    if (backends.length === 1) return backends[0]!.weight > 0 ? backends[0] : undefined;
    let weights = this.#weights.get(action);
    if (weights === undefined) {
      weights = backends.map(() => 0);
      this.#weights.set(action, weights);
    }
    let total = 0;
    let best = -1;
    for (let i = 0; i < backends.length; i++) {
      const { weight } = backends[i]!;
      if (weight <= 0) continue;
      total += weight;
      weights[i] = weights[i]! + weight;
      if (best < 0 || weights[i]! > weights[best]!) best = i;
    }
    if (best < 0) return undefined;
    weights[best] = weights[best]! - total;
    return backends[best];
  }

  /**
   * Returns at most `limit` endpoints in the order in which to try them. Each call begins with the
   * next endpoint.
   */
  endpoints({ key, endpoints }: Backend, limit: number): Endpoint[] {
    if (endpoints.length === 0) return [];
    const turn = this.#turns.get(key) ?? 0;
    if (this.#turns.size >= MAX_KEYS && !this.#turns.has(key))
      this.#turns.delete(this.#turns.keys().next().value as string);
    this.#turns.set(key, (turn + 1) % Number.MAX_SAFE_INTEGER);
    const count = Math.min(limit, endpoints.length);
    return Array.from({ length: count }, (_, i) => endpoints[(turn + i) % endpoints.length]!);
  }
}
