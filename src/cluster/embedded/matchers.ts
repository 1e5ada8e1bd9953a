// Matchers for `expect` of vitest and jest: `expect.extend(clusterMatchers)`.

import type { ConvergeOptions, Insight } from './insight/types.ts';

/**
 * For the declarations of a test runner: `interface Matchers<T> extends
 * ClusterMatchers<Promise<void>> {}`.
 */
export interface ClusterMatchers<R> {
  /**
   * Lets time pass until the cluster is at rest: `await expect(cluster).toConverge()`. Fails with
   * the clients that keep writing, and what they write.
   */
  toConverge(options?: ConvergeOptions): R;
}

interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

export const clusterMatchers = {
  async toConverge(cluster: unknown, options?: ConvergeOptions): Promise<MatcherResult> {
    if (!isInsightful(cluster))
      throw new TypeError('toConverge: expect(…) needs a cluster of startCluster');
    const { converged, message } = await cluster.converge(options);
    return { pass: converged, message: () => message };
  },
};

function isInsightful(value: unknown): value is Insight {
  return typeof (value as Partial<Insight> | undefined)?.converge === 'function';
}
