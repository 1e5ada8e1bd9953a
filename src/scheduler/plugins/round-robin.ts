// RoundRobin: nodes take turns. A small plugin with more than one extension point, for those who
// want to write their own: PreScore decides for this pod, Score answers for each node, Reserve
// remembers for the next pod. Not in the default profile.

import { type StateKey, stateKey } from '../framework/cycle-state.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import {
  MAX_NODE_SCORE,
  MIN_NODE_SCORE,
  type PreScorePlugin,
  type ReservePlugin,
  type ScorePlugin,
} from '../framework/plugin.ts';
import { noArgs } from './args.ts';

/** The node whose turn it is, for the pod of this cycle. */
const TURN: StateKey<string> = stateKey('RoundRobin/turn');

export const roundRobin: PluginRegistration = {
  name: 'RoundRobin',
  create(args) {
    noArgs(roundRobin.name, args);
    /** The node that got a pod last. */
    let last = '';
    return {
      name: roundRobin.name,
      preScore(state, _pod, nodes) {
        const names = nodes.map(({ name }) => name).sort();
        state.write(TURN, names.find((name) => name > last) ?? names[0] ?? '');
        return undefined;
      },
      score: (state, _pod, { name }) =>
        name === state.read(TURN) ? MAX_NODE_SCORE : MIN_NODE_SCORE,
      reserve(_state, _pod, nodeName) {
        last = nodeName;
        return undefined;
      },
      // A turn that was not used is not given back: the next node is as good.
      unreserve: () => undefined,
    } satisfies PreScorePlugin & ScorePlugin & ReservePlugin;
  },
};
