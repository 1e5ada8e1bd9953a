// Normalizes scores to 0…100.

import { MAX_NODE_SCORE } from '../framework/plugin.ts';

/**
 * Scales scores in place so that the greatest becomes 100; all stay 0 if none is greater.
 * `reverse`: the greatest becomes 0.
 */
export function normalizeByGreatest(scores: number[], reverse: boolean): void {
  let greatest = 0;
  for (const score of scores) if (score > greatest) greatest = score;
  for (let i = 0; i < scores.length; i++) {
    const share = greatest === 0 ? 0 : Math.trunc((MAX_NODE_SCORE * scores[i]!) / greatest);
    scores[i] = reverse ? MAX_NODE_SCORE - share : share;
  }
}
