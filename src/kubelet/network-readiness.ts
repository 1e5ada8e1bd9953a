// The kubelet's interface to the network before it starts containers. The agent that enforces
// network policies on the node implements it.

import type { Pod } from './types.ts';

export interface NetworkReadiness {
  /**
   * Resolves when all network policies of the pod are enforced for these addresses. Called for pods
   * with their own addresses after their sandbox was created and before containers start in it,
   * also before restarts. Rejects with the signal's reason when the signal aborts.
   */
  podAddressesReady(pod: Pod, addresses: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * Drops the state of a pod that is gone from the node. Never throws. Unknown pods are ignored.
   */
  podForgotten(uid: string): void;
}
