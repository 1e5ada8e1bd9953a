// The checkpoint of a simulated node, which keeps nothing over restarts.

import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';

export const noFile: CheckpointFile = {
  read: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
};
