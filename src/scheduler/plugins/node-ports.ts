// NodePorts: two pods on one node cannot have the same host port.

import { ActionType, clusterEvent, type QueueingHint } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { FilterPlugin, PreFilterPlugin } from '../framework/plugin.ts';
import { hostPortsConflict, PodInfo } from '../framework/pod-info.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { podsOf } from './hints.ts';

const CONFLICT = new Status(
  'Unschedulable',
  ["node(s) didn't have free ports for the requested pod ports"],
  'NodePorts',
);
const SKIP = new Status('Skip', [], 'NodePorts');

/** Returns true if the deleted pod had a port that this one needs. */
const freedPort: QueueingHint = (pod, objects) => {
  const gone = podsOf(objects).before;
  return (
    gone !== undefined && hostPortsConflict(new PodInfo(pod).hostPorts, new PodInfo(gone).hostPorts)
  );
};

export const nodePorts: PluginRegistration = {
  name: 'NodePorts',
  create(args) {
    noArgs(nodePorts.name, args);
    return {
      name: nodePorts.name,
      preFilter: (_state, pod) => (pod.hostPorts.length === 0 ? SKIP : undefined),
      filter: (_state, pod, node) => (node.hasPortConflict(pod.hostPorts) ? CONFLICT : undefined),
      filterTemplate: ({ hostPorts }) => (hostPorts.length === 0 ? '' : JSON.stringify(hostPorts)),
      eventsToRegister: () => [
        {
          event: clusterEvent('AssignedPod', ActionType.Delete, 'AssignedPodDelete'),
          hint: freedPort,
        },
        { event: clusterEvent('Node', ActionType.Add, 'NodeAdd') },
      ],
    } satisfies PreFilterPlugin & FilterPlugin;
  },
};
