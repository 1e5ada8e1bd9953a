// SchedulingGates: a pod with gates in its spec is not attempted until all of them are removed.

import { ActionType, clusterEvent } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { PreEnqueuePlugin } from '../framework/plugin.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { concernsPod } from './hints.ts';

export const schedulingGates: PluginRegistration = {
  name: 'SchedulingGates',
  create(args) {
    noArgs(schedulingGates.name, args);
    return {
      name: schedulingGates.name,
      preEnqueue({ pod }) {
        const gates = pod.spec.schedulingGates ?? [];
        if (gates.length === 0) return undefined;
        const reason = `waiting for scheduling gates: [${gates.map((gate) => gate.name).join(' ')}]`;
        return new Status('UnschedulableAndUnresolvable', [reason], schedulingGates.name);
      },
      eventsToRegister: () => [
        {
          event: clusterEvent(
            'UnscheduledPod',
            ActionType.UpdatePodSchedulingGatesEliminated,
            'PodSchedulingGatesEliminated',
          ),
          hint: concernsPod,
        },
      ],
    } satisfies PreEnqueuePlugin;
  },
};
