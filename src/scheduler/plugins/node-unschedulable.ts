// NodeUnschedulable: no new pods on a cordoned node, except pods that tolerate it.

import type { Taint } from '#api/groups/core/v1/index.ts';
import { ActionType, clusterEvent } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { Node, Pod } from '../framework/objects.ts';
import type { FilterPlugin } from '../framework/plugin.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { concernsPod, nodeNowSuits } from './hints.ts';
import { tolerated } from './tolerations.ts';

const UNSCHEDULABLE = new Status(
  'UnschedulableAndUnresolvable',
  ['node(s) were unschedulable'],
  'NodeUnschedulable',
);
/** The taint that is equivalent to spec.unschedulable. */
const TAINT: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

function welcome(pod: Pod, node: Node): boolean {
  return node.spec.unschedulable !== true || tolerated(TAINT, pod.spec.tolerations);
}

export const nodeUnschedulable: PluginRegistration = {
  name: 'NodeUnschedulable',
  create(args) {
    noArgs(nodeUnschedulable.name, args);
    return {
      name: nodeUnschedulable.name,
      filter: (_state, { pod }, { node }) =>
        node === undefined || welcome(pod, node) ? undefined : UNSCHEDULABLE,
      filterTemplate: ({ tolerationsText }) => tolerationsText,
      eventsToRegister: () => [
        {
          event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeTaint, 'Node'),
          hint: nodeNowSuits(welcome),
        },
        {
          event: clusterEvent('UnscheduledPod', ActionType.UpdatePodToleration, 'PodToleration'),
          hint: concernsPod,
        },
      ],
    } satisfies FilterPlugin;
  },
};
