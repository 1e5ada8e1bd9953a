// NodeDeclaredFeatures: a pod that needs an optional kubelet feature runs on nodes that declare it.

import { type StateKey, stateKey } from '../framework/cycle-state.ts';
import { ActionType, clusterEvent, type QueueingHint, UPDATE } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { Node, Pod } from '../framework/objects.ts';
import type { FilterPlugin, PreFilterPlugin } from '../framework/plugin.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { concernsPod, nodeNowSuits, podsOf } from './hints.ts';

const NAME = 'NodeDeclaredFeatures';
const SKIP = new Status('Skip', [], NAME);
const MISSING = new Status(
  'UnschedulableAndUnresolvable',
  ["node(s) didn't match Pod's required features"],
  NAME,
);

const REQUIRED: StateKey<readonly string[]> = stateKey('NodeDeclaredFeatures/required');

/** By feature that matters before a pod has a node: reports whether a pod needs it. */
const FEATURES: Readonly<Record<string, (spec: Pod['spec']) => boolean>> = {
  RestartAllContainersOnContainerExits: ({ containers, initContainers = [] }) =>
    [...initContainers, ...containers].some(({ restartPolicyRules }) =>
      restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
    ),
  UserNamespacesHostNetworkSupport: ({ hostNetwork, hostUsers }) =>
    hostNetwork === true && hostUsers === false,
};

function requiredFeatures({ spec }: Pod): readonly string[] {
  return Object.keys(FEATURES).filter((name) => FEATURES[name]?.(spec));
}

function declares(node: Node, features: readonly string[]): boolean {
  const declared = node.status.declaredFeatures ?? [];
  return features.every((feature) => declared.includes(feature));
}

const needsOthersNow: QueueingHint = (pod, objects) => {
  const { before, after } = podsOf(objects);
  if (!concernsPod(pod, objects) || before === undefined || after === undefined) return false;
  return requiredFeatures(before).join() !== requiredFeatures(after).join();
};

export const nodeDeclaredFeatures: PluginRegistration = {
  name: NAME,
  create(args) {
    noArgs(NAME, args);
    return {
      name: NAME,
      preFilter(state, { pod }) {
        const required = requiredFeatures(pod);
        if (required.length === 0) return SKIP;
        state.write(REQUIRED, required);
        return undefined;
      },
      filter: (state, { pod }, { node }) =>
        node === undefined || declares(node, state.read(REQUIRED) ?? requiredFeatures(pod))
          ? undefined
          : MISSING,
      filterTemplate: ({ pod }) => requiredFeatures(pod).join(),
      eventsToRegister: () => [
        {
          event: clusterEvent(
            'Node',
            ActionType.Add | ActionType.UpdateNodeDeclaredFeature,
            'Node',
          ),
          hint: nodeNowSuits((pod, node) => declares(node, requiredFeatures(pod))),
        },
        { event: clusterEvent('UnscheduledPod', UPDATE, 'PodUpdate'), hint: needsOthersNow },
      ],
    } satisfies PreFilterPlugin & FilterPlugin;
  },
};
