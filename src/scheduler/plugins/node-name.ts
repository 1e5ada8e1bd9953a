// NodeName: a pod that names its node runs there or nowhere.

import { ActionType, clusterEvent } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { FilterPlugin, PreFilterPlugin } from '../framework/plugin.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { nodeNowSuits } from './hints.ts';

const MISMATCH = new Status(
  'UnschedulableAndUnresolvable',
  ["node(s) didn't match the requested node name"],
  'NodeName',
);
const SKIP = new Status('Skip', [], 'NodeName');

export const nodeName: PluginRegistration = {
  name: 'NodeName',
  create(args) {
    noArgs(nodeName.name, args);
    return {
      name: nodeName.name,
      preFilter: (_state, { pod }) => (pod.spec.nodeName ? undefined : SKIP),
      filter: (_state, { pod }, node) =>
        !pod.spec.nodeName || pod.spec.nodeName === node.name ? undefined : MISMATCH,
      eventsToRegister: () => [
        {
          event: clusterEvent('Node', ActionType.Add, 'NodeAdd'),
          hint: nodeNowSuits((pod, node) => pod.spec.nodeName === node.metadata.name),
        },
      ],
    } satisfies PreFilterPlugin & FilterPlugin;
  },
};
