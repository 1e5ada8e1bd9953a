// NodeAffinity: a pod's nodeSelector and node affinity, required and preferred, and the affinity
// that the profile adds to all pods.

import type { NodeAffinity } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ConfigReader } from '../config/reader.ts';
import { type StateKey, stateKey } from '../framework/cycle-state.ts';
import { ActionType, clusterEvent } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { Node, Pod } from '../framework/objects.ts';
import type {
  FilterPlugin,
  PreFilterPlugin,
  PreScorePlugin,
  ScorePlugin,
} from '../framework/plugin.ts';
import { Status } from '../framework/status.ts';
import { readArgs } from './args.ts';
import { nodeNowSuits } from './hints.ts';
import { readNodeAffinity } from './node-affinity-args.ts';
import {
  compileNodeSelector,
  compilePreferred,
  nodeNamesOf,
  type NodeMatcher,
  requiredBy,
  type WeightedMatcher,
} from './node-selector.ts';
import { normalizeByGreatest } from './normalize.ts';

const NAME = 'NodeAffinity';
const MISMATCH = new Status(
  'UnschedulableAndUnresolvable',
  ["node(s) didn't match Pod's node affinity/selector"],
  NAME,
);
const ADDED_MISMATCH = new Status(
  'UnschedulableAndUnresolvable',
  ["node(s) didn't match scheduler-enforced node affinity"],
  NAME,
);
const CONTRADICTION = new Status(
  'UnschedulableAndUnresolvable',
  ['pod affinity terms conflict'],
  NAME,
);
const SKIP = new Status('Skip', [], NAME);

const REQUIRED: StateKey<NodeMatcher> = stateKey(`${NAME}/required`);
const PREFERRED: StateKey<readonly WeightedMatcher[]> = stateKey(`${NAME}/preferred`);

export const nodeAffinity: PluginRegistration = {
  name: NAME,
  create(args) {
    const added: Immutable<NodeAffinity> = readArgs(
      NAME,
      args,
      ['addedAffinity'],
      (reader: ConfigReader) => readNodeAffinity(reader.child('addedAffinity')),
    );
    const addedSelector = added.requiredDuringSchedulingIgnoredDuringExecution;
    const addedRequired =
      addedSelector === undefined ? undefined : compileNodeSelector(addedSelector);
    const addedPreferred = compilePreferred(
      added.preferredDuringSchedulingIgnoredDuringExecution ?? [],
    );
    const suits = (pod: Pod, node: Node): boolean => {
      if (addedRequired !== undefined && !addedRequired(node)) return false;
      const required = requiredBy(pod);
      return required === undefined || required(node);
    };

    return {
      name: NAME,
      preFilter(state, { pod }) {
        const required = requiredBy(pod);
        if (required === undefined) return addedRequired === undefined ? SKIP : undefined;
        state.write(REQUIRED, required);
        const selector =
          pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
        const nodeNames =
          selector === undefined || selector.nodeSelectorTerms.length === 0
            ? undefined
            : nodeNamesOf(selector);
        if (nodeNames === undefined) return undefined;
        return nodeNames.size === 0 ? CONTRADICTION : { nodeNames };
      },
      filter(state, _pod, { node }) {
        if (node === undefined) return undefined;
        if (addedRequired !== undefined && !addedRequired(node)) return ADDED_MISMATCH;
        const required = state.read(REQUIRED);
        return required === undefined || required(node) ? undefined : MISMATCH;
      },
      filterTemplate: ({ pod: { spec } }) =>
        spec.nodeSelector === undefined && spec.affinity?.nodeAffinity === undefined
          ? ''
          : JSON.stringify([
              spec.nodeSelector,
              spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
            ]),
      preScore(state, { pod }) {
        const terms =
          pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
        const preferred =
          terms === undefined ? addedPreferred : [...addedPreferred, ...compilePreferred(terms)];
        if (preferred.length === 0) return SKIP;
        state.write(PREFERRED, preferred);
        return undefined;
      },
      /** Returns the sum of the weights of the matching preferences. */
      score(state, _pod, { node }) {
        let score = 0;
        if (node !== undefined)
          for (const { weight, matches } of state.read(PREFERRED) ?? [])
            if (matches(node)) score += weight;
        return score;
      },
      normalizeScore(_state, _pod, scores) {
        normalizeByGreatest(scores, false);
        return undefined;
      },
      eventsToRegister: () => [
        {
          event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeLabel, 'Node'),
          hint: nodeNowSuits(suits),
        },
      ],
    } satisfies PreFilterPlugin & FilterPlugin & PreScorePlugin & ScorePlugin;
  },
};
