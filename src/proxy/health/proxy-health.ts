// The health of the proxy for /healthz and /livez: whether its rules are up to date.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';

/**
 * A change that is not programmed after this time makes the proxy unhealthy: twice upstream's
 * period of retries.
 */
const TIMEOUT_MS = 60_000;
/** The cluster autoscaler adds this taint to a node that it is about to remove. */
const TO_BE_DELETED = 'ToBeDeletedByClusterAutoscaler';

export interface HealthReport {
  readonly healthy: boolean;
  readonly body: string;
}

export class ProxyHealth {
  readonly #clock: Clock;
  readonly #families: readonly string[];
  #node: Immutable<Node> | undefined;
  #updatedMs: number;
  /** The time of the oldest change that is not programmed. */
  #pendingSinceMs: number | undefined;

  constructor(config: { readonly clock: Clock; readonly families: readonly string[] }) {
    this.#clock = config.clock;
    this.#families = config.families;
    this.#updatedMs = config.clock.now();
  }

  queued(): void {
    this.#pendingSinceMs ??= this.#clock.now();
  }

  updated(): void {
    this.#pendingSinceMs = undefined;
    this.#updatedMs = this.#clock.now();
  }

  /** Sets the node; undefined if it does not exist. */
  setNode(node: Immutable<Node> | undefined): void {
    this.#node = node;
  }

  get healthy(): boolean {
    return (
      this.#pendingSinceMs === undefined || this.#clock.now() - this.#pendingSinceMs < TIMEOUT_MS
    );
  }

  /**
   * Reports false for a node that is being removed: load balancers should send it no more traffic.
   */
  get nodeEligible(): boolean {
    if (this.#node === undefined || this.#node.metadata.deletionTimestamp !== undefined)
      return false;
    return !(this.#node.spec.taints ?? []).some(({ key }) => key === TO_BE_DELETED);
  }

  /** Returns the report of an endpoint: /livez ignores the state of the node. */
  report(endpoint: 'healthz' | 'livez'): HealthReport {
    const now = new Date(this.#clock.now()).toISOString();
    const updated = new Date(this.#updatedMs).toISOString();
    const { healthy: keepsUp, nodeEligible } = this;
    const healthy = keepsUp && (endpoint === 'livez' || nodeEligible);
    return {
      healthy,
      body: JSON.stringify({
        // A healthy proxy counts as updated now, even without changes for a long time.
        lastUpdated: healthy ? now : updated,
        currentTime: now,
        ...(endpoint === 'healthz' && { nodeEligible }),
        healthy: keepsUp,
        status: Object.fromEntries(
          this.#families.map((family) => [family, { lastUpdated: updated, healthy: keepsUp }]),
        ),
      }),
    };
  }
}
