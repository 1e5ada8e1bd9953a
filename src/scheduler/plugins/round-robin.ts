// RoundRobin: nodes take turns. A small plugin with several extension points, as an example for
// plugin authors: PreScore decides for this pod, Score returns the result for each node, Reserve
// remembers it for the next pod. Not in the default profile.

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

/** The node whose turn it is in this cycle. */
const TURN: StateKey<string> = stateKey('RoundRobin/turn');

export const roundRobin: PluginRegistration = {
  name: 'RoundRobin',
  create(args) {
    noArgs(roundRobin.name, args);
    /** The node that got the last pod. */
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
      // An unused turn is not returned: any next node is fine.
      unreserve: () => undefined,
    } satisfies PreScorePlugin & ScorePlugin & ReservePlugin;
  },
};
