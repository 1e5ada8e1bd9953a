// TaintToleration: keeps pods off nodes with taints that they do not tolerate, and prefers nodes
// with fewer untolerated PreferNoSchedule taints.

import type { Toleration } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { NodesWith } from '../framework/nodes-with.ts';
import { type StateKey, stateKey } from '../framework/cycle-state.ts';
import { ActionType, clusterEvent } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { Node, Pod } from '../framework/objects.ts';
import type { FilterPlugin, PreScorePlugin, ScorePlugin } from '../framework/plugin.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { concernsPod, nodeNowSuits } from './hints.ts';
import { normalizeByGreatest } from './normalize.ts';
import { allTolerated, tolerated } from './tolerations.ts';

const UNTOLERATED = new Status(
  'UnschedulableAndUnresolvable',
  ['node(s) had untolerated taint(s)'],
  'TaintToleration',
);
const SKIP = new Status('Skip', [], 'TaintToleration');

/** The pod's tolerations for PreferNoSchedule. */
const SOFT_TOLERATIONS: StateKey<readonly Immutable<Toleration>[]> =
  stateKey('TaintToleration/soft');

function tolerates(pod: Pod, node: Node): boolean {
  const hard = (node.spec.taints ?? []).filter(
    (taint) => taint.effect === 'NoSchedule' || taint.effect === 'NoExecute',
  );
  return allTolerated(hard, pod.spec.tolerations);
}

export const taintToleration: PluginRegistration = {
  name: 'TaintToleration',
  create(args, { snapshot }) {
    noArgs(taintToleration.name, args);
    const withSoftTaints = new NodesWith(snapshot, ({ softTaints }) => softTaints.length > 0);
    return {
      name: taintToleration.name,
      filter: (_state, { pod }, node) =>
        node.hardTaints.length === 0 || allTolerated(node.hardTaints, pod.spec.tolerations)
          ? undefined
          : UNTOLERATED,
      filterTemplate: ({ tolerationsText }) => tolerationsText,
      preScore(state, { pod }, nodes) {
        // Without such taints all nodes have equal scores.
        if (withSoftTaints.count === 0 || nodes.every(({ softTaints }) => softTaints.length === 0))
          return SKIP;
        const soft = (pod.spec.tolerations ?? []).filter(
          (toleration) => !toleration.effect || toleration.effect === 'PreferNoSchedule',
        );
        state.write(SOFT_TOLERATIONS, soft);
        return undefined;
      },
      /** Returns the number of untolerated taints. */
      score(state, _pod, node) {
        if (node.softTaints.length === 0) return 0;
        const tolerations = state.read(SOFT_TOLERATIONS);
        return node.softTaints.reduce(
          (count, taint) => (tolerated(taint, tolerations) ? count : count + 1),
          0,
        );
      },
      normalizeScore(_state, _pod, scores) {
        normalizeByGreatest(scores, true);
        return undefined;
      },
      eventsToRegister: () => [
        {
          event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeTaint, 'Node'),
          hint: nodeNowSuits(tolerates),
        },
        {
          event: clusterEvent('UnscheduledPod', ActionType.UpdatePodToleration, 'PodToleration'),
          hint: concernsPod,
        },
      ],
    } satisfies FilterPlugin & PreScorePlugin & ScorePlugin;
  },
};
