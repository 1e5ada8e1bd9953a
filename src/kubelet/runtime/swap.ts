// The swap of containers: none, or for Burstable pods a share of the node's (KEP-2400).

import type { LinuxContainerResources } from '#cri/index.ts';
import type { Container, Pod } from '../types.ts';
import { amountOf, qosClass } from '../pod/resources.ts';

export type SwapBehavior = 'NoSwap' | 'LimitedSwap';

/** The memory and swap of the machine. */
export interface MachineSwap {
  readonly behavior: SwapBehavior;
  readonly cgroupVersion: 1 | 2;
  /** The memory and the swap of the node, in bytes. */
  readonly memoryBytes: number;
  readonly swapBytes: number;
}

export interface SwapFacts extends MachineSwap {
  /** Reports whether the node needs the pod: such pods use no swap. */
  readonly isCritical: (pod: Pod) => boolean;
}

/** Returns the settings of the container. `memoryLimit`: in bytes; 0 for none. */
export function swapResources(
  pod: Pod,
  container: Container,
  memoryLimit: number,
  facts: SwapFacts,
): Pick<LinuxContainerResources, 'memorySwapLimitInBytes' | 'unified'> {
  if (facts.cgroupVersion === 1) {
    // Memory and swap have one limit here.
    return memoryLimit > 0 ? { memorySwapLimitInBytes: memoryLimit } : {};
  }
  return { unified: { 'memory.swap.max': String(swapLimit(pod, container, facts)) } };
}

function swapLimit(pod: Pod, container: Container, facts: SwapFacts): number {
  const { behavior, memoryBytes, swapBytes } = facts;
  const bytesOf = (list: 'requests' | 'limits'): number =>
    amountOf('memory', container.resources?.[list]?.['memory'] ?? '0');
  const request = bytesOf('requests');
  const isLimited =
    behavior === 'LimitedSwap' &&
    !facts.isCritical(pod) &&
    qosClass(pod) === 'Burstable' &&
    request > 0 &&
    request !== bytesOf('limits') &&
    request <= memoryBytes;
  return isLimited ? Math.trunc((request / memoryBytes) * swapBytes) : 0;
}
