// A scheduler plugin: pods go to nodes with the label example.com/spot where they can, unless they
// ask for reliable ones.

import {
  ActionType,
  clusterEvent,
  type FilterPlugin,
  type PluginRegistration,
  type ScorePlugin,
  Status,
} from 'coxswain/scheduler';

const SPOT = 'example.com/spot';
const RELIABLE = 'example.com/reliable';
const REJECTED = new Status('UnschedulableAndUnresolvable', [
  'node(s) may be taken away at any time',
]);

export const spotNodes: PluginRegistration = {
  name: 'SpotNodes',
  create: () =>
    ({
      name: 'SpotNodes',
      filter: (_state, { pod }, { node }) =>
        pod.metadata.annotations?.[RELIABLE] !== undefined &&
        node?.metadata.labels?.[SPOT] !== undefined
          ? REJECTED
          : undefined,
      score: (_state, _pod, { node }) => (node?.metadata.labels?.[SPOT] === undefined ? 0 : 100),
      eventsToRegister: () => [
        { event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeLabel, 'Node') },
      ],
    }) satisfies FilterPlugin & ScorePlugin,
};

/** The configuration of a scheduler that has the plugin beside the default ones. */
export const configuration = {
  apiVersion: 'kubescheduler.config.k8s.io/v1',
  kind: 'KubeSchedulerConfiguration',
  profiles: [{ plugins: { multiPoint: { enabled: [{ name: 'SpotNodes', weight: 10 }] } } }],
};
