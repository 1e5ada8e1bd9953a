// The addresses of swap clusters. Runs at the same time have different numbers, and so does a run of
// the conformance tests beside them.

import type { Cable } from '../conformance/cable.ts';
import { networkOf } from '../conformance/machines.ts';

/** Addresses of a cluster that no other cluster of this machine has. */
export interface SwapNetwork {
  readonly pods: string;
  /** The first part of `pods`, which the only node gets. */
  readonly nodePods: string;
  readonly services: string;
  /** The address of the Service `kube-dns`. */
  readonly dns: string;
  readonly cable: Cable;
}

/**
 * Returns the addresses of network `number`, from 0 to 3. A cluster with real nodes and one with
 * simulated nodes of the same number may run at the same time.
 */
export function swapNetwork(number: number, simulated: boolean): SwapNetwork {
  const { pods, services, dns } = networkOf(number);
  const link = `10.251.${150 + number}`;
  const suffix = `${simulated ? '-sim' : ''}${number === 0 ? '' : `-${number}`}`;
  const first = simulated ? 5 : 1;
  return {
    pods,
    nodePods: pods.replace(/\/16$/, '/24'),
    services,
    dns,
    cable: {
      namespace: `cox-swap${suffix}`,
      name: `coxswap${number * 2 + (simulated ? 1 : 0)}`,
      firstAddress: `${link}.${first}`,
      secondAddress: `${link}.${first + 1}`,
    },
  };
}
