// Decides what is wrong with a node, from the node alone.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type Cause, cause } from './cause.ts';
import { conditionsOf, conditionText } from './conditions.ts';

/** Returns the node's conditions that are bad news, and that it takes no pods. */
export function nodeStateCauses(node: Immutable<Node>): readonly Cause[] {
  const conditions = conditionsOf(node);
  const bad = conditions
    .filter(({ type, status }) => (type === 'Ready' ? status !== 'True' : status === 'True'))
    .map((condition) =>
      cause('problem', `is not healthy: ${conditionText(condition)}`, {
        source: `condition ${condition.type}`,
      }),
    );
  const unreported = conditions.some(({ type }) => type === 'Ready')
    ? []
    : [cause('waiting', 'its kubelet has not reported yet', { source: 'status.conditions' })];
  const cordoned = node.spec?.unschedulable
    ? [cause('problem', 'is cordoned: takes no new pods', { source: 'spec.unschedulable' })]
    : [];
  return [...bad, ...unreported, ...cordoned];
}
