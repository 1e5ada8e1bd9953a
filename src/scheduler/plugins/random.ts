// Random: scores nodes at random. The smallest possible scoring plugin, as an example for plugin
// authors. Not in the default profile; a profile enables it with plugins.score.enabled.

import type { PluginRegistration } from '../framework/handle.ts';
import { MAX_NODE_SCORE, type ScorePlugin } from '../framework/plugin.ts';
import { noArgs } from './args.ts';

export const random: PluginRegistration = {
  name: 'Random',
  create(args, handle) {
    noArgs(random.name, args);
    return {
      name: random.name,
      score: () => handle.random.int(MAX_NODE_SCORE + 1),
    } satisfies ScorePlugin;
  },
};
