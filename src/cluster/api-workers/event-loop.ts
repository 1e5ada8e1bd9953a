// How busy the event loop of this process is.

import { performance } from 'node:perf_hooks';

/** Returns the share of the time since the last call for which the event loop was busy: 0 to 1. */
export type BusyShare = () => number;

export function eventLoopBusyShare(): BusyShare {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
