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

/** Reports whether the container may use swap. */
export function maySwap(pod: Pod, container: Container, facts: SwapFacts): boolean {
  const [request, limit] = [memoryOf(container, 'requests'), memoryOf(container, 'limits')];
  return (
    facts.behavior === 'LimitedSwap' &&
    facts.cgroupVersion === 2 &&
    !facts.isCritical(pod) &&
    qosClass(pod) === 'Burstable' &&
    request !== limit
  );
}

function swapLimit(pod: Pod, container: Container, facts: SwapFacts): number {
  const { memoryBytes, swapBytes } = facts;
  const request = memoryOf(container, 'requests');
  const isLimited = maySwap(pod, container, facts) && request > 0 && request <= memoryBytes;
  return isLimited ? Math.trunc((request / memoryBytes) * swapBytes) : 0;
}

function memoryOf({ resources }: Container, list: 'requests' | 'limits'): number {
  return amountOf('memory', resources?.[list]?.['memory'] ?? '0');
}
