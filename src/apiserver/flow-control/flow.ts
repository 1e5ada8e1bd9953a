// The requests of one FlowSchema, with their priority level and their metrics.

import type { RequestFlow } from '../request.ts';
import type { FlowMetrics } from './flow-metrics.ts';
import type { PriorityLevel } from './priority-level.ts';
import type { PolicyRules } from './rules.ts';

export interface Flow extends RequestFlow {
  readonly schema: string;
  readonly level: PriorityLevel;
  /** How requests are divided: 'ByUser', 'ByNamespace' or not at all. */
  readonly distinguisher: string | undefined;
  readonly rules: readonly PolicyRules[];
  readonly metrics: FlowMetrics;
}
