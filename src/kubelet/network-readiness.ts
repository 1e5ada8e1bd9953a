// What the kubelet asks of the network before it starts containers. The agent that enforces network
// policies on the node implements it.

import type { Pod } from './types.ts';

export interface NetworkReadiness {
  /**
   * Resolves when everything that restricts traffic of the pod applies to these addresses. Called
   * for pods with addresses of their own, when their sandbox exists and before containers start in
   * it, also when containers are started again. Rejects with the signal's reason when the signal
   * aborts.
   */
  podAddressesReady(pod: Pod, addresses: readonly string[], signal: AbortSignal): Promise<void>;
  /** The pod is gone from the node. Never throws. Pods that were not announced are ignored. */
  podForgotten(uid: string): void;
}
