// Priority and fairness.

export { flowControlFilter } from './filter.ts';
export { FlowControl } from './flow-control.ts';
export type { FlowControlMetrics } from './flow-metrics.ts';
