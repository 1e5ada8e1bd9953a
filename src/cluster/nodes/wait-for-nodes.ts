// Waits until pods can run on the nodes of a cluster that starts.

import { nodes as nodeType, type Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';

export interface WaitForNodesConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly names: readonly string[];
  /** Whether something removes the taint of nodes that are not ready, once they are. */
  readonly isUntainted: boolean;
  /** Waits until no further node has become ready for this time. */
  readonly timeoutMs: number;
  /** Called with the number of nodes that are ready. */
  readonly onProgress: (ready: number) => void;
}

/**
 * Waits until every node is Ready and, with `isUntainted`, no taint keeps pods off it. Returns the
 * nodes that are not ready after all. Rejects when the signal aborts.
 */
export async function waitForNodes(
  config: WaitForNodesConfig,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { client, clock, names, isUntainted, timeoutMs, onProgress } = config;
  // A list of many nodes takes its time, too.
  const intervalMs = Math.min(Math.max(10, names.length / 2), 1000);
  let waitingFor = names;
  let lastProgress = clock.monotonic();
  for (;;) {
    const { items } = await client.resource(nodeType).list();
    const ready = new Set(
      items.filter((node) => isReady(node, isUntainted)).map(({ metadata }) => metadata.name),
    );
    const missing = names.filter((name) => !ready.has(name));
    if (missing.length < waitingFor.length) lastProgress = clock.monotonic();
    waitingFor = missing;
    if (waitingFor.length === 0) return [];
    onProgress(names.length - waitingFor.length);
    if (clock.monotonic() - lastProgress >= timeoutMs) return waitingFor;
    await clock.sleep(intervalMs, signal);
  }
}

function isReady({ status, spec }: Immutable<Node>, isUntainted: boolean): boolean {
  return (
    status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ===
      true &&
    (!isUntainted ||
      spec.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') !== true)
  );
}
